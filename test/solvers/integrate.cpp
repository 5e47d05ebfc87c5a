// test/solvers/integrate.cpp — adaptive integrals: polynomials, peaks, infinite limits, and those that do not converge.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../catch.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace {

using ebb::tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto powers = [](auto x, auto e) { return ebb::pow(x, e); };
constexpr auto peak = [](auto x, auto width) { return width / (width * width + ebb::square(x - 0.3)); };
constexpr auto bell = [](auto x, auto s) { return ebb::exp(-s * x * x); };
constexpr auto slope_of_bell = [](auto x, auto s) { return ebb::grad<1>(bell)(x, s); };
constexpr auto curvature_of_bell = [](auto x, auto s) { return ebb::grad<1>(slope_of_bell)(x, s); };
constexpr auto beat = [](auto x, auto w) { return ebb::sum(ebb::cos(w * x)); };

}  // namespace

TEST_CASE("integrate takes one rule for polynomials of degree 22, with limits in both orders, and its error is that of Gauss's rule") {
  for (int k = 0; k < 23; ++k) {
    const auto i = ebb::integrate(powers, 0.0, 1.0, static_cast<double>(k));
    CHECK(i.value == Approx(1.0 / (k + 1)).epsilon(1e-15));
    CHECK(i.converged);
    if (k < 14) CHECK(i.evaluations == 15);  // Gauss's 7 nodes are exact too
    CHECK(i.error >= std::abs(i.value - 1.0 / (k + 1)));
  }
  CHECK(ebb::integrate<ebb::at_most<1>>(powers, 0.0, 1.0, 40.0).value * 41 - 1 == Approx(5.104937e-8).epsilon(1e-6));  // by 15 nodes
  const auto down = ebb::integrate(powers, 2.0, 1.0, 3.0);
  CHECK(down.value == Approx(-15.0 / 4).epsilon(1e-15));
  CHECK(ebb::integrate(powers, 2.0, 2.0, 3.0).value == 0);
  CHECK(ebb::integrate([](auto) { return 2.0; }, -1.0, 2.0).value == Approx(6).epsilon(1e-15));
}

TEST_CASE("integrate halves parts at a peak and at an end where f is infinite") {
  const double width = 1e-4, exact = std::atan(0.7 / width) + std::atan(0.3 / width);
  const auto sharp = ebb::integrate(peak, 0.0, 1.0, width);
  CHECK(sharp.converged);
  CHECK(sharp.value == Approx(exact).epsilon(1e-10));
  CHECK(sharp.evaluations > 200);
  CHECK(sharp.evaluations < 2000);
  const auto few = ebb::integrate<ebb::at_most<3>>(peak, 0.0, 1.0, width);
  CHECK(!few.converged);
  CHECK(few.evaluations == 15 * 5);
  CHECK(few.error > 1e-3);
  const auto root = ebb::integrate(powers, 0.0, 1.0, -0.5);
  CHECK(root.converged);
  CHECK(root.value == Approx(2).epsilon(1e-9));
  CHECK(ebb::integrate<ebb::tolerance<12>>(beat, 0.0, 10.0, tensor<double, 2>{3, 5}).value ==
        Approx(std::sin(30) / 3 + std::sin(50) / 5).epsilon(1e-12));
}

TEST_CASE("integrate has infinite limits, for what falls fast and slowly, and the integral of a derivative is the derivative") {
  const double s = 2, half = std::sqrt(std::acos(-1) / s) / 2;
  const auto near = [](double x) { return Approx(x).epsilon(1e-11); };
  for (const auto& [from, to, exact] : {std::array{0.0, infinity, half}, {-infinity, 0.0, half}, {-infinity, infinity, 2 * half},
                                        {infinity, 0.0, -half}, {1.5, infinity, half * std::erfc(1.5 * std::sqrt(s))},
                                        {-infinity, -1.5, half * std::erfc(1.5 * std::sqrt(s))}}) {
    const auto i = ebb::integrate(bell, from, to, s);
    CHECK(i.converged);
    CHECK(i.value == near(exact));
  }
  CHECK(ebb::integrate(slope_of_bell, 0.0, infinity, s).value == near(-half / (2 * s)));
  CHECK(ebb::integrate(curvature_of_bell, 0.0, infinity, s).value == near(3 * half / (4 * s * s)));
  const auto slow = ebb::integrate(powers, 1.0, infinity, -1.25);
  CHECK(slow.converged);
  CHECK(slow.value == Approx(4).epsilon(1e-9));
  const auto both_ends = ebb::integrate([](auto x) { return ebb::exp(-x) / ebb::sqrt(x); }, 0.0, infinity);
  CHECK(both_ends.converged);
  CHECK(both_ends.value == Approx(std::sqrt(std::acos(-1))).epsilon(1e-9));
}

TEST_CASE("integrate of NaN and of an infinite integral has not converged") {
  CHECK(!ebb::integrate(bell, 0.0, 1.0, std::nan("")).converged);
  CHECK(!ebb::integrate<ebb::at_most<60>>(powers, 0.0, 1.0, -1.0).converged);
  CHECK(!ebb::integrate<ebb::at_most<60>>(powers, 1.0, infinity, -1.0).converged);
  CHECK(!ebb::integrate(bell, std::nan(""), 1.0, 1.0).converged);
  CHECK(!ebb::integrate(bell, 0.0, std::nan(""), 1.0).converged);
}
