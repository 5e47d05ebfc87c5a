// test/stats/vector.cpp — log densities of vectors and of classes against long double, at the ends of their supports, and batched.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using stats_test::inf, stats_test::long_numbers, stats_test::nan, stats_test::numbers, stats_test::pi, stats_test::point;
using linalg_test::against_differences, linalg_test::extents_of;

constexpr auto dirichlet_of = [](auto v) { return ebb::dirichlet_lpdf(v[0], v[1]); };
constexpr auto multinomial_of = [](auto v) { return ebb::multinomial_lpmf(ebb::stop_gradient(v[0]), v[1]); };
constexpr auto cholesky_of = [](auto v) {
  return ebb::multivariate_normal_cholesky_lpdf(v[0], v[1], ebb::slice<0, 2, 4>(v));
};
constexpr auto covariance_of = [](auto v) { return ebb::multivariate_normal_lpdf(v[0], v[1], ebb::slice<0, 2, 4>(v)); };

long double dirichlet(const long_numbers& v) {
  long double sum = 0, value = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += v[3 + i], value += (v[3 + i] - 1) * std::log(v[i]) - std::lgamma(v[3 + i]);
  return value + std::lgamma(sum);
}
long double multinomial(const long_numbers& v) {
  long double sum = 0, value = 0;
  for (std::size_t i = 0; i < 3; ++i)
    sum += std::rint(v[i]), value += std::rint(v[i]) * std::log(v[3 + i]) - std::lgamma(std::rint(v[i]) + 1);
  return value + std::lgamma(sum + 1);
}
/// The density for a covariance [a b; b c].
long double binormal(long double x, long double y, long double a, long double b, long double c) {
  const long double det = a * c - b * b;
  return -(c * x * x - 2 * b * x * y + a * y * y) / (2 * det) - std::log(det) / 2 - std::log(2 * pi);
}

TEST_CASE("densities of vectors, and their first and second derivatives, are those of their formulas") {
  using three = ebb::term<double, 2, 3>;
  against_differences<three>("dirichlet", dirichlet_of, {0.2, 0.5, 0.3, 1, 2.5, 0.75}, extents_of({2, 3}),
                             [](const long_numbers& v) { return long_numbers{dirichlet(v)}; }, 1e-10L, 1e-5L);
  against_differences<three>("multinomial", multinomial_of, {3, 0, 12, 0.25, 0.125, 0.625}, extents_of({2, 3}),
                             [](const long_numbers& v) { return long_numbers{multinomial(v)}; }, 1e-10L, 1e-5L);
  using four = ebb::term<double, 4, 2>;
  const numbers factored{0.5, -1, 0.25, 0.5, 1.5, 7, 0.75, 2};  // the 7 is above the diagonal
  against_differences<four>("multivariate_normal_cholesky", cholesky_of, factored, extents_of({4, 2}), [](const long_numbers& v) {
    return long_numbers{binormal(v[0] - v[2], v[1] - v[3], v[4] * v[4], v[4] * v[6], v[6] * v[6] + v[7] * v[7])};
  }, 1e-10L, 1e-5L);
  const numbers given{0.5, -1, 0.25, 0.5, 1.5, 0.5, 0.5, 2};
  against_differences<four>("multivariate_normal", covariance_of, given, extents_of({4, 2}), [](const long_numbers& v) {
    return long_numbers{binormal(v[0] - v[2], v[1] - v[3], v[4], (v[5] + v[6]) / 2, v[7])};
  }, 1e-10L, 1e-5L);
}

TEST_CASE("large counts of a multinomial and large parameters of a Dirichlet distribution do not cancel") {
  const ebb::tensor<float, 3> counts{500000, 250000, 250000}, p{0.5f, 0.25f, 0.25f}, alpha{500000, 250000, 250000};
  const long_numbers k{500000, 250000, 250000, 0.5, 0.25, 0.25}, x{0.5, 0.25, 0.25, 500000, 250000, 250000};
  CHECK(ebb::multinomial_lpmf(counts, p) == Approx(static_cast<double>(multinomial(k))).epsilon(1e-5));
  CHECK(ebb::dirichlet_lpdf(p, alpha) == Approx(static_cast<double>(dirichlet(x))).epsilon(1e-5));
}

TEST_CASE("densities of vectors outside of their supports, and for bad parameters") {
  const auto dirichlet_at = [](auto v) { return ebb::dirichlet_lpdf(ebb::slice<0, 0, 2>(v), ebb::slice<0, 2, 4>(v)); };
  const auto multinomial_at = [](auto v) { return ebb::multinomial_lpmf(ebb::slice<0, 0, 2>(v), ebb::slice<0, 2, 4>(v)); };
  const numbers nowhere{-inf, 0, 0, 0, 0};
  CHECK((point<4>(dirichlet_at, {-0.5, 1.5, 2, 3}) == nowhere && point<4>(dirichlet_at, {1.5, 0.25, 2, 3}) == nowhere));
  CHECK((point<4>(multinomial_at, {-1, 2, 0.5, 0.5}) == nowhere && point<4>(multinomial_at, {1.5, 2, 0.5, 0.5}) == nowhere));
  CHECK(point<4>(multinomial_at, {inf, 2, 0.5, 0.5}) == nowhere);
  CHECK(point<4>(dirichlet_at, {0, 1, 1, 3})[0] == Approx(std::log(3)));
  CHECK((point<4>(dirichlet_at, {0, 1, 2, 3})[0] == -inf && point<4>(dirichlet_at, {0, 1, 0.5, 3})[0] == inf));
  CHECK((point<4>(multinomial_at, {0, 0, 0.5, 0.5})[0] == 0 && point<4>(multinomial_at, {0, 3, 0, 1})[0] == Approx(0).margin(1e-14)));
  CHECK(point<4>(multinomial_at, {1, 3, 0, 1})[0] == -inf);
  for (const numbers& bad : {numbers{nan, 0.5, 1, 2}, numbers{0.5, 0.5, nan, 2}, numbers{0.5, 0.5, -1, 2}})
    CHECK(std::isnan(point<4>(dirichlet_at, bad)[0]));
  CHECK((std::isnan(point<4>(multinomial_at, {nan, 1, 0.5, 0.5})[0]) && std::isnan(point<4>(multinomial_at, {1, 1, -0.5, 1.5})[0])));
}

TEST_CASE("densities of vectors broadcast over batches") {
  const ebb::tensor<double, 2, 2> x{0.5, -1, 2, 0.25}, l{1.5, 0, 0.75, 2};
  const ebb::tensor<double, 2> mu{0.25, 0.5}, both = ebb::multivariate_normal_cholesky_lpdf(x, mu, l),
                                              zero_mean = ebb::multivariate_normal_cholesky_lpdf(x, 0, l);
  const auto exact = [](double a, double b) { return static_cast<double>(binormal(a, b, 2.25, 1.125, 4.5625)); };
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(both(i) == Approx(exact(x(i, 0) - 0.25, x(i, 1) - 0.5)).epsilon(1e-13));
    CHECK(zero_mean(i) == Approx(exact(x(i, 0), x(i, 1))).epsilon(1e-13));
  }
  const ebb::tensor<double, 2> alpha{2, 3}, d = ebb::dirichlet_lpdf(ebb::tensor<double, 2, 2>{0.25, 0.75, 0.5, 0.5}, alpha);
  CHECK((d(0) == Approx(std::log(12 * 0.25 * 0.75 * 0.75)) && d(1) == Approx(std::log(12 * 0.125))));
  CHECK_THROWS_AS(ebb::multivariate_normal_lpdf(x, 0, ebb::tensor<double, 2, 2>{1, 2, 2, 1}), ebb::error);
}

TEST_CASE("densities of normal vectors at the mean, far from it, at infinities and NaN; empty batches") {
  const ebb::tensor<double, 2> mu{0.25, 0.5};
  const ebb::tensor<double, 2, 2> l{{1.5, 0}, {0.75, 2}}, sigma{{2.25, 1.125}, {1.125, 4.5625}};
  const double top = -std::log(3.0) - static_cast<double>(std::log(2 * pi));
  CHECK((ebb::multivariate_normal_cholesky_lpdf(mu, mu, l) == Approx(top) && ebb::multivariate_normal_lpdf(mu, mu, sigma) == Approx(top)));
  for (const double far : {inf, -inf, 1e200}) {
    CAPTURE(far);
    const ebb::tensor<double, 2> first{far, 0}, second{0, far};
    CHECK((ebb::multivariate_normal_cholesky_lpdf(first, mu, l) == -inf && ebb::multivariate_normal_lpdf(first, mu, sigma) == -inf));
    CHECK((ebb::multivariate_normal_cholesky_lpdf(second, mu, l) == -inf && ebb::multivariate_normal_lpdf(second, mu, sigma) == -inf));
  }
  const ebb::tensor<double, 3, 2> rows{{0.25, 0.5}, {nan, 0}, {0, nan}};
  const auto by_factor = ebb::multivariate_normal_cholesky_lpdf(rows, mu, l),
             by_covariance = ebb::multivariate_normal_lpdf(rows, mu, sigma);
  CHECK((by_factor(0) == Approx(top) && std::isnan(by_factor(1)) && std::isnan(by_factor(2))));
  CHECK((by_covariance(0) == Approx(top) && std::isnan(by_covariance(1)) && std::isnan(by_covariance(2))));
  CHECK(std::isnan(ebb::multivariate_normal_cholesky_lpdf(mu, ebb::tensor<double, 2>{nan, 0}, l)));
  const ebb::tensor<double, ebb::dyn, 2> none(0);
  CHECK((ebb::multivariate_normal_cholesky_lpdf(none, mu, l).size() == 0 && ebb::multivariate_normal_lpdf(none, mu, sigma).size() == 0));
}

TEST_CASE("probabilities of classes") {
  const ebb::tensor<double, 3> p{0.25, 0.5, 0.25}, logits{1, -2, 800};
  const ebb::tensor<std::int64_t, 2> k{1, 2};
  const ebb::tensor<double, 2> of_vector = ebb::categorical_lpmf(k, p), of_logits = ebb::categorical_logit_lpmf(k, logits);
  CHECK((of_vector(0) == std::log(0.5) && of_vector(1) == std::log(0.25) && of_logits(0) == -802 && of_logits(1) == 0));
  const ebb::tensor<double, 2, 2> rows{0.25, 0.75, 0.5, 0.5};
  const ebb::tensor<double, 2> of_rows = ebb::categorical_lpmf(ebb::tensor<std::int32_t, 2>{1, 0}, rows);
  CHECK((of_rows(0) == std::log(0.75) && of_rows(1) == std::log(0.5)));
  const ebb::tensor<double, 3> slope = ebb::grad([](auto q) { return ebb::categorical_lpmf(1, q); })(p);
  CHECK((slope(0) == 0 && slope(1) == 2 && slope(2) == 0));
  const ebb::tensor<double, 3> of_logit =
      ebb::grad([](auto x) { return ebb::categorical_logit_lpmf(0, x); })(ebb::tensor<double, 3>{0, 0, 0});
  CHECK((of_logit(0) == Approx(2 / 3.) && of_logit(2) == Approx(-1 / 3.)));
  CHECK_THROWS_AS(ebb::categorical_lpmf(ebb::tensor<std::int64_t, 1>{3}, p), ebb::error);
  CHECK_THROWS_WITH(ebb::categorical_lpmf(ebb::tensor<std::int64_t, 2>{1, 2}, rows),
                    "ebb::categorical_lpmf: number 1 of the indices of shape [2] is 2, and there are 2 classes");
}

TEMPLATE_TEST_CASE("each row of a batch gives the logarithm of the element that its class names", "", float, double) {
  for (const std::size_t n : {1u, 5u, 33u}) {
    ebb::tensor<TestType, ebb::dyn, 3, 17> p(n);
    ebb::tensor<std::int32_t, ebb::dyn, 3> k(n);
    for (std::size_t i = 0; i < p.size(); ++i) p.mutable_data()[i] = static_cast<TestType>(i % 13 + 1) / 16;
    for (std::size_t i = 0; i < k.size(); ++i) k.mutable_data()[i] = static_cast<std::int32_t>(i * 5 % 17);
    const auto y = ebb::categorical_lpmf(k, p);
    const auto slopes = ebb::grad<1>([](auto at, auto x) { return ebb::sum(ebb::square(ebb::categorical_lpmf(at, x))); })(k, p);
    for (std::size_t i = 0; i < k.size(); ++i)
      for (std::size_t j = 0; j < 17; ++j) {
        const TestType x = p.data()[i * 17 + j];
        const bool here = j == static_cast<std::size_t>(k.data()[i]);
        if (here) REQUIRE(y.data()[i] == Approx(std::log(static_cast<double>(x))));
        REQUIRE(slopes.data()[i * 17 + j] == Approx(here ? 2 * std::log(static_cast<double>(x)) / static_cast<double>(x) : 0.));
      }
  }
}

TEST_CASE("probabilities of classes have the first and second derivatives of logarithms; zeros, infinities, NaN, no classes to look up") {
  // Rows 0 and 1 have the classes 1 and 2.
  const auto f = [](auto v) {
    const auto k = ebb::iota<0>(v) + 1;
    return ebb::categorical_lpmf(k, v * v) * v[0][0] + ebb::categorical_logit_lpmf(k, v * v * v);
  };
  const auto oracle = [](const long_numbers& v) {
    long_numbers r;
    for (std::size_t i = 0; i < 2; ++i) {
      long double sum = 0;
      for (std::size_t j = 0; j < 3; ++j) sum += std::exp(v[3 * i + j] * v[3 * i + j] * v[3 * i + j]);
      const long double p = v[3 * i + i + 1];
      r.push_back(std::log(p * p) * v[0] + p * p * p - std::log(sum));
    }
    return r;
  };
  const numbers x{0.5, 0.75, -1.25, 0.25, -0.5, 0.9};
  against_differences<ebb::term<double, 2, 3>>("classes", f, x, extents_of({2, 3}), oracle, 1e-10L, 1e-5L);

  const ebb::tensor<std::int64_t, 3> all{0, 1, 2};
  const auto of_edges = ebb::categorical_lpmf(all, ebb::tensor<double, 3>{0, 1, nan});
  CHECK((of_edges(0) == -inf && of_edges(1) == 0 && std::isnan(of_edges(2))));
  // Rows whose other classes have no probability, or NaN: these get no gradient.
  const ebb::tensor<double, 3, 3> rows{{1, 0, 0}, {0, 0.5, nan}, {nan, 0, 0.25}};
  const auto of_rows = ebb::grad<1>([](auto k, auto p) { return ebb::sum(ebb::categorical_lpmf(k, p)); })(all, rows);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(of_rows(i, j) == (i == j ? 1 / rows(i, j) : 0));
  const auto of_logits = ebb::categorical_logit_lpmf(all, ebb::tensor<double, 3>{-inf, 3, 3});
  CHECK((of_logits(0) == -inf && of_logits(1) == Approx(-std::log(2)) && of_logits(2) == of_logits(1)));
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(ebb::categorical_logit_lpmf(all, ebb::tensor<double, 3>{nan, 3, 1})(i)));
  const ebb::tensor<std::int64_t, ebb::dyn> none(0);
  CHECK((ebb::categorical_lpmf(none, ebb::tensor<double, 3>{0.5, 0.25, 0.25}).size() == 0));
  CHECK((ebb::categorical_logit_lpmf(none, ebb::tensor<double, 3>{1, 2, 3}).size() == 0));
}

}  // namespace
