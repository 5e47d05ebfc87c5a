// test/op/hyperbolic.cpp — exp2, log2, log10, sinh, cosh and hypot: values and both derivatives as recorded, in every context.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

constexpr auto recorded = "trigonometric";
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<golden::any_vector>(recorded, name, f, b); };
const auto wide = [](const char* name, auto f, golden::bounds b = {}) { golden::check_wide<golden::any_vector>(recorded, name, f, b); };

const auto exp2 = [](auto x) { return ebb::exp2(x); };
const auto log2 = [](auto x) { return ebb::log2(x); };
const auto log10 = [](auto x) { return ebb::log10(x); };
const auto sinh = [](auto x) { return ebb::sinh(x); };
const auto cosh = [](auto x) { return ebb::cosh(x); };
const auto hypot = [](auto x, auto y) { return ebb::hypot(x, y); };

TEST_CASE("exp2, logarithms and hyperbolic functions give PyTorch's recorded values") {
  unary("exp2", exp2, {.value = 1});
  unary("log2", log2, {.value = 1});
  unary("log10", log10, {.value = 1});
  unary("sinh", sinh, {.value = 2});
  unary("cosh", cosh, {.value = 2});
  wide("exp2", exp2, {.value = 1});
  wide("log2", log2, {.value = 1});
  wide("log10", log10, {.value = 1});
  wide("sinh", sinh, {.value = 2});
  wide("cosh", cosh, {.value = 2});
}

TEST_CASE("hypot gives PyTorch's recorded values, and derivatives of 0 at (0, 0)") {
  // PyTorch's second derivatives are NaN (0 / 0) at (0, 0), and lose all digits next to an axis: see below.
  using golden::any_vector;
  const golden::bounds allowed{.value = 1, .second = -1, .sign_is_open = true, .nan_is_open = "grad"};
  golden::check<any_vector, any_vector>(recorded, "hypot", hypot, allowed);
  golden::check_wide<any_vector, any_vector>(recorded, "hypot_scaled", hypot, allowed);
  const ebb::tensor<double> zero(0.0);
  CHECK((ebb::grad<0>(hypot)(zero, zero)() == 0 && ebb::grad<1>(hypot)(zero, zero)() == 0));
  CHECK((ebb::grad<0>(ebb::grad<0>(hypot))(zero, zero)() == 0 && ebb::grad<1>(ebb::grad<0>(hypot))(zero, zero)() == 0));
}

TEST_CASE("derivatives of hypot next to an axis do not cancel") {
  // d^2/dx^2 = y^2 / h^3: computed from 1 - (x / h)^2 it would lose all digits.
  const ebb::tensor<double> x(1e10), y(1e-3);
  const auto is = [](double got, double want) { return std::fabs(got / want - 1) < 1e-15; };
  CHECK(is(ebb::grad<0>(ebb::grad<0>(hypot))(x, y)(), 1e-36));
  CHECK(is(ebb::grad<1>(ebb::grad<0>(hypot))(x, y)(), -1e-23));
  CHECK(is(ebb::grad<1>(ebb::grad<1>(hypot))(x, y)(), 1e-10));
}

TEST_CASE("exp2, log2, log10, sinh, cosh and hypot take plain numbers and integers") {
  static_assert(ebb::exp2(10.) == 1024 && ebb::log2(0.125f) == -3 && ebb::log10(1000.) == 3 && ebb::hypot(3.f, 4.f) == 5 && ebb::hypot(0., 0.) == 0);
  static_assert(ebb::cosh(0.) == 1 && ebb::sinh(0.f) == 0 && std::is_same_v<decltype(ebb::log10(100)), double>);
  const ebb::tensor<float, 2> powers = ebb::exp2(ebb::tensor<std::int64_t, 2>{-1, 20});
  CHECK((powers(0) == 0.5f && powers(1) == 1048576));
}

TEMPLATE_TEST_CASE("hyperbolic functions have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  std::vector<T> places{T(1000), T(0.5), T(1), T(1e-6), T(3)};
  for (int i = 0; i < 60; ++i) places.push_back(static_cast<T>(0.1 + 0.23 * i));
  test::check_everywhere<T>([](auto x) { return ebb::exp2(ebb::log10(x)) * ebb::log2(x + 1.0); }, places);
  test::check_everywhere<T>([](auto x) { return ebb::hypot(ebb::sinh(x * 0.05), 2.0) / ebb::cosh(x * 0.01); }, places);
}

}  // namespace
