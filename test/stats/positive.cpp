// test/stats/positive.cpp — log densities of positive numbers and of proportions against long double, at the ends of their supports.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using stats_test::check_density, stats_test::inf, stats_test::long_numbers, stats_test::nan, stats_test::numbers, stats_test::point;
using stats_test::valued;

constexpr auto exponential_of = [](auto v) { return ebb::exponential_lpdf(v[0], v[1]); };
constexpr auto gamma_of = [](auto v) { return ebb::gamma_lpdf(v[0], v[1], v[2]); };
constexpr auto chi_squared_of = [](auto v) { return ebb::chi_squared_lpdf(v[0], v[1]); };
constexpr auto inverse_gamma_of = [](auto v) { return ebb::inverse_gamma_lpdf(v[0], v[1], v[2]); };
constexpr auto beta_of = [](auto v) { return ebb::beta_lpdf(v[0], v[1], v[2]); };
constexpr auto weibull_of = [](auto v) { return ebb::weibull_lpdf(v[0], v[1], v[2]); };
constexpr auto pareto_of = [](auto v) { return ebb::pareto_lpdf(v[0], v[1], v[2]); };

valued exact_gamma(long double x, long double a, long double b) {
  const long double m = b * x;
  return {a * std::log(b) + (a - 1) * std::log(x) - m - std::lgamma(a),
          std::fabs(m - a) + m * (a < 9) + std::fabs((a - 1) * std::log(m)) * (a < 9)};
}

TEST_CASE("densities of positive numbers, and their first and second derivatives, are those of their formulas") {
  check_density<2, 4>("exponential", exponential_of, {0.5, 3, 700, 0.01, 1, 0.25, 2, 8}, [](const long_numbers& v) {
    return valued{std::log(v[1]) - v[0] * v[1], std::fabs(std::log(v[1])) + v[0] * v[1]};
  }, 2);
  const numbers g{0.5, 2, 3, 40, 0.125, 120, 0.75, 7, /* shape */ 1, 2.5, 0.5, 35, 8, 250, 9, 0.25, /* rate */ 1, 2, 0.5, 1, 3, 2, 10, 4};
  check_density<3, 8>("gamma", gamma_of, g, [](const long_numbers& v) { return exact_gamma(v[0], v[1], v[2]); }, 10);
  check_density<2, 4>("chi_squared", chi_squared_of, {0.5, 3, 30, 100, 1, 4, 20, 90}, [](const long_numbers& v) {
    return exact_gamma(v[0], v[1] / 2, 0.5L);
  }, 10);
  const numbers inverse{0.5, 2, 3, 0.125, 3, 2.5, 0.5, 35, 1, 2, 0.5, 4};
  check_density<3, 4>("inverse_gamma", inverse_gamma_of, inverse, [](const long_numbers& v) {
    const valued y = exact_gamma(1 / v[0], v[1], v[2]);
    return valued{y.value - 2 * std::log(v[0]), y.size + std::fabs(2 * std::log(v[0]))};
  }, 10, 1e-5L);
  const numbers b{0.5, 0.125, 0.75, 0.375, 0.25,      0.9, 0.6, 0.3, /* a */ 1, 2.5, 0.5, 35,
                  8,   250,   9,    0.25,  /* b */ 1, 2,   0.5, 60,  30,        25,  10,  4};
  check_density<3, 8>(
      "beta", beta_of, b,
      [](const long_numbers& v) {
        const long double value =
            (v[1] - 1) * std::log(v[0]) + (v[2] - 1) * std::log1p(-v[0]) + std::lgamma(v[1] + v[2]) - std::lgamma(v[1]) - std::lgamma(v[2]);
        return valued{value, std::fabs((v[1] + v[2]) * v[0] - v[1]) + std::min(16.0L, v[1] + v[2])};
      },
      10);
  const numbers w{0.5, 2, 3, 0.125, 1, 2.5, 0.5, 4, 1, 2, 0.5, 3};
  check_density<3, 4>("weibull", weibull_of, w, [](const long_numbers& v) {
    const long double z = v[0] / v[2], p = std::pow(z, v[1]), l = (v[1] - 1) * std::log(z);
    return valued{std::log(v[1] / v[2]) + l - p, std::max({p, std::fabs(l), std::fabs(std::log(v[1])), std::fabs(std::log(v[2]))})};
  }, 6);
  const numbers p{1.5, 2, 3, 1e6, 1, 0.5, 2, 4, 1, 2.5, 0.5, 4};
  check_density<3, 4>("pareto", pareto_of, p, [](const long_numbers& v) {
    const long double l = (v[2] + 1) * std::log(v[0]), m = v[2] * std::log(v[1]);
    return valued{std::log(v[2]) + m - l, std::max({std::fabs(l), std::fabs(m), std::fabs(std::log(v[2]))})};
  }, 6);
}

TEST_CASE("densities of large shapes do not cancel") {
  // At x = shape / rate the density is about sqrt(rate^2 / (2 pi shape)): with lgamma, float would have no digit left.
  const auto worst = [](auto f, const numbers& x, auto oracle) { return stats_test::worst_error<float, 3, 2>(f, x, oracle); };
  CHECK(worst(gamma_of, {1000000, 65536, 1000000, 65536, 1, 1}, [](const long_numbers& v) { return exact_gamma(v[0], v[1], v[2]); }) < 40);
  CHECK(worst(beta_of, {0.5, 0.25, 100000, 65536, 100000, 196608}, [](const long_numbers& v) {
          return valued{(v[1] - 1) * std::log(v[0]) + (v[2] - 1) * std::log1p(-v[0]) + std::lgamma(v[1] + v[2]) - std::lgamma(v[1]) -
                        std::lgamma(v[2])};
        }) < 40);
}

TEST_CASE("densities of positive numbers are -inf with the gradient 0 outside of their supports") {
  const auto check = [](auto f, double shape, double scale, std::initializer_list<double> outside) {
    for (double x : outside) CHECK(point<3>(f, {x, shape, scale}) == numbers{-inf, 0, 0, 0});
    for (const numbers& bad :
         {numbers{nan, shape, scale}, numbers{0.5, nan, scale}, numbers{0.5, shape, nan}, numbers{0.5, -1, scale}, numbers{0.5, 0, scale}})
      CHECK(std::isnan(point<3>(f, bad)[0]));
  };
  for (double shape : {0.5, 1., 3., 20.}) {
    check(gamma_of, shape, 2, {-1, -inf, inf});
    check(inverse_gamma_of, shape, 2, {-1, -inf, inf, 0});
    check(weibull_of, shape, 2, {-1, -inf, inf});
    check(beta_of, shape, 2, {-1, -inf, inf, 1.5, -0.25});
    check(pareto_of, 0.25, shape, {-1, -inf, inf, 0.125, 0});
  }
  CHECK((point<2>(exponential_of, {-1, 2}) == numbers{-inf, 0, 0} && point<2>(exponential_of, {inf, 2}) == numbers{-inf, 0, 0}));
  CHECK((point<2>(chi_squared_of, {-1, 2}) == numbers{-inf, 0, 0} && std::isnan(point<2>(exponential_of, {1, -2})[0])));
}

TEST_CASE("densities of positive numbers have their limits at the ends of their supports") {
  CHECK(point<2>(exponential_of, {0, 2}) == numbers{std::log(2), -2, 0.5});
  const numbers flat = point<3>(gamma_of, {0, 1, 2});
  CHECK((flat[0] == Approx(std::log(2)) && flat[1] == -2 && flat[3] == 0.5));
  CHECK((point<3>(gamma_of, {0, 0.5, 2})[0] == inf && point<3>(gamma_of, {0, 1.5, 2})[0] == -inf &&
         point<3>(gamma_of, {0, 20, 2})[0] == -inf));
  CHECK((point<2>(chi_squared_of, {0, 2})[0] == Approx(-std::log(2)) && point<2>(chi_squared_of, {0, 1})[0] == inf));
  CHECK((point<3>(weibull_of, {0, 1, 2})[0] == Approx(-std::log(2)) && point<3>(weibull_of, {0, 1, 2})[1] == -0.5));
  CHECK((point<3>(weibull_of, {0, 0.5, 2})[0] == inf && point<3>(weibull_of, {0, 2, 2})[0] == -inf));
  for (double end : {0., 1.}) {
    const auto at = [&](double near, double far) {
      return end == 0 ? point<3>(beta_of, {end, near, far}) : point<3>(beta_of, {end, far, near});
    };
    CHECK((at(1, 3)[0] == Approx(std::log(3)).epsilon(1e-14) && at(0.5, 3)[0] == inf && at(1.5, 3)[0] == -inf));
    CHECK((at(1, 1)[0] == Approx(0).margin(1e-15) && at(1, 3)[1] == Approx(end == 0 ? -2 : 2).epsilon(1e-14)));
  }
  CHECK(point<3>(pareto_of, {0.5, 0.5, 2})[0] == Approx(std::log(4)));
  // 1 / x overflows.
  CHECK((point<3>(inverse_gamma_of, {1e-310, 2, 3})[0] == -inf &&
         point<3>(inverse_gamma_of, {1e300, 2, 3})[0] == Approx(2 * std::log(3) - 900 * std::log(10))));
}

TEST_CASE("log densities of positive numbers have the same bits in loops, map, on the tape and captured") {
  using T = float;
  test::check_everywhere<T>([](auto a) {
    return ebb::gamma_lpdf(a, a + 1, 0.5) * ebb::weibull_lpdf(a, 1.5, 2) + ebb::exponential_lpdf(a, a) * ebb::pareto_lpdf(a, 0.5, 3);
  }, {T(0.6), T(0.7), 1, T(1.7), 3, 5, T(7.5), 12, T(9.25)});
}

}  // namespace
