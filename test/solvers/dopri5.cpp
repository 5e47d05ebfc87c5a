// test/solvers/dopri5.cpp — differential equations with known solutions, their order, and gradients against formulas and differences.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <tuple>

namespace {

using state = ebb::tensor<double, 2>;

/// Growth with a limit, faster with time: a function of p (t1^2 - t0^2) / 2. From below 0 it has a pole.
constexpr auto growth = [](auto t, auto y, auto p) { return p * t * y * (1 - y); };
constexpr auto grown_roughly = [](auto y, auto t0, auto t1, auto p) { return ebb::dopri5<ebb::tolerance<5>>(growth, y, t0, t1, p); };
constexpr auto of_end = [](auto y, auto t0, auto t1, auto p) {
  const auto [end, steps, converged] = ebb::dopri5<ebb::tolerance<11>, ebb::at_most<400>>(growth, y, t0, t1, p);
  return std::tuple(ebb::sum(end * end), end, steps, converged);
};
double exact(double y, double t0, double t1, double p) { return 1 / (1 + (1 / y - 1) * std::exp(-p * (t1 * t1 - t0 * t0) / 2)); }

}  // namespace

TEST_CASE("dopri5 follows growth to the tolerance, with few steps if that is large, and stops before a pole") {
  const auto solve = ebb::compile(grown_roughly);
  const auto [end, steps, converged] = solve(state{0.1, 0.7}, 0.0, 3.0, 0.8);
  CHECK(converged);
  CHECK(steps < 40);
  CHECK(end(0) == Approx(exact(0.1, 0, 3, 0.8)).margin(1e-4));
  CHECK(std::abs(end(0) - exact(0.1, 0, 3, 0.8)) > 1e-10);
  const auto [same, none, at_once] = solve(state{0.1, 0.7}, 2.0, 2.0, 0.8);
  CHECK(none == 0);
  CHECK(at_once);
  CHECK(same(0) == 0.1);
  const double pole = std::sqrt(2 / 0.8 * std::log(3.0));  // of y0 = -1/2
  CHECK(std::get<2>(solve(state{-0.5, 0.7}, 0.0, 0.9 * pole, 0.8)));
  CHECK(!std::get<2>(solve(state{-0.5, 0.7}, 0.0, 1.5 * pole, 0.8)));
  CHECK(!std::get<2>(solve(state{1, std::nan("")}, 0.0, 1.0, 0.8)));
  CHECK(!std::get<2>(solve(state{0.1, 0.7}, 0.0, 1e7, 0.8)));  // more than 1,000 steps
}

TEST_CASE("dopri5 runs forward and backward in time, and its gradients by the state, both times and the parameter are the solution's") {
  const state y{0.1, 0.7};
  const double p = 0.8, h = 1e-6;
  const auto both = ebb::value_and_grad<0, 1, 2, 3>(of_end, ebb::has_aux);
  const auto [value, end, steps, converged, dy, from, to, dp] = both(y, 0.5, 2.0, p);
  const auto squares = [](double a, double b, double t0, double t1, double q) {
    return exact(a, t0, t1, q) * exact(a, t0, t1, q) + exact(b, t0, t1, q) * exact(b, t0, t1, q);
  };
  CHECK(converged);
  CHECK(steps > 20);
  CHECK(steps < 400);
  for (const std::size_t i : {0u, 1u}) CHECK(end(i) == Approx(exact(y(i), 0.5, 2, p)).margin(1e-10));
  CHECK(value == Approx(squares(0.1, 0.7, 0.5, 2, p)).epsilon(1e-10));
  const auto back = both(end, 2.0, 0.5, p);
  CHECK(std::get<3>(back));
  for (const std::size_t i : {0u, 1u}) CHECK(std::get<1>(back)(i) == Approx(y(i)).margin(1e-9));
  CHECK(dy(0) == Approx((squares(0.1 + h, 0.7, 0.5, 2, p) - squares(0.1 - h, 0.7, 0.5, 2, p)) / (2 * h)).epsilon(1e-7));
  CHECK(dy(1) == Approx((squares(0.1, 0.7 + h, 0.5, 2, p) - squares(0.1, 0.7 - h, 0.5, 2, p)) / (2 * h)).epsilon(1e-7));
  CHECK(from == Approx((squares(0.1, 0.7, 0.5 + h, 2, p) - squares(0.1, 0.7, 0.5 - h, 2, p)) / (2 * h)).epsilon(1e-7));
  CHECK(to == Approx((squares(0.1, 0.7, 0.5, 2 + h, p) - squares(0.1, 0.7, 0.5, 2 - h, p)) / (2 * h)).epsilon(1e-7));
  CHECK(dp == Approx((squares(0.1, 0.7, 0.5, 2, p + h) - squares(0.1, 0.7, 0.5, 2, p - h)) / (2 * h)).epsilon(1e-7));
}
