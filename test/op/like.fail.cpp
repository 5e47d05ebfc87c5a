// test/op/like.fail.cpp — extents of axes that do not exist, and arrays that cannot take another's extents.
// ERRORS: 1, clang 2
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

int main() {
  const ebb::tensor<double, 3> x{1, 2, 3};
  [[maybe_unused]] const auto good = ebb::compile([](auto a) { return ebb::full_like(a, a[0]) * ebb::extent<0>(a); })(x);
#if EBB_CASE == 1
  // EXPECT: E0233 full_like: the value is a number, or an array of rank 0
  auto r = ebb::compile([](auto a) { return ebb::full_like(a, a); })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0103 there is no such axis
  auto r = ebb::extent<1>(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0103 there is no such axis
  auto r = ebb::compile([](auto a) { return ebb::iota<-2>(a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0112 reshape: the number of elements differs
  auto r = ebb::compile([](auto a, auto b) { return ebb::reshape_like(a, b); })(x, ebb::tensor<double, 2>{});  // LINE
#endif
}
