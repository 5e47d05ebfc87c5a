// test/base/counted.cpp — a counted object is destroyed once, with its last owner, in one thread and in several.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/counted.hpp>

#include <thread>
#include <utility>
#include <vector>

namespace {

struct item {
  static inline std::atomic<int> alive = 0;
  ebb::owner_count owners;
  int number;
  explicit item(int n) : number(n) { ++alive; }
};
void destroy(item* i) {
  --item::alive;
  delete i;
}
using handle = ebb::counted<item>;
handle make(int n) { return handle::first_of(new item(n)); }

}  // namespace

TEST_CASE("a counted object is destroyed with its last owner") {
  {
    handle a = make(1), none, null = nullptr;
    CHECK((a && !none && null == nullptr && none == null && a->owners.value() == 1));
    handle b = a, c(a.get());
    CHECK((b == a && c.get() == a.get() && a->owners.value() == 3));
    c = std::move(b);
    CHECK((!b && a->owners.value() == 2));
    handle& same = a;
    a = same;
    CHECK(a->owners.value() == 2);
    a = make(2);
    CHECK((a->number == 2 && c->number == 1 && (*c).owners.value() == 1 && item::alive == 2));
    c = a;
    CHECK((item::alive == 1 && a->owners.value() == 2));
    a = nullptr;
    CHECK((item::alive == 1 && c->number == 2));
  }
  CHECK(item::alive == 0);
}

TEST_CASE("owners in many threads are counted right") {
  handle shared = make(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([mine = shared] {
      for (int i = 0; i < 10'000; ++i) {
        handle copy = mine, moved = std::move(copy);
        copy = moved;
      }
    });
  for (std::thread& t : threads) t.join();
  threads.clear();
  CHECK(shared->owners.value() == 1);
  std::thread([last = std::move(shared)] {}).join();
  CHECK((!shared && item::alive == 0));
}
