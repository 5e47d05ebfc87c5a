// test/num/gelu.cpp — gelu in both forms and its derivatives against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/gelu.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto gelu = [](auto x) { return lane::gelu(x); };
constexpr auto gelu_slope = [](auto x) { return lane::gelu_slope(x); };
constexpr auto gelu_bend = [](auto x) { return lane::gelu_bend(x); };
constexpr auto gelu_tanh = [](auto x) { return lane::gelu_tanh(x); };
constexpr auto gelu_tanh_slope = [](auto x) { return lane::gelu_tanh_slope(x); };
constexpr auto gelu_tanh_bend = [](auto x) { return lane::gelu_tanh_bend(x); };
}  // namespace of

namespace {

/// A value, and the largest of the terms that were summed to give it.
struct sum {
  long double value, largest;
  sum(std::initializer_list<long double> terms) : value(0), largest(0) {
    for (long double t : terms) value += t, largest = std::max(largest, std::fabs(t));
  }
};

constexpr long double root_two_pi = 2.50662827463100050241576528481104525L, root_half = 0.707106781186547524400844362104849039L;

// x^2 is computed with 64 digits: the exponent loses 2^-64 x^2, less than 2^-53 in the range of double.
long double density(long double x) { return std::exp(-x * x / 2) / root_two_pi; }
long double phi(long double x) { return std::erfc(-x * root_half) / 2; }
sum gelu(long double x) { return {x * phi(x)}; }
sum gelu_slope(long double x) { return {phi(x), x * density(x)}; }
sum gelu_bend(long double x) { return {2 * density(x), -x * x * density(x)}; }

/// 1 / (1 + e^-2u) and the derivatives of 2u.
struct step {
  long double s, rest, rise, rise_2;
  explicit step(long double x) {
    const long double c = 2 * std::sqrt(2 / 3.14159265358979323846264338327950288L), u = c * x * (1 + 0.044715L * x * x);
    s = 1 / (1 + std::exp(-u)), rest = 1 / (1 + std::exp(u));
    rise = c * (1 + 3 * 0.044715L * x * x), rise_2 = c * 6 * 0.044715L * x;
  }
};
sum gelu_tanh(long double x) { return {x * step(x).s}; }
sum gelu_tanh_slope(long double x) {
  const step t(x);
  return {t.s, x * t.s * t.rest * t.rise};
}
sum gelu_tanh_bend(long double x) {
  const step t(x);
  const long double w = t.s * t.rest;
  return {2 * w * t.rise, w * x * t.rise_2, w * x * t.rise * t.rise * (t.rest - t.s)};
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double least, double bound) {
  std::vector<T> at{T(0), T(1), T(-1)};
  std::mt19937_64 next(3);
  std::uniform_real_distribution<double> ordinary(-4, 4), tail(least, 3), exponent(-60, 3);
  for (T edge : {T(1), T(0.75), T(3.5)}) {
    T up = edge, down = edge;
    for (int i = 0; i < 100; ++i, up = std::nextafter(up, T(100)), down = std::nextafter(down, T(0)))
      for (T x : {up, down}) at.push_back(x), at.push_back(-x);
  }
  for (int i = 0; i < 12000; ++i)
    for (double x : {ordinary(next), tail(next), std::exp2(exponent(next)), -std::exp2(exponent(next))}) at.push_back(static_cast<T>(x));
  double worst = 0;
  T where{};
  for (T x : at) {
    const sum want = oracle(static_cast<long double>(x));
    // The error in units of the largest term; of the smallest normal number where the value is 0.
    const long double size = std::max<long double>(want.largest, std::numeric_limits<T>::min());
    const long double unit = std::ldexp(1.0L, std::ilogb(size) - std::numeric_limits<T>::digits + 1);
    const double e = static_cast<double>(std::fabs(static_cast<long double>(f(x)) - want.value) / unit);
    if (!(e <= worst)) worst = e, where = x;
  }
  INFO(name << " of " << sizeof(T) << " bytes is worst at " << where << ", by " << worst);
  CHECK(worst <= (lane::fused ? bound : 2 * bound));
  for (T x : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::max(), std::numeric_limits<T>::quiet_NaN()})
    at.push_back(x), at.push_back(-x);
  CHECK(test::differences(f, at) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("gelu and its derivatives keep their documented error, in the tail too", "", float, double) {
  using T = TestType;
  const double least = sizeof(T) == 4 ? -14.5 : -38.7, soft = sizeof(T) == 4 ? -10.8 : -21.8;
  check<T>("gelu", of::gelu, gelu, least, 3);
  check<T>("gelu_slope", of::gelu_slope, gelu_slope, least, 3);
  check<T>("gelu_bend", of::gelu_bend, gelu_bend, least, 3);
  check<T>("gelu_tanh", of::gelu_tanh, gelu_tanh, soft, 3);
  check<T>("gelu_tanh_slope", of::gelu_tanh_slope, gelu_tanh_slope, soft, 5);
  check<T>("gelu_tanh_bend", of::gelu_tanh_bend, gelu_tanh_bend, soft, 7);
}

TEMPLATE_TEST_CASE("gelu and its derivatives are their limits at zeros and infinity", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  for (T x : {L::infinity(), L::max(), T(1e30), T(100)}) {
    CHECK((of::gelu(x) == x && of::gelu_tanh(x) == x && test::same(of::gelu(-x), T(-0.0)) && test::same(of::gelu_tanh(-x), T(-0.0))));
    CHECK((of::gelu_slope(x) == 1 && of::gelu_slope(-x) == 0 && of::gelu_tanh_slope(x) == 1 && of::gelu_tanh_slope(-x) == 0));
    CHECK((of::gelu_bend(x) == 0 && of::gelu_bend(-x) == 0 && of::gelu_tanh_bend(x) == 0 && of::gelu_tanh_bend(-x) == 0));
  }
  for (T x : {T(0), T(-0.0)}) {
    CHECK(
        (test::same(of::gelu(x), x) && test::same(of::gelu_tanh(x), x) && of::gelu_slope(x) == T(0.5) && of::gelu_tanh_slope(x) == T(0.5)));
  }
  const T nan = L::quiet_NaN();
  for (T y :
       {of::gelu(nan), of::gelu_slope(nan), of::gelu_bend(nan), of::gelu_tanh(nan), of::gelu_tanh_slope(nan), of::gelu_tanh_bend(nan)})
    CHECK(std::isnan(y));
}

TEST_CASE("gelu in constant expressions has the bits of run time") {
  static constexpr double at[] = {-1e100, -30, -6, -1.5, -0.5, -1e-9, 0.0, 1e-300, 0.3, 1, 2.5, 20, 38};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto e = results(of::gelu), t = results(of::gelu_tanh), d = results(of::gelu_slope), b = results(of::gelu_tanh_bend);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(e[i], of::gelu(y)) && test::same(t[i], of::gelu_tanh(y))));
    CHECK((test::same(d[i], of::gelu_slope(y)) && test::same(b[i], of::gelu_tanh_bend(y))));
    ++i;
  }
}
