// test/solvers/root.cpp — Newton's method and least squares on standard problems, with derivatives of their solutions.
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
constexpr auto rosenbrock = [](auto p) { return ebb::stack<0>(10 * (p[1] - p[0] * p[0]), 1 - p[0]); };
constexpr auto powell = [](auto p) {
  const auto a = p[0], b = p[1], c = p[2], d = p[3];
  return ebb::stack<0>(a + 10 * b, 2.23606797749979 * (c - d), ebb::square(b - 2 * c), 3.1622776601683795 * ebb::square(a - d));
};
constexpr auto decay = [](auto p, auto t, auto y) { return p[0] * ebb::exp(-p[1] * t) - y; };
constexpr auto fitted_rate = [](auto p0, auto t, auto y) { return std::get<0>(ebb::levenberg_marquardt(decay, p0, t, y))[1]; };

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

TEST_CASE("levenberg_marquardt finds the minima of Rosenbrock and Powell and fits a decay, whose rate has a gradient by the data") {
  const auto [x, n, ok] = ebb::compile([](auto p) { return ebb::levenberg_marquardt(rosenbrock, p); })(tensor<double, 2>{-1.2, 1});
  CHECK(ok);
  CHECK(n < 100);
  CHECK(x(0) == Approx(1).epsilon(1e-13));
  CHECK(x(1) == Approx(1).epsilon(1e-13));
  const auto [y, m, end] = ebb::compile([](auto p) { return ebb::levenberg_marquardt(powell, p); })(tensor<double, 4>{3, -1, 0, 1});
  static_cast<void>(end);  // its Jacobian is singular at the minimum: steps halve the distance
  CHECK(m <= 500);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(y(i)) < 1e-4);

  tensor<double, 8> t, data;
  for (std::size_t i = 0; i < 8; ++i) {
    t.mutable_data()[i] = 0.4 * static_cast<double>(i);
    data.mutable_data()[i] = 2.5 * std::exp(-0.8 * t(i)) + (i % 2 == 0 ? 0.02 : -0.03);
  }
  const tensor<double, 2> start{1, 1};
  const auto [rate, by_data] = ebb::value_and_grad<2>(fitted_rate)(start, t, data);
  CHECK(rate == Approx(0.8).epsilon(0.1));
  const auto fit = ebb::compile(fitted_rate);
  for (std::size_t i = 0; i < 8; i += 3) {
    tensor<double, 8> up = data, down = data;
    up.mutable_data()[i] += 1e-5;
    down.mutable_data()[i] -= 1e-5;
    CHECK(by_data(i) == Approx((fit(start, t, up) - fit(start, t, down)) / 2e-5).epsilon(1e-6));
  }
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
