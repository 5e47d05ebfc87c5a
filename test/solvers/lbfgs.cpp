// test/solvers/lbfgs.cpp — minima of standard problems, against their solutions, with derivatives against formulas and differences.
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
using floats = tensor<float, ebb::dyn>;

/// Rosenbrock's function of many variables: its minimum is at scale, scale^2, scale^4...
constexpr auto valley = [](auto x, auto scale) {
  const auto a = ebb::slice<0, 0, -1>(x), b = ebb::slice<0, 1>(x);
  return ebb::sum(100 * ebb::square(b - a * a)) + ebb::square(scale - ebb::take<0>(x, 0));
};
constexpr auto in_valley = [](auto x0, auto scale) {
  const auto [x, steps, converged] = ebb::lbfgs<ebb::by_cg<50>>(valley, x0, scale);
  return std::tuple(ebb::sum(ebb::sin(x)), x, steps, converged);
};
constexpr auto steep = [](auto x) { return ebb::sum(ebb::log(x) * x); };  // NaN where x < 0
constexpr auto to_minimum = [](auto x) { return ebb::lbfgs(steep, x); };

}  // namespace

TEST_CASE("lbfgs finds the minimum of Rosenbrock's function with 2 and with 6 variables, and its derivative by a parameter") {
  const auto solve = ebb::value_and_grad<1>(in_valley, ebb::has_aux);
  const auto [sines, x, steps, converged, slope] = solve(vector{-1.2, 1}, 1.1);
  CHECK(converged);
  CHECK(steps < 60);
  CHECK(x(0) == Approx(1.1).epsilon(1e-10));
  CHECK(x(1) == Approx(1.21).epsilon(1e-10));
  CHECK(sines == Approx(std::sin(1.1) + std::sin(1.21)).epsilon(1e-10));
  CHECK(slope == Approx(std::cos(1.1) + std::cos(1.21) * 2.2).epsilon(1e-9));
  vector start(6);
  for (std::size_t i = 0; i < 6; ++i) start.mutable_data()[i] = 1 + 0.5 * std::sin(static_cast<double>(i));
  const auto [of_all, all, n, ok, none] = solve(start, 1.0);
  CHECK(ok);
  CHECK(n < 700);
  for (std::size_t i = 0; i < 6; ++i) CHECK(all(i) == Approx(1).epsilon(1e-6));
  const auto [at, there, stays, at_once, by_scale] = solve(vector{1, 1}, 1.0);
  CHECK(stays == 0);
  CHECK(at_once);
  CHECK(by_scale == Approx(std::cos(1.0) * 3).epsilon(1e-9));
  CHECK(!std::get<3>(solve(vector{1, std::nan("")}, 1.0)));
}

TEST_CASE("the line search of lbfgs comes back from where the function is NaN, in float") {
  const auto [x, steps, converged] = ebb::compile(to_minimum)(floats{3, 0.01f, 40});
  CHECK(converged);
  CHECK(steps < 60);
  for (const std::size_t i : {0u, 1u, 2u}) CHECK(x(i) == Approx(std::exp(-1)).epsilon(1e-3));
}
