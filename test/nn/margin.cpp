// test/nn/margin.cpp — losses of pairs and of classes with a margin.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>
#include <ebb/reductions.hpp>

#include <cmath>
#include <string>

namespace {

using ebb::dyn;
using linalg_test::check_recorded, linalg_test::long_numbers, linalg_test::wide;

TEST_CASE("losses with a margin have PyTorch's recorded values and gradients") {
  const golden::bounds b{.value = 8, .grad = 32, .spread = true, .sign_is_open = true};
  using matrix = wide<dyn, dyn>;
  using vector = wide<dyn>;
  using classes = ebb::term<std::int64_t, dyn>;
  check_recorded<matrix, matrix, vector>(
      "loss", "cosine_embedding", [](auto x, auto y, auto s) { return ebb::cosine_embedding(x, y, s, 0.1); }, b);
  check_recorded<wide<4, 3>, wide<4, 3>, wide<4>>(
      "loss", "margin_ranking",
      [](auto x, auto y, auto s) { return ebb::margin_ranking(ebb::select<1, 0>(x), ebb::select<1, 0>(y), s, 0.3); }, b);
  check_recorded<matrix, matrix, vector>(
      "loss", "triplet_swap", [](auto x, auto y, auto) { return ebb::triplet(x, y, ebb::flip<0>(x) * 2, 1.5, ebb::swapped); }, b);
  check_recorded<wide<5, 4>, ebb::term<std::int64_t, 5>>(
      "loss", "multi_margin", [](auto x, auto t) { return ebb::multi_margin(x, t, 0.8); }, b);
  check_recorded<matrix, classes>("loss", "multi_margin_2", [](auto x, auto t) { return ebb::multi_margin<2>(x, t); }, b);
}

TEST_CASE("losses with a margin have the first and second derivatives of their formulas") {
  const auto check = [](const char* name, auto f, const std::vector<double>& x, auto formula) {
    linalg_test::against_differences<wide<3, 2>>(name, f, x, linalg_test::extents_of({3, 2}), formula, 1e-11L, 1e-6L);
  };
  const std::vector<double> x{0.5, -1.25, 2, 0.75, -1.5, 1};
  const auto distance = [](const long_numbers& v, std::size_t i, std::size_t j) {
    return std::hypot(v[2 * i] - v[2 * j] + 1e-6L, v[2 * i + 1] - v[2 * j + 1] + 1e-6L);
  };
  const auto of_order = [](long double p, const long_numbers& v, std::size_t i, std::size_t j) {
    const long double a = std::fabs(v[2 * i] - v[2 * j] + 1e-6L), b = std::fabs(v[2 * i + 1] - v[2 * j + 1] + 1e-6L);
    return std::pow(std::pow(a, p) + std::pow(b, p), 1 / p);
  };
  // The terms have weights: a wrong order does not make up for another.
  check("triplet", [](auto v) {
    return ebb::triplet(v[0], v[1], v[2], 3, ebb::summed) + 2 * ebb::triplet<1>(v[0], v[1], v[2], ebb::swapped, 3, ebb::summed) +
           4 * ebb::triplet<3>(v[0], v[1], v[2], ebb::summed);
  }, x, [&](const long_numbers& v) {
    const auto loss = [](long double near, long double far, long double margin) { return std::max(0.0L, near - far + margin); };
    return long_numbers{loss(distance(v, 0, 1), distance(v, 0, 2), 3) +
                        2 * loss(of_order(1, v, 0, 1), std::min(of_order(1, v, 0, 2), of_order(1, v, 1, 2)), 3) +
                        4 * loss(of_order(3, v, 0, 1), of_order(3, v, 0, 2), 1)};
  });
  check(
      "cosine_embedding",
      [](auto v) { return ebb::cosine_embedding(v[0], v[1], -1, -1, ebb::summed) + ebb::cosine_embedding(v[2], v[1], 1, ebb::summed); }, x,
      [](const long_numbers& v) {
        const auto cosine = [&](std::size_t i, std::size_t j) {
          const long double dot = v[2 * i] * v[2 * j] + v[2 * i + 1] * v[2 * j + 1];
          return dot / std::sqrt((v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1] + 1e-12L) *
                                 (v[2 * j] * v[2 * j] + v[2 * j + 1] * v[2 * j + 1] + 1e-12L));
        };
        return long_numbers{cosine(0, 1) + 1 + 1 - cosine(2, 1)};
      });
  // On both sides of the kinks; of cubes, so that second derivatives are not 0.
  const auto hinge = [](long double e) { return std::max(0.0L, e); };
  const auto cubed = [](long double e) { return e * e * e; };
  check(
      "margin_ranking",
      [](auto v) {
        return ebb::margin_ranking(v[1] * v[1] * v[1], v[0] * v[0], -1, 0.5, ebb::summed) + ebb::margin_ranking(v[2], v[0] * v[2], 1);
      },
      x,
      [=](const long_numbers& v) {
        return long_numbers{hinge(0.5L + cubed(v[2]) - v[0] * v[0]) + hinge(0.5L + cubed(v[3]) - v[1] * v[1]) +
                            (hinge(v[0] * v[4] - v[4]) + hinge(v[1] * v[5] - v[5])) / 2};
      });
  // The targets are 1 in the first column and -1 in the second.
  check(
      "hinge_embedding",
      [](auto v) { return ebb::hinge_embedding(v * v * v, 1.0 - 2.0 * ebb::cast<double>(ebb::arange_like<1>(v)), 0.75, ebb::summed); }, x,
      [=](const long_numbers& v) {
        long double sum = 0;
        for (std::size_t i = 0; i < 6; ++i) sum += i % 2 == 0 ? cubed(v[i]) : hinge(0.75L - cubed(v[i]));
        return long_numbers{sum};
      });
  // Row i has the class i % 2. The mean is over both classes, and over rows.
  check(
      "multi_margin",
      [](auto v) { return ebb::multi_margin<2>(v, ebb::iota<0>(v) % 2, 0.8) + ebb::multi_margin(v * v, ebb::iota<0>(v) % 2); }, x,
      [=](const long_numbers& v) {
        long double sum = 0;
        for (std::size_t i = 0; i < 3; ++i) {
          const long double own = v[2 * i + i % 2], other = v[2 * i + 1 - i % 2];
          sum += std::pow(hinge(0.8L - own + other), 2.0L) / 2 + hinge(1 - own * own + other * other) / 2;
        }
        return long_numbers{sum / 3};
      });
}

TEST_CASE("losses with a margin at their kinks, unreduced, and refused") {
  using row = ebb::tensor<double, 3>;
  const row a{1, 2, 0}, b{2, 2, 0.5};
  CHECK(ebb::all_equal(ebb::margin_ranking(a, b, 1, ebb::unreduced), row{1, 0, 0.5}));
  CHECK(ebb::all_equal(ebb::grad<0>([](auto u, auto v) { return ebb::margin_ranking(u, v, -1, ebb::summed); })(a, b), row{0, 0, 0}));
  const ebb::tensor<float, 2, 3> x{{1, 2, 0}, {0, 0, 0}};
  using classes = ebb::tensor<std::int64_t, dyn>;
  const auto each = ebb::multi_margin(x, classes{1, 0}, ebb::unreduced);
  CHECK((each(0) == 0 && each(1) == Approx(2.f / 3)));
  CHECK(test::says(test::raised([&] { ebb::multi_margin(x, classes{1, 3}); }), {"ebb::multi_margin"}));
  const ebb::tensor<float, 2, 2> zeros{};
  const auto slope = ebb::grad<0>([](auto u, auto v) { return ebb::cosine_embedding(u, v, 1); })(zeros, zeros);
  for (const float e : slope) CHECK(e == 0);
}

TEST_CASE("a margin means the same beside narrow floats in calls on arrays and in traced functions, and keeps their dtype") {
  // On arrays the number is an argument, in a traced function a literal.
  constexpr auto losses = [](auto x, auto y, auto sign, auto classes) {
    const auto signs = ebb::select<1, 0>(sign);
    return std::tuple(ebb::margin_ranking(x, y, sign, 0.33), ebb::triplet(x, y, -y, 0.33), ebb::cosine_embedding(x, y, signs, 0.033),
                      ebb::multi_margin(x, classes, 0.33), ebb::huber(x, y, 0.3), ebb::hinge_embedding(x, sign, 0.33),
                      ebb::l1(x, 0.3), ebb::gaussian_nll(x, y, ebb::square(y), 0.33), ebb::trapezoid(x, 0.3), ebb::simpson<1>(x, 0.3));
  };
  const auto same = [&]<class T>(T) {
    const auto in = [](const ebb::tensor<float, 2, 3>& x) { return ebb::cast<T>(x); };
    const auto x = in({{-1.5f, 0.3f, 0.7f}, {0.2f, 0.1f, -0.7f}}), y = in({{1.5f, -0.3f, 0.8f}, {0.1f, 0.4f, 0.7f}});
    const auto sign = in({{1, -1, 1}, {-1, 1, -1}});
    const ebb::tensor<std::int64_t, 2> classes{1, 2};
    const auto on_arrays = losses(x, y, sign, classes), compiled = ebb::compile(losses)(x, y, sign, classes);
    CHECK(std::is_same_v<decltype(on_arrays), decltype(compiled)>);
    CHECK(std::is_same_v<std::tuple_element_t<1, decltype(compiled)>, const T>);
    CHECK(std::is_same_v<std::tuple_element_t<2, decltype(compiled)>, const T>);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (([&] {
         INFO(I);
         CHECK(ebb::all_equal(std::get<I>(on_arrays), std::get<I>(compiled)));
       }()), ...);
    }(std::make_index_sequence<10>{});
  };
  same(ebb::bf16{}), same(ebb::f16{});
  // The default epsilon is not rounded to 0.
  const ebb::tensor<ebb::f16, 1> zero{ebb::f16(0.f)}, one{ebb::f16(1.f)};
  CHECK(std::isfinite(static_cast<float>(ebb::poisson_nll(zero, one, ebb::of_rates))));
}

}  // namespace
