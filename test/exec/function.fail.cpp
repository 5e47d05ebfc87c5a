// test/exec/function.fail.cpp — refused transformations and destinations.
// SPDX-License-Identifier: BSL-1.0
// covers: function.hpp refusal.hpp
#include <ebb/ebb.hpp>

#include <iostream>

namespace user {
struct policy {};
}  // namespace user

int main() {
  const ebb::tensor<float, 3> x{1, 2, 3};
  ebb::tensor<float, 3> d;
  float value = 0;
  constexpr auto f = [](auto a) { return ebb::sum(a * a); };
  ebb::value_and_grad(f)(ebb::into(value, d), x);
#if EBB_CASE == 1
  // EXPECT: E0141 ebb::into: the number of destinations is not that of the results
  ebb::value_and_grad(f)(ebb::into(d), x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0142 ebb::into: a destination is not an array that can be written
  ebb::value_and_grad(f)(ebb::into(value, x), x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0143 give the arguments, then as many directions of the same types
  auto r = ebb::jvp(f)(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0143 give the arguments, then as many directions of the same types
  auto r = ebb::hvp(f)(x, 1.f);  // LINE
#elif EBB_CASE == 5
  auto [y, pull] = ebb::vjp(f)(x);
  // EXPECT: E0144 a pull-back takes one seed for each output of floating-point type
  auto r = pull(1.f, 2.f);  // LINE
#elif EBB_CASE == 6
  auto [y, pull] = ebb::vjp([](auto a) { return a * a; })(x);
  // EXPECT: E0146 a seed differs from its output in dtype or extents
  auto r = pull(1.f);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0147 the function's results are integers or bools: they have no derivatives
  auto r = ebb::jacobian([](auto a) { return a > 0; })(x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0148 ebb::into: the elements of a destination are not of the result's type
  double wide = 0;
  ebb::value_and_grad(f)(ebb::into(wide, d), x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0132 ebb::into: the extents of a destination are not those of the result
  ebb::tensor<float, 2> two;
  ebb::value_and_grad(f)(ebb::into(value, two), x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0132 ebb::into: the extents of a destination are not those of the result
  ebb::tensor<float, ebb::dyn, 1> column(3);
  ebb::value_and_grad(f)(ebb::into(value, column), x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0145 there is no such autocast policy
  using backward = ebb::backward_t<decltype(f), user::policy, ebb::tensor<float, 3>>;  // LINE
  static_assert(!std::is_void_v<backward>);
#elif EBB_CASE == 12  // the result of a refused call can be printed, assigned and called
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::grad([](auto a) { return a * a; })(x);  // LINE
  const ebb::tensor<float, 3> assigned = r;
  std::cout << r << assigned << r(x);
#elif EBB_CASE == 13
  // EXPECT: E0179 the derivatives have more than eight axes
  auto r = ebb::jacobian([](auto a) { return a * a; })(ebb::tensor<float, 1, 1, 1, 2, 2>{});  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::hessian([](auto a) { return a * a; })(x);  // LINE
#elif EBB_CASE == 15
  auto [y, pull] = ebb::vjp([](auto a) { return std::tuple(a, ebb::sum(a)); })(x);
  // EXPECT: E0144 a pull-back takes one seed for each output of floating-point type
  const ebb::tensor<float, 3> r = pull(std::tuple(x, std::tuple(1.f, x)));  // LINE
#elif EBB_CASE == 16
  auto [y, pull] = ebb::vjp(f)(x);
  // EXPECT: E0111 an argument is not an array, a number, a tuple, or a struct over arrays
  auto r = pull("one");  // LINE
#endif
}
