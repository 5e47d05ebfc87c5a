// test/num/gamma.cpp — lgamma, digamma and its derivatives against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/gamma.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto lgamma = [](auto x) { return lane::lgamma(x); };
constexpr auto digamma = [](auto x) { return lane::digamma(x); };
constexpr auto trigamma = [](auto x) { return lane::trigamma(x); };
constexpr auto tetragamma = [](auto x) { return lane::tetragamma(x); };
constexpr auto pentagamma = [](auto x) { return lane::pentagamma(x); };
}  // namespace of

namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;
constexpr long double bernoulli[] = {1.L / 6, -1.L / 30, 1.L / 42, -1.L / 30, 5.L / 66, -691.L / 2730, 7.L / 6, -3617.L / 510};

/// The Nth derivative of digamma for x > 0: the recurrence up to 30, then eight terms of the asymptotic series.
template <int N>
long double positive(long double x) {
  long double sum = 0, factorial = 1;  // N!
  for (int i = 2; i <= N; ++i) factorial *= i;
  for (; x < 30; x += 1) sum -= factorial * std::pow(x, -static_cast<long double>(N + 1));
  long double rest = N == 0 ? std::log(x) : -factorial / N * std::pow(x, -static_cast<long double>(N));
  rest -= factorial / 2 * std::pow(x, -static_cast<long double>(N + 1));
  for (int k = 1; k <= 8; ++k) {
    long double term = bernoulli[k - 1] / (2 * k);
    for (int i = 0; i < N; ++i) term *= 2 * k + i;
    rest -= term * std::pow(x, -static_cast<long double>(2 * k + N));
  }
  const long double value = sum + rest;
  return N % 2 == 0 ? value : -value;
}

/// digamma near its root by Taylor's series there: the sum above has an absolute error, not a relative one.
long double digamma(long double x) {
  constexpr long double root = 0x1.762d86356be3fp+0L, rest = 0x1.b86a722197829p-54L;
  if (!(std::fabs(x - root) < 0.01L)) return positive<0>(x);
  const long double d = (x - root) - rest;
  long double sum = 0, power = 1, factorial = 1;
  const long double slopes[] = {positive<1>(root), positive<2>(root), positive<3>(root), positive<4>(root), positive<5>(root),
                                positive<6>(root), positive<7>(root), positive<8>(root)};
  for (int i = 0; i < 8; ++i) power *= d, factorial *= i + 1, sum += slopes[i] * power / factorial;
  return sum;
}

template <class T>
std::vector<T> positive_places() {
  std::vector<T> out;
  std::mt19937_64 next(3);
  for (T edge : {T(0.75), T(1), T(2), T(2.5), T(3.5), T(8), T(1.4616321449683623)}) {
    T up = edge, down = edge;
    for (int i = 0; i < 100; ++i, up = std::nextafter(up, T(100)), down = std::nextafter(down, T(0)))
      out.push_back(up), out.push_back(down);
  }
  std::uniform_real_distribution<double> ordinary(0, 10), middle(0.9, 2.6), exponent(-20, 30);
  for (int i = 0; i < 6000; ++i)
    for (double x : {ordinary(next), middle(next), std::exp2(exponent(next))}) out.push_back(static_cast<T>(x));
  return out;
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  std::vector<T> at = positive_places<T>();
  test::check_ulps(name, f, oracle, bound, at);
  for (std::size_t i = 0; i < at.size(); i += 3) at[i] = -at[i];
  for (T y : test::special_values<T>()) at.push_back(y);
  CHECK(test::differences(f, at) == 0);
}

/// On the negative axis the error is measured in units in the last place of size(x).
template <class T>
void check_negative(const char* name, auto f, auto oracle, auto size, double bound) {
  std::mt19937_64 next(5);
  std::uniform_real_distribution<double> place(-12, 0);
  double worst = 0, where = 0;
  for (int i = 0; i < 6000; ++i) {
    const T x = static_cast<T>(i % 2 ? place(next) : std::rint(place(next)) + 0.01 * place(next));
    if (x >= 0 || x == std::rint(x)) continue;
    const long double unit = std::ldexp(1.0L, std::ilogb(size(static_cast<long double>(x))) - std::numeric_limits<T>::digits + 1);
    const double e = static_cast<double>(std::fabs(static_cast<long double>(f(x)) - oracle(static_cast<long double>(x))) / unit);
    if (!(e <= worst)) worst = e, where = static_cast<double>(x);
  }
  INFO(name << " of " << sizeof(T) << " bytes is worst at " << where << ", by " << worst);
  CHECK(worst <= (lane::fused ? bound : 2 * bound));
}

long double sine(long double x) { return std::sin(pi * (x - std::rint(x))); }
long double cosine(long double x) { return std::cos(pi * (x - std::rint(x))); }

}  // namespace

TEMPLATE_TEST_CASE("lgamma, digamma and its derivatives keep their documented error", "", float, double) {
  using T = TestType;
  check<T>("lgamma", of::lgamma, [](long double x) { return lgammal(x); }, 4);
  check<T>("digamma", of::digamma, digamma, 4);
  check<T>("trigamma", of::trigamma, positive<1>, 8);
  check<T>("tetragamma", of::tetragamma, positive<2>, 8);
  check<T>("pentagamma", of::pentagamma, positive<3>, 8);
}

TEMPLATE_TEST_CASE("lgamma, digamma and its derivatives keep their documented error on the negative axis", "", float, double) {
  using T = TestType;
  const auto log_gamma = [](long double x) { return std::log(pi / std::fabs(sine(x))) - lgammal(1 - x); };
  check_negative<T>("lgamma", of::lgamma, log_gamma, [&](long double x) { return std::max(1.0L, lgammal(1 - x)); }, 8);
  const auto psi = [](long double x) { return positive<0>(1 - x) - pi * cosine(x) / sine(x); };
  check_negative<T>("digamma", of::digamma, psi, [&](long double x) { return std::max(1.0L, std::fabs(psi(x))); }, 8);
  const auto q = [](long double x) { return pi / sine(x); };
  const auto psi_1 = [q](long double x) { return q(x) * q(x) - positive<1>(1 - x); };
  check_negative<T>("trigamma", of::trigamma, psi_1, psi_1, 8);
  const auto psi_2 = [q](long double x) { return positive<2>(1 - x) - 2 * q(x) * q(x) * q(x) * cosine(x); };
  check_negative<T>("tetragamma", of::tetragamma, psi_2, [&](long double x) { return std::max(1.0L, std::fabs(psi_2(x))); }, 8);
  const auto psi_3 = [q](long double x) {
    const long double s = q(x) * q(x);
    return 6 * s * s * cosine(x) * cosine(x) + 2 * pi * pi * s - positive<3>(1 - x);
  };
  check_negative<T>("pentagamma", of::pentagamma, psi_3, psi_3, 12);
}

TEMPLATE_TEST_CASE("lgamma, digamma and its derivatives are right at zeros, poles, infinities and NaN", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN();
  const T at[] = {T(0), T(-0.0), inf, -inf, T(-1), T(-7), L::lowest(), nan};
  const auto gives = [&](auto f, std::initializer_list<T> results) {
    bool good = true;
    for (int i = 0; T want : results) good = good && test::same(f(at[i++]), want);
    return good;
  };
  CHECK(gives(of::lgamma, {inf, inf, inf, inf, inf, inf, inf, nan}));
  CHECK(gives(of::digamma, {-inf, inf, inf, nan, nan, nan, nan, nan}));
  CHECK(gives(of::trigamma, {inf, inf, T(0), nan, inf, inf, inf, nan}));
  CHECK(gives(of::tetragamma, {-inf, inf, T(-0.0), nan, -inf, -inf, -inf, nan}));
  CHECK(gives(of::pentagamma, {inf, inf, T(0), nan, inf, inf, inf, nan}));
  CHECK((of::lgamma(T(1)) == 0 && of::lgamma(T(2)) == 0));
  CHECK((of::digamma(L::denorm_min()) == -inf && of::digamma(-L::denorm_min()) == inf && of::lgamma(L::max()) == inf));
  CHECK(std::fabs(of::lgamma(L::denorm_min()) + std::log(L::denorm_min())) <= 4 * L::epsilon() * of::lgamma(L::denorm_min()));
}

TEST_CASE("lgamma, digamma and its derivatives in constant expressions have the bits of run time") {
  static constexpr double at[] = {-7.25, -1.5, -1e-9, 1e-60, 0.3, 0.75, 1, 1.5, 2, 2.5, 7.9, 8, 100, 1e300};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto l = results(of::lgamma), d = results(of::digamma), t = results(of::trigamma), p = results(of::pentagamma);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(l[i], of::lgamma(y)) && test::same(d[i], of::digamma(y))));
    CHECK((test::same(t[i], of::trigamma(y)) && test::same(p[i], of::pentagamma(y))));
    ++i;
  }
}
