// test/tensor/equal.fail.cpp — comparisons of arrays in places that need one bool.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#undef NDEBUG
#include <algorithm>
#include <cassert>
#include <vector>

int main() {
  const ebb::tensor<float, 2, 3> a{{1, 2, 3}, {4, 5, 6}};
  [[maybe_unused]] const ebb::tensor<float, ebb::dyn, 3> rows{{1, 2, 3}};
  [[maybe_unused]] const std::vector<ebb::tensor<float, 2, 3>> all(3, a);
  [[maybe_unused]] const auto seen = [](const auto& x) { return ebb::all_equal(x, x); };
#if EBB_CASE == 0
  return std::find_if(all.begin(), all.end(), seen) != all.end();
#elif EBB_CASE == 1
  // EXPECT: E0137 an array of bools is no condition: ask ebb::any or ebb::all of them, ebb::all_equal of two arrays
  if (a == a) return 1;  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0137 an array of bools is no condition
  assert(a == a);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0137 an array of bools is no condition
  REQUIRE(a == a);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0137 an array of bools is no condition
  CHECK(a != a);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0137 an array of bools is no condition
  return rows == rows ? 1 : 2;  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0137 an array of bools is no condition
  return a.size() == 6 && bool(ebb::view(a) == ebb::view(a));  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0210 arrays of different dtype or rank are never equal as a whole
  return ebb::all_equal(a, ebb::tensor<float, 3>{1, 2, 3});  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0210 arrays of different dtype or rank are never equal as a whole
  return ebb::same_bits(a, ebb::cast<double>(a));  // LINE
#endif
}
