// test/solvers/root.cpp — methods of Newton, Broyden and Brent and halves of intervals, with derivatives of their solutions.
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

constexpr auto by_brent = [](auto lo, auto hi, auto a) { return ebb::brent(growth, lo, hi, a); };
constexpr auto brents_root = [](auto lo, auto hi, auto a) { return std::get<0>(ebb::brent(growth, lo, hi, a)); };
/// A root of high order at 0, and one beside a pole.
constexpr auto flat = [](auto x) { return x * x * x * x * x; };
constexpr auto pole = [](auto x) { return 1 / (x - 3) + 1; };
/// Equations whose solution is (1, 2, e) w, with a logarithm that is NaN to the left of it.
constexpr auto three = [](auto x, auto w) {
  const auto y = x / w;
  return ebb::stack<0>(ebb::log(y[2]) * y[1] - 2, y[0] * y[1] - 2 + ebb::log(y[2]) - 1, ebb::square(y[1]) - y[0] * 4);
};
constexpr auto by_broyden = [](auto x0, auto w) { return ebb::broyden(three, x0, w); };
constexpr auto of_broyden = [](auto x0, auto w) { return ebb::sum(ebb::sin(std::get<0>(ebb::broyden(three, x0, w)))); };
constexpr auto roots_of_both = [](auto x0, auto w, auto a) {
  return std::tuple(ebb::implicit_root(three, [](auto x, auto v) { return std::get<0>(ebb::broyden(three, x, v)); }, x0, w),
                    ebb::implicit_root(growth, [](auto x, auto b) { return std::get<0>(ebb::brent(growth, x, x + 4, b)); }, a * 0, a));
};

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

TEST_CASE("brent finds the roots of bisection in fewer steps, and they have the derivatives of Lambert's function, first and second") {
  const auto solve = ebb::compile(by_brent);
  const auto halves = ebb::compile(by_halves);
  for (const double a : {1e-3, 1.0, 5.0, 1e10}) {
    const auto [x, steps, converged] = solve(-1.0, 30.0, a);
    CHECK(converged);
    CHECK(steps < 25);
    CHECK(std::abs(x - std::get<0>(halves(-1.0, 30.0, a))) <= 4 * 0x1p-52 * std::abs(x));
    const auto [value, slope] = ebb::value_and_grad<2>(brents_root)(30.0, -1.0, a);
    CHECK(value == x);
    CHECK(slope == Approx(x / (a * (1 + x))).epsilon(1e-12));
  }
  const double w = 0.5671432904097838;
  CHECK(ebb::grad<2>(ebb::grad<2>(brents_root))(0.0, 2.0, 1.0) == Approx(-w * w * (w + 2) / std::pow(1 + w, 3)).epsilon(1e-12));
  CHECK(std::get<0>(solve(-0.9, 2000.0, 1.0)) == Approx(w).epsilon(1e-15));  // f is infinite at the end
  CHECK(std::get<0>(solve(0.0, 1.0, 0.0)) == 0);
  CHECK(std::get<0>(solve(-1.0, 0.0, 0.0)) == 0);
  const auto [none, m, missed] = solve(1.0, 2.0, 1.0);
  CHECK(std::isnan(none));
  CHECK(!missed);
  CHECK(m == 0);
  CHECK(std::isnan(std::get<0>(solve(0.0, 2.0, std::nan("")))));
}

TEST_CASE("brent at a root of fifth order, beside a pole, in float and for each row") {
  const auto [zero, steps, converged] = ebb::compile([](auto lo, auto hi) { return ebb::brent(flat, lo, hi); })(-1.0, 4.0);
  CHECK(converged);
  CHECK(std::abs(zero) < 1e-15);
  CHECK(steps < 400);
  const auto [two, n, ok] = ebb::compile([](auto lo, auto hi) { return ebb::brent(pole, lo, hi); })(-1e6, 2.9999);
  CHECK(ok);
  CHECK(n < 80);
  CHECK(two == Approx(2).epsilon(1e-14));
  const auto [rows, counts, all] = ebb::compile([](auto a) {
    return ebb::map([](auto b) { return ebb::brent(growth, b * 0, b * 0 + 3, b); }, a);
  })(tensor<float, 3>{0.5f, 1, 2});
  for (const std::size_t i : {0u, 1u, 2u}) {
    CHECK(all(i));
    CHECK(rows(i) * std::exp(rows(i)) == Approx(0.5 * static_cast<double>(1u << i)).epsilon(1e-6));
  }
}

TEST_CASE("broyden solves three equations with one Jacobian, comes back from NaN, and has the derivatives of the solution") {
  const tensor<double, 3> start{1.5, 1.6, 2.5};
  const auto [x, steps, converged] = ebb::compile(by_broyden)(start, 1.5);
  CHECK(converged);
  CHECK(steps < 40);
  const double solution[] = {1, 2, std::exp(1.0)};
  for (const std::size_t i : {0u, 1u, 2u}) CHECK(x(i) == Approx(1.5 * solution[i]).epsilon(1e-13));
  double first = 0, second = 0;
  for (const double s : solution) first += std::cos(1.5 * s) * s, second -= std::sin(1.5 * s) * s * s;
  CHECK(ebb::grad<1>(of_broyden)(start, 1.5) == Approx(first).epsilon(1e-12));
  CHECK(ebb::grad<1>(ebb::grad<1>(of_broyden))(start, 1.5) == Approx(second).epsilon(1e-10));
  CHECK(!std::get<2>(ebb::compile(by_broyden)(start, std::nan(""))));

  const auto [back, n, ok] = ebb::compile([](auto x0) { return ebb::broyden([](auto v) { return ebb::log(v); }, x0); })(9.0);
  CHECK(ok);  // the first steps of full length are below 0
  CHECK(n < 40);
  CHECK(back == Approx(1).epsilon(1e-14));
  const auto [nowhere, many, found] = ebb::compile([](auto x0) { return ebb::broyden([](auto v) { return v * v + 1; }, x0); })(2.0);
  static_cast<void>(nowhere);
  CHECK(!found);
  CHECK(many <= 200);
}

TEST_CASE("broyden and brent are solvers of implicit_root") {
  const auto [x, y] = ebb::compile(roots_of_both)(tensor<double, 3>{1.5, 1.6, 2.5}, 1.5, 2.0);
  CHECK(x(2) == Approx(1.5 * std::exp(1.0)).epsilon(1e-13));
  CHECK(y * std::exp(y) == Approx(2).epsilon(1e-14));
}
