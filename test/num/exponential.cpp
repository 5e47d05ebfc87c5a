// test/num/exponential.cpp — exp, exp2, expm1, tanh and sigmoid against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/exponential.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto exp = [](auto x) { return lane::exp(x); };
constexpr auto exp2 = [](auto x) { return lane::exp2(x); };
constexpr auto expm1 = [](auto x) { return lane::expm1(x); };
constexpr auto tanh = [](auto x) { return lane::tanh(x); };
constexpr auto sigmoid = [](auto x) { return lane::sigmoid(x); };
}  // namespace of

namespace {

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  test::check(name, f, oracle, bound, test::arguments<T>());
}

/// Whether f does not decrease over 2000 steps of one unit in the last place around x.
template <class T, class F>
bool grows_around(F f, T x) {
  using L = std::numeric_limits<T>;
  for (int i = 0; i < 1000; ++i) x = std::nextafter(x, -L::infinity());
  for (int i = 0; i < 2000; ++i) {
    const T next = std::nextafter(x, L::infinity());
    if (!(f(x) <= f(next))) return false;
    x = next;
  }
  return true;
}

}  // namespace

TEMPLATE_TEST_CASE("exponentials keep their documented error", "", float, double) {
  check<TestType>("exp", of::exp, [](long double x) { return std::exp(x); }, 1);
  check<TestType>("exp2", of::exp2, [](long double x) { return std::exp2(x); }, 1);
  check<TestType>("expm1", of::expm1, [](long double x) { return std::expm1(x); }, 2);
  check<TestType>("tanh", of::tanh, [](long double x) { return std::tanh(x); }, 2);
  const auto sigmoid = [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); };
  check<TestType>("sigmoid", of::sigmoid, sigmoid, 2);
}

TEMPLATE_TEST_CASE("exponentials are right at zeros, infinities and NaN", "", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T arguments[] = {T(0), T(-0.0), inf, -inf, nan};
  const auto gives = [&](auto f, std::initializer_list<T> results) {
    bool good = true;
    for (int i = 0; T want : results) good = good && test::same(f(arguments[i++]), want);
    return good;
  };
  CHECK(gives(of::exp, {T(1), T(1), inf, T(0), nan}));
  CHECK(gives(of::exp2, {T(1), T(1), inf, T(0), nan}));
  CHECK(gives(of::expm1, {T(0), T(-0.0), inf, T(-1), nan}));
  CHECK(gives(of::tanh, {T(0), T(-0.0), T(1), T(-1), nan}));
  CHECK(gives(of::sigmoid, {T(0.5), T(0.5), T(1), T(0), nan}));
}

TEMPLATE_TEST_CASE("tanh and expm1 return tiny arguments unchanged", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  for (T x : {L::denorm_min(), L::min(), L::min() / 2, L::epsilon() * L::epsilon()}) {
    CHECK((of::tanh(x) == x && of::tanh(-x) == -x));
    CHECK((of::expm1(x) == x && of::expm1(-x) == -x));
  }
}

TEST_CASE("exp overflows and underflows where the exact function does") {
  const float float_limit = 0x1.62e42ep+6f, float_least = -0x1.9fe368p+6f;  // 88.72283, -103.97208
  CHECK((std::isfinite(of::exp(float_limit)) && of::exp(float_limit) > 3.4e38f));
  CHECK(of::exp(std::nextafter(float_limit, 100.f)) == std::numeric_limits<float>::infinity());
  CHECK(of::exp(float_least) == std::numeric_limits<float>::denorm_min());
  CHECK(of::exp(std::nextafter(float_least, -200.f)) == 0);
  const double double_limit = 0x1.62e42fefa39efp+9, double_least = -0x1.74910d52d3051p+9;  // 709.78, -745.13
  CHECK((std::isfinite(of::exp(double_limit)) && of::exp(double_limit) > 1.79e308));
  CHECK(of::exp(std::nextafter(double_limit, 1e3)) == std::numeric_limits<double>::infinity());
  CHECK(of::exp(double_least) == std::numeric_limits<double>::denorm_min());
  CHECK(of::exp(std::nextafter(double_least, -1e3)) == 0);
}

TEMPLATE_TEST_CASE("exp2 of integers is exact down to the smallest number, and infinite above the largest", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const int least = L::min_exponent - L::digits;
  for (int n = least; n < L::max_exponent; ++n) CHECK(of::exp2(static_cast<T>(n)) == std::ldexp(T(1), n));
  CHECK((of::exp2(static_cast<T>(least - 1)) == 0 && of::exp2(static_cast<T>(L::max_exponent)) == L::infinity()));
  CHECK((of::exp2(L::lowest()) == 0 && of::exp2(L::max()) == L::infinity()));
}

TEST_CASE("exponentials never decrease where their formulas change") {
  for (float x : {0.34657f, -0.34657f, 1.03972f, 88.7228f, -87.3365f, -103.9f}) CHECK(grows_around(of::exp, x));
  for (double x : {0.34657359027997264, 1.0397207708399179, 709.782712893384, -708.396418532264, -745.0}) CHECK(grows_around(of::exp, x));
  for (float x : {0.5f, -0.5f, 127.5f, -125.5f, 3.5f, -149.f}) CHECK(grows_around(of::exp2, x));
  for (double x : {0.5, -0.5, 1023.5, -1021.5, 3.5, -1074.0}) CHECK(grows_around(of::exp2, x));
  for (float x : {9.01f, 10.f, -10.f, 1e-4f}) CHECK(grows_around(of::tanh, x));
  for (double x : {19.06, 20.0, -20.0, 1e-8}) CHECK(grows_around(of::tanh, x));
  for (float x : {-88.f, -103.f, 17.f, 89.f}) CHECK(grows_around(of::sigmoid, x));
  for (double x : {-709.0, -745.0, 37.0, 710.0}) CHECK(grows_around(of::sigmoid, x));
  for (float x : {-17.4f, -18.f, 88.7228f}) CHECK(grows_around(of::expm1, x));
  for (double x : {-37.5, -38.0, 709.78271289338397}) CHECK(grows_around(of::expm1, x));
}

TEST_CASE("exponentials in constant expressions have the bits of run time") {
  static constexpr double at[] = {-745, -700.5, -40, -1.125, -0.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 1, 2.5, 30, 700};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto e = results(of::exp), m = results(of::expm1), t = results(of::tanh), s = results(of::sigmoid),
                 two = results(of::exp2);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(e[i], of::exp(y)) && test::same(m[i], of::expm1(y)) && test::same(two[i], of::exp2(y))));
    CHECK((test::same(t[i], of::tanh(y)) && test::same(s[i], of::sigmoid(y))));
    ++i;
  }
}
