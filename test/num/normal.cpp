// test/num/normal.cpp — the normal distribution against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/normal.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto density = [](auto x) { return lane::normal_density(x); };
constexpr auto ndtr = [](auto x) { return lane::ndtr(x); };
constexpr auto log_ndtr = [](auto x) { return lane::log_ndtr(x); };
constexpr auto inverse_mills = [](auto x) { return lane::inverse_mills(x); };
constexpr auto mean_excess = [](auto x) { return lane::mean_excess(x); };
}  // namespace of

namespace {

constexpr long double root_two_pi = 2.50662827463100050241576528481104525L, root_half = 0.707106781186547524400844362104849039L;

/// e^(-x^2 / 2), with x^2 in two parts of which the first is exact.
long double bell(long double x) {
  if (!(std::fabs(x) < 1e3L)) return std::isnan(x) ? x : 0;
  const long double high = std::ldexp(std::rint(std::ldexp(x, 20)), -20), low = x - high;
  return std::exp(-high * high / 2) * std::exp(-(high + x) * low / 2);
}
/// Phi(-z) / phi(z) for z >= 0: by a continued fraction where it converges quickly, else by erfc.
long double mills(long double z) {
  if (z < 3) return std::erfc(z * root_half) / 2 * root_two_pi / bell(z);
  long double rest = 0;
  for (int i = 400; i > 0; --i) rest = i / (z + rest);
  return 1 / (z + rest);
}
/// 1 / (Phi(-z) / phi(z)) - z; from z = 3 on without that subtraction.
long double excess(long double z) {
  if (z < 3) return 1 / mills(z) - z;
  long double rest = 0;
  for (int i = 400; i > 0; --i) rest = i / (z + rest);
  return rest;
}
long double density(long double x) { return bell(x) / root_two_pi; }
long double ndtr(long double x) {
  if (std::isnan(x)) return x;
  return x > -3 ? std::erfc(-x * root_half) / 2 : density(x) * mills(-x);
}
long double log_ndtr(long double x) {
  if (x > 0) return std::log1p(-(x > 3 ? density(x) * mills(x) : std::erfc(x * root_half) / 2));
  if (x > -3) return std::log(ndtr(x));
  return -(x * x / 2 - std::log(mills(-x) / root_two_pi));
}
long double inverse_mills(long double x) { return x <= 0 ? -x + excess(-x) : density(x) / ndtr(x); }
long double mean_excess(long double x) { return x <= 0 ? excess(-x) : x + density(x) / ndtr(x); }

template <class T>
std::vector<T> places() {
  std::vector<T> out = test::special_values<T>();
  std::mt19937_64 next(3);
  for (T edge : {T(0.5), T(1), T(3), T(3.5), T(4), lane::detail::normal<T>::greatest}) {
    T up = edge, down = edge;
    for (int i = 0; i < 200; ++i, up = std::nextafter(up, T(100)), down = std::nextafter(down, T(0)))
      for (T x : {up, down}) out.push_back(x), out.push_back(-x);
  }
  std::uniform_real_distribution<double> ordinary(-6, 6), near(-1.1, 1.1), tail(-(sizeof(T) == 4 ? 14 : 37.5), -5), exponent(-60, 60);
  for (int i = 0; i < 12000; ++i) {
    for (double x : {ordinary(next), near(next), tail(next), std::exp2(exponent(next)), -std::exp2(exponent(next) / 2)})
      out.push_back(static_cast<T>(x));
  }
  return out;
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound, T least = -std::numeric_limits<T>::infinity()) {
  std::vector<T> at = places<T>();
  CHECK(test::differences(f, at) == 0);
  std::erase_if(at, [&](T x) { return x < least || (std::isinf(x) && !std::isinf(least)); });
  test::check_ulps(name, f, oracle, bound, at);
}

}  // namespace

TEMPLATE_TEST_CASE("the normal distribution keeps its documented error, in the tail too", "", float, double) {
  using T = TestType;
  check<T>("normal_density", of::density, density, 1.5);
  check<T>("ndtr", of::ndtr, ndtr, 3);
  check<T>("log_ndtr", of::log_ndtr, log_ndtr, 3);
  check<T>("inverse_mills", of::inverse_mills, inverse_mills, 3, std::numeric_limits<T>::lowest());
  check<T>("mean_excess", of::mean_excess, mean_excess, 3, std::numeric_limits<T>::lowest() / 4);
}

TEMPLATE_TEST_CASE("the normal distribution is right at zeros, infinities and NaN", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN();
  CHECK((of::ndtr(T(0)) == T(0.5) && of::ndtr(T(-0.0)) == T(0.5) && of::ndtr(inf) == 1 && test::same(of::ndtr(-inf), T(0))));
  CHECK((of::density(inf) == 0 && of::density(-inf) == 0));
  CHECK((test::same(of::log_ndtr(inf), T(-0.0)) && of::log_ndtr(-inf) == -inf));
  CHECK((of::inverse_mills(inf) == 0 && of::inverse_mills(-inf) == inf && of::inverse_mills(L::lowest()) == L::max()));
  CHECK(of::mean_excess(L::max()) == L::max());
  for (auto y : {of::ndtr(nan), of::density(nan), of::log_ndtr(nan), of::inverse_mills(nan), of::mean_excess(nan)}) CHECK(std::isnan(y));
}

TEMPLATE_TEST_CASE("log_ndtr is finite as long as x^2 / 2 is", "", float, double) {
  using T = TestType;
  const T root = std::sqrt(std::numeric_limits<T>::max()), x = -root * T(1.41421);
  CHECK(std::isfinite(of::log_ndtr(x)));
  CHECK(std::fabs(of::log_ndtr(x) / (x / 2 * x) + 1) < 4 * std::numeric_limits<T>::epsilon());
  CHECK(of::log_ndtr(-root * T(1.41422)) == -std::numeric_limits<T>::infinity());
}

TEST_CASE("the normal distribution in constant expressions has the bits of run time") {
  static constexpr double at[] = {-1e100, -30, -6, -1.5, -0.5, -1e-9, 0.0, 1e-300, 0.3, 0.75, 1, 2.5, 6, 20, 38};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto d = results(of::density), p = results(of::ndtr), l = results(of::log_ndtr), h = results(of::inverse_mills);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(d[i], of::density(y)) && test::same(p[i], of::ndtr(y))));
    CHECK((test::same(l[i], of::log_ndtr(y)) && test::same(h[i], of::inverse_mills(y))));
    ++i;
  }
}
