// test/special/gamma.cpp — tgamma, lbeta, beta, lchoose and mvlgamma against long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../op/everywhere.hpp"
#include "../op/exact_derivatives.hpp"
#include "../op/golden.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;
constexpr auto gamma_itself = [](auto x) { return lane::tgamma(x); };

TEMPLATE_TEST_CASE("tgamma keeps its documented error, for lanes and scalars", "", float, double) {
  using T = TestType;
  const double end = sizeof(T) == 4 ? 36 : 172;
  auto at = test::places_around<T>(end, {0.75, 1.75, 8}, 3000);
  for (int i = 1; i < 6000; ++i) at.push_back(static_cast<T>(i * end / 6000)), at.push_back(static_cast<T>(-i * 8.0 / 6000));
  const auto exact = [](long double x) {
    if (x < 0 && (std::rint(x) == x)) return std::numeric_limits<long double>::quiet_NaN();
    return std::tgamma(x);
  };
  // The C library's long double is a few units of its own off, which a double does not see.
  test::check("tgamma", gamma_itself, exact, 4, at);
  for (int n = 1; n < 8; ++n) {
    T factorial = 1;
    for (int i = 2; i < n; ++i) factorial *= static_cast<T>(i);
    CHECK(gamma_itself(static_cast<T>(n)) == factorial);
  }
}

long double lbeta_of(long double a, long double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

TEMPLATE_TEST_CASE("lbeta and the difference of two digammas keep their documented errors", "", float, double) {
  using T = TestType;
  std::mt19937_64 next(5);
  std::uniform_real_distribution<double> exponent(-10, 10), small(0.01, 12);
  double worst = 0, difference = 0;
  for (int i = 0; i < 20000; ++i) {
    const T a = static_cast<T>(i % 2 ? small(next) : std::exp2(exponent(next)));
    const T b = static_cast<T>(i % 3 ? small(next) : std::exp2(exponent(next)));
    const long double la = std::lgamma(static_cast<long double>(std::min(a, b))), lab = std::lgamma(static_cast<long double>(a) + b);
    long double size = std::max({1.0L, std::fabs(lbeta_of(a, b)), std::fabs(la)});
    if (std::max(a, b) < 8) size = std::max(size, std::fabs(lab));
    const long double unit = std::numeric_limits<T>::epsilon();
    worst = std::max(worst, static_cast<double>(std::fabs(lane::lbeta(a, b) - lbeta_of(a, b)) / (unit * size)));
    // psi(a) - psi(a + b), by the recurrence up to 300 and the asymptotic series.
    long double want = 0, p = a, q = static_cast<long double>(a) + b;
    for (; p < 300; ++p, ++q) want += 1 / q - 1 / p;
    const auto rest = [](long double x) { return 1 / (2 * x) + 1 / (12 * x * x) - 1 / (120 * x * x * x * x) + 1 / (252 * std::pow(x, 6)); };
    want += -std::log1p(b / p) - (rest(p) - rest(q));
    const long double parts = 1 / static_cast<long double>(a) + std::fabs(std::log(static_cast<long double>(a) + b));
    const long double allowed = 4 * std::max(std::fabs(want), a < 2 ? parts : 1 / (static_cast<long double>(a) * a));
    difference = std::max(difference, static_cast<double>(std::fabs(lane::digamma_difference(a, b) - want) / (unit * allowed)));
  }
  CHECK(worst < 8);
  CHECK(difference < 1);
  // The logarithms of gamma cancel to all digits here: log beta(a, b) is lgamma(b) - b log a - b (b - 1) / (2 a) for large a.
  CHECK(lane::lbeta(T(1e6), T(2)) == Approx(-std::log(1e6 * (1e6 + 1))).epsilon(4 * std::numeric_limits<T>::epsilon()));
}

TEST_CASE("gamma functions give the recorded values and exact derivatives") {
  using golden::any_vector;
  golden::check_wide<any_vector>("special", "tgamma", [](auto x) { return ebb::tgamma(x); },
                                 {.value = 4, .grad = 12, .second = 16, .grad_floor = 1, .second_floor = 1});
  golden::check_wide<any_vector>("special", "mvlgamma_3", [](auto x) { return ebb::mvlgamma<3>(x); },
                                 {.value = 8, .grad = 12, .second = 16, .grad_floor = 1, .value_floor = 4});
  golden::check_wide<any_vector, any_vector>("special", "lbeta", [](auto a, auto b) { return ebb::lbeta(a, b); },
                                             {.value = 8, .grad = 8, .second = -1, .grad_floor = 1, .value_floor = 4});
  // PyTorch's trigamma has 9 digits.
  const auto second = ebb::grad([](auto a, auto b) {
    return ebb::sum(ebb::grad([](auto c, auto d) { return ebb::sum(ebb::lbeta(c, d)); })(a, b));
  });
  const ebb::tensor<double, 3> a{0.5, 3, 20}, b{2, 0.25, 30}, sum{2.5, 3.25, 50}, got = second(a, b), of_a = ebb::polygamma<1>(a);
  const ebb::tensor<double, 3> of_sum = ebb::polygamma<1>(sum);
  for (std::size_t i = 0; i < 3; ++i) CHECK(got(i) == Approx(of_a(i) - of_sum(i)).epsilon(1e-14));
}

TEMPLATE_TEST_CASE("gamma functions are right at zeros, poles, infinities and NaN", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  static_assert(ebb::tgamma(T(5)) == 24 && ebb::tgamma(T(1)) == 1 && ebb::tgamma(inf) == inf && ebb::lbeta(T(1), T(1)) == 0);
  CHECK((gamma_itself(T(0)) == inf && gamma_itself(T(-0.0)) == -inf && std::isnan(gamma_itself(T(-3))) && std::isnan(gamma_itself(-inf))));
  CHECK((std::isnan(gamma_itself(nan)) && gamma_itself(T(200)) == inf && gamma_itself(T(-300.5)) == 0));
  CHECK((lane::lbeta(T(0), T(3)) == inf && lane::lbeta(inf, T(3)) == -inf));
  CHECK((std::isnan(lane::lbeta(T(-1), T(3))) && std::isnan(lane::lbeta(nan, T(3)))));
}

TEST_CASE("beta and lchoose are made of lbeta, with its derivatives") {
  const ebb::tensor<double, 3> n{5, 10, 2.5}, k{2, 3, 0.5};
  const ebb::tensor<double, 3> c = ebb::lchoose(n, k), b = ebb::beta(n, k);
  const double ways[] = {10, 120, 0};
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::exp(c(i)) == Approx(ways[i]).epsilon(1e-14));
  for (std::size_t i = 0; i < 3; ++i) CHECK(b(i) == Approx(static_cast<double>(std::exp(lbeta_of(n(i), k(i))))).epsilon(1e-14));
  CHECK(c(2) == Approx(static_cast<double>(-std::log1p(2.5L) - lbeta_of(3.0L, 1.5L))).epsilon(1e-14));
  const ebb::tensor<double, 3> slope = ebb::grad([](auto a, auto d) { return ebb::sum(ebb::lchoose(a, d)); })(n, k);
  for (std::size_t i = 0; i < 3; ++i) {
    const long double h = 1e-5L, up = n(i) + h, down = n(i) - h, q = k(i);
    const long double want = (std::lgamma(up + 1) - std::lgamma(up - q + 1) - std::lgamma(down + 1) + std::lgamma(down - q + 1)) / (2 * h);
    CHECK(slope(i) == Approx(static_cast<double>(want)).epsilon(1e-8));
  }
  CHECK(ebb::all_equal(ebb::tgamma(ebb::tensor<int, 2>{4, 6}), ebb::tensor<float, 2>{6, 120}));
}

TEMPLATE_TEST_CASE("gamma functions have the same bits in loops, map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(0.3), T(0.7), T(0.8), 1, T(1.7), T(1.8), 3, 5, 9, 12, 20, 8, T(7.5)};
  test::check_everywhere<T>([](auto a) { return ebb::tgamma(a - 4.25) + ebb::lbeta(a, 3.0) * ebb::beta(a, a); }, x);
}

TEST_CASE("beta and lchoose have the first and second derivatives of lgamma; zeros, infinities, NaN, more chosen than there are") {
  const auto f = [](auto x) { return std::tuple(ebb::beta(x, ebb::flip<0>(x * x)), ebb::lchoose(4 * x + 1, ebb::flip<0>(x))); };
  const auto exact = [](const linalg_test::long_numbers& x) {
    linalg_test::long_numbers r;
    for (std::size_t i = 0; i < 3; ++i) r.push_back(std::exp(lbeta_of(x[i], x[2 - i] * x[2 - i])));
    for (std::size_t i = 0; i < 3; ++i) {
      const long double n = 4 * x[i] + 1, k = x[2 - i];
      r.push_back(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
    }
    return r;
  };
  linalg_test::against_differences<ebb::term<double, 3>>("beta, lchoose", f, {0.75, 1.5, 2.25}, linalg_test::extents_of({3}), exact, 1e-10L,
                                                         1e-6L);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK((ebb::beta(0.0, 3.0) == inf && ebb::beta(inf, 3.0) == 0 && ebb::beta(1.0, 1.0) == 1));
  CHECK((std::isnan(ebb::beta(nan, 3.0)) && std::isnan(ebb::beta(3.0, nan)) && std::isnan(ebb::beta(-1.0, 3.0))));
  CHECK((ebb::lchoose(5.0, 6.0) == -inf && std::isnan(ebb::lchoose(nan, 2.0)) && std::isnan(ebb::lchoose(2.0, nan))));
  for (const double n : {0.0, 1.0, 7.0, 100.0}) CHECK((std::fabs(ebb::lchoose(n, 0.0)) < 1e-14 && std::fabs(ebb::lchoose(n, n)) < 1e-14));
  CHECK(ebb::beta(ebb::tensor<double, ebb::dyn>(0), 2.0).size() == 0);
}

}  // namespace
