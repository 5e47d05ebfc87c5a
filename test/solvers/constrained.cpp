// test/solvers/constrained.cpp — minima under equations, against formulas, with derivatives of x and of the multipliers.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <tuple>

namespace {

using ebb::tensor;
using vector = tensor<double, ebb::dyn>;

/// The point of the plane <a, x> = s that is nearest to p, in closed form.
constexpr auto distance = [](auto x, auto p, auto, auto) { return ebb::sum(ebb::square(x - p)) / 2; };
constexpr auto plane = [](auto x, auto, auto a, auto s) { return ebb::sum(a * x) - s; };
constexpr auto nearest = [](auto x0, auto p, auto a, auto s) {
  static_cast<void>(x0);
  return p - (ebb::sum(a * p) - s) / ebb::sum(a * a) * a;
};
constexpr auto projected = [](auto p, auto a, auto s) { return ebb::constrained_minimizer(distance, plane, nearest, p, p, a, s); };
template <auto... Option>
constexpr auto of_projected = [](auto p, auto a, auto s) {
  const auto [x, l] = ebb::constrained_minimizer<Option...>(distance, plane, nearest, p, p, a, s);
  return ebb::sum(ebb::sin(x)) + ebb::sum(ebb::square(l));
};
constexpr auto of_formula = [](auto p, auto a, auto s) {
  const auto l = (ebb::sum(a * p) - s) / ebb::sum(a * a);
  return ebb::sum(ebb::sin(p - l * a)) + ebb::square(l);
};

/// The lowest point of <c, x> on the unit sphere in the plane <a, x> = 0: the loss has no Hessian, the constraints have.
constexpr auto height = [](auto x, auto c, auto) { return ebb::sum(c * x); };
constexpr auto sphere_and_plane = [](auto x, auto, auto a) { return ebb::stack<0>(ebb::sum(x * x) - 1, ebb::sum(a * x)); };
constexpr auto lowest_formula = [](auto c, auto a) {
  const auto inside = c - ebb::sum(a * c) / ebb::sum(a * a) * a;
  return -inside / ebb::sqrt(ebb::sum(inside * inside));
};
constexpr auto lowest = [](auto x, auto c, auto a) {
  return ebb::constrained_minimizer(height, sphere_and_plane, ebb::solved, x, c, a);
};
constexpr auto of_lowest = [](auto x, auto c, auto a) {
  const auto [y, l] = lowest(x, c, a);
  return ebb::sum(ebb::exp(y)) + l[0] * l[1];
};
constexpr auto of_lowest_formula = [](auto c, auto a) {
  const auto y = lowest_formula(c, a);
  const auto length = -ebb::sum(c * y);  // c = -2 l0 y - l1 a
  return ebb::sum(ebb::exp(y)) - length / 2 * ebb::sum(a * c) / ebb::sum(a * a);
};

void check_near(const auto& a, const auto& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(relative).margin(relative));
}
const vector p{0.3, -1.2, 0.8, 2.0}, a{1, 0.5, -0.7, 0.2};

}  // namespace

TEST_CASE("the projection on a plane has the derivatives of its formula, by the matrix and by conjugate gradients") {
  const auto [x, l] = ebb::compile(projected)(p, a, 0.4);
  CHECK(ebb::sum(a * x) == Approx(0.4).epsilon(1e-14));
  const double multiplier = (ebb::sum(a * p) - 0.4) / ebb::sum(a * a);
  REQUIRE(l.size() == 1);
  CHECK(l(0) == Approx(multiplier).epsilon(1e-14));
  const auto narrow = std::get<1>(ebb::compile(ebb::under<ebb::autocast<ebb::bf16>>(projected))(p, a, 0.4));
  CHECK(narrow(0) == Approx(multiplier).epsilon(0.02));
  const auto [value, dp, da, ds] = ebb::value_and_grad<0, 1, 2>(of_projected<>)(p, a, 0.4);
  const auto [exact, ep, ea, es] = ebb::value_and_grad<0, 1, 2>(of_formula)(p, a, 0.4);
  CHECK(value == Approx(exact).epsilon(1e-14));
  check_near(dp, ep, 1e-13);
  check_near(da, ea, 1e-13);
  CHECK(ds == Approx(es).epsilon(1e-13));
  const auto [again, cp, ca, cs] = ebb::value_and_grad<0, 1, 2>(of_projected<ebb::by_cg<40>>)(p, a, 0.4);
  CHECK(again == value);
  check_near(cp, ep, 1e-11);
  check_near(ca, ea, 1e-11);
  CHECK(cs == Approx(es).epsilon(1e-11));
  check_near(ebb::hessian<1>(of_projected<>)(p, a, 0.4), ebb::hessian<1>(of_formula)(p, a, 0.4), 1e-11);
}

TEST_CASE(
    "the lowest point under two equations has the first and second derivatives of its formula, and dependent constraints are an error") {
  const auto x = ebb::compile(lowest_formula)(p, a);
  const auto [value, dc, da] = ebb::value_and_grad<1, 2>(of_lowest)(x, p, a);
  const auto [exact, ec, ea] = ebb::value_and_grad<0, 1>(of_lowest_formula)(p, a);
  CHECK(value == Approx(exact).epsilon(1e-13));
  check_near(dc, ec, 1e-12);
  check_near(da, ea, 1e-12);
  check_near(ebb::grad<0>(of_lowest)(x, p, a), vector::full(0, 4), 1e-300);  // x0 has none
  check_near(ebb::hessian<1>(of_lowest)(x, p, a), ebb::hessian<0>(of_lowest_formula)(p, a), 1e-11);
  CHECK(test::says(test::raised([&] { ebb::compile(lowest)(a, p, a); }), {"rank deficient"}));  // both constraints have gradients along a
}
