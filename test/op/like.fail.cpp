// test/op/like.fail.cpp — extents of axes that do not exist, and arrays that cannot take another's extents.
// ERRORS: 1, clang 2
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

int main() {
  const ebb::tensor<double, 3> x{1, 2, 3};
  [[maybe_unused]] const auto good = ebb::compile([](auto a) { return ebb::full_like(a, a[0]) * ebb::extent<0>(a); })(x);
#if EBB_CASE == 1
  // EXPECT: E0233 full_like, full: the value is a number, or an array of rank 0
  auto r = ebb::compile([](auto a) { return ebb::full_like(a, a); })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0103 there is no such axis
  auto r = ebb::extent<1>(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0103 there is no such axis
  auto r = ebb::compile([](auto a) { return ebb::iota<-2>(a) + ebb::numel(a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0112 reshape: the number of elements differs
  auto r = ebb::compile([](auto a, auto b) { return ebb::reshape_like(a, b); })(x, ebb::tensor<double, 2>{});  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0524 zeros, ones, full: a dyn extent is that of the same axis of x
  auto r = ebb::zeros<2, ebb::dyn>(x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0524 zeros, ones, full: a dyn extent is that of the same axis of x
  auto r = ebb::full<ebb::dyn>(1.0);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0233 full_like, full: the value is a number
  auto r = ebb::full<2, 3>(x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0110 an array made of a number is ebb::full<2, 3>(x, 1.0) there
  auto r = ebb::compile([](auto a) { return a + ebb::broadcast_to<3>(1.0); })(x);  // LINE
#endif
}
