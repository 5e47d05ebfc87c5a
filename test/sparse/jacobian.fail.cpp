// test/sparse/jacobian.fail.cpp — sparse Jacobians that cannot be.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/sparse.hpp>

int main() {
  [[maybe_unused]] const ebb::tensor<double, 3> x{1, 2, 3};
  [[maybe_unused]] static constexpr auto squares = [](auto v) { return v * v; };
#if EBB_CASE == 1
  // EXPECT: E0504 an array of floats each
  auto p = ebb::sparse_jacobian(squares).pattern(2.0);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0504 an array of floats each
  auto p = ebb::sparse_jacobian([](auto v) { return ebb::sum(v); }).pattern(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0505 outside of traced functions
  auto f = ebb::compile([](auto v) { return ebb::sum(ebb::sparse_jacobian(squares)(ebb::sparse_pattern{}, v)); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0104 must not capture
  auto j = ebb::sparse_jacobian([=](auto v) { return v * x(0); });  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0447 is not ebb::fixed
  auto p = ebb::sparse_jacobian(squares).pattern(ebb::fixed(x));  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0516 a call without a pattern has static extents
  auto v = ebb::sparse_jacobian(squares)(ebb::tensor<double, ebb::dyn>(3));  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0516 no integers
  constexpr auto rows = ebb::sparse_jacobian([](auto v, auto i) { return ebb::take<0>(v, i); });
  auto v = rows(x, ebb::tensor<int, 2>{0, 1});  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0516 at most 4,096 elements
  auto& p = ebb::sparse_jacobian([](auto v) { return v * ebb::sum(v); }).constant_pattern<ebb::tensor<double, 65>>();  // LINE
#endif
}
