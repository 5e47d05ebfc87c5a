// test/exec/nested.fail.cpp — an error inside other transformations is reported once, at the user's line.
// SPDX-License-Identifier: BSL-1.0
// covers: refusal.hpp
// ERRORS: 1
#include <ebb/functional.hpp>

#include <cmath>

int main() {
  using low = ebb::autocast<ebb::bf16>;
  const ebb::tensor<double, 3> p, x;
  const ebb::tensor<double, 4, 3> rows;
  constexpr auto product = [](auto a, auto b) { return a * b; };
  constexpr auto inner = [](auto a, auto b) { return ebb::sum(a * b); };
#if EBB_CASE == 1
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::compile(ebb::grad(product))(p, x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::hessian(ebb::grad(inner))(p, x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::map(ebb::grad(product), ebb::whole(p), rows);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0117 there is no argument of that number to differentiate by
  auto r = ebb::jacobian(ebb::compile(ebb::jacobian<3>(product)))(p, x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0127 the function cannot be called so: it takes another number of arguments
  auto r = ebb::vjp(ebb::grad(inner))(p);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0143 give the arguments, then as many directions of the same types
  auto r = ebb::value_and_grad(ebb::jvp(inner))(p, x, p);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::under<low>(ebb::grad(product))(p, x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::compile<ebb::ambient<ebb::off, low>>(ebb::grad(product))(p, x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::vjp(ebb::compile<ebb::ambient<ebb::off, low>>(ebb::under<low>(ebb::grad(product))))(p, x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::jvp(ebb::compile<ebb::backward_pass_autocast<ebb::off>>(ebb::grad(product)))(p, x, p, x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::compile([](auto a, auto b) { return ebb::compile(ebb::grad(decltype(product){}))(a, b); })(p, x);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::to_string<decltype(p), decltype(x)>(ebb::compile(ebb::grad(product)));  // LINE
#endif
}
