// test/nn/resize.cpp — upsample_nearest, upsample_linear, upsample_cubic, pixel_shuffle and pixel_unshuffle.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <algorithm>
#include <cmath>

namespace {

using ebb::dyn;
using linalg_test::check_recorded, linalg_test::wide;
using resized_image = ebb::tensor<float, dyn, dyn, dyn>;

TEST_CASE("upsampling and pixel_shuffle have PyTorch's recorded values and gradients") {
  using images = wide<dyn, dyn, dyn, dyn>;
  const golden::bounds b{.value = 8, .grad = 16, .grad_floor = 1, .spread = true};
  check_recorded<images>("pool", "upsample_nearest", [](auto x) { return ebb::upsample_nearest<14, 9>(x); }, b);
  check_recorded<images>("pool", "upsample_bilinear", [](auto x) { return ebb::upsample_linear<5, 9>(x); }, b);
  check_recorded<images>("pool", "upsample_bilinear_corners", [](auto x) { return ebb::upsample_linear<5, 9>(x, ebb::align_corners); }, b);
  // PyTorch rounds places before it takes their weights.
  const golden::bounds cubic{.value = 64, .grad = 64, .grad_floor = 1, .spread = true};
  check_recorded<images>("pool", "upsample_nearest_exact", [](auto x) { return ebb::upsample_nearest_exact<4, 9>(x); }, b);
  check_recorded<images>("pool", "upsample_bicubic", [](auto x) { return ebb::upsample_cubic<5, 9>(x); }, cubic);
  check_recorded<images>(
      "pool", "upsample_bicubic_corners", [](auto x) { return ebb::upsample_cubic<5, 9>(x, ebb::align_corners); }, cubic);
  check_recorded<wide<1, 2, 3, 4>>("pool", "upsample_bicubic", [](auto x) { return ebb::upsample_cubic<5, 9>(x); }, cubic);
  check_recorded<images>("pool", "pixel_shuffle", [](auto y) { return ebb::pixel_shuffle<2>(y); }, b);
}

TEST_CASE("upsampling of one axis follows its formula, for more and fewer elements") {
  const auto check = [](const auto& x, const auto& near, const auto& linear, const auto& corners) {
    const auto m = static_cast<long double>(x.size()), n = static_cast<long double>(near.size());
    const auto between = [&](long double at) {
      const long double low = std::floor(at), high = std::min(low + 1, m - 1), share = at - low;
      return (1 - share) * x.data()[static_cast<std::size_t>(low)] + share * x.data()[static_cast<std::size_t>(high)];
    };
    for (std::size_t i = 0; i < near.size(); ++i) {
      const auto t = static_cast<long double>(i);
      INFO(x.size() << " elements to " << near.size() << ", element " << i);
      CHECK(near.data()[i] == x.data()[i * x.size() / near.size()]);
      CHECK(std::fabs(linear.data()[i] - between(std::max(0.0L, (t + 0.5L) * m / n - 0.5L))) <= 2e-7L);
      CHECK(std::fabs(corners.data()[i] - between(n > 1 ? t * (m - 1) / (n - 1) : 0)) <= 2e-7L);
    }
  };
  for (const std::size_t m : {1u, 2u, 7u, 12u}) {
    const auto x = test::random_array<ebb::tensor<float, dyn>>(m, m);
    check(x, ebb::upsample_nearest<7>(x), ebb::upsample_linear<7>(x), ebb::upsample_linear<7>(x, ebb::align_corners));
    check(x, ebb::upsample_nearest<1>(x), ebb::upsample_linear<1>(x), ebb::upsample_linear<1>(x, ebb::align_corners));
  }
  // A special value stays where its weight is not 0; integers stay integers next to the nearest.
  const ebb::tensor<float, 3> special{1, INFINITY, NAN};
  const auto y = ebb::upsample_linear<5>(special, ebb::align_corners);
  CHECK((y[0] != y[0] && std::isinf(y[1]) && std::isnan(y[4])));
  CHECK(ebb::all_equal(ebb::upsample_nearest<4>(ebb::tensor<std::int32_t, 2>{5, 6}), ebb::tensor<std::int32_t, 4>{5, 5, 6, 6}));
  const auto low = ebb::upsample_linear<5>(ebb::tensor<ebb::bf16, 2>{ebb::bf16(1.0f), ebb::bf16(3.0f)}, ebb::align_corners);
  CHECK(static_cast<float>(low[1]) == 1.5f);
}

TEST_CASE("cubic upsampling follows Keys' kernel, for more and fewer elements, and its second derivative is that of a linear function") {
  const auto kernel = [](long double d) {
    d = std::fabs(d);
    const long double a = -0.75L;
    return d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1 : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
  };
  const auto check = [&](const auto& x, const auto& y, bool corners) {
    const auto m = static_cast<long double>(x.size()), n = static_cast<long double>(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto t = static_cast<long double>(i);
      const long double at = !corners ? (t + 0.5L) * m / n - 0.5L : n > 1 ? t * (m - 1) / (n - 1) : 0;
      long double sum = 0;
      for (int k = -1; k <= 2; ++k) {
        const long double place = std::floor(at) + k;
        sum += kernel(at - place) * x.data()[static_cast<std::size_t>(std::clamp(place, 0.0L, m - 1))];
      }
      INFO(x.size() << " elements to " << y.size() << ", element " << i << ", corners " << corners);
      CHECK(std::fabs(y.data()[i] - sum) <= 5e-7L);
    }
  };
  for (const std::size_t m : {1u, 2u, 7u, 12u}) {
    const auto x = test::random_array<ebb::tensor<float, dyn>>(m, m);
    check(x, ebb::upsample_cubic<7>(x), false);
    check(x, ebb::upsample_cubic<7>(x, ebb::align_corners), true);
    check(x, ebb::upsample_cubic<1>(x, ebb::align_corners), true);
    const auto exact = ebb::upsample_nearest_exact<5>(x);
    for (std::size_t i = 0; i < 5; ++i) CHECK(exact.data()[i] == x.data()[(2 * i + 1) * m / 10]);
  }
  // The element at an exact place stays as it is.
  CHECK(static_cast<float>(ebb::upsample_cubic<5>(ebb::tensor<float, 3>{1, 2, 3}, ebb::align_corners)(2)) == 2);
  const auto x = test::random_array<ebb::tensor<float, dyn>>(1, 4), v = test::random_array<ebb::tensor<float, dyn>>(2, 4);
  const auto bend = ebb::hvp([](auto a) { return ebb::sum(ebb::square(ebb::upsample_cubic<7>(a))) * 0.5f; })(x, v);
  const auto want = ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::upsample_cubic<7>(a))) * 0.5f; })(v);
  for (std::size_t i = 0; i < 4; ++i) CHECK(bend.data()[i] == Approx(want.data()[i]).margin(1e-6));
}

TEST_CASE("upsampling of narrow floats, in maps, and of axes without elements") {
  // A gradient of 300 equal parts: sums in bf16 would stop at 256.
  const auto ones = ebb::grad([](auto x) { return ebb::sum(ebb::cast<float>(ebb::upsample_nearest<300>(x))); });
  CHECK(static_cast<float>(ones(ebb::tensor<ebb::bf16, 1>{ebb::bf16(2.0f)})[0]) == 300);
  const auto x = test::random_array<resized_image>(3, 4, 5, 6);
  const auto f = [](auto a) { return ebb::upsample_cubic<9, 7>(a); };
  CHECK(test::same_bits(ebb::map(f, x), f(x)));
  CHECK(test::same_bits(ebb::map(ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::upsample_linear<9, 7>(a))); }), x),
                        ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::upsample_linear<9, 7>(a))); })(x)));
  CHECK(ebb::upsample_linear<3, 4>(resized_image(0, 2, 2)).size() == 0);  // no images
  CHECK(!test::raised([] { ebb::upsample_linear<3, 4>(resized_image(2, 0, 2)); }).empty());
  CHECK(!test::raised([] { ebb::upsample_nearest<3>(resized_image(2, 2, 0)); }).empty());
}

TEST_CASE("pixel_unshuffle is the inverse of pixel_shuffle; both in maps, and refused") {
  const auto x = test::random_array<resized_image>(2, 18, 2, 5);
  const auto y = ebb::pixel_shuffle<3>(x);
  CHECK((y.extent(0) == 2 && y.extent(1) == 6 && y.extent(2) == 15));
  std::size_t wrong = 0;
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 15; ++j) wrong += y(c, i, j) != x(9 * c + 3 * (i % 3) + j % 3, i / 3, j / 3);
  CHECK(wrong == 0);
  CHECK(test::same_bits(ebb::pixel_unshuffle<3>(y), x));
  const auto many = ebb::tensor<float, 2, 4, 1, 1>{{{{1}}, {{2}}, {{3}}, {{4}}}, {{{5}}, {{6}}, {{7}}, {{8}}}};
  const auto mapped = ebb::map([](auto a) { return ebb::pixel_unshuffle<2>(ebb::pixel_shuffle<2>(a)); }, many);
  CHECK(ebb::all_equal(mapped, many));
  // The gradient of a sum of squares after a move is twice the array; its second derivative is 2.
  const auto f = [](auto a) { return ebb::sum(ebb::square(ebb::pixel_shuffle<3>(a))); };
  CHECK(ebb::all_equal(ebb::grad(f)(x), 2.0f * x));
  CHECK(ebb::all_equal(ebb::hvp(f)(x, x), 2.0f * x));
  CHECK(ebb::pixel_shuffle<2>(resized_image(4, 0, 3)).size() == 0);  // empty images
  CHECK(ebb::pixel_unshuffle<2>(resized_image(1, 0, 4)).size() == 0);
  CHECK(test::says(test::raised([] { ebb::pixel_shuffle<2>(resized_image(6, 2, 2)); }), {"pixel_shuffle<2>", "[6, 2, 2]"}));
  CHECK(test::says(test::raised([] { ebb::pixel_unshuffle<2>(resized_image(6, 2, 3)); }), {"pixel_unshuffle<2>", "[6, 2, 3]"}));
}

}  // namespace
