// test/exec/quotient.cpp — loops that divide by one number, or by one in each row: bit for bit the divisions, in registers and at tails.
// SPDX-License-Identifier: BSL-1.0
//
// Targets whose divisions take long exchange all of them, AMD's every second one in double: there, run
// `bash test/run.sh --preset avx2 exec.quotient` as well.
// covers: num/quotient.hpp kernel/nest_step.hpp plan/plan.hpp
#include <ebb/functional.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

/// Elements of all sizes; every seventh is zero, subnormal, infinite, NaN or the largest.
template <class T>
std::vector<T> elements(std::size_t n, unsigned seed, bool odd) {
  using limits = std::numeric_limits<T>;
  const T special[] = {0, -T(0), limits::denorm_min(), limits::infinity(), -limits::quiet_NaN(), limits::max(), -limits::min()};
  std::mt19937 next(seed);
  std::uniform_real_distribution<double> significand(-2, 2);
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = odd && i % 7 == 6 ? special[i / 7 % 7] : std::ldexp(static_cast<T>(significand(next)), static_cast<int>(next() % 40) - 20);
  return x;
}
template <class T>
std::vector<T> divisors() {
  using limits = std::numeric_limits<T>;
  return {
      T(3),         T(-0.7), T(1) / 3, T(4), T(1e-30f), T(1e30f), 0, -T(0), limits::infinity(), limits::quiet_NaN(), limits::denorm_min(),
      limits::max()};
}
template <class T>
bool same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}

constexpr auto divided = [](auto x, auto y) { return x / y; };
template <class T>
using plan_of_division = ebb::executable<typename ebb::detail::compile_spec<std::remove_const_t<decltype(divided)>>::template program<
    ebb::term<T, ebb::dyn>, ebb::term<T>>>;

}  // namespace

TEMPLATE_TEST_CASE("divisions by a number are exchanged where they take longer than ten products", "", float, double) {
  constexpr int time = sizeof(TestType) == 8 ? ebb::target_has::division.doubles : ebb::target_has::division.floats;
  bool exchanged = false;
  for (int i = 0; i < plan_of_division<TestType>::plan.size.loads; ++i)
    exchanged = exchanged || plan_of_division<TestType>::plan.loads[static_cast<std::size_t>(i)].reciprocal.number >= 0;
  CHECK(exchanged == (time > 10));
}

TEMPLATE_TEST_CASE("a vector divided by a number, of every length around registers and rows", "", float, double) {
  using T = TestType;
  const auto divide = ebb::compile(divided);
  for (const bool odd : {false, true})
    for (const T y : divisors<T>())
      for (const std::size_t n : {1u, 7u, 63u, 64u, 65u, 127u, 200u, 1000u, 3001u}) {
        const auto x = elements<T>(n, static_cast<unsigned>(n), odd);
        const ebb::tensor<T, ebb::dyn> q = divide(ebb::view<const T, ebb::dyn>(x.data(), n), y);
        int wrong = 0;
        for (std::size_t i = 0; i < n; ++i) wrong += !same(q(i), x[i] / y);
        INFO(n << " elements, by " << y);
        CHECK(wrong == 0);
      }
}

TEMPLATE_TEST_CASE("rows divided by numbers of their own, columns by numbers of theirs, and all by a literal", "", float, double) {
  using T = TestType;
  for (const std::size_t n : {3u, 70u, 513u}) {
    const auto by = divisors<T>();
    const std::size_t rows = by.size();
    const auto x = elements<T>(rows * n, 5, true);
    const ebb::view<const T, ebb::dyn, ebb::dyn> all(x.data(), rows, n);
    const ebb::view<const T, ebb::dyn> of_rows(by.data(), rows);
    const auto f = ebb::compile([](auto a, auto r) {
      const auto q = a / ebb::unsqueeze<1>(r);
      return std::tuple(q, ebb::sum<1>(q), ebb::transpose(a) / r, a / 3, ebb::map([](auto row, auto y) { return row / y; }, a, r));
    });
    const auto [q, sums, columns, thirds, mapped] = f(all, of_rows);
    int wrong = 0;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const T want = x[i * n + j] / by[i];
        wrong += !same(q(i, j), want) + !same(columns(j, i), want) + !same(mapped(i, j), want) + !same(thirds(i, j), x[i * n + j] / T(3));
      }
    CHECK(wrong == 0);
    const auto summed = ebb::compile([](auto a) { return ebb::sum<1>(a); })(q);
    for (std::size_t i = 0; i < rows; ++i) CHECK(same(sums(i), summed(i)));
  }
}

TEMPLATE_TEST_CASE("the density of a Gaussian and its derivatives have the bits of the same program step by step", "", float, double) {
  using T = TestType;
  const auto density = [](auto m, auto s, auto x) { return ebb::sum(-0.5f * ebb::square((x - m) / s) - ebb::log(s)); };
  const auto x = elements<T>(1777, 3, false);
  const ebb::view<const T, ebb::dyn> in(x.data(), x.size());
  const T mean = T(0.3), deviation = T(1.7);
  const auto [value, by_mean, by_deviation, by_x] = ebb::value_and_grad<0, 1, 2>(density)(mean, deviation, in);
  ebb::tensor<T, ebb::dyn> terms(x.size()), means(x.size()), deviations(x.size());
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T z = (x[i] - mean) / deviation, pulled = T(-0.5) * (2 * z), slope = pulled / deviation;
    terms.mutable_data()[i] = T(-0.5) * (z * z) - std::log(deviation);
    means.mutable_data()[i] = -slope;
    deviations.mutable_data()[i] = -pulled * (z / deviation);
    wrong += !same(by_x(i), slope);
  }
  CHECK(wrong == 0);
  const auto total = ebb::compile([](auto a) { return ebb::sum(a); });
  CHECK(same<T>(by_mean, total(means)));
  CHECK(by_deviation == Approx(static_cast<double>(total(deviations)) - static_cast<double>(x.size()) / deviation).epsilon(1e-4));
  CHECK(value == Approx(static_cast<double>(total(terms))).epsilon(1e-5));
}
