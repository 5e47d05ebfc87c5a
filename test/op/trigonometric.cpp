// test/op/trigonometric.cpp — tan, asin, acos, atan and atan2: values and both derivatives as recorded, in every context.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

using golden::any_vector;
constexpr auto recorded = "trigonometric";
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<any_vector>(recorded, name, f, b); };
const auto wide = [](const char* name, auto f, golden::bounds b = {}) { golden::check_wide<any_vector>(recorded, name, f, b); };

const auto tan = [](auto x) { return ebb::tan(x); };
const auto asin = [](auto x) { return ebb::asin(x); };
const auto acos = [](auto x) { return ebb::acos(x); };
const auto atan = [](auto x) { return ebb::atan(x); };
const auto atan2 = [](auto y, auto x) { return ebb::atan2(y, x); };

TEST_CASE("tangent and inverse trigonometric functions give PyTorch's recorded values") {
  unary("tan", tan, {.value = 2});
  // PyTorch's second derivatives are 0 at subnormal numbers, and NaN for atan at infinity.
  unary("asin", asin, {.value = 2, .open_at = {2, 3}});
  unary("acos", acos, {.value = 2, .sign_is_open = true, .open_at = {2, 3}});
  unary("atan", atan, {.value = 1, .sign_is_open = true, .nan_is_open = "second"});
  wide("tan", tan, {.value = 2});
  wide("asin", asin, {.value = 2});
  wide("acos", acos, {.value = 2, .sign_is_open = true});
  wide("atan", atan, {.value = 1, .sign_is_open = true});
}

TEST_CASE("atan2 gives PyTorch's recorded values, and derivatives of 0 at (0, 0) and infinity, where PyTorch has NaN") {
  // PyTorch's first derivatives are 0 at the largest number, and its second ones at (3e160, 4e160); the exact ones are subnormal.
  golden::bounds allowed{.value = 2, .grad = 4, .second = 16, .sign_is_open = true, .nan_is_open = "derivatives",
                         .open_at = {31, 32}};
  golden::check<any_vector, any_vector>(recorded, "atan2", atan2, allowed);
  allowed.open_at = {2};
  golden::check_wide<any_vector, any_vector>(recorded, "atan2_scaled", atan2, allowed);
  const ebb::tensor<double> zero(0.0);
  CHECK((ebb::grad<0>(atan2)(zero, zero)() == 0 && ebb::grad<1>(atan2)(zero, zero)() == 0));
  const ebb::tensor<double> infinite(std::numeric_limits<double>::infinity()), one(1.0), nan(std::numeric_limits<double>::quiet_NaN());
  CHECK((ebb::grad<0>(atan2)(one, infinite)() == 0 && ebb::grad<1>(atan2)(one, infinite)() == 0));
  CHECK((ebb::grad<0>(atan2)(infinite, infinite)() == 0 && ebb::grad<1>(ebb::grad<0>(atan2))(infinite, one)() == 0));
  CHECK((std::isnan(double(ebb::grad<0>(atan2)(nan, one)())) && std::isnan(double(ebb::grad<0>(atan2)(one, nan)()))));
  CHECK((ebb::grad<0>(ebb::grad<0>(atan2))(zero, zero)() == 0 && ebb::grad<1>(ebb::grad<0>(atan2))(zero, zero)() == 0));
}

TEST_CASE("atan and atan2 have exact derivatives far away, and asin next to 0") {
  const auto is = [](double got, double want) { return std::fabs(got / want - 1) < 1e-15; };
  const ebb::tensor<double> tiny(1e-200), huge(1e200), half(0x1p-30);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK((ebb::grad(atan)(huge)() == 0 && ebb::grad(ebb::grad(atan))(ebb::tensor<double>(infinity))() == 0));
  CHECK((is(ebb::grad<0>(atan2)(huge, huge)(), 0.5e-200) && is(ebb::grad<1>(atan2)(huge, huge)(), -0.5e-200)));
  CHECK((is(ebb::grad<0>(atan2)(tiny, tiny)(), 0.5e200) && is(ebb::grad<1>(atan2)(tiny, tiny)(), -0.5e200)));
  CHECK(is(ebb::grad(ebb::grad(asin))(half)(), 0x1p-30));
  CHECK(ebb::grad(asin)(ebb::tensor<double>(1.0))() == infinity);
  CHECK(ebb::grad(acos)(ebb::tensor<float>(-1.f))() == -std::numeric_limits<float>::infinity());
}

TEST_CASE("trigonometric functions take plain numbers and integers") {
  static_assert(ebb::tan(0.) == 0 && ebb::asin(0.f) == 0 && ebb::acos(1.) == 0 && ebb::atan2(0., 1.) == 0);
  static_assert(std::is_same_v<decltype(ebb::atan2(1.f, 2.f)), float> && std::is_same_v<decltype(ebb::atan(1)), double>);
  const ebb::tensor<float, 2> angles = ebb::atan2(ebb::tensor<std::int64_t, 2>{0, 1}, ebb::tensor<std::int64_t, 2>{-1, 1});
  CHECK((angles(0) == 3.14159265f && angles(1) == 0.785398163f));
}

TEMPLATE_TEST_CASE("trigonometric functions have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  std::vector<T> places{T(0), T(-0.0), T(0.5), T(-0.5), T(1e-6), T(3e9)};
  for (int i = 0; i < 60; ++i) places.push_back(static_cast<T>(-7 + 0.23 * i));
  test::check_everywhere<T>([](auto x) { return ebb::tan(x) + ebb::asin(ebb::atan(x) * 0.6) * ebb::acos(ebb::atan(x) * 0.5); }, places);
  test::check_everywhere<T>([](auto x) { return ebb::atan2(x, 1.5 - x) * ebb::atan2(2.0, x); }, places);
}

}  // namespace
