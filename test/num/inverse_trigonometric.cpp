// test/num/inverse_trigonometric.cpp — asin, acos, atan and atan2 against long double, and against the special values of C's annex F.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/inverse_trigonometric.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto asin = [](auto x) { return lane::asin(x); };
constexpr auto acos = [](auto x) { return lane::acos(x); };
constexpr auto atan = [](auto x) { return lane::atan(x); };
}  // namespace of

namespace {

/// The usual arguments, the whole domain, and both sides of each change of formulas: 1/2, 1, tan(pi/8) and its inverse.
template <class T>
std::vector<T> places() {
  std::vector<T> at = test::arguments<T>();
  for (int i = -20000; i <= 20000; ++i) at.push_back(static_cast<T>(i / 20000.));
  for (double edge : {0.5, 1.0, 0.41421356237309505, 0.41421356, 2.414213562373095, 2.41421366})
    for (int i = -500; i <= 500; ++i) {
      const T x = static_cast<T>(edge), step = (std::nextafter(x, T(9)) - x) * static_cast<T>(i);
      at.push_back(x + step), at.push_back(-x - step);
    }
  return at;
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  test::check(name, f, oracle, bound, places<T>());
}

}  // namespace

TEMPLATE_TEST_CASE("inverse trigonometric functions keep their documented error", "", float, double) {
  check<TestType>("asin", of::asin, [](long double x) { return std::asin(x); }, 2);
  check<TestType>("acos", of::acos, [](long double x) { return std::acos(x); }, 2);
  check<TestType>("atan", of::atan, [](long double x) { return std::atan(x); }, 1);
}

TEMPLATE_TEST_CASE("inverse trigonometric functions are right at zeros, ends, infinities, NaN and tiny numbers", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  using test::same;
  const T inf = L::infinity(), nan = L::quiet_NaN(), half_pi = static_cast<T>(1.57079632679489661923L);
  for (auto zero : {T(0), T(-0.0)}) CHECK((same(of::asin(zero), zero) && same(of::atan(zero), zero) && same(of::acos(zero), half_pi)));
  CHECK((same(of::asin(T(1)), half_pi) && same(of::asin(T(-1)), -half_pi)));
  CHECK((same(of::acos(T(1)), T(0)) && same(of::acos(T(-1)), 2 * half_pi)));
  CHECK((same(of::atan(inf), half_pi) && same(of::atan(-inf), -half_pi) && same(of::atan(L::lowest()), -half_pi)));
  for (T x : {std::nextafter(T(1), T(2)), T(-2), inf, -inf, nan}) CHECK((std::isnan(of::asin(x)) && std::isnan(of::acos(x))));
  CHECK(std::isnan(of::atan(nan)));
  for (T x : {L::denorm_min(), L::min(), L::min() / 2, L::epsilon() * L::epsilon()})
    CHECK((of::asin(x) == x && of::asin(-x) == -x && of::atan(x) == x && of::atan(-x) == -x && same(of::acos(x), half_pi)));
}

TEMPLATE_TEST_CASE("atan2 keeps its documented error for numbers of all sizes and ratios", "", float, double) {
  using T = TestType;
  const std::vector<T> at = places<T>();
  std::mt19937_64 next(3);
  double worst = 0;
  int differences = 0;
  const auto check = [&](T y, T x) {
    const T got = lane::atan2(y, x);
    worst = std::max(worst, test::ulps(got, std::atan2(static_cast<long double>(y), static_cast<long double>(x))));
    differences += !test::same(got, lane::atan2(test::four<T>::all(y), test::four<T>::all(x)).v[1]);
  };
  for (const T y : at) {
    check(y, at[next() % at.size()]);
    check(y, static_cast<T>(1));
    check(y, static_cast<T>(y * std::ldexp(T(1) + static_cast<T>(next() % 4096) / 4096, 15 - static_cast<int>(next() % 30))));
    check(y, static_cast<T>(-y * std::ldexp(T(1) + static_cast<T>(next() % 4096) / 4096, 3 - static_cast<int>(next() % 6))));
  }
  CHECK(worst <= (lane::fused ? 2 : 4));
  CHECK(differences == 0);
}

TEMPLATE_TEST_CASE("the slope of atan2 keeps its documented error, and factors for huge and tiny numbers change no bits", "", float,
                   double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  constexpr T inf = L::infinity(), nan = L::quiet_NaN();
  const std::vector<T> at = places<T>();
  std::mt19937_64 next(5);
  double worst = 0;
  int differences = 0, normal = 0;
  const auto check = [&](T x, T y) {
    const T got = lane::atan2_slope(x, y);
    const T lanes = lane::atan2_slope(test::four<T>::all(x), test::four<T>::all(y)).v[1];
    differences += !test::same(got, lane::detail::scaled_atan2_slope(x, y)) || !test::same(got, lanes);
    const long double u = x, v = y, want = x == 0 ? 0 : u / (u * u + v * v);
    if (!(std::fabs(want) >= L::min() && std::fabs(want) <= L::max() / 2)) return;
    ++normal;
    worst = std::max(worst, test::ulps(got, want));
  };
  for (const T x : at) {
    if (!std::isfinite(x)) continue;
    const T y = at[next() % at.size()];
    if (std::isfinite(y)) check(x, y), check(y, x);
    check(x, T(1));
    check(x, x * static_cast<T>(1 + static_cast<double>(next() % 4096) / 1000));
  }
  CHECK(normal > 10000);
  CHECK(worst <= 2.5);
  CHECK(differences == 0);
  for (T x : {T(0), T(1), T(-2), L::max(), inf, -inf}) {
    CHECK((lane::atan2_slope(x, inf) == 0 && lane::atan2_slope(inf, x) == 0));
    CHECK((std::isnan(lane::atan2_slope(x, nan)) && std::isnan(lane::atan2_slope(nan, x))));
  }
  CHECK((lane::atan2_slope(T(0), T(0)) == 0 && lane::atan2_slope(T(-0.0), T(0)) == 0));
}

TEMPLATE_TEST_CASE("atan2 of zeros and infinities follows C's annex F.9.1.4", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN(), pi = static_cast<T>(3.14159265358979323846L), zero = 0;
  const auto gives = [](T y, T x, T want) { return test::same(lane::atan2(y, x), want) && test::same(lane::atan2(-y, x), -want); };
  CHECK(gives(zero, -zero, pi));
  CHECK(gives(zero, zero, zero));
  for (T x : {T(-1), L::lowest(), -L::denorm_min(), -inf}) CHECK(gives(zero, x, pi));
  for (T x : {T(1), L::max(), L::denorm_min(), inf}) CHECK(gives(zero, x, zero));
  for (T y : {T(1), L::max(), L::denorm_min()}) {
    CHECK((gives(y, zero, pi / 2) && gives(y, -zero, pi / 2)));
    CHECK((gives(y, -inf, pi) && gives(y, inf, zero)));
    CHECK((gives(inf, y, pi / 2) && gives(inf, -y, pi / 2)));
  }
  CHECK((gives(inf, zero, pi / 2) && gives(inf, -zero, pi / 2)));
  CHECK((gives(inf, -inf, static_cast<T>(2.35619449019234492885L)) && gives(inf, inf, pi / 4)));
  for (T x : {T(0), T(1), T(-1), inf, -inf, nan}) CHECK((std::isnan(lane::atan2(nan, x)) && std::isnan(lane::atan2(x, nan))));
}

TEST_CASE("inverse trigonometric functions in constant expressions have the bits of run time") {
  static constexpr double at[] = {-1, -0.75, -0.5, -0.3, -1e-9, -0.0, 0.0, 1e-300, 0.3, 0.42, 0.5, 0.51, 0.999, 1};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto two = [](double x) { return lane::atan2(x, 0.4 - x * x); };
  constexpr auto s = results(of::asin), c = results(of::acos), t = results(of::atan), q = results(two);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(s[i], of::asin(y)) && test::same(c[i], of::acos(y))));
    CHECK((test::same(t[i], of::atan(y)) && test::same(q[i], two(y))));
    ++i;
  }
}
