// test/num/activation.cpp — silu and mish, and their derivatives, against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/activation.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto silu = [](auto x) { return lane::gated(x, x); };
constexpr auto silu_slope = [](auto x) { return lane::silu_slope(x); };
constexpr auto mish = [](auto x) { return lane::mish(x); };
constexpr auto mish_slope = [](auto x) { return lane::mish_slope(x); };
}  // namespace of

namespace {

/// e^x / (1 + e^x) for x < 0, else 1 / (1 + e^-x): long double needs no further care.
long double sigmoid(long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
long double softplus(long double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

long double silu(long double x) {
  if (std::isinf(x)) return x < 0 ? -0.0L : x;
  return x * sigmoid(x);
}
long double mish(long double x) {
  if (std::isinf(x)) return x < 0 ? -0.0L : x;
  return x * std::tanh(softplus(x));
}
long double silu_slope(long double x) {
  if (std::isinf(x)) return x < 0 ? 0 : 1;
  return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
}
long double mish_slope(long double x) {
  if (std::isinf(x)) return x < 0 ? 0 : 1;
  const long double c = std::cosh(softplus(x));
  return std::tanh(softplus(x)) + (std::isinf(c) ? 0 : x * sigmoid(x) / (c * c));
}

/// Besides the usual arguments, the left tail: e^x is subnormal or 0 there, and its product with x is not.
template <class T>
std::vector<T> places() {
  std::vector<T> at = test::arguments<T>();
  const double from = sizeof(T) == 4 ? -80 : -690;
  for (int i = 0; i < 8000; ++i) at.push_back(static_cast<T>(from - i * (sizeof(T) == 4 ? 0.004 : 0.01)));
  for (int i = 0; i < 40000; ++i) at.push_back(static_cast<T>(-24 + 0.0012 * i));
  return at;
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  test::check(name, f, oracle, bound, places<T>());
}
/// As above for results that cross 0: the error is absolute, in units of 1.
template <class T, class F, class G>
void check_slope(const char* name, F f, G oracle) {
  const std::vector<T> at = places<T>();
  double worst = 0;
  for (T x : at)
    if (!std::isnan(x)) worst = std::max(worst, static_cast<double>(std::fabs(f(x) - oracle(x))));
  INFO(name << " of " << sizeof(T) << " bytes");
  CHECK(worst <= 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  CHECK(std::isnan(f(std::numeric_limits<T>::quiet_NaN())));
  CHECK(test::differences(f, at) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("silu, mish and their derivatives keep their documented error", "", float, double) {
  check<TestType>("silu", of::silu, silu, 2.5);
  check<TestType>("mish", of::mish, mish, 2.5);
  check_slope<TestType>("silu_slope", of::silu_slope, silu_slope);
  check_slope<TestType>("mish_slope", of::mish_slope, mish_slope);
}

TEMPLATE_TEST_CASE("silu and mish are right at zeros and infinities, where a product of zero and infinity occurs", "", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  CHECK(test::same(lane::gated(inf, -inf), T(0)));
  CHECK(test::same(lane::gated(-inf, inf), -inf));
  CHECK(test::same(lane::gated(T(2), T(0)), T(1)));
  CHECK(test::same(lane::gated(T(2), -inf), T(0)));
  CHECK(test::same(lane::gated(T(-3), inf), T(-3)));
  CHECK((std::isnan(lane::gated(nan, T(1))) && std::isnan(lane::gated(T(1), nan)) && std::isnan(lane::gated(inf, nan))));
}

TEST_CASE("activations in constant expressions have the bits of run time") {
  static constexpr double at[] = {-1e300, -750, -745, -700.5, -40, -1.125, -0.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 1, 2.5, 30, 700, 1e300};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto s = results(of::silu), d = results(of::silu_slope), m = results(of::mish), e = results(of::mish_slope);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(s[i], of::silu(y)) && test::same(d[i], of::silu_slope(y))));
    CHECK((test::same(m[i], of::mish(y)) && test::same(e[i], of::mish_slope(y))));
    ++i;
  }
}
