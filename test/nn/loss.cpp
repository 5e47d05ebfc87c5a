// test/nn/loss.cpp — losses of single numbers against recorded values, long double and central differences.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
constexpr double infinite = std::numeric_limits<double>::infinity();

// PyTorch's float results underflow or are rounded where float64 is the reference; sums are compared with their spread.
TEST_CASE("losses of single numbers give PyTorch's recorded values") {
  const golden::bounds sums{.value = 8, .grad = 16, .spread = true, .sign_is_open = true};
  using small = of<real, 4, 3>;
  using rows = of<real, dyn, 3>;
  const auto each = [&](const std::string& how, auto tag) {
    using tag_type = decltype(tag);
    const auto plain = [&]<class Loss>(const std::string& name, const Loss&) {
      golden::check<small, rows>("loss", name + how, [](auto x, auto y) { return Loss{}(x, y, tag_type{}); }, sums);
    };
    plain("l1_", ebb::l1);
    plain("huber_", ebb::huber);
    plain("smooth_l1_", ebb::smooth_l1);
    plain("bce_", ebb::bce);
    plain("kl_div_", ebb::kl_div);
    plain("soft_margin_", ebb::soft_margin);
    plain("hinge_embedding_", ebb::hinge_embedding);
    golden::check<rows, small>("loss", "huber_delta_" + how, [](auto x, auto y) { return ebb::huber(x, y, 0.5, tag_type{}); }, sums);
    golden::check<rows, small>("loss", "smooth_l1_beta_" + how, [](auto x, auto y) { return ebb::smooth_l1(x, y, 0.5, tag_type{}); }, sums);
  };
  each("mean", ebb::averaged);
  each("none", ebb::unreduced);
  golden::check<rows, rows>("loss", "kl_div_batchmean", [](auto x, auto y) { return ebb::kl_div(x, y, ebb::batch_averaged); }, sums);
  golden::check<rows, rows>(
      "loss", "kl_div_log_target", [](auto x, auto y) { return ebb::kl_div(x, y, ebb::summed, ebb::log_target); }, sums);
  golden::check<golden::any_vector, golden::any_vector>("loss", "kl_div_zero_target",
                                                        [](auto x, auto y) { return ebb::kl_div(x, y, ebb::summed); }, sums);
}

TEST_CASE("losses give PyTorch's recorded values at kinks and bounds") {
  using vector = golden::any_vector;
  const golden::bounds b{.value = 2, .grad = 2, .second = 2, .sign_is_open = true, .value_sign_is_open = true};
  golden::check_wide<vector>("loss", "kinks_huber_to_0", [](auto x) { return ebb::huber(x, 0, 0.5, ebb::unreduced); }, b);
  golden::check_wide<vector>("loss", "kinks_smooth_l1_to_0", [](auto x) { return ebb::smooth_l1(x, 0, 0.5, ebb::unreduced); }, b);
  golden::check_wide<vector>("loss", "kinks_l1_to_0", [](auto x) { return ebb::l1(x, 0, ebb::unreduced); }, b);
  // PyTorch's bound of 1e-12 is a float: its derivatives there differ in the ninth digit.
  const auto clamped = [](auto p, auto y) { return ebb::bce(p, y, ebb::unreduced); };
  golden::check_wide<vector, vector>("loss", "bce_clamped", clamped, {.value = 2, .grad = -1, .value_sign_is_open = true});
  const auto by_p = ebb::grad<0>([](auto p, auto y) { return ebb::bce(p, y, ebb::summed); });
  using five = ebb::tensor<double, 5>;
  CHECK(ebb::all_equal(by_p(five{0, 1, 0, 1, 0.5}, five{0, 1, 1, 0, 0.25}), five{0, 0, -1e12, 1e12, 1}));
  golden::check_wide<vector, vector, vector>(
      "loss", "gaussian_nll_clamped",
      [](auto x, auto y, auto v) { return ebb::gaussian_nll(x, y, v, ebb::unreduced, ebb::with_constants); },
      {.value = 4, .grad = 4, .sign_is_open = true});
  golden::check_wide<vector, vector>(
      "loss", "poisson_nll_full", [](auto x, auto y) { return ebb::poisson_nll(x, y, ebb::with_constants, ebb::unreduced); }, {.value = 4});
  golden::check_wide<vector, vector>(
      "loss", "poisson_nll_plain", [](auto x, auto y) { return ebb::poisson_nll(x, y, ebb::of_rates, ebb::unreduced); }, {.value = 4});
}

TEST_CASE("losses of single numbers have the first and second derivatives of their formulas, by both operands") {
  using linalg_test::long_numbers;
  using numbers = std::vector<double>;
  using pair = linalg_test::wide<2, 4>;
  const auto extents = linalg_test::extents_of({2, 4});
  const auto check = [&](const char* name, auto f, const numbers& x, auto formula) {
    linalg_test::against_differences<pair>(name, f, x, extents, [&](const long_numbers& v) {
      long_numbers r;
      for (std::size_t i = 0; i < 4; ++i) r.push_back(formula(v[i], v[4 + i]));
      return r;
    }, 1e-12L, 1e-7L);
  };
  const numbers far{0.3, -2.25, 1.5, 4, 0.1, 0.75, -1, -0.5}, inner{0.3, 0.65, 0.35, 0.7, 0.5, 0.6, 0.45, 0.4},
      counts{0.5, -1, 0.25, 2, 3, 2, 1.5, 7};
  check("huber", [](auto x) { return ebb::huber(x[0], x[1], 0.75, ebb::unreduced); }, far, [](auto x, auto y) {
    const auto d = std::fabs(x - y);
    return d <= 0.75L ? d * d / 2 : 0.75L * (d - 0.375L);
  });
  check("smooth_l1", [](auto x) { return ebb::smooth_l1(x[0], x[1], 0.75, ebb::unreduced); }, far, [](auto x, auto y) {
    const auto d = std::fabs(x - y);
    return d < 0.75L ? d * d / 1.5L : d - 0.375L;
  });
  check("bce", [](auto x) { return ebb::bce(x[0], x[1], ebb::unreduced); }, inner,
        [](auto p, auto y) { return -y * std::log(p) - (1 - y) * std::log1p(-p); });
  check(
      "kl_div", [](auto x) { return ebb::kl_div(x[1], x[0], ebb::unreduced); }, inner,
      [](auto y, auto x) { return y * (std::log(y) - x); });
  check("kl_div of logarithms", [](auto x) { return ebb::kl_div(x[1], x[0], ebb::unreduced, ebb::log_target); }, far,
        [](auto y, auto x) { return std::exp(y) * (y - x); });
  check("gaussian_nll", [](auto x) { return ebb::gaussian_nll(x[0], 0.5, x[1], ebb::unreduced); }, inner,
        [](auto x, auto v) { return (std::log(v) + (x - 0.5L) * (x - 0.5L) / v) / 2; });
  check(
      "poisson_nll", [](auto x) { return ebb::poisson_nll(x[0], x[1], ebb::unreduced, ebb::with_constants); }, counts,
      [](auto x, auto y) { return std::exp(x) - y * x + y * std::log(y) - y + std::log(2 * std::acos(-1.0L) * y) / 2; });
  check("soft_margin", [](auto x) { return ebb::soft_margin(x[0], x[1], ebb::unreduced); }, far,
        [](auto x, auto y) { return std::log1p(std::exp(-y * x)); });
}

TEST_CASE("losses of single numbers at infinities, at the end of their support, and without elements") {
  using row = ebb::tensor<double, 3>;
  const row x{infinite, -infinite, 0.25}, zeros{};
  CHECK(ebb::all_equal(ebb::huber(x, zeros, 2, ebb::unreduced), row{infinite, infinite, 0.03125}));
  const auto slopes = [](auto a) {
    return ebb::sum(ebb::huber(a, 0, 2, ebb::unreduced)) + ebb::sum(ebb::smooth_l1(a, 0, 0, ebb::unreduced));
  };
  CHECK(ebb::all_equal(ebb::grad(slopes)(x), row{3, -3, 1.25}));
  CHECK(ebb::all_equal(ebb::grad(slopes)(row{0, -0., 5}), row{0, 0, 3}));
  // The divergence from a distribution with zeros, and its gradient by the target, which PyTorch makes NaN.
  const auto divergence = [](auto a, auto p) { return ebb::kl_div(a, p, ebb::summed); };
  const row p{0.5, 0, 0.5}, log_q{-1, -infinite, -2};
  CHECK(ebb::kl_div(log_q, p, ebb::summed) == Approx(std::log(0.5) + 1.5));
  CHECK(ebb::all_equal(ebb::grad<0>(divergence)(log_q, p), row{-0.5, 0, -0.5}));
  CHECK(ebb::grad<1>(divergence)(log_q, p)(1) == 0);
  CHECK(ebb::kl_div(log_q, row{std::log(0.5), -infinite, std::log(0.5)}, ebb::summed, ebb::log_target) == Approx(std::log(0.5) + 1.5));
  const ebb::tensor<float, dyn> none(0), some{1, 2};
  CHECK(std::isnan(ebb::l1(none, none)));
  CHECK(ebb::huber(none, none, ebb::summed) == 0);
  CHECK(ebb::l1(some, 4, ebb::summed) == 5);
  const std::string text = test::raised([&] { ebb::huber(some, none); });
  CHECK(test::says(text, {"ebb::huber", "[2]", "[0]"}));
}

TEST_CASE("losses of single numbers are computed once for bf16, on the tape, captured, and in float under autocast") {
  const ebb::tensor<ebb::bfloat16, 2> x{ebb::bfloat16(1.5f), ebb::bfloat16(-0.25f)}, y{ebb::bfloat16(0.75f), ebb::bfloat16(0.125f)};
  const ebb::bfloat16 loss = ebb::smooth_l1(x, y);
  CHECK(loss.bits == ebb::bfloat16(ebb::smooth_l1(ebb::cast<float>(x), ebb::cast<float>(y))).bits);
  const auto f = [](const auto& a, const auto& b) { return ebb::smooth_l1(a, b); };
  CHECK(std::is_same_v<decltype(ebb::under<ebb::autocast<ebb::bf16>>(f)(x, y)), float>);
  for (const bool captured : {false, true}) {
    ebb::variable v(ebb::tensor<float, 3>{0.25f, -2, 3});
    ebb::backward(ebb::huber(v, 1.f, 0.5f, ebb::summed), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(v.grad().value(), ebb::tensor<float, 3>{-0.5f, -0.5f, 0.5f}));
  }
}

}  // namespace
