// test/stats/draw.fail.cpp — samples in traced functions: keys that are none, extents that do not fit, classes without an axis.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/functional.hpp>
#include <ebb/stats.hpp>

using numbers = ebb::tensor<double, 2>;
using key = ebb::tensor<std::int64_t>;
[[maybe_unused]] inline auto fits(const key& k, const numbers& a) {
  return ebb::gamma_sample(k, a, 2.0) + ebb::beta_sample(k, 1.0, a) + ebb::student_t_sample(1, a, a, 2.0) +
         ebb::truncated_normal_sample(1, a, 1.0, -2.0, 2.0) + ebb::binomial_sample(k, 3, a);
}

#if EBB_CASE == 1
// EXPECT: E0525 random numbers in a traced function: the key is an integer, or an integer array of rank 0
inline auto refused(const numbers& a) {
  return ebb::poisson_sample(2.5, a);  // LINE
}
#elif EBB_CASE == 2
// EXPECT: E0525 random numbers in a traced function: the key is an integer, or an integer array of rank 0
inline auto refused(const ebb::tensor<std::int64_t, 2>& keys, const numbers& a) {
  return ebb::normal_sample(keys, a, 1.0);  // LINE
}
#elif EBB_CASE == 3
// EXPECT: E0102 the extents differ: only a static extent of 1 or a missing leading axis is broadcast
inline auto refused(const numbers& a) {
  return ebb::uniform_sample(1, a, ebb::tensor<double, 3>{1, 2, 3});  // LINE
}
#elif EBB_CASE == 4
// EXPECT: E0490 categorical, multinomial, dirichlet: an operand has no axis, along which its classes lie
inline auto refused() {
  return ebb::categorical_sample(1, ebb::tensor<double>(2.5));  // LINE
}
#elif EBB_CASE == 5
// EXPECT: E0490 categorical, multinomial, dirichlet: an operand has no axis, along which its classes lie
inline auto refused() {
  return ebb::dirichlet_sample(1, ebb::tensor<double>(2.5));  // LINE
}
#elif EBB_CASE == 6
// EXPECT: E0176 the function takes another number of operands
inline auto refused(const key& k, const numbers& a) {
  return ebb::exponential_sample(k, a, a);  // LINE
}
#elif EBB_CASE == 7
// EXPECT: E0106 the function uses an op without a pull: write one beside its value, or use ebb::stop_gradient
inline auto refused(const numbers& a) {
  constexpr auto slopes = [](auto x) { return ebb::sum(ebb::grad([](auto y) { return ebb::sum(ebb::beta_sample(7, y, 2.0)); })(x)); };
  return ebb::grad(slopes)(a);  // LINE
}
#endif
