// test/stats/normal.cpp — the normal distribution and its kin against long double, at the ends of their supports, and everywhere.
// SPDX-License-Identifier: BSL-1.0
// covers: normal.hpp quantity.hpp
#include "oracle.hpp"

namespace {

using stats_test::check_density, stats_test::inf, stats_test::nan, stats_test::numbers, stats_test::pi, stats_test::point,
    stats_test::valued;
using stats_test::long_numbers;

valued exact_normal(long double x, long double mu, long double sigma) {
  const long double z = (x - mu) / sigma;
  return {-z * z / 2 - std::log(sigma) - std::log(2 * pi) / 2, std::max(z * z, std::fabs(std::log(sigma)))};
}

constexpr auto normal_of = [](auto v) { return ebb::normal_lpdf(v[0], v[1], v[2]); };
constexpr auto lognormal_of = [](auto v) { return ebb::lognormal_lpdf(v[0], v[1], v[2]); };
constexpr auto half_of = [](auto v) { return ebb::half_normal_lpdf(v[0], v[1]); };
constexpr auto truncated_of = [](auto v) { return ebb::truncated_normal_lpdf(v[0], v[1], v[2], v[3], v[4]); };
constexpr auto kl_of = [](auto v) { return ebb::normal_kl(v[0], v[1], v[2], v[3]); };

TEST_CASE("densities of the normal family and their first and second derivatives are those of their formulas") {
  const numbers x{0.5, -2, 3, 40, 0.125, 1, 0, 7, /* mu */ 0, 1, -1, 0.5, 0.25, 1, 0, -30, /* sigma */ 1, 2, 0.5, 1, 3, 0.125, 10, 4};
  check_density<3, 8>("normal", normal_of, x, [](const long_numbers& v) { return exact_normal(v[0], v[1], v[2]); }, 4);
  const numbers y{0.5, 2, 3, 40, 0.125, 1, 0.75, 7, 0, 1, -1, 0.5, 0.25, 1, 0, -3, 1, 2, 0.5, 1, 3, 0.5, 10, 4};
  check_density<3, 8>("lognormal", lognormal_of, y, [](const long_numbers& v) {
    const long double l = std::log(v[0]);
    const valued n = exact_normal(l, v[1], v[2]);
    return valued{n.value - l, std::max(n.size, l * l / (v[2] * v[2]))};
  }, 6);
  check_density<2, 4>("half_normal", half_of, {0.5, 3, 12, 0.25, 1, 2, 0.5, 8}, [](const long_numbers& v) {
    const valued n = exact_normal(v[0], 0, v[1]);
    return valued{n.value + std::log(2.0L), n.size};
  }, 4);
  const auto mass = [](long double a, long double b) {
    const long double r = 0.70710678118654752440084436210484904L;
    return a > 0 ? std::erfc(a * r) / 2 - std::erfc(b * r) / 2 : std::erfc(-b * r) / 2 - std::erfc(-a * r) / 2;
  };
  const numbers t{0.5, 1, -2, 21, 0, 0, 1, 0.5, 1, 2, 1.5, 1, -1, 0.5, -3, 20, 2, 3, -1, 22};
  check_density<5, 4>("truncated_normal", truncated_of, t, [&](const long_numbers& v) {
    const valued n = exact_normal(v[0], v[1], v[2]);
    return valued{n.value - std::log(mass((v[3] - v[1]) / v[2], (v[4] - v[1]) / v[2])), n.size};
  }, 16, 1e-5L);
  const numbers kl{0, 1, -1, 0.5, 1, 2, 0.5, 1.25, 0.5, 1, 2, 0.5, 2, 2, 3, 1};
  check_density<4, 4>("normal_kl", kl_of, kl, [](const long_numbers& v) {
    const long double r = v[1] / v[3], d = (v[0] - v[2]) / v[3];
    return valued{(r * r + d * d - 1) / 2 - std::log(r)};
  }, 8);
}

TEST_CASE("distribution function, quantile function and entropy of the normal distribution") {
  const auto cdf = [](auto v) { return ebb::normal_cdf(v[0], v[1], v[2]); };
  const numbers x{0.5, -2, -9, 3, 0, 1, -1, 1, 1, 2, 0.5, 4};
  const auto below = [](const long_numbers& v) { return std::erfc(-(v[0] - v[1]) / v[2] / std::sqrt(2.0L)) / 2; };
  check_density<3, 4>("normal_cdf", cdf, x, [&](const long_numbers& v) { return valued{below(v)}; }, 4);
  check_density<3, 4>("normal_lcdf", [](auto v) { return ebb::normal_lcdf(v[0], v[1], v[2]); }, x,
                      [&](const long_numbers& v) { return valued{std::log(below(v))}; }, 4);
  check_density<3, 4>("normal_lccdf", [](auto v) { return ebb::normal_lccdf(v[0], v[1], v[2]); }, x, [&](const long_numbers& v) {
    return valued{std::log(std::erfc((v[0] - v[1]) / v[2] / std::sqrt(2.0L)) / 2)};
  }, 4);
  check_density<1, 3>("normal_entropy", [](auto v) { return ebb::normal_entropy(v[0]); }, {1, 0.25, 100},
                      [](const long_numbers& v) { return valued{std::log(v[0]) + std::log(2 * pi * std::exp(1.0L)) / 2}; }, 3);
  // Far below, the probability itself: a relative error.
  CHECK(point<3>(cdf, {-30, 0, 1})[0] == Approx(4.906713927148187e-198).epsilon(1e-13));
  // The quantile function is the inverse of the distribution function, and so are their derivatives.
  const auto icdf = [](auto v) { return ebb::normal_icdf(v[0], v[1], v[2]); };
  for (double p : {1e-300, 1e-9, 0.25, 0.5, 0.9, 1 - 1e-9}) {
    const numbers q = point<3>(icdf, {p, 2, 3}), back = point<3>(cdf, {q[0], 2, 3});
    CHECK(back[0] == Approx(p).epsilon(2e-12));
    CHECK(q[1] * back[1] == Approx(1).epsilon(2e-12));
    CHECK(q[2] == 1);
    CHECK(q[3] == Approx((q[0] - 2) / 3));
  }
  CHECK(point<3>(icdf, {0, 2, 3})[0] == -inf);
  CHECK(point<3>(icdf, {1, 2, 3})[0] == inf);
  CHECK(std::isnan(point<3>(icdf, {1.5, 2, 3})[0]));
  // At equal parameters the divergence and its gradient are exactly 0; nearby it does not cancel.
  CHECK(point<4>(kl_of, {0.3, 0.7, 0.3, 0.7}) == numbers(5, 0));
  CHECK(point<4>(kl_of, {0, 1 + 0x1p-20, 0, 1})[0] == Approx(0x1p-40).epsilon(1e-5));
  CHECK(point<4>(kl_of, {0, 1e-30, 0, 1})[0] == Approx(-0.5 + 30 * std::log(10)).epsilon(1e-14));
}

TEST_CASE("densities of the normal family are -inf with the gradient 0 outside of their supports, and NaN for NaN and bad parameters") {
  CHECK(point<3>(normal_of, {inf, 0, 1})[0] == -inf);
  CHECK(point<3>(normal_of, {1e200, 0, 1})[0] == -inf);
  CHECK((point<3>(lognormal_of, {-1, 0, 1}) == numbers{-inf, 0, 0, 0} && point<3>(lognormal_of, {0, 0, 1}) == numbers{-inf, 0, 0, 0}));
  CHECK((point<3>(lognormal_of, {inf, 0, 1}) == numbers{-inf, 0, 0, 0}));
  CHECK((point<2>(half_of, {-0.5, 1}) == numbers{-inf, 0, 0} && point<2>(half_of, {inf, 1}) == numbers{-inf, 0, 0}));
  CHECK(point<2>(half_of, {0, 1})[0] == Approx(0.5 * std::log(2 / 3.14159265358979323846)));
  CHECK(
      (point<5>(truncated_of, {4, 0, 1, -1, 2}) == numbers{-inf, 0, 0, 0, 0, 0} && point<5>(truncated_of, {-inf, 0, 1, -1, 2})[0] == -inf));
  // An infinite bound cuts nothing off, and has no gradient.
  for (const numbers& at : {numbers{0.5, 0.25, 2, -inf, inf}, numbers{0.5, 0.25, 2, -1e3, inf}}) {
    const numbers t = point<5>(truncated_of, at), n = point<3>(normal_of, {0.5, 0.25, 2});
    for (std::size_t i = 0; i < 4; ++i) CHECK(t[i] == Approx(n[i]).epsilon(1e-14));
    CHECK((t[4] == 0 && t[5] == 0));
  }
  const numbers half = point<5>(truncated_of, {0.5, 0, 2, 0, inf}), folded = point<2>(half_of, {0.5, 2});
  CHECK((half[0] == Approx(folded[0]).epsilon(1e-14) && half[3] == Approx(folded[2]).epsilon(1e-14)));
  for (const numbers& bad :
       {numbers{nan, 0, 1}, numbers{1, nan, 1}, numbers{1, 0, nan}, numbers{1, 0, 0}, numbers{1, 0, -1}, numbers{1, 0, inf}}) {
    CHECK(std::isnan(point<3>(normal_of, bad)[0]));
    CHECK(std::isnan(point<3>(lognormal_of, bad)[0]));
    CHECK(std::isnan(point<5>(truncated_of, {bad[0], bad[1], bad[2], -5, 5})[0]));
  }
}

TEST_CASE("log densities broadcast, take numbers, arrays of any dtype, and narrow floats that are rounded once") {
  const ebb::tensor<double, 2, 1> mu{0, 1};
  const ebb::tensor<float, 3> x{0.5f, 1, 2};
  const ebb::tensor<double, 2, 3> both = ebb::normal_lpdf(x, mu, 2);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(both(i, j) == Approx(static_cast<double>(exact_normal(x(j), mu(i, 0), 2).value)).epsilon(1e-14));
  const ebb::tensor<float, 2> whole = ebb::normal_lpdf(ebb::tensor<int, 2>{0, 1}, 0, 1);
  CHECK(whole(1) == Approx(-1.4189385f));
  const ebb::tensor<ebb::bfloat16, 1> narrow = ebb::normal_lpdf(ebb::tensor<ebb::bfloat16, 1>{ebb::bfloat16(3.f)}, 0, 1);
  CHECK(static_cast<float>(narrow(0)) == static_cast<float>(ebb::bfloat16(static_cast<float>(exact_normal(3, 0, 1).value))));
  // The total of a gradient by a number that all elements share.
  const auto total = [](auto m, auto a) { return ebb::sum(ebb::normal_lpdf(a, m, 1.5)); };
  CHECK(ebb::grad<0>(total)(ebb::tensor<float>(0.25f), x)() == Approx((3.5 - 0.75) / 2.25));
  CHECK(ebb::normal_lpdf(ebb::tensor<float, ebb::dyn>(0), 0, 1).size() == 0);
}

TEST_CASE("log densities of the normal family have the same bits in loops, map, on the tape and captured") {
  using T = float;
  test::check_everywhere<T>([](auto a) {
    return ebb::normal_lpdf(a, 0.25, a * a + 1) + ebb::lognormal_lpdf(a, 0, 1.5) * ebb::truncated_normal_lpdf(a, 0.5, 2, -1, 8);
  }, {T(0.3), T(0.7), 1, T(1.7), 3, 5, T(7.5), T(0.1), T(0.25)});
}

}  // namespace
