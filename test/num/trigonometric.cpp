// test/num/trigonometric.cpp — sin and cos against long double, and against integers where long double's own reduction ends.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/trigonometric.hpp>

#include <array>

namespace lane = ebb::lane;

namespace of {
constexpr auto sin = [](auto x) { return lane::sin(x); };
constexpr auto cos = [](auto x) { return lane::cos(x); };
}  // namespace of

namespace {

template <class T>
std::vector<T> next_to_multiples() {
  return test::next_to_multiples<T>(1.57079632679489661923132169163975144L, lane::detail::trigonometric<T>::greatest);
}

}  // namespace

TEMPLATE_TEST_CASE("sin and cos keep their documented error, whatever the size of their argument", "", float, double) {
  // glibc's sinl and cosl reduce by all of 2/pi: their error is below one unit in the last place of long double.
  const auto sin = [](long double x) { return std::isinf(x) ? NAN : std::sin(x); };
  const auto cos = [](long double x) { return std::isinf(x) ? NAN : std::cos(x); };
  for (const auto& at : {test::arguments<TestType>(), next_to_multiples<TestType>()}) {
    test::check("sin", of::sin, sin, 1, at);
    test::check("cos", of::cos, cos, 1, at);
  }
}

TEST_CASE("sin and cos are right at the hardest arguments") {
  // The double nearest to a multiple of pi/2: J.-M. Muller, Elementary Functions (2016), section 11.3.2.
  const double hardest = 0x1.6ac5b262ca1ffp+849;
  CHECK(std::abs(of::cos(hardest) / -4.6871659242546277e-19 - 1) < 1e-15);
  CHECK(of::sin(hardest) == 1);
  CHECK(of::sin(0x1.921fb54442d18p+1) == 1.2246467991473532e-16);  // sin of the double nearest to pi
  CHECK(std::abs(of::sin(1e22) / -0.8522008497671888017727 - 1) < 1e-15);
}

TEMPLATE_TEST_CASE("sin and cos are right at zeros, infinities, NaN and tiny numbers", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  CHECK((test::same(of::sin(T(0)), T(0)) && test::same(of::sin(T(-0.0)), T(-0.0))));
  CHECK((of::cos(T(0)) == 1 && of::cos(T(-0.0)) == 1));
  for (T x : {L::infinity(), -L::infinity(), L::quiet_NaN()}) CHECK((std::isnan(of::sin(x)) && std::isnan(of::cos(x))));
  for (T x : {L::denorm_min(), L::min(), L::min() / 2, L::epsilon() * L::epsilon()}) {
    CHECK((of::sin(x) == x && of::sin(-x) == -x));
    CHECK(of::cos(x) == 1);
  }
}

TEST_CASE("sin and cos in constant expressions have the bits of run time") {
  static constexpr double at[] = {-1e300, -1e22, -1000, -1.5, -1e-9, 0.0, 1e-300, 0.5, 0.8, 1.57, 3, 100, 1048576, 1e7, 1.7e308};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto s = results(of::sin), c = results(of::cos);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(s[i], of::sin(y)) && test::same(c[i], of::cos(y))));
    ++i;
  }
}
