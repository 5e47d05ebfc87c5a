// test/base/numbering.cpp — an address has one number, whichever thread asks for it.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/numbering.hpp>

#include <set>
#include <thread>
#include <vector>

namespace {

TEST_CASE("an address keeps the number that it got first") {
  ebb::detail::numbering number;
  int x[3] = {};
  CHECK((number(&x[2]).number == 0 && number(&x[0]).number == 1));
  CHECK(!number(&x[2]).is_new);
  CHECK(number(&x[2]).number == 0);
  CHECK(number(&x[1]).is_new);
  CHECK(number(&x[1]).number == 2);
}

TEST_CASE("threads that ask for the same addresses get the same numbers, and each address is new once") {
  ebb::detail::numbering number;
  std::vector<int> objects(50);
  struct found {
    std::vector<int> numbers;
    int firsts = 0;
  };
  std::vector<found> by_thread(4);
  std::vector<std::thread> threads;
  for (found& f : by_thread)
    threads.emplace_back([&] {
      for (const int& o : objects) {
        const auto at = number(&o);
        f.numbers.push_back(at.number);
        f.firsts += at.is_new;
      }
    });
  for (std::thread& t : threads) t.join();
  int firsts = 0;
  for (const found& f : by_thread) {
    CHECK(f.numbers == by_thread[0].numbers);
    firsts += f.firsts;
  }
  CHECK(firsts == 50);
  CHECK(std::set<int>(by_thread[0].numbers.begin(), by_thread[0].numbers.end()).size() == 50);
}

}  // namespace
