// test/stats/sample.cpp — samples against their exact distribution functions, at edges of their parameters, and their exact bits.
// SPDX-License-Identifier: BSL-1.0
// covers: sample.hpp portable.hpp
#include "../catch.hpp"

#include <ebb/special/incomplete.hpp>
#include <ebb/stats/sample.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace {

constexpr std::size_t many = 20000;
// The distance that a test on `many` numbers exceeds once in a million keys. The keys are fixed.
const double far = 2.8 / std::sqrt(static_cast<double>(many));

/// The largest distance between the distribution function of the sample and cdf (Kolmogorov and Smirnov).
template <class How, class Cdf>
double distance(const How& how, Cdf cdf, int key = 7) {
  const ebb::tensor<double, many> x = ebb::sample<double, many>(key, how);
  std::vector<double> sorted(x.data(), x.data() + many);
  std::sort(sorted.begin(), sorted.end());
  double worst = 0;
  for (std::size_t i = 0; i < many; ++i) {
    const double p = cdf(sorted[i]);
    worst = std::max({worst, std::fabs(p - static_cast<double>(i) / many), std::fabs(p - static_cast<double>(i + 1) / many)});
  }
  return worst;
}
/// The same for counts: cdf(k) is the probability of at most k.
template <class How, class Cdf>
double distance_of_counts(const How& how, int most, Cdf cdf) {
  const ebb::tensor<std::int64_t, many> x = ebb::sample<std::int64_t, many>(7, how);
  std::vector<int> count(static_cast<std::size_t>(most) + 1);
  for (std::size_t i = 0; i < many; ++i) {
    REQUIRE((x(i) >= 0 && x(i) <= most));
    ++count[static_cast<std::size_t>(x(i))];
  }
  double worst = 0, sum = 0;
  for (int k = 0; k <= most; ++k) {
    sum += count[static_cast<std::size_t>(k)] / static_cast<double>(many);
    worst = std::max(worst, std::fabs(sum - cdf(k)));
  }
  return worst;
}

double normal_cdf_of(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

TEST_CASE("samples by inversion have their distribution functions") {
  CHECK(distance(ebb::exponential_distribution{2}, [](double x) { return -std::expm1(-2 * x); }) < far);
  CHECK(distance(ebb::laplace_distribution{1, 3}, [](double x) {
    const double z = (x - 1) / 3;
    return z < 0 ? std::exp(z) / 2 : 1 - std::exp(-z) / 2;
  }) < far);
  CHECK(distance(ebb::logistic_distribution{-1, 2}, [](double x) { return 1 / (1 + std::exp(-(x + 1) / 2)); }) < far);
  CHECK(distance(ebb::gumbel_distribution{1, 2}, [](double x) { return std::exp(-std::exp(-(x - 1) / 2)); }) < far);
  CHECK(distance(ebb::cauchy_distribution{1, 2}, [](double x) { return 0.5 + std::atan((x - 1) / 2) / 3.14159265358979323846; }) < far);
  // The test can tell: another rate, and another location.
  CHECK(distance(ebb::exponential_distribution{2.2}, [](double x) { return -std::expm1(-2 * x); }) > far);
  CHECK(distance(ebb::cauchy_distribution{1.15, 2}, [](double x) { return 0.5 + std::atan((x - 1) / 2) / 3.14159265358979323846; }) > far);
}

TEST_CASE("samples of the gamma distribution and its kin have their distribution functions") {
  for (double shape : {0.1, 0.5, 1., 2.5, 40., 1000.}) {
    INFO(shape);
    CHECK(distance(ebb::gamma_distribution{shape, 2}, [&](double x) { return ebb::lane::gammainc(shape, 2 * x); }) < far);
  }
  CHECK(distance(ebb::chi_squared_distribution{3}, [](double x) { return ebb::lane::gammainc(1.5, x / 2); }) < far);
  for (double nu : {1., 2.5, 30.}) {
    INFO(nu);
    CHECK(distance(ebb::student_t_distribution{nu, 1, 2}, [&](double x) {
      const double z = (x - 1) / 2, tail = 0.5 * ebb::lane::betainc(nu / 2, 0.5, nu / (nu + z * z));
      return z < 0 ? tail : 1 - tail;
    }) < far);
  }
  const double pairs[][2] = {{0.5, 0.5}, {1, 1}, {2, 5}, {30, 0.75}, {200, 300}};
  for (const auto& p : pairs) {
    INFO(p[0] << ' ' << p[1]);
    CHECK(distance(ebb::beta_distribution{p[0], p[1]}, [&](double x) { return ebb::lane::betainc(p[0], p[1], x); }) < far);
  }
  CHECK(distance(ebb::gamma_distribution{2.6, 2}, [](double x) { return ebb::lane::gammainc(2.5, 2 * x); }) > far);
}

TEST_CASE("samples of counts have their distribution functions") {
  for (double rate : {0.25, 3., 9.5, 10., 40., 900.}) {
    INFO(rate);
    const int most = static_cast<int>(rate + 12 * std::sqrt(rate) + 12);
    CHECK(distance_of_counts(ebb::poisson_distribution{rate}, most, [&](int k) { return ebb::lane::gammaincc(k + 1.0, rate); }) < far);
  }
  const double cases[][2] = {{1, 0.3}, {10, 0.5}, {40, 0.1}, {40, 0.95}, {100, 0.4}, {1000, 0.75}, {100000, 0.00002}};
  for (const auto& c : cases) {
    INFO(c[0] << ' ' << c[1]);
    const int most = static_cast<int>(std::min(c[0], c[0] * c[1] + 200));
    const auto cdf = [&](int k) { return k >= c[0] ? 1 : ebb::lane::betainc(c[0] - k, k + 1.0, 1 - c[1]); };
    CHECK(distance_of_counts(ebb::binomial_distribution{c[0], c[1]}, most, cdf) < far);
  }
  CHECK(distance_of_counts(ebb::poisson_distribution{41}, 200, [](int k) { return ebb::lane::gammaincc(k + 1.0, 40.0); }) > far);
  const double sums[] = {0.1, 0.1, 0.7, 1};
  CHECK(distance_of_counts(ebb::categorical_distribution{{1, 0, 6, 3}}, 3, [&](int k) { return sums[k]; }) < far);
}

TEST_CASE("samples of vectors have their moments") {
  const double alpha[] = {0.5, 2, 7.5};
  const auto x = ebb::sample<double, many, 3>(3, ebb::dirichlet_distribution{{0.5, 2, 7.5}});
  for (std::size_t j = 0; j < 3; ++j) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < many; ++i) mean += x(i, j) / many, square += x(i, j) * x(i, j) / many;
    const double m = alpha[j] / 10, variance = m * (1 - m) / 11;
    CHECK(std::fabs(mean - m) < 5 * std::sqrt(variance / many));
    CHECK(square - mean * mean == Approx(variance).epsilon(0.06));
  }
  for (std::size_t i = 0; i < 100; ++i) CHECK(x(i, 0) + x(i, 1) + x(i, 2) == Approx(1).epsilon(1e-15));
  const auto y = ebb::sample<double, ebb::dyn, 2>(3, many, ebb::multivariate_normal_distribution{{1, -2}, {2, 0, 1.5, 0.5}});
  double mean[2] = {}, product[3] = {};
  for (std::size_t i = 0; i < many; ++i) {
    const double a = y(i, 0) - 1, b = y(i, 1) + 2;
    mean[0] += a / many, mean[1] += b / many, product[0] += a * a / many, product[1] += a * b / many, product[2] += b * b / many;
  }
  CHECK((std::fabs(mean[0]) < 0.06 && std::fabs(mean[1]) < 0.05));
  CHECK((product[0] == Approx(4).epsilon(0.05) && product[1] == Approx(3).epsilon(0.05) && product[2] == Approx(2.5).epsilon(0.05)));
  CHECK(distance(ebb::student_t_distribution{1e6, 0, 1}, normal_cdf_of) < far);
}

TEST_CASE("samples at the edges of their parameters") {
  const auto all = [](const auto& x, auto is) { return std::all_of(x.data(), x.data() + x.size(), is); };
  const auto finite = [](double v) { return std::isfinite(v); };
  CHECK(all(ebb::sample<double, 100>(1, ebb::poisson_distribution{0}), [](double v) { return v == 0; }));
  CHECK(all(ebb::sample<double, 100>(1, ebb::binomial_distribution{20, 0}), [](double v) { return v == 0; }));
  CHECK(all(ebb::sample<double, 100>(1, ebb::binomial_distribution{20, 1}), [](double v) { return v == 20; }));
  CHECK(all(ebb::sample<double, 100>(1, ebb::binomial_distribution{0, 0.5}), [](double v) { return v == 0; }));
  CHECK(all(ebb::sample<double, 100>(1, ebb::poisson_distribution{1e12}), [](double v) { return std::fabs(v - 1e12) < 6e6; }));
  // Shapes so small that all gamma numbers underflow: those of beta and Dirichlet do not become NaN.
  CHECK(all(ebb::sample<double, 100>(1, ebb::gamma_distribution{1e-5, 1}), [](double v) { return v >= 0 && v < 10; }));
  CHECK(all(ebb::sample<double, 100>(1, ebb::beta_distribution{1e-5, 1e-5}), [](double v) { return v >= 0 && v <= 1; }));
  CHECK(all(ebb::sample<double, 100, 2>(1, ebb::dirichlet_distribution{{1e-5, 1e-5}}), [](double v) { return v >= 0 && v <= 1; }));
  CHECK(all(ebb::sample<double, 100>(1, ebb::gamma_distribution{1e12, 1e12}), [](double v) { return std::fabs(v - 1) < 6e-6; }));
  CHECK(all(ebb::sample<float, 1000>(1, ebb::cauchy_distribution{}), finite));
  CHECK(all(ebb::sample<double, 1000>(1, ebb::gumbel_distribution{}), finite));
  CHECK(ebb::sample<double, ebb::dyn>(1, 0, ebb::gamma_distribution{}).size() == 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using Catch::Contains;
  CHECK_THROWS_WITH((ebb::sample<double, 2>(1, ebb::exponential_distribution{0})), Contains("ebb::sample: the rate of an exponential"));
  CHECK_THROWS_WITH((ebb::sample<double, 2>(1, ebb::gamma_distribution{nan, 1})), Contains("a parameter of a gamma distribution"));
  CHECK_THROWS_WITH((ebb::sample<double, 2>(1, ebb::binomial_distribution{2.5, 0.5})), Contains("a whole number of trials"));
  CHECK_THROWS_WITH((ebb::sample<double, 2>(1, ebb::categorical_distribution{{0, 0}})), Contains("have no sum"));
  CHECK_THROWS_WITH((ebb::sample<double, 2, 2>(1, ebb::dirichlet_distribution{{1, 2, 3}})), Contains("the last extent"));
  CHECK_THROWS_WITH((ebb::sample<double, 2>(1, ebb::multivariate_normal_distribution{{1, 2}, {1}})), Contains("the factor of a normal"));
}

TEST_CASE("a sample depends on the key and on the place alone, and has the same bits everywhere") {
  const ebb::gamma_distribution how{0.75, 2};
  const auto few = ebb::sample<double, 5>(11, how), other = ebb::sample<double, 5>(12, how);
  const auto more = ebb::sample<double, ebb::dyn>(11, 50, how);
  for (std::size_t i = 0; i < 5; ++i) CHECK((few(i) == more(i) && few(i) != other(i)));
  const ebb::tensor<float, 5> narrow = ebb::sample<float, 5>(11, how);
  for (std::size_t i = 0; i < 5; ++i) CHECK(narrow(i) == static_cast<float>(few(i)));
  // Recorded once: the same for each compiler, with and without fma.
  const auto hash = [](const auto& distribution) {
    std::uint64_t sum = 0;
    const auto x = ebb::sample<double, 1000>(2026, distribution);
    for (std::size_t i = 0; i < 1000; ++i) sum = sum * 6364136223846793005u + std::bit_cast<std::uint64_t>(x(i));
    return sum;
  };
  CHECK(hash(ebb::exponential_distribution{2}) == 0x81ef88b30fdea89cu);
  CHECK(hash(ebb::gumbel_distribution{}) == 0xf3117f1bce039ffdu);
  CHECK(hash(ebb::cauchy_distribution{}) == 0xf4d132d85aa3b50au);
  CHECK(hash(ebb::gamma_distribution{0.5, 2}) == 0xa181ec7665217312u);
  CHECK(hash(ebb::student_t_distribution{3}) == 0x681d79feb35d9624u);
  CHECK(hash(ebb::beta_distribution{2, 0.5}) == 0x8f7ceb5bd120940cu);
  CHECK(hash(ebb::poisson_distribution{40}) == 0x6f63000000000000u);
  CHECK(hash(ebb::binomial_distribution{100, 0.3}) == 0x62d6800000000000u);
  double worst = 0;
  for (double x = -700; x < 700; x += 0.37) worst = std::max(worst, std::fabs(ebb::portable_exp(x) / std::exp(x) - 1));
  CHECK(worst < 2 * 0x1p-52);
  CHECK((ebb::portable_exp(0) == 1 && ebb::portable_exp(-800) == 0 && std::isinf(ebb::portable_exp(800))));
  CHECK(ebb::portable_exp(-740) == Approx(std::exp(-740)).epsilon(0.01));
  for (double n : {0., 1., 5., 15., 16., 100., 1e6, 1e14})
    CHECK(ebb::portable_log_factorial(n) == Approx(static_cast<double>(std::lgamma(n + 1.0L))).epsilon(1e-15).margin(1e-15));
}

}  // namespace
