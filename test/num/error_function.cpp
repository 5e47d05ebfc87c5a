// test/num/error_function.cpp — e^(-x^2), erf and erfc against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/error_function.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto exp_minus_square = [](auto x) { return lane::exp_minus_square(x); };
constexpr auto erf = [](auto x) { return lane::erf(x); };
constexpr auto erfc = [](auto x) { return lane::erfc(x); };
}  // namespace of

namespace {

/// e^(-x^2) where x^2 is exact: x has at most 32 digits on the left and 32 on the right of the cut.
long double exp_minus_square(long double x) {
  if (!(std::fabs(x) < 1e3L)) return std::isnan(x) ? x : 0;
  const long double high = std::ldexp(std::rint(std::ldexp(x, 20)), -20), low = x - high;
  return std::exp(-high * high) * std::exp(-(high + x) * low);
}

/// Ordinary arguments, arguments next to the change of formulas, and the tail: erfc is small and subnormal there.
template <class T>
std::vector<T> places() {
  std::vector<T> out = test::arguments<T>();
  std::mt19937_64 next(3);
  const T edges[] = {T(0.75), T(1), T(2.5), T(3), T(4), lane::detail::error_function<T>::greatest};
  for (T edge : edges) {
    T up = edge, down = edge;
    for (int i = 0; i < 200; ++i, up = std::nextafter(up, T(100)), down = std::nextafter(down, T(0)))
      for (T x : {up, down}) out.push_back(x), out.push_back(-x);
  }
  std::uniform_real_distribution<double> ordinary(-6, 6), tail(5, sizeof(T) == 4 ? 10.1 : 26.6);
  for (int i = 0; i < 40000; ++i) out.push_back(static_cast<T>(i % 2 ? ordinary(next) : tail(next)));
  return out;
}

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  test::check(name, f, oracle, bound, places<T>());
}

}  // namespace

TEMPLATE_TEST_CASE("the error functions keep their documented error, in the tail too", "", float, double) {
  check<TestType>("exp_minus_square", of::exp_minus_square, exp_minus_square, 1);
  check<TestType>("erf", of::erf, [](long double x) { return std::erf(x); }, 2);
  check<TestType>("erfc", of::erfc, [](long double x) { return std::erfc(x); }, 2);
}

TEMPLATE_TEST_CASE("the error functions are right at zeros, infinities, NaN and tiny numbers", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const auto gives = [](auto f, std::initializer_list<T> results) {
    const T arguments[] = {T(0), T(-0.0), L::infinity(), -L::infinity(), L::max(), L::lowest(), L::quiet_NaN()};
    bool good = true;
    for (int i = 0; T want : results) good = good && test::same(f(arguments[i++]), want);
    return good;
  };
  CHECK(gives(of::exp_minus_square, {T(1), T(1), T(0), T(0), T(0), T(0), L::quiet_NaN()}));
  CHECK(gives(of::erf, {T(0), T(-0.0), T(1), T(-1), T(1), T(-1), L::quiet_NaN()}));
  CHECK(gives(of::erfc, {T(1), T(1), T(0), T(2), T(0), T(2), L::quiet_NaN()}));
  CHECK(of::erf(L::denorm_min()) == L::denorm_min());
  CHECK(of::erf(-L::denorm_min()) == -L::denorm_min());
  for (T x : {T(0.1), T(0.7), T(0.75), T(1.5), T(5)}) CHECK(of::erf(-x) == -of::erf(x));
}

TEST_CASE("erfc underflows where the exact function does") {
  CHECK((of::erfc(10.05f) > 0 && of::erfc(10.06f) == 0));
  CHECK((of::erfc(27.2) > 0 && of::erfc(27.25) == 0));
}

TEST_CASE("the error functions in constant expressions have the bits of run time") {
  static constexpr double at[] = {-30, -6, -1.5, -0.75, -0.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 0.75, 1, 2.5, 6, 20, 26.5, 1e300};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto g = results(of::exp_minus_square), e = results(of::erf), c = results(of::erfc);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(g[i], of::exp_minus_square(y)) && test::same(e[i], of::erf(y)) && test::same(c[i], of::erfc(y))));
    ++i;
  }
  constexpr float near = of::erf(0.7f), far = of::erf(-1.3f), one = of::erf(5.f);
  volatile float x = 0.7f, y = -1.3f, z = 5;
  CHECK((test::same(near, of::erf(float(x))) && test::same(far, of::erf(float(y))) && test::same(one, of::erf(float(z)))));
}
