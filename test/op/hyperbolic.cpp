// test/op/hyperbolic.cpp — exp2, log2, log10, hyperbolic functions and their inverses, hypot: values and derivatives as recorded.
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
const auto asinh = [](auto x) { return ebb::asinh(x); };
const auto acosh = [](auto x) { return ebb::acosh(x); };
const auto atanh = [](auto x) { return ebb::atanh(x); };
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

TEST_CASE("asinh, acosh and atanh give PyTorch's recorded values") {
  // Elements 5 and 6 are the largest numbers, where PyTorch's derivatives are 0 and the exact ones subnormal; 27 is next to 1, where
  // PyTorch's x^2 - 1 cancels.
  unary("asinh", asinh, {.value = 2, .sign_is_open = true, .nan_is_open = "second", .open_at = {5, 6}});
  const golden::bounds allowed{.value = 2, .sign_is_open = true, .nan_is_open = "derivatives", .open_at = {5, 6, 27}};
  unary("acosh", acosh, allowed);
  unary("atanh", atanh, allowed);
  wide("asinh", asinh, {.value = 2});
  wide("acosh", acosh, {.value = 2});
  wide("atanh", atanh, {.value = 2});
}

TEST_CASE("derivatives of asinh, acosh and atanh at zeros, ends of domains, large numbers and infinities") {
  const auto first = [](auto f, double x) { return ebb::grad(f)(x); };
  const auto second = [](auto f, double x) { return ebb::grad(ebb::grad(f))(x); };
  const double inf = std::numeric_limits<double>::infinity();
  CHECK((first(asinh, 0) == 1 && second(asinh, 0) == 0 && first(atanh, -0.0) == 1 && second(atanh, 0) == 0));
  CHECK((first(acosh, 1) == inf && first(atanh, 1) == inf && first(atanh, -1) == inf));
  CHECK((first(asinh, inf) == 0 && first(asinh, -inf) == 0 && first(acosh, inf) == 0));
  CHECK((second(asinh, inf) == 0 && second(acosh, inf) == 0));
  // x^2 overflows, or is all that is left of x^2 +- 1.
  for (const double x : {1e9, 2e20, 1e200, 1e300}) {
    CHECK(std::fabs(first(asinh, -x) * x - 1) < 1e-15);
    CHECK(std::fabs(first(acosh, x) * x - 1) < 1e-15);
    if (x < 1e100) CHECK((std::fabs(second(asinh, x) * x * x + 1) < 1e-15 && std::fabs(second(acosh, x) * x * x + 1) < 1e-15));
  }
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
  static_assert(ebb::exp2(10.) == 1024 && ebb::log2(0.125f) == -3 && ebb::log10(1000.) == 3 && ebb::hypot(3.f, 4.f) == 5 &&
                ebb::hypot(0., 0.) == 0);
  static_assert(ebb::cosh(0.) == 1 && ebb::sinh(0.f) == 0 && std::is_same_v<decltype(ebb::log10(100)), double>);
  const ebb::tensor<float, 2> powers = ebb::exp2(ebb::tensor<std::int64_t, 2>{-1, 20});
  CHECK((powers(0) == 0.5f && powers(1) == 1048576));
}

TEMPLATE_TEST_CASE("hyperbolic functions have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  std::vector<T> places{T(1000), T(0.5), T(1), T(1e-6), T(3)};
  for (int i = 0; i < 60; ++i) places.push_back(static_cast<T>(0.1 + 0.23 * i));
  test::check_everywhere<T>([](auto x) { return ebb::exp2(ebb::log10(x)) * ebb::log2(x + 1.0); }, places);
  test::check_everywhere<T>([](auto x) { return ebb::asinh(x) + ebb::acosh(x + 1.5) * ebb::atanh(x / (x + 2.0)); }, places);
  test::check_everywhere<T>([](auto x) { return ebb::hypot(ebb::sinh(x * 0.05), 2.0) / ebb::cosh(x * 0.01); }, places);
}

}  // namespace
