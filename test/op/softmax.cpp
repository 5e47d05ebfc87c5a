// test/op/softmax.cpp — softmax, log_softmax and losses.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

#include <ebb/exec/gradient.hpp>
#include <ebb/exec/region.hpp>

#include <cmath>
#include <limits>

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
const golden::bounds summed{.value = 4, .grad = 4, .second = 8, .spread = true};

TEST_CASE("softmax gives what PyTorch recorded") {
  golden::check<of<real, 3, 4>>("reductions", "softmax_axis_0", [](auto x) { return ebb::softmax<0>(x); }, summed);
  golden::check<of<real, dyn, 4>>("reductions", "softmax_axis_1", [](auto x) { return ebb::softmax<-1>(x); }, summed);
  golden::check<of<real, dyn, dyn>>("reductions", "log_softmax_axis_0", [](auto x) { return ebb::log_softmax<0>(x); }, summed);
  golden::check<of<real, 3, 4>>("reductions", "log_softmax_axis_1", [](auto x) { return ebb::log_softmax<1>(x); }, summed);
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    const std::string name = points;
    golden::check<of<real, dyn, 4>>("reductions", "softmax_" + name, [](auto x) { return ebb::softmax<1>(x); }, summed);
    golden::check<of<real, dyn, 4>>("reductions", "log_softmax_" + name, [](auto x) { return ebb::log_softmax<1>(x); }, summed);
  }
  golden::check<golden::any_vector>("reductions", "softmax_large", [](auto x) { return ebb::softmax<0>(x); }, summed);
}

TEST_CASE("cross_entropy and nll give what PyTorch recorded") {
  using logits = of<real, 4, 3>;
  using classes = of<std::int64_t, 4>;
  using many = of<real, dyn, 3>;
  using any_classes = of<std::int64_t, dyn>;
  const auto of_classes = [](const std::string& how, auto tag) {
    using tag_type = decltype(tag);
    const auto loss = [](auto x, auto t) { return ebb::cross_entropy(x, t, tag_type{}); };
    golden::check<logits, classes>("reductions", "cross_entropy_" + how, loss, summed);
    golden::check<many, any_classes>("reductions", "cross_entropy_" + how, loss, summed);
    golden::check<many, any_classes>("reductions", "nll_" + how, [](auto x, auto t) { return ebb::nll(x, t, tag_type{}); }, summed);
    golden::check<logits, many>("reductions", "cross_entropy_probabilities_" + how, loss, {.value = 4, .grad = 16, .spread = true});
    golden::check<logits, logits>("reductions", "mse_" + how, [](auto x, auto y) { return ebb::mse(x, y, tag_type{}); }, summed);
    golden::check<many, logits>("reductions", "bce_logits_" + how, [](auto x, auto y) { return ebb::bce_with_logits(x, y, tag_type{}); },
                                  summed);
  };
  of_classes("mean", ebb::averaged);
  of_classes("sum", ebb::summed);
  of_classes("none", ebb::unreduced);
  golden::check<many, any_classes>("reductions", "cross_entropy_extreme",
                                   [](auto x, auto t) { return ebb::cross_entropy(x, t, ebb::unreduced); }, summed);
  golden::check<golden::any_vector, golden::any_vector>("reductions", "bce_logits_extreme",
                                                        [](auto x, auto y) { return ebb::bce_with_logits(x, y, ebb::unreduced); }, summed);
}

TEST_CASE("a training step of a small network gives what PyTorch recorded") {
  const auto loss = [](auto x, auto w1, auto b1, auto w2, auto b2, auto t) {
    return ebb::cross_entropy(ebb::matmul(ebb::tanh(ebb::matmul(x, w1) + b1), w2) + b2, t);
  };
  using classes = of<std::int64_t, dyn>;
  golden::check<of<real, dyn, 6>, of<real, 6, 8>, of<real, 8>, of<real, 8, 3>, of<real, 3>, classes>("composite", "mlp_step", loss, summed);
}

TEST_CASE("a NaN anywhere in a row is all of its softmax, its logsumexp and their gradients; other rows are not concerned") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr auto rows = ebb::compile([](auto x) { return std::tuple(ebb::softmax<1>(x), ebb::log_softmax<1>(x), ebb::logsumexp<1>(x)); });
  constexpr auto slope = ebb::grad([](auto x) { return ebb::sum(ebb::logsumexp<1>(x)); });
  for (const std::size_t at : {0u, 1u, 19u}) {
    auto x = ebb::tensor<float, 2, 20>::generate([](std::size_t i) { return static_cast<float>(i % 7); });
    x.mutable_data()[at] = nan;
    const auto [p, l, z] = rows(x);
    const auto g = slope(x);
    for (std::size_t j = 0; j < 20; ++j) {
      CHECK((std::isnan(p.data()[j]) && std::isnan(l.data()[j]) && std::isnan(g.data()[j])));
      CHECK((std::isfinite(p.data()[20 + j]) && std::isfinite(l.data()[20 + j]) && std::isfinite(g.data()[20 + j])));
    }
    CHECK((std::isnan(z.data()[0]) && std::isfinite(z.data()[1])));
  }
}

}  // namespace
