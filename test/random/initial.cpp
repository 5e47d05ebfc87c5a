// test/random/initial.cpp — first values of parameters: bounds, deviations, the distribution between bounds.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/random.hpp>
#include <ebb/tensor/equal.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using ebb::dyn, ebb::random_key;

struct spread {
  double most = 0, deviation = 0, mean = 0;
};
template <class Array>
spread spread_of(const Array& x) {
  spread r;
  double squares = 0;
  for (const auto e : x) {
    const double v = static_cast<double>(ebb::as_element<float>(e));
    r.most = std::max(r.most, std::fabs(v));
    r.mean += v;
    squares += v * v;
  }
  const double n = static_cast<double>(x.size());
  r.mean /= n;
  r.deviation = std::sqrt(squares / n - r.mean * r.mean);
  return r;
}
/// 40 * 1000 numbers are uniform in +-bound: the deviation of their deviation is 0.3 per cent.
void is_uniform(const char* name, const ebb::tensor<float, 40, 1000>& x, double bound) {
  INFO(name);
  const spread s = spread_of(x);
  CHECK((s.most <= bound * (1 + 1e-6) && s.most > 0.999 * bound));
  CHECK(s.deviation == Approx(bound / std::sqrt(3.0)).epsilon(0.012));
  CHECK(std::fabs(s.mean) < 0.02 * bound);
}
void is_normal(const char* name, const ebb::tensor<float, 40, 1000>& x, double deviation) {
  INFO(name);
  const spread s = spread_of(x);
  CHECK(s.deviation == Approx(deviation).epsilon(0.016));
  CHECK((s.most > 3.5 * deviation && s.most < 6.3 * deviation));
  CHECK(std::fabs(s.mean) < 0.02 * deviation);
}

TEST_CASE("first values have the bounds and deviations of their papers") {
  const random_key key(17);
  const auto of = [&](const auto& how) { return ebb::initial<float, 40, 1000>(key, how); };
  // [out, in] = [40, 1000].
  is_uniform("xavier", of(ebb::xavier_uniform{}), std::sqrt(6.0 / 1040));
  is_uniform("xavier for tanh", of(ebb::xavier_uniform{.gain = 5.0 / 3}), 5.0 / 3 * std::sqrt(6.0 / 1040));
  is_normal("xavier", of(ebb::xavier_normal{.gain = 2}), 2 * std::sqrt(2.0 / 1040));
  is_uniform("kaiming", of(ebb::kaiming_uniform{}), std::sqrt(6.0 / 1000));
  is_uniform("kaiming backward", of(ebb::kaiming_uniform{.backward = true}), std::sqrt(6.0 / 40));
  is_uniform("kaiming transposed", of(ebb::kaiming_uniform{.transposed = true}), std::sqrt(6.0 / 40));
  is_uniform("torch.nn.Linear", of(ebb::kaiming_uniform{.slope = std::sqrt(5.0)}), std::sqrt(1.0 / 1000));
  is_normal("kaiming", of(ebb::kaiming_normal{.slope = 0.5}), std::sqrt(2.0 / 1.25 / 1000));
  is_uniform("lecun", of(ebb::lecun_uniform{}), std::sqrt(3.0 / 1000));
  const spread s = spread_of(of(ebb::lecun_normal{}));
  CHECK(s.deviation == Approx(std::sqrt(1.0 / 1000)).epsilon(0.012));
  CHECK(s.most <= 2 * std::sqrt(1.0 / 1000) / 0.8796);
  // The window of a convolution counts: [8, 4, 5, 5] has the fan-in 100 and the fan-out 200.
  CHECK(spread_of(ebb::initial<double, 8, 4, 5, 5>(key, ebb::xavier_uniform{})).most <= std::sqrt(6.0 / 300));
  CHECK(spread_of(ebb::initial<double, 8, 4, 5, 5>(key, ebb::xavier_uniform{})).most > 0.98 * std::sqrt(6.0 / 300));
}

TEST_CASE("normal numbers between bounds have the distribution of those that would be kept") {
  const double lo = -0.5, hi = 2.5, mean = 0.25, deviation = 1.5;
  const std::size_t n = 20000;
  const auto x =
      ebb::initial<double, dyn>(random_key(3), {n}, ebb::truncated_normal{.mean = mean, .deviation = deviation, .lo = lo, .hi = hi});
  std::vector<double> sorted(x.begin(), x.end());
  std::sort(sorted.begin(), sorted.end());
  CHECK((sorted.front() >= lo && sorted.back() <= hi));
  // Kolmogorov and Smirnov: above 1.95 with a probability of 0.001.
  const auto below = [&](double v) { return std::erfc(-(v - mean) / deviation / std::sqrt(2.0)) / 2; };
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double expected = (below(sorted[i]) - below(lo)) / (below(hi) - below(lo));
    worst = std::max({worst, std::fabs(expected - static_cast<double>(i) / n), std::fabs(expected - static_cast<double>(i + 1) / n)});
  }
  CHECK(worst * std::sqrt(static_cast<double>(n)) < 1.95);
  const auto far = ebb::initial<float, 3>(random_key(3), ebb::truncated_normal{.lo = 40, .hi = 50});
  for (const float e : far) CHECK((e >= 40 && e <= 50));
  CHECK(test::says(test::raised([&] { ebb::initial<float, 3>(random_key(3), ebb::truncated_normal{.deviation = 0}); }),
                   {"ebb::truncated_normal"}));
  CHECK(test::says(test::raised([&] { ebb::initial<float, 3>(random_key(3), ebb::truncated_normal{.lo = 1, .hi = 1}); }), {"lo below hi"}));
}

TEST_CASE("first values depend on key and extents only, and empty arrays have none") {
  const auto one = ebb::initial<float, 6, 4>(random_key(1), ebb::xavier_normal{});
  const auto same = ebb::initial<float, dyn, 4>(random_key(1), 6, ebb::xavier_normal{});
  CHECK(std::equal(one.begin(), one.end(), same.begin()));
  const auto other = ebb::initial<float, 6, 4>(random_key(2), ebb::xavier_normal{});
  CHECK_FALSE(std::equal(one.begin(), one.end(), other.begin()));
  CHECK(ebb::initial<float, dyn, dyn>(random_key(1), {3, 0}, ebb::kaiming_uniform{}).size() == 0);
  CHECK(ebb::initial<ebb::bfloat16, 0, 0>(random_key(1), ebb::lecun_normal{}).size() == 0);
  CHECK(spread_of(ebb::initial<ebb::bfloat16, 30, 30>(random_key(1), ebb::kaiming_normal{})).deviation ==
        Approx(std::sqrt(2.0 / 30)).epsilon(0.1));
}

TEST_CASE("dirac passes the inputs of each group on, and an identity matrix those of a product") {
  const random_key key(1);
  const auto at = [](const auto& w, std::size_t o, std::size_t i, std::size_t y, std::size_t z) {
    return ebb::as_element<float>(w.data()[((o * w.extent(1) + i) * w.extent(2) + y) * w.extent(3) + z]);
  };
  const auto check = [&](const auto& w, std::size_t groups) {
    const std::size_t each = w.extent(0) / groups;
    for (std::size_t o = 0; o < w.extent(0); ++o)
      for (std::size_t i = 0; i < w.extent(1); ++i)
        for (std::size_t y = 0; y < w.extent(2); ++y)
          for (std::size_t z = 0; z < w.extent(3); ++z)
            CHECK(at(w, o, i, y, z) == (o - o / each * each == i && y == w.extent(2) / 2 && z == w.extent(3) / 2 ? 1.0f : 0.0f));
  };
  const auto of = [&](std::size_t out, std::size_t in, std::size_t groups) {
    return ebb::initial<float, dyn, dyn, dyn, dyn>(key, {out, in, 3, 4}, ebb::dirac{.groups = groups});
  };
  check(of(4, 3, 1), 1);
  check(of(2, 5, 1), 1);
  check(of(6, 2, 2), 2);
  CHECK(of(0, 2, 2).size() == 0);
  CHECK(of(2, 0, 1).size() == 0);
  const auto line = ebb::initial<ebb::bfloat16, 2, 2, 3>(key, ebb::dirac{});
  for (std::size_t k = 0; k < 12; ++k) CHECK(ebb::as_element<float>(line.data()[k]) == (k == 1 || k == 10 ? 1.0f : 0.0f));
  CHECK(test::says(test::raised([&] { of(5, 2, 2); }), {"ebb::dirac", "2 groups", "5 outputs"}));
  CHECK(test::says(test::raised([&] { of(5, 2, 0); }), {"ebb::dirac", "0 groups"}));
  for (const auto& w : {ebb::initial<double, dyn, dyn>(key, {3, 5}, ebb::identity_matrix{}),
                        ebb::initial<double, dyn, dyn>(key, {5, 2}, ebb::identity_matrix{}),
                        ebb::initial<double, dyn, dyn>(key, {0, 2}, ebb::identity_matrix{})})
    for (std::size_t i = 0; i < w.size(); ++i) CHECK(w.data()[i] == (i / w.extent(1) == i % w.extent(1) ? 1.0 : 0.0));
}

TEST_CASE("orthogonal first values are the factor Q of normal numbers with a positive diagonal of R") {
  const random_key key(5);
  const auto draw = [&](std::size_t rows, std::size_t a, std::size_t b, double gain = 1) {
    return ebb::initial<double, dyn, dyn, dyn>(key, {rows, a, b}, ebb::orthogonal{.gain = gain});
  };
  const auto check = [&](std::size_t rows, std::size_t a, std::size_t b) {
    INFO(rows << " x " << a << " x " << b);
    const std::size_t columns = a * b, few = std::min(rows, columns), many = std::max(rows, columns);
    const bool wide = rows < columns;
    const auto w = draw(rows, a, b);
    const auto normal = ebb::normal<double, dyn, dyn>(key, {few, many});
    const auto q = [&](std::size_t v, std::size_t k) {
      return static_cast<long double>(w.data()[wide ? v * columns + k : k * columns + v]);
    };
    for (std::size_t i = 0; i < few; ++i)
      for (std::size_t j = 0; j < few; ++j) {
        long double product = 0, r = 0;  // r is the element [j, i] of R
        for (std::size_t k = 0; k < many; ++k) {
          product += q(i, k) * q(j, k);
          r += static_cast<long double>(normal.data()[i * many + k]) * q(j, k);
        }
        CHECK(std::fabs(product - (i == j)) <= 1e-14L);
        if (i == j) CHECK(r > 0);
        if (i < j) CHECK(std::fabs(r) <= 1e-13L);
      }
  };
  check(5, 2, 4);
  check(9, 2, 2);
  check(6, 3, 2);
  check(1, 1, 7);
  CHECK(std::fabs(draw(1, 1, 1).data()[0]) == 1);
  CHECK((draw(0, 3, 2).size() == 0 && draw(3, 0, 2).size() == 0));
  const auto one = draw(4, 2, 3), more = draw(4, 2, 3, 1.5);
  const auto narrow = ebb::initial<ebb::bfloat16, 4, 6>(key, ebb::orthogonal{.gain = 1.5});
  for (std::size_t k = 0; k < 24; ++k) {
    CHECK(more.data()[k] == 1.5 * one.data()[k]);
    CHECK(ebb::as_element<float>(narrow.data()[k]) == ebb::as_element<float>(ebb::as_element<ebb::bfloat16>(more.data()[k])));
  }
}

}  // namespace
