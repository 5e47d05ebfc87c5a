// test/base/record.cpp — the members of a record are found by their numbers, and nothing initializes them.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/record.hpp>

#include <type_traits>

TEST_CASE("the members of a record are told apart by their numbers, not by their types") {
  ebb::record<int, double, int> r{{1}, {2.5}, {3}};
  CHECK(ebb::member<0>(r) == 1);
  CHECK(ebb::member<1>(r) == 2.5);
  CHECK(ebb::member<2>(r) == 3);
  ebb::member<2>(r) = 7;
  const auto& same = r;
  CHECK(ebb::member<0>(same) == 1);
  CHECK(ebb::member<2>(same) == 7);
}

TEST_CASE("a record has no constructor: its members are not initialized") {
  using two = ebb::record<int, float>;
  CHECK(std::is_trivially_default_constructible_v<two>);
  CHECK(sizeof(two) == sizeof(int) + sizeof(float));
}
