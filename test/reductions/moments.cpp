// test/reductions/moments.cpp — central moments, and covariances of weighted observations.
// SPDX-License-Identifier: BSL-1.0
// covers: moments.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/reductions.hpp>

namespace {

using ebb::dyn;
using namespace linalg_test;
using matrix = ebb::tensor<double, dyn, dyn>;

/// The mean of (x - mean)^order for rows of three.
long_numbers moments_of_rows(const long_numbers& x, int order) {
  long_numbers r;
  for (std::size_t i = 0; i < x.size(); i += 3) {
    const long double mean = (x[i] + x[i + 1] + x[i + 2]) / 3;
    long double sum = 0;
    for (std::size_t k = i; k < i + 3; ++k) {
      long double product = 1;
      for (int j = 0; j < order; ++j) product *= x[k] - mean;
      sum += product;
    }
    r.push_back(sum / 3);
  }
  return r;
}

TEST_CASE("moment has the values, the gradients and the second derivatives of its definition in long double") {
  const auto check = [](const char* name, auto f, int order) {
    against_differences<wide<dyn, dyn>>(name, f, random_numbers(6, 4), extents_of({2, 3}), [order](const long_numbers& x) {
      return moments_of_rows(x, order);
    }, 1e-12L, 1e-8L);
  };
  check("moment<2>", [](auto x) { return ebb::moment<2, 1>(x); }, 2);
  check("moment<3>", [](auto x) { return ebb::moment<3, 1>(x); }, 3);
  check("moment<4>", [](auto x) { return ebb::moment<4, -1>(x, ebb::keep_dims); }, 4);
  check("moment<7>", [](auto x) { return ebb::moment<7, 1>(x); }, 7);
}

TEST_CASE("moment of all elements and of equal ones, of integers and narrow floats; NaN, infinities, and no elements give NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(ebb::moment<3>(ebb::tensor<double, 2, 2>{{1.0, 2.0}, {3.0, 6.0}}) == 4.5);
  CHECK(ebb::moment<2>(ebb::tensor<int, 4>{1, 2, 3, 6}) == 3.5f);
  CHECK(ebb::moment<4>(ebb::tensor<double, 3>{-0.0, 0.0, 0.0}) == 0);
  CHECK(static_cast<float>(ebb::moment<2>(ebb::tensor<ebb::bf16, 2>{ebb::bf16(1.0f), ebb::bf16(3.0f)})) == 1);
  CHECK(std::isnan(ebb::moment<2>(ebb::tensor<double, 3>{1.0, nan, 2.0})));
  CHECK(std::isnan(ebb::moment<3>(ebb::tensor<double, 3>{1.0, inf, 2.0})));
  CHECK(std::isnan(ebb::moment<3>(ebb::tensor<double, dyn>(0))));
  CHECK(ebb::moment<2, 0>(matrix(0, 0)).extent(0) == 0);
}

/// torch.cov(x, fweights, aweights, correction) by its definition.
long_numbers covariance(std::size_t rows, std::size_t n, const long double* x, const long_numbers& counts, const long double* weights,
                        long double correction) {
  long double total = 0, squares = 0;
  for (std::size_t k = 0; k < n; ++k) total += counts[k] * weights[k], squares += counts[k] * weights[k] * weights[k];
  const long double divisor = total - correction * squares / total;
  long_numbers mean(rows), r(rows * rows);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < n; ++k) mean[i] += counts[k] * weights[k] * x[i * n + k] / total;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j)
      for (std::size_t k = 0; k < n; ++k)
        r[i * rows + j] += counts[k] * weights[k] * (x[i * n + k] - mean[i]) * (x[j * n + k] - mean[j]) / divisor;
  return r;
}

TEST_CASE("cov with counts and weights has PyTorch's values") {
  const ebb::tensor<double, 2, 4> x{{1.0, 2.0, 4.0, 7.0}, {3.0, 1.0, -2.0, 0.5}};
  const ebb::tensor<int, 4> counts{1, 2, 0, 3};
  const ebb::tensor<double, 4> weights{0.5, 1.0, 2.0, 0.25};
  const auto is = [](const auto& c, double a, double b, double d) {
    CHECK(c(0, 0) == Approx(a).epsilon(1e-14));
    CHECK(c(0, 1) == Approx(b).epsilon(1e-14));
    CHECK(c(1, 0) == Approx(b).epsilon(1e-14));
    CHECK(c(1, 1) == Approx(d).epsilon(1e-14));
  };
  // torch.cov of PyTorch 2.13.
  is(ebb::cov(x, counts, 1), 8.66666666666666607, -2.13333333333333375, 0.94166666666666676);
  is(ebb::cov(x, 1, weights), 3.74285714285714377, -3.05714285714285738, 5.59642857142857153);
  is(ebb::cov(x, counts, weights), 6.40000000000000036, -1.39999999999999991, 0.82692307692307687);
  is(ebb::cov(x, counts, weights, ebb::correction<0>), 4.92307692307692335, -1.07692307692307687, 0.63609467455621294);
  is(ebb::cov(x, 1, 1), ebb::cov(x)(0, 0), ebb::cov(x)(0, 1), ebb::cov(x)(1, 1));
  // Counts are repetitions.
  const ebb::tensor<double, 6> repeated{1.0, 2.0, 2.0, 7.0, 7.0, 7.0};
  CHECK(ebb::cov(ebb::tensor<double, 4>{1.0, 2.0, 4.0, 7.0}, counts, 1) == Approx(ebb::cov(repeated)).epsilon(1e-14));
}

TEST_CASE("cov with weights has the first and second derivatives of its definition in long double, by weights too") {
  const long_numbers counts{1, 2, 3};
  const auto of_rows = [](auto y) {
    const auto x = ebb::slice<0, 0, 2>(y);
    const auto w = ebb::exp(ebb::sum<0>(ebb::slice<0, 2, 3>(y)));
    return ebb::cov(x, ebb::arange_like<0>(w) + 1, w);
  };
  const auto weighted = [&](const long_numbers& y) {
    const long_numbers weights{std::exp(y[6]), std::exp(y[7]), std::exp(y[8])};
    return covariance(2, 3, y.data(), counts, weights.data(), 1);
  };
  against_differences<wide<3, 3>>("cov", of_rows, random_numbers(9, 6), extents_of({3, 3}), weighted, 1e-11L, 1e-7L);
  against_differences<wide<3, dyn>>("cov, dyn", of_rows, random_numbers(9, 6), extents_of({3, 3}), weighted, 1e-11L, 1e-7L);

  // Numbers in a traced function: one count of all observations, and no weights.
  const auto twice = [](auto x) { return ebb::cov(x, 2, 0.5, ebb::correction<2>); };
  const auto by_numbers = [](const long_numbers& x) {
    const long_numbers halves(3, 0.5L);
    return covariance(2, 3, x.data(), long_numbers(3, 2), halves.data(), 2);
  };
  against_differences<wide<2, 3>>("cov of numbers", twice, random_numbers(6, 7), extents_of({2, 3}), by_numbers, 1e-11L, 1e-7L);
  against_differences<wide<dyn, dyn>>("cov of numbers, dyn", twice, random_numbers(6, 7), extents_of({2, 3}), by_numbers, 1e-11L, 1e-7L);
}

TEST_CASE("cov with weights: batches, narrow floats, no weight at all, NaN, and weights that do not fit") {
  const auto x = test::random_array<ebb::tensor<double, 3, 2, 5>>(1);
  const ebb::tensor<double, dyn> w{1.0, 2.0, 0.0, 1.0, 0.5};
  const auto all = ebb::cov(x, 2, w);
  for (std::size_t b = 0; b < 3; ++b) {
    const auto one = ebb::cov(ebb::tensor<double, 2, 5>(x.row(b)), 2, w);
    for (std::size_t i = 0; i < 4; ++i) CHECK(all.data()[4 * b + i] == one.data()[i]);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // An observation of weight 0 does not count, unless it is NaN; more is taken from the divisor than there is: it is 0.
  CHECK(std::isnan(ebb::cov(ebb::tensor<double, 3>{1.0, nan, 2.0}, 1, ebb::tensor<double, 3>{1.0, 0.0, 1.0})));
  CHECK(std::isnan(ebb::cov(ebb::tensor<double, 2>{1.0, 2.0}, 0, 1)));
  CHECK(std::isinf(ebb::cov(ebb::tensor<double, 2>{1.0, 2.0}, 1, 1, ebb::correction<3>)));
  CHECK(std::isnan(ebb::cov(ebb::tensor<double, dyn>(0), 1, ebb::tensor<double, dyn>(0))));
  const ebb::tensor<ebb::bf16, 2> narrow{ebb::bf16(1.0f), ebb::bf16(3.0f)};
  CHECK(static_cast<float>(ebb::cov(narrow, 1, narrow)) == 2);
  CHECK(test::says(test::raised([&] { ebb::cov(x, 1, ebb::tensor<double, dyn>(4)); }), {"ebb::cov", "[4]", "[3, 2, 5]"}));
}

}  // namespace
