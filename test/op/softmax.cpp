// test/op/softmax.cpp — softmax, log_softmax and losses.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

#include <ebb/exec/eager.hpp>
#include <ebb/exec/region.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
const golden::bounds summed{.value = 4, .grad = 4, .second = 8, .spread = true};

TEST_CASE("softmax gives PyTorch's recorded values") {
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

TEST_CASE("cross_entropy and nll give PyTorch's recorded values") {
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

TEST_CASE("a training step of a small network gives PyTorch's recorded values") {
  const auto loss = [](auto x, auto w1, auto b1, auto w2, auto b2, auto t) {
    return ebb::cross_entropy(ebb::matmul(ebb::tanh(ebb::matmul(x, w1) + b1), w2) + b2, t);
  };
  using classes = of<std::int64_t, dyn>;
  golden::check<of<real, dyn, 6>, of<real, 6, 8>, of<real, 8>, of<real, 8, 3>, of<real, 3>, classes>("composite", "mlp_step", loss, summed);
}

TEST_CASE("a NaN in a row makes all its softmax, logsumexp and gradients NaN, and leaves other rows alone") {
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

/// The distance of neighbouring numbers around x.
template <class T>
long double spacing(long double x) {
  const int digits = std::is_same_v<T, ebb::bfloat16> ? 8 : 11, least = std::is_same_v<T, ebb::bfloat16> ? -126 : -14;
  return std::ldexp(1.0L, std::max(x == 0 ? least : std::ilogb(x), least) + 1 - digits);
}

TEMPLATE_TEST_CASE("softmax, log_softmax and logsumexp of narrow floats are rounded once", "", ebb::bfloat16, ebb::float16) {
  constexpr auto all = [](auto x) { return std::tuple(ebb::softmax(x), ebb::log_softmax(x), ebb::logsumexp<1>(x)); };
  constexpr std::size_t n = 700;
  // Sums of hundreds of terms near one: summed in the narrow type they would stop at 256, or be off by several units.
  const auto x = ebb::tensor<TestType, 2, n>::generate([](std::size_t i) {
    return TestType(static_cast<float>(i % 13) * (i < n ? 0.0625f : 0.75f) - 3.0f);
  });
  const auto [p, l, z] = ebb::compile(all)(x);
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(z)>, ebb::tensor<TestType, 2>>);
  const auto near = [](TestType got, long double want) {
    return std::fabs(static_cast<float>(got) - want) <= 0.505L * spacing<TestType>(want);
  };
  int wrong = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(static_cast<long double>(static_cast<float>(x(r, i))));
    CHECK(near(z(r), std::log(sum)));
    for (std::size_t i = 0; i < n; ++i) {
      const long double v = static_cast<float>(x(r, i));
      wrong += !near(p(r, i), std::exp(v) / sum) || !near(l(r, i), v - std::log(sum));
    }
  }
  CHECK(wrong == 0);

  // Gradients too: those of the same function in float, rounded.
  const auto w = ebb::tensor<float, 2, n>::generate([](std::size_t i) { return static_cast<float>(i % 5) - 1.5f; });
  const auto alone = [&](auto f) {
    const auto g = ebb::grad(f)(x, w);
    const auto wide = ebb::grad(f)(ebb::cast<float>(x), w);
    return ebb::all_equal(g, ebb::cast<TestType>(wide));
  };
  CHECK(alone([](auto a, auto u) { return ebb::sum(ebb::cast<float>(ebb::softmax(a)) * u); }));
  CHECK(alone([](auto a, auto u) { return ebb::sum(ebb::cast<float>(ebb::log_softmax(a)) * u); }));
  CHECK(alone([](auto a, auto u) { return ebb::sum(ebb::cast<float>(ebb::logsumexp<1>(a))) + 0 * ebb::sum(u); }));
}

TEST_CASE("softmax of narrow floats along the last axis has PyTorch's bits") {
  const auto bits = []<class T>(T) {
    const float row[] = {0.5f, -1.25f, 3.f, 2.f, -0.75f, 0.f, 1.5f, 2.75f, -3.f, 0.25f};
    const auto p = ebb::softmax(ebb::tensor<T, 2, 10>::generate([&](std::size_t i) { return T(row[i % 10] * (i < 10 ? 1.f : 4.f)); }));
    std::vector<std::uint16_t> r;
    for (std::size_t i = 0; i < 20; ++i) r.push_back(p.data()[i].bits);
    return r;
  };
  // torch.softmax(x, 1) of PyTorch 2.13.0.
  CHECK(bits(ebb::bfloat16{}) == std::vector<std::uint16_t>{0x3d01, 0x3bb3, 0x3ec4, 0x3e11, 0x3c14, 0x3c9d, 0x3daf,
                                                            0x3e99, 0x3a79, 0x3cc9, 0x3809, 0x3300, 0x3f38, 0x3c58,
                                                            0x346d, 0x3694, 0x3aea, 0x3e88, 0x2def, 0x374a});
  CHECK(bits(ebb::float16{}) == std::vector<std::uint16_t>{0x2808, 0x1d9b, 0x3624, 0x3084, 0x209f, 0x24e4, 0x2d7b, 0x34c8, 0x13cb, 0x2648,
                                                           0x0224, 0x0001, 0x39c3, 0x22c1, 0x0004, 0x004a, 0x1750, 0x343d, 0x0000, 0x00ca});
}

TEST_CASE("a number may be either operand of mse and bce_with_logits, and a static extent of 1 is repeated") {
  using row = ebb::tensor<double, 4>;
  const row x{-2, 0.5, 3, 40}, ones = row::ones();
  const auto like_ones = [&](auto loss) {
    CHECK(ebb::same_bits(loss(x, 1.0), loss(x, ones)));
    CHECK(ebb::same_bits(loss(x, 1), loss(x, ones)));
    CHECK(ebb::same_bits(loss(x, ebb::tensor<double>(1)), loss(x, ones)));
    CHECK(ebb::same_bits(loss(1.0, x), loss(ones, x)));
    CHECK(ebb::same_bits(ebb::grad([](auto a) { return ebb::sum(decltype(loss){}(a, 1.f)); })(x),
                         ebb::grad<0>([](auto a, auto b) { return ebb::sum(decltype(loss){}(a, b)); })(x, ones)));
    CHECK(ebb::same_bits(ebb::compile([](auto a, auto b) { return decltype(loss){}(a, b); })(x, 1.0), loss(x, ones)));
    CHECK(ebb::same_bits(ebb::compile([](auto a) { return decltype(loss){}(1, a); })(x), loss(ones, x)));
  };
  like_ones([](auto a, auto b) { return ebb::mse(a, b); });
  like_ones([](auto a, auto b) { return ebb::mse(a, b, ebb::unreduced); });
  like_ones([](auto a, auto b) { return ebb::bce_with_logits(a, b); });
  like_ones([](auto a, auto b) { return ebb::bce_with_logits(a, b, ebb::unreduced); });
  // The expected value is -log sigmoid(x).
  CHECK(ebb::bce_with_logits(0.5, ebb::tensor<double, 1>{1}) == Approx(std::log1p(std::exp(-0.5))).epsilon(1e-15));
  // A static extent of 1 is still repeated if both arrays have the same rank.
  const ebb::tensor<double, 2, 1> column{{1}, {2}};
  const ebb::tensor<double, 1, 4> line{{-2, 0.5, 3, 40}};
  CHECK(ebb::mse(column, line, ebb::unreduced)(1, 2) == 1);
  CHECK(ebb::bce_with_logits(column, ebb::tensor<double, 1, 2>{{1, 0}}, ebb::unreduced).size() == 4);
}

}  // namespace
