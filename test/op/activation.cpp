// test/op/activation.cpp — activations: values, both derivatives, kinks and limits as recorded, and parameters that are arrays.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

constexpr auto recorded = "activation";
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<golden::any_vector>(recorded, name, f, b); };
const auto wide = [](const char* name, auto f, golden::bounds b = {}) { golden::check_wide<golden::any_vector>(recorded, name, f, b); };

const auto silu = [](auto x) { return ebb::silu(x); };
const auto mish = [](auto x) { return ebb::mish(x); };

// The slopes of silu and mish cross 0, and the slope of elu is written with the result: their bounds are in units of 1. PyTorch's slopes of
// silu and mish lose digits on the right, where 1 - sigmoid(x) cancels, and are NaN at infinities and large numbers: the float64 blocks
// have the exact values.
TEST_CASE("activations give PyTorch's recorded values") {
  unary("silu", silu, {.value = 2.5, .grad = 8, .grad_floor = 1, .second_floor = 1, .sign_is_open = true, .open_at = {7, 8}});
  unary("mish", mish, {.value = 2.5, .second = 16, .grad_floor = 1, .second_floor = 1, .sign_is_open = true, .open_at = {5, 7, 8, 42}});
  const golden::bounds exponential{.value = 3.5, .grad_floor = 1, .second_floor = 1};
  unary("elu", [](auto x) { return ebb::elu(x); }, exponential);
  unary("elu_1.5", [](auto x) { return ebb::elu(x, 1.5); }, exponential);
  unary("selu", [](auto x) { return ebb::selu(x); }, exponential);
  unary("celu", [](auto x) { return ebb::celu(x, 2); }, exponential);
  unary("leaky_relu", [](auto x) { return ebb::leaky_relu(x); }, {.value = 1, .grad = 1, .second = 0});
  unary("leaky_relu_0.2", [](auto x) { return ebb::leaky_relu(x, 0.2); }, {.value = 1, .grad = 1, .second = 0});
  unary("hardtanh", [](auto x) { return ebb::hardtanh(x); }, {.grad = 0, .second = 0});
  unary("relu6", [](auto x) { return ebb::relu6(x); }, {.grad = 0, .second = 0, .value_sign_is_open = true});
  // PyTorch's derivative of hardsigmoid is a rounded 1/6. Its hardswish overflows in 6 x and has the second derivative 0 at NaN.
  unary("hardsigmoid", [](auto x) { return ebb::hardsigmoid(x); }, {.value = 2, .grad = -1, .second = -1});
  unary("hardswish", [](auto x) { return ebb::hardswish(x); }, {.value = 3, .second = 1, .grad_floor = 1, .open_at = {5, 8, 9}});
}

TEST_CASE("activations are right at kinks, in both tails, at infinities and at huge arguments") {
  wide("silu", silu, {.value = 2.5, .grad = 8, .second = 24, .grad_floor = 0x1p-4, .second_floor = 0x1p-3});
  wide("mish", mish, {.value = 2.5, .grad = 8, .second = 24, .grad_floor = 0x1p-4, .second_floor = 0x1p-3});
  wide("limits_silu", silu, {.grad = 0, .second = 0, .sign_is_open = true});
  wide("limits_mish", mish, {.grad = 0, .second = 0, .sign_is_open = true});
  const golden::bounds exponential{.value = 3.5, .grad_floor = 2, .second_floor = 2};
  wide("kinks_elu_1.5", [](auto x) { return ebb::elu(x, 1.5); }, exponential);
  wide("kinks_selu", [](auto x) { return ebb::selu(x); }, exponential);
  wide("kinks_celu_2", [](auto x) { return ebb::celu(x, 2); }, exponential);
  wide("kinks_leaky_relu_0.1", [](auto x) { return ebb::leaky_relu(x, 0.1); }, {.value = 1, .grad = 1, .second = 0});
  wide("kinks_prelu_0.25", [](auto x) { return ebb::leaky_relu(x, 0.25); }, {.value = 1, .grad = 1, .second = 0});
  wide("kinks_hardtanh", [](auto x) { return ebb::hardtanh(x); }, {.grad = 0, .second = 0});
  wide("kinks_hardtanh_-2_0.5", [](auto x) { return ebb::hardtanh(x, -2, 0.5); }, {.grad = 0, .second = 0});
  wide("kinks_relu6", [](auto x) { return ebb::relu6(x); }, {.grad = 0, .second = 0, .value_sign_is_open = true});
  wide("kinks_hardsigmoid", [](auto x) { return ebb::hardsigmoid(x); }, {.value = 2, .grad = 0x1p+30});
  wide("kinks_hardswish", [](auto x) { return ebb::hardswish(x); }, {.value = 3, .second = 1, .grad_floor = 1});
}

TEST_CASE("the derivative of hardsigmoid is 1/6 inside, in float and double") {
  const auto slope = [](auto x) { return ebb::grad([](auto a) { return ebb::hardsigmoid(a); })(x); };
  for (double x : {-2.9999, -1.0, 0.0, 2.5}) {
    CHECK(slope(ebb::tensor<double>(x))() == 1. / 6);
    CHECK(slope(ebb::tensor<float>(static_cast<float>(x)))() == 1.f / 6);
  }
  for (double x : {-3.0, 3.0, -1e9, std::numeric_limits<double>::infinity()}) CHECK(slope(ebb::tensor<double>(x))() == 0);
}

template <class F>
struct total_by {
  constexpr auto operator()(auto x, auto a) const { return ebb::sum(F{}(x, a)); }
};

TEST_CASE("array parameters are broadcast and get gradients") {
  const ebb::tensor<double, 2, 3> x{-2, -1, -0.5, 0.5, 1, 7};
  const ebb::tensor<double, 3> a{0.5, 1, 2};
  const auto by_parameter = [&]<class F>(F) { return ebb::grad<1>(total_by<F>{})(x, a); };
  const auto slope = by_parameter([](auto u, auto v) { return ebb::leaky_relu(u, v); });
  for (std::size_t i = 0; i < 3; ++i) CHECK(slope(i) == x(0, i));
  const auto alpha = by_parameter([](auto u, auto v) { return ebb::elu(u, v); });
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::fabs(double(alpha(i)) - std::expm1(std::min(double(x(0, i)), 0.)) - std::expm1(std::min(double(x(1, i)), 0.))) < 1e-15);
  // Bounds get the gradient of elements beyond them and on them.
  const auto low = by_parameter([](auto u, auto v) { return ebb::hardtanh(u, -v, v); });
  CHECK((low(0) == -1 + 1 && low(1) == -1 + 1 && low(2) == 1));
  const auto crossed = ebb::grad<1>([](auto u, auto v) { return ebb::sum(ebb::hardtanh(u, v, 1)); })(x, a);
  CHECK((crossed(0) == 1 + 1 && crossed(1) == 1 && crossed(2) == 0));
}

TEST_CASE("activations take plain numbers, constant expressions, integers and float16") {
  static_assert(ebb::silu(0.) == 0 && ebb::silu(800.f) == 800 && ebb::elu(3.) == 3 && ebb::leaky_relu(-100.) == -1);
  static_assert(ebb::hardtanh(-5.f) == -1 && ebb::hardtanh(-5., -2., 3.) == -2 && ebb::hardswish(3.) == 3 && ebb::hardsigmoid(0.) == 0.5);
  static_assert(ebb::celu(-1e9, 2.) == -2 && ebb::mish(0.f) == 0);
  static_assert(std::is_same_v<decltype(ebb::silu(1.f)), float> && std::is_same_v<decltype(ebb::elu(1)), double>);
  const ebb::tensor<std::int64_t, 2> n{-1, 2};
  const ebb::tensor<float, 2> y = ebb::silu(n);
  CHECK((y(0) == ebb::silu(-1.f) && y(1) == ebb::silu(2.f)));
  const ebb::tensor<ebb::float16, 1> h{ebb::float16(-4.f)};
  CHECK(static_cast<float>(ebb::mish(h)(0)) == static_cast<float>(ebb::float16(ebb::mish(-4.f))));
}

TEMPLATE_TEST_CASE("activations have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  std::vector<T> places{T(-1000), T(-3), T(-1), T(-0.0), T(0), T(1e-6), T(1), T(3), T(6), T(1000), std::numeric_limits<T>::infinity()};
  for (int i = 0; i < 60; ++i) places.push_back(static_cast<T>(-7 + 0.23 * i));
  test::check_everywhere<T>([](auto x) { return ebb::silu(x) + ebb::silu(x, 0.7) - ebb::mish(x); }, places);
  test::check_everywhere<T>([](auto x) { return ebb::elu(x, 1.5) + ebb::selu(x) * ebb::celu(x, 2) + ebb::leaky_relu(x); }, places);
  test::check_everywhere<T>([](auto x) { return ebb::hardtanh(x) * ebb::relu6(x) + ebb::hardswish(x) * ebb::hardsigmoid(x); }, places);
}

}  // namespace
