// test/solvers/root.cpp — Newton's method and halves of intervals, with derivatives of their solutions.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <tuple>

namespace {

using ebb::tensor;

constexpr auto kepler = [](auto e, auto m, auto c) { return e - c * ebb::sin(e) - m; };
constexpr auto anomaly = [](auto m, auto c) { return std::get<0>(ebb::newton(kepler, m, m, c)); };
constexpr auto anomaly_with_status = [](auto m, auto c) { return ebb::newton(kepler, m, m, c); };
/// The circle of radius r and the line y = s x.
constexpr auto crossing = [](auto p, auto r, auto s) {
  const auto x = p[0], y = p[1];
  return ebb::stack<0>(ebb::square(x) + ebb::square(y) - r * r, y - s * x);
};
constexpr auto growth = [](auto x, auto a) { return ebb::exp(x) * x - a; };
constexpr auto by_halves = [](auto lo, auto hi, auto a) { return ebb::bisection(growth, lo, hi, a); };
constexpr auto halved_root = [](auto lo, auto hi, auto a) { return std::get<0>(ebb::bisection(growth, lo, hi, a)); };

}  // namespace

TEST_CASE("newton solves Kepler's equation and two equations, and its solutions have the derivatives of the formula") {
  const auto [e, steps, converged] = ebb::compile(anomaly_with_status)(0.7, 0.3);
  CHECK(converged);
  CHECK(steps < 10);
  CHECK(e - 0.3 * std::sin(e) == Approx(0.7).epsilon(1e-15));
  const auto [dm, dc] = ebb::grad<0, 1>(anomaly)(0.7, 0.3);
  CHECK(dm == Approx(1 / (1 - 0.3 * std::cos(e))).epsilon(1e-14));
  CHECK(dc == Approx(std::sin(e) / (1 - 0.3 * std::cos(e))).epsilon(1e-14));
  CHECK(std::get<1>(ebb::jvp<0>(anomaly)(0.7, 0.3, 1.0)) == Approx(dm).epsilon(1e-14));
  const auto at_nan = ebb::compile(anomaly_with_status)(std::nan(""), 0.3);
  CHECK(!std::get<2>(at_nan));
  CHECK(std::get<1>(at_nan) == 0);

  const auto [p, n, ok] = ebb::compile([](auto p0, auto r, auto s) { return ebb::newton(crossing, p0, r, s); })(
      tensor<double, 2>{1, 1}, 2.0, 0.5);
  CHECK(ok);
  CHECK(p(0) == Approx(2 / std::sqrt(1.25)).epsilon(1e-14));
  CHECK(p(1) == Approx(1 / std::sqrt(1.25)).epsilon(1e-14));
  const auto by_slope = ebb::grad<2>([](auto p0, auto r, auto s) { return std::get<0>(ebb::newton(crossing, p0, r, s))[0]; })(
      tensor<double, 2>{1, 1}, 2.0, 0.5);
  CHECK(by_slope == Approx(-2 * 0.5 / std::pow(1.25, 1.5)).epsilon(1e-13));
}

TEST_CASE("bisection ends between neighbours, from any interval, and its root has the derivatives of Lambert's function") {
  const auto solve = ebb::compile(by_halves);
  for (const double a : {1e-3, 1.0, 5.0, 1e10}) {
    const auto [x, steps, converged] = solve(-1.0, 50.0, a);
    CHECK(converged);
    CHECK(steps < 70);
    const auto f = [&](double v) { return std::exp(v) * v - a; };
    CHECK(f(std::nextafter(x, -1e300)) <= 0);
    CHECK(f(std::nextafter(x, 1e300)) >= 0);
    const auto [value, slope] = ebb::value_and_grad<2>(halved_root)(50.0, -1.0, a);  // the ends the other way round
    CHECK(value == x);
    CHECK(slope == Approx(x / (a * (1 + x))).epsilon(1e-12));
  }
  const auto [all, n, found] = solve(-0.9, 1.7e308, 1.0);  // f is infinite at the end
  CHECK(found);
  CHECK(all == Approx(0.5671432904097838).epsilon(1e-15));
  CHECK(n < 1200);
  CHECK(std::get<0>(solve(0.0, 1.0, 0.0)) == 0);
  CHECK(std::get<0>(solve(-1.0, 0.0, 0.0)) == 0);
  const auto [none, m, missed] = solve(1.0, 2.0, 1.0);
  CHECK(std::isnan(none));
  CHECK(!missed);
  CHECK(m == 0);
  CHECK(!std::get<2>(solve(0.0, 2.0, std::nan(""))));
  const auto [rows, steps, ok] = ebb::compile([](auto a) {
    return ebb::map([](auto b) { return ebb::bisection(growth, b * 0, b * 0 + 3, b); }, a);
  })(tensor<double, 3>{0.5, 1, 2});
  for (const std::size_t i : {0u, 1u, 2u}) CHECK(rows(i) == std::get<0>(solve(0.0, 3.0, 0.5 * static_cast<double>(1u << i))));
}
