// test/special/activation.cpp — softsign, tanhshrink, softshrink, hardshrink, threshold, squareplus and quick_gelu.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "exact.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;
constexpr auto shrunk = [](auto x) { return lane::tanhshrink(x); };
constexpr auto sign_like = [](auto x) { return ebb::op::softsign::value(x); };
constexpr auto rectified = [](auto x) { return ebb::op::squareplus::value(x, lane::all<decltype(x)>(4)); };
constexpr auto rectified_slope = [](auto x) { return ebb::op::squareplus_slope::value(x, lane::all<decltype(x)>(4)); };

long double shrunk_of(long double x) {
  if (std::fabs(x) > 0.25L) return x - std::tanh(x);
  // x - sinh x / cosh x = (x cosh x - sinh x) / cosh x, by the series of the numerator: the sum of 2 k x^(2 k + 1) / (2 k + 1)!
  long double sum = 0, term = x;
  for (int k = 1; k < 12; ++k) {
    term *= x * x / (2 * k * (2 * k + 1));
    sum += 2 * k * term;
  }
  return x == 0 ? x : sum / std::cosh(x);
}
long double rectified_of(long double x) {
  const long double h = std::hypot(x, 2.0L);
  return x < 0 ? 2 / (h - x) : (x + h) / 2;
}

TEMPLATE_TEST_CASE("activations of special.hpp keep their documented errors, for lanes and scalars", "", float, double) {
  using T = TestType;
  const auto at = test::places_around<T>(4, {1, 2});
  auto normal = at;
  std::erase_if(normal, [](T x) { return x != 0 && std::fabs(x) < std::numeric_limits<T>::epsilon(); });
  test::check("tanhshrink", shrunk, shrunk_of, 4, normal);
  const auto exact = [](long double x) { return std::isinf(x) ? std::copysign(1.0L, x) : x / (1 + std::fabs(x)); };
  test::check("softsign", sign_like, exact, 1.5, at);
  auto finite = at;
  std::erase_if(finite, [](T x) { return std::isinf(x); });
  test::check("squareplus", rectified, rectified_of, 4, finite);
  test::check("squareplus_slope", rectified_slope, [](long double x) { return rectified_of(x) / std::hypot(x, 2.0L); }, 4, finite);
}

TEST_CASE("activations of special.hpp give the recorded values, also at their kinks") {
  // The second derivative of tanhshrink is that of tanh: 1 - tanh^2 cancels.
  const auto check = [](const char* name, auto f) {
    const golden::bounds allowed{.value = 4, .grad = 6, .second = 8, .second_floor = 1, .sign_is_open = true, .nan_is_open = "derivatives"};
    golden::check_wide<golden::any_vector>("special", name, f, allowed);
  };
  check("softsign", [](auto x) { return ebb::softsign(x); });
  check("tanhshrink", [](auto x) { return ebb::tanhshrink(x); });
  check("kinks_softshrink", [](auto x) { return ebb::softshrink(x); });
  check("kinks_hardshrink", [](auto x) { return ebb::hardshrink(x, 0.5); });
  check("kinks_threshold", [](auto x) { return ebb::threshold(x, 0.5, -2); });
}

TEST_CASE("activations of special.hpp have exact first and second derivatives, by their parameters too") {
  test::both("softsign", [](auto x, auto y) { return ebb::softsign(x) * y; }, -3, 3);
  test::both("tanhshrink", [](auto x, auto y) { return ebb::tanhshrink(x) * y; }, -3, 3);
  test::both("squareplus", [](auto x, auto y) { return ebb::squareplus(x + -3.0, y); }, 0.5, 6);
  const ebb::tensor<double, 3> x{-2, 0.5, 3}, y = ebb::quick_gelu(x), z = ebb::silu(x, 1.702);
  CHECK(ebb::all_equal(y, z));
}

TEMPLATE_TEST_CASE("activations of special.hpp are right at infinity and NaN", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  CHECK((sign_like(inf) == 1 && sign_like(-inf) == -1 && shrunk(inf) == inf && shrunk(-inf) == -inf));
  CHECK((rectified(inf) == inf && rectified(-inf) == 0 && rectified_slope(inf) == 1 && rectified_slope(-inf) == 0));
  CHECK((std::isnan(rectified(nan)) && std::isnan(sign_like(nan)) && std::isnan(shrunk(nan))));
  const ebb::tensor<T, 3> x{nan, inf, -inf};
  const ebb::tensor<T, 3> soft = ebb::softshrink(x), hard = ebb::hardshrink(x), above = ebb::threshold(x, 1, 7);
  CHECK((std::isnan(soft(0)) && soft(1) == inf && soft(2) == -inf && std::isnan(hard(0)) && hard(2) == -inf));
  CHECK((std::isnan(above(0)) && above(1) == inf && above(2) == 7));
  CHECK(ebb::all_equal(ebb::softshrink(ebb::tensor<int, 2>{2, -1}), ebb::tensor<float, 2>{1.5, -0.5}));
  static_assert(ebb::softsign(T(-1)) == T(-0.5) && ebb::tanhshrink(T(0)) == 0 && ebb::squareplus(T(0)) == 1);
}

TEMPLATE_TEST_CASE("activations of special.hpp have the same bits in loops, map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-2.5), -1, T(-0.3), 0, T(0.4), T(0.5), 2, 7, 1000, T(1e-9), 3};
  test::check_everywhere<T>([](auto a) {
    return ebb::softsign(a) + ebb::tanhshrink(a) * ebb::squareplus(a) + ebb::softshrink(ebb::quick_gelu(a));
  }, x);
}

}  // namespace
