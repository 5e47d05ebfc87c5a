// test/op/loss.cpp — cross_entropy, nll and bce_with_logits with their options.
// SPDX-License-Identifier: BSL-1.0
// covers: loss.hpp loss_option.hpp
#include "../linalg/oracle.hpp"
#include "golden.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
const golden::bounds sums{.value = 4, .grad = 8, .second = -1, .spread = true};

constexpr auto with_all = [](auto tag) {
  return [](auto x, auto t, auto w) {
    return ebb::cross_entropy(x, t, ebb::weighted(w), ebb::ignoring<1>, ebb::smoothed(0.15), decltype(tag){});
  };
};
constexpr auto nll_of_some = [](auto tag) {
  return [](auto x, auto t, auto w) { return ebb::nll(x, t, decltype(tag){}, ebb::ignoring<1>, ebb::weighted(w)); };
};
constexpr auto weighted_bce = [](auto x, auto y, auto w, auto v) {
  return ebb::bce_with_logits(x, y, ebb::weighted(w), ebb::positives_weighted(v));
};

TEST_CASE("cross_entropy, nll and bce_with_logits with options give PyTorch's recorded values") {
  using logits = of<real, 5, 4>;
  using many = of<real, dyn, dyn>;
  const auto each = [](const std::string& how, auto tag) {
    using classes = of<std::int64_t, dyn>;
    golden::check_wide<logits, of<std::int64_t, 5>, of<real, 4>>("loss", "cross_entropy_all_" + how, with_all(tag), sums);
    golden::check_wide<many, classes, of<real, dyn>>("loss", "nll_weight_ignore_" + how, nll_of_some(tag), sums);
  };
  each("mean", ebb::averaged);
  each("none", ebb::unreduced);
  golden::check<of<real, dyn, 3>, of<real, dyn, 3>, of<real, dyn, 3>, of<real, 3>>(
      "loss", "bce_logits_weighted_mean", weighted_bce, {.value = 8, .grad = 16, .spread = true});
  golden::check_wide<of<real, dyn, 3, 2, 2>, of<std::int64_t, dyn, 2, 2>>(
      "loss", "cross_entropy_images", [](auto x, auto t) { return ebb::cross_entropy<1>(x, t, ebb::smoothed(0.1)); }, sums);
  golden::check_wide<many, many, of<real, dyn>>(
      "loss", "cross_entropy_probabilities_weight",
      [](auto x, auto y, auto w) { return ebb::cross_entropy(x, y, ebb::smoothed(0.1), ebb::weighted(w)); }, sums);
}

constexpr std::size_t rows = 6, classes = 4, width = 3;
constexpr int skipped = 9;

/// The loss of images [rows, classes, width], in long double.
long double loss_of_images(const std::vector<long double>& x, const ebb::tensor<std::int32_t, rows, width>& t,
                           const ebb::tensor<double, classes>& w, long double e) {
  long double total = 0, weights = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < width; ++k) {
      if (t(i, k) == skipped) continue;
      const auto at = [&](std::size_t c) { return x[(i * classes + c) * width + k]; };
      long double sum = 0, all = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += std::exp(at(c));
      for (std::size_t c = 0; c < classes; ++c) all -= w(c) * (at(c) - std::log(sum));
      const auto own = static_cast<std::size_t>(t(i, k));
      total += (1 - e) * w(own) * (std::log(sum) - at(own)) + e / classes * all;
      weights += w(own);
    }
  return total / weights;
}

TEST_CASE("cross_entropy along axis 1 with weights, smoothing and ignored examples has the derivatives of its formula") {
  const auto x = test::random_array<ebb::tensor<double, rows, classes, width>>(1), v = test::random_array<decltype(x)>(2);
  ebb::tensor<std::int32_t, rows, width> t;
  for (std::size_t i = 0; i < t.size(); ++i) t.mutable_data()[i] = i % 5 == 3 ? skipped : static_cast<int>(i * i % classes);
  const ebb::tensor<double, classes> w{0.5, 2, 1.25, 0.75};
  const auto f = [](auto a, auto target, auto weights, auto e) {
    return ebb::cross_entropy<1>(a, target, ebb::smoothed(e), ebb::weighted(weights), ebb::ignoring<skipped>);
  };
  const auto moved = [&](long double by) {
    std::vector<long double> y;
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x.data()[i] + by * v.data()[i]);
    return loss_of_images(y, t, w, 0.125L);
  };
  const auto loss = [&](auto a) { return f(a, t, w, 0.125); };
  CHECK(std::fabs(loss(x) - moved(0)) <= 1e-15L);
  const auto g = ebb::grad<0>(f)(x, t, w, 0.125);
  const long double h = 1e-3L;
  long double along = 0, twice = 0;
  for (std::size_t i = 0; i < x.size(); ++i) along += static_cast<long double>(g.data()[i]) * v.data()[i];
  CHECK(std::fabs(along - (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)) <= 1e-12L);
  const auto second = ebb::hvp<0>(f)(x, t, w, 0.125, v);
  for (std::size_t i = 0; i < x.size(); ++i) twice += static_cast<long double>(second.data()[i]) * v.data()[i];
  const long double want = (16 * (moved(h) + moved(-h)) - moved(2 * h) - moved(-2 * h) - 30 * moved(0)) / (12 * h * h);
  CHECK(std::fabs(twice - want) <= 1e-11L);
}

TEST_CASE("an ignored index need not be a class, others must be one, and an average over no example is NaN") {
  const ebb::tensor<float, 2, 3> x{{1, 2, 3}, {-1, 0, 4}};
  using indices = ebb::tensor<std::int64_t, dyn>;
  const auto loss = [](const auto& a, const indices& t) { return ebb::cross_entropy(a, t, ebb::ignoring<-100>); };
  CHECK(std::isnan(loss(x, indices{-100, -100})));
  CHECK(loss(x, indices{-100, 2}) == ebb::cross_entropy(ebb::tensor<float, 1, 3>{{-1, 0, 4}}, ebb::tensor<std::int64_t, 1>{2}));
  CHECK(ebb::cross_entropy(x, indices{-100, -100}, ebb::ignoring<-100>, ebb::summed) == 0);
  const auto each = ebb::nll(x, indices{1, -100}, ebb::ignoring<-100>, ebb::unreduced);
  CHECK((each.data()[0] == -2 && each.data()[1] == 0));
  CHECK(test::says(test::raised([&] { loss(x, indices{0, -1}); }), {"ebb::cross_entropy"}));
  CHECK(test::says(test::raised([&] { loss(x, indices{3, -100}); }), {"ebb::cross_entropy"}));
  CHECK(test::says(test::raised([&] { ebb::nll(x, indices{0, 1}, ebb::weighted(ebb::tensor<float, dyn>{1, 2})); }), {"ebb::nll"}));
}

TEST_CASE("options work on variables, in a captured backward, and under autocast") {
  const auto x = test::random_array<ebb::tensor<float, 4, 3>>(3);
  const ebb::tensor<std::int64_t, 4> t{2, -100, 0, 1};
  const ebb::tensor<float, 3> w{0.5f, 1, 2};
  const auto loss = [](const auto& a, const auto& target, const auto& weights) {
    return ebb::cross_entropy(a, target, ebb::weighted(weights), ebb::ignoring<-100>, ebb::smoothed(0.25f));
  };
  const auto want = ebb::grad<0>(loss)(x, t, w);
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::backward(loss(v, t, w), {.compiled_autograd = captured});
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(v.grad().data()[i] == Approx(want.data()[i]).margin(1e-7));
  }
  // In a scope of autocast the loss is computed in float.
  const auto narrow = ebb::cast<ebb::bfloat16>(x);
  const float under = ebb::under<ebb::autocast<ebb::bf16>>(loss)(narrow, t, w);
  CHECK(under == loss(ebb::cast<float>(narrow), t, w));
  // The weights of bce_with_logits are broadcast: one row for all examples.
  const ebb::tensor<double, 2, 2> z{{1, -2}, {0.5, 3}};
  const ebb::tensor<double, 2> row{3, 0};
  CHECK(ebb::bce_with_logits(z, 1, ebb::weighted(row), ebb::summed) ==
        Approx(3 * (std::log1p(std::exp(-1.)) + std::log1p(std::exp(-0.5)))));
  CHECK(ebb::bce_with_logits(z, 1, ebb::positives_weighted(2), ebb::summed) == Approx(2 * ebb::bce_with_logits(z, 1, ebb::summed)));
}

TEST_CASE("bce_with_logits and nll have the first and second derivatives of long double code, by both arguments") {
  const auto x = linalg_test::random_numbers(6, 8, 4);
  const auto extents = linalg_test::extents_of({2, 3});
  const auto of_logits = [](auto a) { return ebb::bce_with_logits(a, ebb::square(ebb::sin(a))); };
  const auto logits = [](const linalg_test::long_numbers& v) {
    long double sum = 0;
    for (const long double e : v) {
      const long double y = std::sin(e) * std::sin(e);
      sum += y * std::log1p(std::exp(-e)) + (1 - y) * std::log1p(std::exp(e));
    }
    return linalg_test::long_numbers{sum / 6};
  };
  linalg_test::against_differences<ebb::term<double, 2, 3>>("bce_with_logits", of_logits, x, extents, logits, 1e-11L, 1e-7L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("bce_with_logits", of_logits, x, extents, logits, 1e-11L, 1e-7L);
  // Rows 0 and 1 have the classes 1 and 2.
  const auto of_classes = [](auto a) {
    return ebb::nll(a * a * a, ebb::iota<0>(a) + 1, ebb::unreduced) * a[0][0] + ebb::nll(a * a, ebb::iota<0>(a));
  };
  const auto of_rows = [](const linalg_test::long_numbers& v) {
    const long double mean = -(v[0] * v[0] + v[4] * v[4]) / 2;
    return linalg_test::long_numbers{-v[1] * v[1] * v[1] * v[0] + mean, -v[5] * v[5] * v[5] * v[0] + mean};
  };
  linalg_test::against_differences<ebb::term<double, 2, 3>>("nll", of_classes, x, extents, of_rows, 1e-9L, 1e-6L);
}

}  // namespace
