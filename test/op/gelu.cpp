// test/op/gelu.cpp — values and derivatives of gelu in both forms.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

const auto unary = [](const char* name, auto f, golden::bounds b) { golden::check<golden::any_vector>("elementwise", name, f, b); };
const auto exact = [](const char* name, auto f, golden::bounds b) {
  golden::check_traced("ops2", name, "/float64", ebb::trace_of<decltype(f), ebb::term<double, ebb::dyn>>::make(), b);
};

constexpr auto gelu = [](auto x) { return ebb::gelu(x); };
constexpr auto gelu_tanh = [](auto x) { return ebb::gelu_tanh(x); };

// PyTorch loses digits in the left tail, where 1 + erf and 1 + tanh cancel: the exact values are used there. Derivatives cross zero: their
// bounds are in units of 1. Elements 6 to 8 are the largest numbers and infinity, where PyTorch's derivatives are NaN.
TEST_CASE("gelu gives PyTorch's recorded values") {
  const golden::bounds b{.value = 3, .grad = 5, .second = 8, .grad_floor = 1, .second_floor = 1, .value_floor = 1,
                         .sign_is_open = true, .open_at = {5, 6, 7, 8}};
  unary("gelu_erf", gelu, b);
  unary("gelu_tanh", gelu_tanh, b);
}

TEST_CASE("gelu is exact, and so are its derivatives") {
  exact("gelu", gelu, {.value = 3, .grad = 3, .second = 4, .grad_floor = 0.1});
  exact("gelu_tanh", gelu_tanh, {.value = 3, .grad = 6, .second = 8, .grad_floor = 1, .second_floor = 1});
}

TEST_CASE("gelu and its derivatives have their limits at infinity, not NaN") {
  exact("limits_gelu", gelu, {.sign_is_open = true});
  exact("limits_gelu_tanh", gelu_tanh, {.sign_is_open = true});
}

TEST_CASE("gelu of numbers is a constant expression") {
  static_assert(ebb::gelu(0.) == 0 && ebb::gelu(100.f) == 100 && ebb::gelu_tanh(-1000.) == 0);
  static_assert(ebb::gelu(1.) - 0.8413447460685429 < 2e-16 && 0.8413447460685429 - ebb::gelu(1.) < 2e-16);
}

TEMPLATE_TEST_CASE("gelu has the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-12.5), -3, T(-0.8), T(-0.3), 0,  T(0.4),  T(0.9),   2,      7, T(-1.1),
                         T(0.76),  5,  -5,      1,       -1, T(0.75), T(-0.75), T(9.9), 3};
  test::check_everywhere<T>([](auto a) { return ebb::gelu(a) + ebb::gelu_tanh(a * 0.5); }, x);
}

}  // namespace
