// test/num/logarithmic.cpp — logaddexp and log1mexp against long double.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include <ebb/num/logarithmic.hpp>

#include <algorithm>

namespace {

namespace lane = ebb::lane;

constexpr auto log1mexp = [](auto x) { return lane::log1mexp(x); };

}  // namespace

TEMPLATE_TEST_CASE("log1mexp keeps its documented error", "", float, double) {
  using T = TestType;
  std::vector<T> at;
  std::mt19937_64 next(17);
  std::uniform_real_distribution<double> exponent(-40, 9.4), middle(-1.4, 0);
  for (int i = 0; i < 40000; ++i) at.push_back(static_cast<T>(-std::exp2(exponent(next)))), at.push_back(static_cast<T>(middle(next)));
  T up = T(-0.6931471805599453), down = up;
  for (int i = 0; i < 100; ++i, up = std::nextafter(up, T(0)), down = std::nextafter(down, T(-1))) at.push_back(up), at.push_back(down);
  const auto oracle = [](long double x) { return x > -0.5L ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); };
  test::check("log1mexp", log1mexp, oracle, 4, at);
  using L = std::numeric_limits<T>;
  CHECK((log1mexp(T(0)) == -L::infinity() && log1mexp(T(-0.0)) == -L::infinity()));
  CHECK((std::isnan(log1mexp(T(1))) && std::isnan(log1mexp(L::infinity())) && std::isnan(log1mexp(L::quiet_NaN()))));
  CHECK((log1mexp(-L::infinity()) == 0 && std::signbit(log1mexp(-L::infinity()))));
}

TEMPLATE_TEST_CASE("logaddexp keeps its documented error", "", float, double) {
  using T = TestType;
  std::mt19937_64 next(19);
  std::uniform_real_distribution<double> wide(-60, 60), near(-2, 2);
  double worst = 0;
  for (int i = 0; i < 60000; ++i) {
    const T x = static_cast<T>(i % 3 ? wide(next) : near(next)), y = static_cast<T>(i % 2 ? wide(next) : near(next));
    const long double a = std::max(x, y), b = std::min(x, y), want = a + std::log1p(std::exp(b - a));
    const long double size = std::max({std::fabs(want), std::fabs(a), std::fabs(b)});
    const long double unit = std::ldexp(1.0L, std::ilogb(size) - std::numeric_limits<T>::digits + 1);
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(lane::logaddexp(x, y)) - want) / unit));
  }
  CHECK(worst <= (lane::fused ? 3 : 6));
  // If the smaller operand is large, the error is still relative: log(1 + e^-40) beside 0.
  for (const T y : {T(-17), T(-30.3), T(-40), T(-80)}) {
    const auto got = static_cast<long double>(lane::logaddexp(T(0), y));
    CHECK(std::fabs(got / std::log1p(std::exp(static_cast<long double>(y))) - 1) <= 3 * std::numeric_limits<T>::epsilon());
  }
}

TEMPLATE_TEST_CASE("logaddexp of infinities and NaN; lanes have the bits of scalars", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN();
  CHECK((lane::logaddexp(inf, inf) == inf && lane::logaddexp(-inf, -inf) == -inf && lane::logaddexp(inf, -inf) == inf));
  CHECK((lane::logaddexp(T(3), -inf) == 3 && lane::logaddexp(-inf, T(3)) == 3 && lane::logaddexp(inf, T(1)) == inf));
  CHECK((std::isnan(lane::logaddexp(nan, inf)) && std::isnan(lane::logaddexp(inf, nan)) && std::isnan(lane::logaddexp(nan, nan))));
  CHECK((lane::logaddexp(L::max(), L::max()) == L::max() && lane::logaddexp(-L::max(), L::max()) == L::max()));
  int different = 0;
  const std::vector<T> at = test::special_values<T>();
  for (std::size_t i = 0; i + 4 <= at.size(); i += 4)
    for (const T y : at) {
      const test::four<T> x{{at[i], at[i + 1], at[i + 2], at[i + 3]}}, z = lane::logaddexp(x, test::four<T>::all(y));
      for (std::size_t k = 0; k < 4; ++k) different += !test::same(z.v[k], lane::logaddexp(at[i + k], y));
    }
  CHECK(different == 0);
  static_assert(lane::logaddexp(0., 0.) > 0.693147180559945 && lane::log1mexp(-1.) < -0.4586751453870818);
}
