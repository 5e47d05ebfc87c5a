// test/dual/dual.fail.cpp — calls that duals refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

#include <ebb/dual.hpp>

[[maybe_unused]] constexpr double fits = (ebb::dual{2.0, 1.0} * 3).tangent;

#if EBB_CASE == 1
// EXPECT: E0511 a dual holds a float, a double, a tensor of real numbers, or a dual
ebb::dual<int> refused;  // LINE
#endif

#if EBB_CASE == 2
// EXPECT: E0512 a variable has no tangent: pass its value() beside a dual
void refused(const ebb::variable<double>& v) {
  ebb::tanh(v);
  ebb::maximum(v, ebb::dual{2.0, 1.0});  // LINE
}
#endif

#if EBB_CASE == 3
// EXPECT: E0513 a traced function uses a dual that is not its argument: pass it to the function
constexpr auto doubled = ebb::compile([](auto x) {
  return x * ebb::dual<double>{2.0, 1.0};  // LINE
});
const double twice = doubled(1.0);
#endif

#if EBB_CASE == 4
// EXPECT: E0102 the extents differ
const ebb::tensor<double, 3> three;
const ebb::tensor<double, 4> four;
const auto refused = ebb::dual{three, three} * four;  // LINE
#endif
