// test/solvers/implicit.fail.cpp — implicit functions that cannot be.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

int main() {
  [[maybe_unused]] const ebb::tensor<double, 3> x{1, 2, 3};
  [[maybe_unused]] const ebb::tensor<double, 2, 2> m{1, 2, 3, 4};
  [[maybe_unused]] static constexpr auto half = [](auto v, auto w) { return v / 2 + w; };
  [[maybe_unused]] static constexpr auto total = [](auto s) { return ebb::sum(s); };
#if EBB_CASE == 1
  // EXPECT: E0442 they are called in a traced function
  auto r = ebb::fixed_point(half, x, x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0443 with one axis or none
  auto r = ebb::compile([](auto a) { return ebb::fixed_point(half, a, a); })(m);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto a) { return ebb::fixed_point([=](auto v) { return v / 2 + a; }, a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0502 returns an array with the form and dtype of v
  auto r = ebb::compile([](auto a) { return ebb::conjugate_gradient([](auto v) { return ebb::sum(v); }, a); })(x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0503 without axes
  auto r = ebb::compile([](auto a) { return ebb::bisection(half, a, a, a); })(x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0503 floats of one dtype
  auto r = ebb::compile([](auto a) { return ebb::bisection([](auto v) { return v > 1; }, a, a); })(1.0);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0442 they are called in a traced function
  auto r = ebb::conjugate_gradient(half, x, x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::compile([](auto a) { return ebb::lbfgs([](auto v) { return v * v; }, a); })(x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0506 returns an array with the form and dtype of y
  auto r = ebb::compile([](auto a) { return ebb::dopri5([](auto t, auto y) { return ebb::sum(y) * t; }, a, 0, 1); })(x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0507 options are one ebb::tolerance<n>
  auto r = ebb::compile([](auto a) { return ebb::dopri5<ebb::by_solve>([](auto t, auto y) { return y * t; }, a, 0, 1); })(x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0561 an option is one of ebb::robust
  auto r = ebb::compile([](auto a) { return ebb::levenberg_marquardt<2>([](auto v) { return v * v; }, a); })(x);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0561 the loss of each square
  auto r = ebb::compile([](auto a) { return ebb::levenberg_marquardt<total>([](auto v) { return v * v; }, a); })(x);  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0561 are arrays of floats with one axis
  auto r = ebb::compile([](auto a) { return ebb::levenberg_marquardt([](auto v) { return ebb::sum(v); }, a); })(x);  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0562 for gmres one ebb::restart<n>
  auto r = ebb::compile([](auto a) { return ebb::bicgstab<ebb::restart<3>>([](auto v) { return v + v; }, a); })(x);  // LINE
#elif EBB_CASE == 15
  // EXPECT: E0502 returns an array with the form and dtype of v
  auto r = ebb::compile([](auto a) { return ebb::gmres([](auto v) { return ebb::sum(v); }, a); })(x);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0503 without axes
  auto r = ebb::compile([](auto a) { return ebb::brent(half, a, a, a); })(x);  // LINE
#elif EBB_CASE == 17
  // EXPECT: E0563 the rule is a number of nodes up to 256
  auto r = ebb::compile([](auto a) { return ebb::quadrature<0>([](auto v) { return v; }, 0, a); })(1.0);  // LINE
#elif EBB_CASE == 18
  // EXPECT: E0563 limits are scalars
  auto r = ebb::compile([](auto a) { return ebb::quadrature<3>([](auto v) { return v; }, 0, a); })(x);  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0564 with one axis or none
  auto r = ebb::compile([](auto a) {
    return ebb::constrained_minimizer(total, [](auto v) { return v * ebb::unsqueeze<1>(v); }, ebb::solved, a);  // LINE
  })(x);
#elif EBB_CASE == 20
  // EXPECT: E0565 integrate: f(x, w...) is a double
  const auto r = ebb::integrate<3>([](auto v) { return v; }, 0.0, 1.0);  // LINE
#elif EBB_CASE == 21
  // EXPECT: E0565 integrate: f(x, w...) is a double
  const auto r = ebb::integrate([](auto v) { return v > 1; }, 0.0, 1.0);  // LINE
#elif EBB_CASE == 22
  // EXPECT: E0104 must not capture
  const auto r = ebb::integrate([=](auto v) { return v * x(0); }, 0.0, 1.0);  // LINE
#elif EBB_CASE == 23
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::compile([](auto a) { return ebb::quadrature<3>([](auto v, auto w) { return v * w; }, 0, a); })(1.0);  // LINE
#elif EBB_CASE == 24
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::compile([](auto a) { return ebb::implicit_root([](auto v) { return v * v; }, ebb::solved, a, a); })(1.0);  // LINE
#elif EBB_CASE == 25
  // EXPECT: E0554 has a subscript outside of its axis
  auto r = ebb::compile([](auto a) { return ebb::quadrature<3>([](auto v, auto w) { return v * w[5]; }, 0, 1, a); })(x);  // LINE
#elif EBB_CASE == 26
  // EXPECT: E0554 has a subscript outside of its axis
  auto r = ebb::compile([](auto a) { return ebb::lbfgs([](auto v) { return v[5] * v[5]; }, a); })(x);  // LINE
#elif EBB_CASE == 27
  // EXPECT: E0566 returns one array with the dtype, the axes and the extents of x
  // ERRORS: 1
  auto r = ebb::compile([](auto a) {
    return ebb::implicit_root([](auto v, auto w) { return ebb::sum(v * w); }, ebb::solved, a, a);  // LINE
  })(x);
#elif EBB_CASE == 28
  // EXPECT: E0566 returns one array with the dtype, the axes and the extents of x
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::fixed_point([](auto v) { return ebb::sum(v); }, a); })(x);  // LINE
#elif EBB_CASE == 29
  // EXPECT: E0566 returns one array with the dtype, the axes and the extents of x
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::newton([](auto v) { return std::tuple(v, v); }, a); })(x);  // LINE
#elif EBB_CASE == 30
  // EXPECT: E0567 the solver returns the solution alone
  // ERRORS: 1
  auto r = ebb::compile([](auto a) {
    return ebb::implicit_root(half, [](auto v, auto w) { return ebb::newton(half, v, w); }, a, a);  // LINE
  })(x);
#elif EBB_CASE == 31
  // EXPECT: E0127 the function cannot be called so
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::implicit_root(half, [](auto v) { return v; }, a, a); })(x);  // LINE
#elif EBB_CASE == 32
  // EXPECT: E0506 t0 and t1 are numbers, and have no wider dtype
  // ERRORS: 1
  const ebb::tensor<float, 3> narrow{1, 2, 3};
  auto r = ebb::compile([](auto a, auto from) { return ebb::dopri5([](auto t, auto y) { return y * t; }, a, from, 1.0); })(narrow, 0.5);  // LINE
#elif EBB_CASE == 33
  // EXPECT: E0506 t0 and t1 are numbers
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::dopri5([](auto t, auto y) { return y * t; }, a, 0, a); })(x);  // LINE
#elif EBB_CASE == 34
  // EXPECT: E0557 the number of an option is too small
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::fixed_point<ebb::by_cg<0>>(half, a, a); })(x);  // LINE
#elif EBB_CASE == 35
  // EXPECT: E0557 the number of an option is too small
  // ERRORS: 1
  auto r = ebb::compile([](auto a) { return ebb::dopri5<ebb::tolerance<0>>([](auto t, auto y) { return y * t; }, a, 0, 1); })(x);  // LINE
#endif
}
