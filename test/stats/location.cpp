// test/stats/location.cpp — log densities by location and scale against long double, at infinities, and everywhere.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using stats_test::check_density, stats_test::inf, stats_test::long_numbers, stats_test::nan, stats_test::numbers, stats_test::pi,
    stats_test::point;
using stats_test::valued;

constexpr auto student_of = [](auto v) { return ebb::student_t_lpdf(v[0], v[1], v[2], v[3]); };
constexpr auto cauchy_of = [](auto v) { return ebb::cauchy_lpdf(v[0], v[1], v[2]); };
constexpr auto half_cauchy_of = [](auto v) { return ebb::half_cauchy_lpdf(v[0], v[1]); };
constexpr auto laplace_of = [](auto v) { return ebb::laplace_lpdf(v[0], v[1], v[2]); };
constexpr auto logistic_of = [](auto v) { return ebb::logistic_lpdf(v[0], v[1], v[2]); };
constexpr auto gumbel_of = [](auto v) { return ebb::gumbel_lpdf(v[0], v[1], v[2]); };
constexpr auto uniform_of = [](auto v) { return ebb::uniform_lpdf(v[0], v[1], v[2]); };
constexpr auto von_mises_of = [](auto v) { return ebb::von_mises_lpdf(v[0], v[1], v[2]); };

long double lgamma_of(long double x) { return std::lgamma(x); }

TEST_CASE("densities by location and scale, and their first and second derivatives, are those of their formulas") {
  const numbers x{0.5, -2, 3, 40, 0.125, 1, 0, 7, 0, 1, -1, 0.5, 0.25, 2, 0.5, -30, 1, 2, 0.5, 1, 3, 0.125, 10, 4};
  numbers t(x.begin(), x.begin() + 8);
  for (double nu : {1., 3., 0.5, 30., 500., 2., 7.5, 1e4}) t.push_back(nu);
  t.insert(t.end(), x.begin() + 8, x.end());
  check_density<4, 8>("student_t", student_of, t, [](const long_numbers& v) {
    const long double nu = v[1], z = (v[0] - v[2]) / v[3];
    const long double constant = lgamma_of((nu + 1) / 2) - lgamma_of(nu / 2) - std::log(nu * pi) / 2 - std::log(v[3]);
    return valued{constant - (nu + 1) / 2 * std::log1p(z * z / nu), std::fabs(std::log(nu)) + std::fabs(std::log(v[3]))};
  }, 8);
  check_density<3, 8>("cauchy", cauchy_of, x, [](const long_numbers& v) {
    const long double z = (v[0] - v[1]) / v[2];
    return valued{-std::log(pi * v[2] * (1 + z * z)), 2 + std::fabs(std::log(v[2]))};
  }, 4);
  check_density<2, 4>("half_cauchy", half_cauchy_of, {0.5, 3, 1e5, 0.25, 1, 2, 0.5, 8}, [](const long_numbers& v) {
    const long double z = v[0] / v[1];
    return valued{std::log(2 / pi) - std::log(v[1] * (1 + z * z)), 2 + std::fabs(std::log(v[1]))};
  }, 4);
  check_density<3, 8>("laplace", laplace_of, x, [](const long_numbers& v) {
    const long double z = std::fabs(v[0] - v[1]) / v[2];
    return valued{-z - std::log(2 * v[2]), z + std::fabs(std::log(v[2]))};
  }, 3);
  check_density<3, 8>("logistic", logistic_of, x, [](const long_numbers& v) {
    const long double z = std::fabs(v[0] - v[1]) / v[2];
    return valued{-z - 2 * std::log1p(std::exp(-z)) - std::log(v[2]), z + std::fabs(std::log(v[2]))};
  }, 4);
  const numbers y{0.5, -2, 3, 4, 0.125, 1, 0, 7, 0, 1, -1, 0.5, 0.25, 2, 0.5, -3, 1, 2, 0.5, 1, 3, 0.5, 10, 4};
  check_density<3, 8>("gumbel", gumbel_of, y, [](const long_numbers& v) {
    const long double z = (v[0] - v[1]) / v[2], e = std::exp(-z);
    return valued{-z - e - std::log(v[2]), std::fabs(z) + e * (1 + std::fabs(z)) + std::fabs(std::log(v[2]))};
  }, 4);
  check_density<3, 2>(
      "uniform", uniform_of, {0.5, -2, 0, -3, 1, 7}, [](const long_numbers& v) { return valued{-std::log(v[2] - v[1])}; }, 2);
  const numbers angles{0.5, -2, 3, 9, 0, 1, -1, 0.5, 1, 20, 0.25, 300};
  check_density<3, 4>("von_mises", von_mises_of, angles, [](const long_numbers& v) {
    // 2 pi i0e(kappa) as the mean of e^(kappa (cos - 1)) over 2,000 angles: exact for so smooth a function.
    long double sum = 0;
    for (int i = 0; i < 2000; ++i) sum += std::exp(v[2] * (std::cos(2 * pi * i / 2000) - 1));
    return valued{v[2] * (std::cos(v[0] - v[1]) - 1) - std::log(2 * pi * sum / 2000), 2 + v[2] + std::fabs(std::log(v[2]))};
  }, 8);
}

TEST_CASE("densities by location and scale are right at infinities, at their centre, and for bad parameters") {
  for (double x : {inf, -inf}) {
    CHECK(point<4>(student_of, {x, 3, 0, 1})[0] == -inf);
    CHECK(point<3>(cauchy_of, {x, 0, 1})[0] == -inf);
    CHECK(point<3>(laplace_of, {x, 0, 1})[0] == -inf);
    CHECK(point<3>(logistic_of, {x, 0, 1})[0] == -inf);
    CHECK((point<3>(gumbel_of, {x, 0, 1}) == numbers{-inf, 0, 0, 0} && point<3>(uniform_of, {x, 0, 1}) == numbers{-inf, 0, 0, 0}));
    CHECK(point<2>(half_cauchy_of, {x, 1}) == numbers{-inf, 0, 0});
  }
  // Squares that would overflow.
  CHECK(point<3>(cauchy_of, {1e200, 0, 1})[0] == Approx(-std::log(3.14159265358979323846) - 400 * std::log(10)).epsilon(1e-14));
  CHECK(point<3>(cauchy_of, {1e200, 0, 1})[1] == Approx(-2e-200).epsilon(1e-14));
  CHECK(point<4>(student_of, {1e200, 1, 0, 1})[0] == Approx(point<3>(cauchy_of, {1e200, 0, 1})[0]).epsilon(1e-14));
  CHECK(point<3>(gumbel_of, {-800, 0, 1})[0] == -inf);
  CHECK((point<3>(laplace_of, {2, 2, 1})[1] == 0 && point<3>(logistic_of, {2, 2, 1})[1] == 0 && point<3>(cauchy_of, {2, 2, 1})[1] == 0));
  const numbers above = point<3>(uniform_of, {1.5, 0, 1}), end = point<3>(uniform_of, {1, 0, 2});
  CHECK((above == numbers{-inf, 0, 0, 0} && end == numbers{-std::log(2), 0, 0.5, -0.5}));
  CHECK(point<2>(half_cauchy_of, {0, 1})[0] == Approx(std::log(2 / 3.14159265358979323846)));
  CHECK(point<3>(von_mises_of, {1, 2, 0})[0] == Approx(-std::log(2 * 3.14159265358979323846)));
  // Many degrees of freedom: the normal distribution, with no digits lost to the gamma function.
  CHECK(point<4>(student_of, {1, 1e12, 0, 1})[0] == Approx(-0.5 - 0.5 * std::log(2 * 3.14159265358979323846)).epsilon(1e-11));
  for (const numbers& bad : {numbers{nan, 0, 1}, numbers{0.5, nan, 1}, numbers{0.5, 0, nan}, numbers{0.5, 0, -1}, numbers{0.5, 0, inf}}) {
    CHECK(std::isnan(point<4>(student_of, {bad[0], 2, bad[1], bad[2]})[0]));
    CHECK(std::isnan(point<3>(cauchy_of, bad)[0]));
    CHECK(std::isnan(point<3>(laplace_of, bad)[0]));
    CHECK(std::isnan(point<3>(logistic_of, bad)[0]));
    CHECK(std::isnan(point<3>(gumbel_of, bad)[0]));
    CHECK(std::isnan(point<3>(von_mises_of, bad)[0]));
  }
  CHECK((std::isnan(point<3>(uniform_of, {nan, 0, 1})[0]) && std::isnan(point<3>(uniform_of, {0, 0, 0})[0])));
  CHECK((std::isnan(point<4>(student_of, {0, 0, 0, 1})[0]) && std::isnan(point<4>(student_of, {0, -2, 0, 1})[0])));
}

TEST_CASE("log densities by location and scale have the same bits in loops, map, on the tape and captured") {
  using T = float;
  const std::vector<T> x{T(0.3), T(0.7), 1, T(1.7), 3, 5, T(-7.5), T(0.1), T(-0.25)};
  test::check_everywhere<T>(
      [](auto a) {
        return ebb::student_t_lpdf(a, 3, 0.5, a * a + 1) * ebb::logistic_lpdf(a, 0, 2) +
               ebb::gumbel_lpdf(a, 1, 2) * ebb::von_mises_lpdf(a, 0, a * a);
      },
      x);
}

}  // namespace
