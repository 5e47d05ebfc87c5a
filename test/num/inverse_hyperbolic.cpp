// test/num/inverse_hyperbolic.cpp — asinh, acosh and atanh against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/inverse_hyperbolic.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto asinh = [](auto x) { return lane::asinh(x); };
constexpr auto acosh = [](auto x) { return lane::acosh(x); };
constexpr auto atanh = [](auto x) { return lane::atanh(x); };
}  // namespace of

namespace inverse_hyperbolic_test {

/// The usual arguments, others from -4 to 4, close to 1 on both sides, and where a logarithm of 2 x takes over.
template <class T>
std::vector<T> places() {
  using L = std::numeric_limits<T>;
  std::vector<T> at = test::arguments<T>();
  for (int i = 0; i < 80000; ++i) at.push_back(static_cast<T>(-4 + 0.0001 * i));
  for (int e = 1; e < L::digits; ++e)
    for (int i = 0; i < 400; ++i) {
      const T distance = std::ldexp(T(1) + static_cast<T>(i) / 400, -e);
      at.push_back(1 + distance), at.push_back(1 - distance / 2), at.push_back(distance - 1);
    }
  const T far = sizeof(T) == 4 ? T(0x1p+13) : T(0x1p+28);
  for (int i = -400; i < 400; ++i)
    at.push_back(far * (1 + static_cast<T>(i) / 8192)), at.push_back(far + far * static_cast<T>(i) * L::epsilon());
  return at;
}

}  // namespace inverse_hyperbolic_test

TEMPLATE_TEST_CASE("asinh, acosh and atanh keep their documented error", "", float, double) {
  const auto at = inverse_hyperbolic_test::places<TestType>();
  test::check<TestType>("asinh", of::asinh, [](long double x) { return std::asinh(x); }, 2, at);
  test::check<TestType>("acosh", of::acosh, [](long double x) { return std::acosh(x); }, 2, at);
  test::check<TestType>("atanh", of::atanh, [](long double x) { return std::atanh(x); }, 2, at);
}

TEMPLATE_TEST_CASE("asinh, acosh and atanh at zeros, ends of their domains, infinities, NaN and tiny numbers", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN();
  for (T x : {T(0), T(-0.0), L::denorm_min(), -L::denorm_min(), L::min(), -L::min(), L::epsilon() * L::epsilon()})
    CHECK((test::same(of::asinh(x), x) && test::same(of::atanh(x), x)));
  CHECK((of::asinh(inf) == inf && of::asinh(-inf) == -inf && of::acosh(inf) == inf && test::same(of::acosh(T(1)), T(0))));
  CHECK((of::atanh(T(1)) == inf && of::atanh(T(-1)) == -inf));
  for (T x : {nan, inf, -inf, T(1) + L::epsilon(), T(-2)}) CHECK(std::isnan(of::atanh(x)));
  for (T x : {nan, -inf, T(1) - L::epsilon(), T(0), T(-1), T(-3), -L::max()}) CHECK(std::isnan(of::acosh(x)));
  CHECK(std::isnan(of::asinh(nan)));
  CHECK((std::isfinite(of::asinh(L::max())) && std::isfinite(of::acosh(L::max())) && std::isfinite(of::atanh(1 - L::epsilon() / 2))));
}

TEST_CASE("asinh, acosh and atanh in constant expressions have the bits of run time") {
  static constexpr double at[] = {-1e200, -40, -1.125, -0.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 1, 1.0000001, 2.5, 30, 1e9};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto s = results(of::asinh), c = results([](double x) { return of::acosh(1 + lane::abs(x)); });
  constexpr auto t = results([](double x) { return of::atanh(x / (1 + lane::abs(x))); });
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(s[i], of::asinh(y)) && test::same(c[i], of::acosh(1 + lane::abs(y))) &&
           test::same(t[i], of::atanh(y / (1 + lane::abs(y))))));
    ++i;
  }
}
