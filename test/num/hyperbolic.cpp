// test/num/hyperbolic.cpp — sinh, cosh and hypot against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/hyperbolic.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto sinh = [](auto x) { return lane::sinh(x); };
constexpr auto cosh = [](auto x) { return lane::cosh(x); };
}  // namespace of

namespace {

/// The usual arguments, those where n changes, and those where results overflow.
template <class T>
std::vector<T> places() {
  std::vector<T> at = test::arguments<T>();
  for (int n = 0; n < 40; ++n)
    for (int i = -20; i <= 20; ++i) at.push_back(static_cast<T>((n + 0.5) * 0.6931471805599453 * (1 + i * 1e-7)));
  for (int i = 0; i < 4000; ++i) at.push_back(static_cast<T>(sizeof(T) == 4 ? 88 + i * 0.0005 : 709 + i * 0.0005));
  for (int i = 0; i < 40000; ++i) at.push_back(static_cast<T>(-4 + 0.0002 * i));
  return at;
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  test::check(name, f, oracle, bound, places<T>());
}

}  // namespace

TEMPLATE_TEST_CASE("sinh and cosh keep their documented error", "", float, double) {
  check<TestType>("sinh", of::sinh, [](long double x) { return std::sinh(x); }, 2);
  check<TestType>("cosh", of::cosh, [](long double x) { return std::cosh(x); }, 2);
}

TEMPLATE_TEST_CASE("sinh and cosh are right at zeros, infinities, NaN, tiny numbers and where they overflow", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity();
  CHECK((test::same(of::sinh(T(0)), T(0)) && test::same(of::sinh(T(-0.0)), T(-0.0)) && of::cosh(T(-0.0)) == 1));
  CHECK((of::sinh(inf) == inf && of::sinh(-inf) == -inf && of::cosh(-inf) == inf));
  CHECK((std::isnan(of::sinh(L::quiet_NaN())) && std::isnan(of::cosh(L::quiet_NaN()))));
  for (T x : {L::denorm_min(), L::min(), L::min() / 2, L::epsilon() * L::epsilon()})
    CHECK((of::sinh(x) == x && of::sinh(-x) == -x && of::cosh(x) == 1));
  const T last = static_cast<T>(sizeof(T) == 4 ? 0x1.65a9f8p+6 : 0x1.633ce8fb9f87dp+9);  // 89.416, 710.476
  CHECK((std::isfinite(of::sinh(last)) && std::isfinite(of::cosh(-last))));
  CHECK((of::sinh(std::nextafter(last, inf)) == inf && of::cosh(std::nextafter(last, inf)) == inf));
}

TEMPLATE_TEST_CASE("hypot keeps its documented error for numbers of all sizes and ratios", "", float, double) {
  using T = TestType;
  const std::vector<T> at = test::arguments<T>();
  std::mt19937_64 next(3);
  double worst = 0;
  int differences = 0;
  const auto check = [&](T x, T y) {
    const T got = lane::hypot(x, y);
    worst = std::max(worst, test::ulps(got, std::hypot(static_cast<long double>(x), static_cast<long double>(y))));
    differences += !test::same(got, lane::hypot(y, x)) + !test::same(got, lane::hypot(-x, y));
    differences += !test::same(got, lane::hypot(test::four<T>::all(x), test::four<T>::all(y)).v[2]);
  };
  for (std::size_t i = 0; i < at.size(); ++i) {
    check(at[i], at[next() % at.size()]);
    check(at[i], static_cast<T>(at[i] * std::ldexp(T(1) + static_cast<T>(next() % 4096) / 4096, -static_cast<int>(next() % 30))));
  }
  CHECK(worst <= (lane::fused ? 1 : 2));
  CHECK(differences == 0);
  CHECK((lane::hypot(T(3), T(-4)) == 5 && lane::hypot(T(5), T(12)) == 13 && test::same(lane::hypot(T(-0.0), T(0)), T(0))));
}

TEST_CASE("hyperbolic functions in constant expressions have the bits of run time") {
  static constexpr double at[] = {-710, -40, -1.125, -0.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 1, 2.5, 30, 710.4};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto s = results(of::sinh), c = results(of::cosh), h = results([](double x) { return lane::hypot(x, 1e-5 + x * x); });
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(s[i], of::sinh(y)) && test::same(c[i], of::cosh(y)) && test::same(h[i], lane::hypot(y, 1e-5 + y * y))));
    ++i;
  }
}
