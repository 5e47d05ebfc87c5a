// test/stats/discrete.cpp — logarithms of probabilities of counts against long double, and at the ends of their supports.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using stats_test::check_density, stats_test::inf, stats_test::long_numbers, stats_test::nan, stats_test::numbers, stats_test::point;
using stats_test::valued;

// The counts do not vary: only parameters have derivatives that are compared.
template <std::size_t N, class F>
struct of_counts {
  constexpr auto operator()(auto v) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return F{}(ebb::stop_gradient(v[0]), v[static_cast<int>(I) + 1]...);
    }(std::make_index_sequence<N>{});
  }
};
/// A count in the differences: rounded, since it is moved by a small step.
long double count(long double k) { return std::rint(k); }

long double choose_of(long double n, long double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

template <std::size_t K, std::size_t N, class Call, class Oracle>
void check_counts(const char* name, Call, const numbers& x, Oracle oracle, double bound) {
  check_density<K, N>(name, of_counts<K - 1, Call>{}, x, [&](long_numbers v) {
    v[0] = count(v[0]);
    return oracle(v);
  }, bound, 1e-5L);
}

TEST_CASE("probabilities of counts, and their first and second derivatives, are those of their formulas") {
  const numbers poisson{0, 2, 3, 40, 1, 120, 9, 7, 1, 2.5, 0.5, 35, 8, 150, 9, 0.25};
  check_counts<2, 8>("poisson", ebb::poisson_lpmf, poisson, [](const long_numbers& v) {
    const long double l = v[0] * std::log(v[1]);
    return valued{l - v[1] - std::lgamma(v[0] + 1), std::fabs(v[0] - v[1]) + (v[0] < 8 ? v[1] + std::fabs(l) : 0)};
  }, 10);
  check_counts<2, 4>("bernoulli", ebb::bernoulli_lpmf, {0, 1, 1, 0, 0.25, 0.5, 0.125, 0.9}, [](const long_numbers& v) {
    return valued{v[0] == 1 ? std::log(v[1]) : std::log1p(-v[1])};
  }, 3);
  check_counts<2, 4>("bernoulli_logit", ebb::bernoulli_logit_lpmf, {0, 1, 1, 0, 0.25, -30, 2, 40}, [](const long_numbers& v) {
    const long double x = v[0] == 1 ? v[1] : -v[1];
    return valued{std::min(x, 0.0L) - std::log1p(std::exp(-std::fabs(x)))};
  }, 3);
  const numbers binomial{0, 2, 3, 40, /* n */ 5, 2, 10, 100, /* p */ 0.25, 0.5, 0.125, 0.375};
  check_counts<3, 4>("binomial", ebb::binomial_lpmf, binomial, [](const long_numbers& v) {
    const long double l = choose_of(v[1], v[0]) + v[0] * std::log(v[2]) + (v[1] - v[0]) * std::log1p(-v[2]);
    return valued{l, std::min(v[1], 24.0L) + std::fabs(v[0] - v[1] * v[2])};
  }, 10);
  const numbers negative{0, 2, 3, 40, /* r */ 5, 0.5, 10, 80, /* p */ 0.25, 0.5, 0.625, 0.75};
  check_counts<3, 4>("negative_binomial", ebb::negative_binomial_lpmf, negative, [](const long_numbers& v) {
    const long double ways = std::lgamma(v[0] + v[1]) - std::lgamma(v[0] + 1) - std::lgamma(v[1]);
    return valued{ways + v[1] * std::log(v[2]) + v[0] * std::log1p(-v[2]),
                  std::min(v[0] + v[1], 24.0L) + std::fabs(v[0] - (v[0] + v[1]) * (1 - v[2]))};
  }, 10);
  check_counts<2, 4>("geometric", ebb::geometric_lpmf, {0, 1, 7, 100, 0.25, 0.5, 0.125, 0.1}, [](const long_numbers& v) {
    return valued{std::log(v[1]) + v[0] * std::log1p(-v[1]), std::fabs(std::log(v[1])) + std::fabs(v[0] * std::log1p(-v[1]))};
  }, 3);
}

TEST_CASE("probabilities of large counts do not cancel") {
  const auto binomial = [](auto v) { return ebb::binomial_lpmf(v[0], v[1], v[2]); };
  const auto error = stats_test::worst_error<float, 3, 2>(binomial, {500000, 16384, 1000000, 65536, 0.5, 0.25}, [](const long_numbers& v) {
    return valued{choose_of(v[1], v[0]) + v[0] * std::log(v[2]) + (v[1] - v[0]) * std::log1p(-v[2])};
  });
  CHECK(error < 40);
  // Many trials with a small probability: 1 - p is rounded, and that does not matter.
  const float rare = ebb::binomial_lpmf(ebb::tensor<float, 1>{1}, 1e6f, 1e-6f)(0);
  CHECK(rare == Approx(-1.0000005f).epsilon(1e-5));
  CHECK(ebb::poisson_lpmf(ebb::tensor<float, 1>{1e6f}, 1e6f)(0) == Approx(-0.5 * std::log(2 * 3.14159265358979 * 1e6)).epsilon(1e-6));
}

constexpr auto poisson_at = [](auto v) { return ebb::poisson_lpmf(v[0], v[1]); };
constexpr auto bernoulli_at = [](auto v) { return ebb::bernoulli_lpmf(v[0], v[1]); };
constexpr auto logit_at = [](auto v) { return ebb::bernoulli_logit_lpmf(v[0], v[1]); };
constexpr auto binomial_at = [](auto v) { return ebb::binomial_lpmf(v[0], v[1], v[2]); };
constexpr auto negative_at = [](auto v) { return ebb::negative_binomial_lpmf(v[0], v[1], v[2]); };
constexpr auto geometric_at = [](auto v) { return ebb::geometric_lpmf(v[0], v[1]); };

TEST_CASE("probabilities of what is no count are 0, and so are their gradients") {
  for (double k : {-1., 1.5, inf, -inf, -0.5}) {
    CHECK(point<2>(poisson_at, {k, 2}) == numbers{-inf, 0, 0});
    CHECK(point<2>(bernoulli_at, {k, 0.25}) == numbers{-inf, 0, 0});
    CHECK(point<2>(logit_at, {k, 0.25}) == numbers{-inf, 0, 0});
    CHECK(point<3>(binomial_at, {k, 5, 0.25}) == numbers{-inf, 0, 0, 0});
    CHECK(point<3>(negative_at, {k, 5, 0.25}) == numbers{-inf, 0, 0, 0});
    CHECK(point<2>(geometric_at, {k, 0.25}) == numbers{-inf, 0, 0});
  }
  CHECK((point<2>(bernoulli_at, {2, 0.25}) == numbers{-inf, 0, 0} && point<3>(binomial_at, {6, 5, 0.25}) == numbers{-inf, 0, 0, 0}));
  for (double bad : {nan, -0.5, 1.5}) {
    CHECK((std::isnan(point<2>(bernoulli_at, {0, bad})[0]) && std::isnan(point<2>(bernoulli_at, {1, bad})[0])));
    CHECK((std::isnan(point<3>(binomial_at, {0, 5, bad})[0]) && std::isnan(point<3>(negative_at, {0, 5, bad})[0])));
    CHECK(std::isnan(point<2>(geometric_at, {0, bad})[0]));
  }
  CHECK((std::isnan(point<2>(poisson_at, {nan, 2})[0]) && std::isnan(point<2>(poisson_at, {1, -1})[0]) &&
         std::isnan(point<2>(logit_at, {nan, 1})[0])));
}

TEST_CASE("probabilities of counts at certain and impossible events") {
  CHECK((point<2>(poisson_at, {0, 0})[0] == 0 && point<2>(poisson_at, {0, 0})[2] == -1 && point<2>(poisson_at, {3, 0})[0] == -inf));
  CHECK((point<2>(bernoulli_at, {0, 0})[0] == 0 && point<2>(bernoulli_at, {0, 0})[2] == -1));
  CHECK((point<2>(bernoulli_at, {1, 1})[0] == 0 && point<2>(bernoulli_at, {1, 1})[2] == 1));
  CHECK((point<2>(bernoulli_at, {1, 0})[0] == -inf && point<2>(bernoulli_at, {0, 1})[0] == -inf));
  CHECK((point<2>(logit_at, {1, 800})[0] == 0 && point<2>(logit_at, {0, 800})[0] == -800 && point<2>(logit_at, {0, 800})[2] == -1));
  CHECK((point<2>(logit_at, {1, inf})[0] == 0 && point<2>(logit_at, {1, -inf})[0] == -inf));
  CHECK((point<3>(binomial_at, {0, 5, 0})[0] == 0 && point<3>(binomial_at, {0, 5, 0})[3] == -5 &&
         point<3>(binomial_at, {1, 5, 0})[0] == -inf));
  CHECK((point<3>(binomial_at, {5, 5, 1})[0] == 0 && point<3>(binomial_at, {5, 5, 1})[3] == 5 &&
         point<3>(binomial_at, {4, 5, 1})[0] == -inf));
  CHECK(point<3>(binomial_at, {0, 0, 0.5})[0] == 0);
  CHECK((point<3>(negative_at, {0, 3, 1})[0] == Approx(0).margin(1e-14) && point<3>(negative_at, {2, 3, 1})[0] == -inf));
  CHECK((point<2>(geometric_at, {0, 1})[0] == 0 && point<2>(geometric_at, {1, 1})[0] == -inf && point<2>(geometric_at, {3, 0})[0] == -inf));
  // Probabilities add up to 1.
  double sum = 0;
  for (int k = 0; k <= 12; ++k) sum += std::exp(point<3>(binomial_at, {static_cast<double>(k), 12, 0.3})[0]);
  CHECK(sum == Approx(1).epsilon(1e-14));
}

TEST_CASE("probabilities of counts have the same bits in loops, map, on the tape and captured") {
  using T = float;
  test::check_everywhere<T>(
      [](auto a) {
        return ebb::poisson_lpmf(3, a) * ebb::bernoulli_logit_lpmf(1, a) +
               ebb::binomial_lpmf(2, 9, a * 0.05) * ebb::geometric_lpmf(4, a * 0.05);
      },
      {T(0.6), T(0.7), 1, T(1.7), 3, 5, T(7.5), 12, T(9.25)});
}

}  // namespace
