// test/op/nonfinite.cpp — NaN, infinities, signs and exponents: recorded values, gradients, defaults, numbers and narrow floats.
// SPDX-License-Identifier: BSL-1.0
// covers: num/ldexp.hpp
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

const auto one_operand = [](const char* name, auto f, golden::bounds b = {}) {
  golden::check<golden::any_vector>("nonfinite", name, f, b);
};
const auto two_operands = [](const char* name, auto f, golden::bounds b = {}) {
  golden::check<golden::any_vector, golden::any_vector>("nonfinite", name, f, b);
};

// Float's largest number is not that of the recorded float64 results. PyTorch's derivative of copysign is NaN at infinity and NaN: ours is
// 1 or -1, and 0.
TEST_CASE("functions of NaN, infinities, signs and exponents give PyTorch's recorded values") {
  one_operand("nan_to_num", [](auto x) { return ebb::nan_to_num(x); }, {.grad = 0, .open_at = {7, 8}});
  golden::check_wide<golden::any_vector>("nonfinite", "kinks_nan_to_num", [](auto x) { return ebb::nan_to_num(x); }, {.grad = 0});
  one_operand("signbit", [](auto x) { return ebb::signbit(x); });
  two_operands("fmax", [](auto x, auto y) { return ebb::fmax(x, y); }, {.grad = 0, .second = 0});
  two_operands("fmin", [](auto x, auto y) { return ebb::fmin(x, y); }, {.grad = 0, .second = 0});
  two_operands("copysign", [](auto x, auto y) { return ebb::copysign(x, y); },
               {.grad = 0, .second = 0, .sign_is_open = true, .nan_is_open = "derivatives"});
  golden::check_wide<golden::any_vector, golden::any_vector>("nonfinite", "isclose",
                                                             [](auto x, auto y) { return ebb::isclose(x, y, 1e-3, 1e-6); });
  golden::check_wide<golden::any_vector, golden::of<std::int64_t, ebb::dyn>>("nonfinite", "ldexp",
                                                                            [](auto x, auto n) { return ebb::ldexp(x, n); }, {.grad = 0});
}

TEST_CASE("ldexp is rounded once, for any exponent") {
  int wrong = 0;
  for (const double x : {1.5, -0x1.fffffffffffffp+0, 0x1.0000000000001p-1022, 0x1p-1074, 0x1.8p+1023, 0.0, -0.0, 7.25e-310})
    for (const int n : {0, 1, -1, 52, -52, 1023, -1023, -1074, -1075, 2046, -2046, 2098, 5000, -5000})
      wrong += ebb::lane::to_bits(ebb::lane::ldexp(x, double(n))) != ebb::lane::to_bits(std::ldexp(x, n));
  for (const float x : {1.5f, -0x1.fffffep+0f, 0x1.000002p-126f, 0x1p-149f, 0x1.8p+127f, -0.0f})
    for (const int n : {0, 1, -1, 23, -23, 127, -149, -150, 254, 277, 5000, -5000})
      wrong += ebb::lane::to_bits(ebb::lane::ldexp(x, float(n))) != ebb::lane::to_bits(std::ldexp(x, n));
  CHECK(wrong == 0);
  const float inf = std::numeric_limits<float>::infinity();
  CHECK((ebb::lane::ldexp(inf, -3.f) == inf && ebb::lane::ldexp(-inf, 3.f) == -inf && std::isnan(ebb::lane::ldexp(std::nanf(""), 1.f))));
  static_assert(ebb::lane::ldexp(0.75, -3.) == 0.09375);
  const ebb::tensor<float, 2> y = ebb::ldexp(ebb::tensor<float, 2>{3, -5}, 4);
  CHECK((y(0) == 48 && y(1) == -80));
}

TEST_CASE("what nan_to_num replaces gets no gradient, and the replacements are chosen") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, 4> x{nan, inf, -inf, 2};
  CHECK(ebb::all_equal(ebb::nan_to_num(x, 7, 8, -9), ebb::tensor<double, 4>{7, 8, -9, 2}));
  CHECK(ebb::nan_to_num(x, 7)(1) == std::numeric_limits<double>::max());
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::nan_to_num(a) * a); })(ebb::tensor<double, 2>{inf, 3}),
                       ebb::tensor<double, 2>{std::numeric_limits<double>::max(), 6}));
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::nan_to_num(a, 1, 2, 3); })(x), ebb::tensor<double, 4>{1, 2, 3, 2}));
  const ebb::tensor<ebb::float16, 1> h{ebb::float16(std::numeric_limits<float>::infinity())};
  CHECK(static_cast<float>(ebb::nan_to_num(h)(0)) == 65504);
  const ebb::tensor<float, 1> f{-std::numeric_limits<float>::infinity()};
  CHECK(ebb::nan_to_num(f)(0) == std::numeric_limits<float>::lowest());
  CHECK(ebb::all_equal(ebb::nan_to_num(ebb::tensor<int, 2>{-1, 2}), ebb::tensor<int, 2>{-1, 2}));
}

TEST_CASE("classification of infinities, and closeness of all elements") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const ebb::tensor<float, 4> x{inf, -inf, nan, 1};
  CHECK(ebb::all_equal(ebb::isposinf(x), ebb::tensor<bool, 4>{true, false, false, false}));
  CHECK(ebb::all_equal(ebb::isneginf(x), ebb::tensor<bool, 4>{false, true, false, false}));
  const ebb::tensor<float, 3> a{1, 2, inf}, b{1 + 1e-6f, 2, inf}, c{1.1f, 2, inf};
  CHECK((ebb::allclose(a, b) && !ebb::allclose(a, c) && ebb::allclose(a, c, 0.2) && !ebb::allclose(x, x)));
  CHECK((!ebb::isclose(a, inf)(0) && ebb::isclose(a, inf)(2) && !ebb::isclose(a, b, 0, 1e-8)(0)));
  CHECK(ebb::isclose(ebb::tensor<int, 1>{3}, ebb::tensor<int, 1>{3})(0));
  CHECK(ebb::compile([](auto u, auto v) { return ebb::allclose(u, v, 0.0, 0.5); })(a, b));
}

TEST_CASE("functions of signs and infinities are constant expressions on numbers") {
  static_assert(ebb::fmax(1, 2.5) == 2.5 && ebb::fmin(1.f, -1.f) == -1 && ebb::copysign(2., -0.) == -2 && ebb::signbit(-0.f));
  static_assert(!ebb::isposinf(1.) && ebb::isneginf(-std::numeric_limits<double>::infinity()));
}

TEMPLATE_TEST_CASE("functions of signs and exponents have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-12.5), -3, T(-0.8), T(-0.0), 0, T(0.4), T(0.9), 2, 7, T(-1.1), T(1e20), 5, -5, 1, T(1e-20), T(0.75), 9, 3, 100};
  test::check_everywhere<T>([](auto a) { return ebb::fmax(a, 1.5) * ebb::fmin(a, -a) + ebb::copysign(a, 0.5 - a) * a; }, x);
  test::check_everywhere<T>([](auto a) { return ebb::ldexp(ebb::nan_to_num(a) * a, -2) + ebb::where(ebb::isclose(a, 2.0), a, a * a); }, x);
}

}  // namespace
