// test/base/objects.cpp — a growing array of objects against std::vector; each object is destroyed once.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/objects.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct counted_item {
  static inline unsigned long alive = 0;
  int number = -1;
  counted_item() { ++alive; }
  counted_item(int n) : number(n) { ++alive; }
  counted_item(const counted_item& other) : number(other.number) { ++alive; }
  counted_item(counted_item&& other) noexcept : number(std::exchange(other.number, -2)) { ++alive; }
  counted_item& operator=(const counted_item&) = default;
  counted_item& operator=(counted_item&&) = default;
  ~counted_item() { --alive; }
};

std::vector<int> numbers(const ebb::objects<counted_item>& a) {
  std::vector<int> r;
  for (const counted_item& item : a) r.push_back(item.number);
  return r;
}

}  // namespace

TEST_CASE("objects grow, shrink and are erased as in a std::vector") {
  {
    ebb::objects<counted_item> a;
    std::vector<int> expected;
    unsigned random = 1;
    for (int step = 0; step < 4000; ++step) {
      random = random * 1664525u + 1013904223u;
      switch (random >> 28) {
        case 0:
          a.resize(a.size() / 2);
          expected.resize(expected.size() / 2, -1);
          break;
        case 1:
          a.resize(a.size() + 3);
          expected.resize(expected.size() + 3, -1);
          break;
        case 2:
          a.erase_if([](const counted_item& x) { return x.number % 3 == 0; });
          std::erase_if(expected, [](int x) { return x % 3 == 0; });
          break;
        case 3:
          if (!a.empty()) a.pop_back();
          if (!expected.empty()) expected.pop_back();
          break;
        default:
          a.push_back(step);
          expected.push_back(step);
      }
      REQUIRE(counted_item::alive == a.size());
      REQUIRE(numbers(a) == expected);
      if (!expected.empty()) REQUIRE((a.back().number == expected.back() && a.front().number == expected.front()));
    }
    const ebb::objects<counted_item> copy(a);
    CHECK(numbers(copy) == expected);
    ebb::objects<counted_item> moved(std::move(a)), other(5);
    CHECK(numbers(moved) == expected);
    CHECK((a.empty() && other.size() == 5));
    other = std::move(moved);
    CHECK((numbers(other) == expected && moved.empty()));
    moved.push_back(1);
    CHECK(moved.back().number == 1);
  }
  CHECK(counted_item::alive == 0);
}

TEST_CASE("objects may be move-only, and push accepts one of the array's own elements") {
  ebb::objects<std::unique_ptr<int>> a;
  for (int i = 0; i < 100; ++i) a.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 100; ++i) CHECK(*a[static_cast<std::size_t>(i)] == i);
  ebb::objects<std::string> s;
  s.push_back("a string that is too long to stand in its object");
  for (int i = 0; i < 20; ++i) s.push_back(s.front());
  for (const std::string& x : s) CHECK(x == "a string that is too long to stand in its object");
  const std::string given[] = {"x", "y"};
  s.assign(given, given + 2);
  CHECK((s.size() == 2 && s[1] == "y"));
  s.assign(3, "z");
  CHECK((s.size() == 3 && s.back() == "z"));
}
