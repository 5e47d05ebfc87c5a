// test/op/normal.cpp — values and derivatives of the error functions and of the normal distribution.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<golden::any_vector>("elementwise", name, f, b); };
/// Compares with correctly rounded values and derivatives, recorded in float64.
const auto exact = [](const char* name, auto f, golden::bounds b) {
  golden::check_traced("ops2", name, "/float64", ebb::trace_of<decltype(f), ebb::term<double, ebb::dyn>>::make(), b);
};

constexpr auto erf = [](auto x) { return ebb::erf(x); };
constexpr auto erfc = [](auto x) { return ebb::erfc(x); };
constexpr auto ndtr = [](auto x) { return ebb::ndtr(x); };
constexpr auto log_ndtr = [](auto x) { return ebb::log_ndtr(x); };

// PyTorch's derivatives are NaN at infinity and where x^2 overflows; ours are 0. Its ndtr loses digits in the left tail, and its e^(-x^2)
// is x^2 units in the last place off for |x| > 3: for these the next test has exact values and derivatives.
const std::vector<int> inexact{32, 33, 34, 35, 36, 37, 38, 39};
TEST_CASE("the error functions and the normal distribution give PyTorch's recorded values") {
  unary("erf", erf, {.value = 2, .grad = 3, .second = 5, .nan_is_open = "second", .open_at = inexact});
  unary("erfc", erfc, {.value = 2, .grad = 3, .second = 5, .nan_is_open = "second", .open_at = inexact});
  unary("ndtr", ndtr, {.value = 3, .grad = 4, .second = 6, .value_floor = 1, .nan_is_open = "second", .open_at = inexact});
  // PyTorch's derivatives of log_ndtr cancel on the left, and its value is a digit short at 20.
  unary("log_ndtr", log_ndtr, {.value = 3, .grad = -1, .second = -1, .open_at = {38}});
}

TEST_CASE("the error functions and the normal distribution are exact, and so are their derivatives") {
  exact("erf", erf, {.value = 2, .grad = 3, .second = 5, .sign_is_open = true});
  // At elements 41 and 42 e^(-x^2) is subnormal, and its rounding counts 2 x times.
  exact("erfc", erfc, {.value = 2, .grad = 3, .second = 5, .sign_is_open = true, .open_at = {41, 42}});
  exact("ndtr", ndtr, {.value = 3, .grad = 3, .second = 5, .sign_is_open = true});
  exact("log_ndtr", log_ndtr, {.value = 3, .grad = 3, .second = 8});
}

TEST_CASE("derivatives of the error functions at infinity are their limits") {
  const double inf = std::numeric_limits<double>::infinity();
  const ebb::tensor<double, 4> x{inf, -inf, std::numeric_limits<double>::max(), 1e200};
  const auto zero = [&](auto f) {
    using F = decltype(f);
    const auto first = ebb::grad([](auto a) { return ebb::sum(F{}(a)); });
    const auto second = ebb::grad([](auto a) { return ebb::sum(ebb::grad([](auto b) { return ebb::sum(F{}(b)); })(a)); });
    const ebb::tensor<double, 4> y = first(x), z = second(x);
    for (std::size_t i = 0; i < 4; ++i) CHECK((y(i) == 0 && z(i) == 0));
  };
  zero(erf);
  zero(erfc);
  zero(ndtr);
  const auto slope = ebb::grad([](auto a) { return ebb::sum(ebb::log_ndtr(a)); })(ebb::tensor<double, 3>{inf, -1e200, -1e10});
  CHECK((slope(0) == 0 && slope(1) == 1e200 && slope(2) == 1e10 + 1e-10));
}

TEST_CASE("log_ndtr's second derivative does not cancel in the tail") {
  // -h k with h = z + k, k = 1/z - 2/z^3 + 10/z^5 - 74/z^7 + ..: its limit is -1.
  const auto second = [](auto x) {
    return ebb::grad([](auto a) { return ebb::sum(ebb::grad([](auto b) { return ebb::sum(ebb::log_ndtr(b)); })(a)); })(x);
  };
  const ebb::tensor<double, 4> x{-1e4, -1e5, -1e9, -1e100};
  const auto y = second(x);
  for (std::size_t i = 0; i < 4; ++i) {
    const long double r = 1 / static_cast<long double>(-x(i)), s = r * r, k = r * (1 - s * (2 - s * (10 - s * 74)));
    CHECK(std::fabs(y(i) / -((1 / r + k) * k) - 1) < 8 * std::numeric_limits<double>::epsilon());
  }
}

TEST_CASE("integers are computed in float, and numbers are constant expressions, in the error functions") {
  CHECK(ebb::all_equal(ebb::erf(ebb::tensor<int, 2>{0, 1}), ebb::tensor<float, 2>{0, ebb::erf(1.f)}));
  static_assert(ebb::erf(0.) == 0 && ebb::erfc(0) == 1. && ebb::ndtr(0.f) == 0.5f && ebb::log_ndtr(1e9) == 0);
  static_assert(ebb::ndtr(1.) - 0.8413447460685429 < 2e-16 && 0.8413447460685429 - ebb::ndtr(1.) < 2e-16);
}

TEMPLATE_TEST_CASE("the error functions and the normal distribution have the same bits in loops, map, on the tape and captured", "", float,
                   double) {
  using T = TestType;
  const std::vector<T> x{T(-12.5), -3, T(-0.8), T(-0.3), 0,  T(0.4),  T(0.9),   2,      7, T(-1.1),
                         T(0.76),  5,  -5,      1,       -1, T(0.75), T(-0.75), T(9.9), 3};
  test::check_everywhere<T>([](auto a) { return ebb::erf(a) + ebb::erfc(a * 0.5); }, x);
  test::check_everywhere<T>([](auto a) { return ebb::ndtr(a) * ebb::log_ndtr(a); }, x);
}

}  // namespace
