// bench/autocast/products.hpp — matrix products of half-width types against products of float.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "turns.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdio>

namespace bench {

enum class layout { as_is, left_transposed, right_transposed };

template <layout How>
constexpr auto multiply = ebb::compile([](auto x, auto y) {
  if constexpr (How == layout::left_transposed) return ebb::matmul(ebb::transpose(x), y);
  else if constexpr (How == layout::right_transposed) return ebb::matmul(x, ebb::transpose(y));
  else return ebb::matmul(x, y);
});

/// Returns false if a result is farther from float's than the roundings of its type explain.
template <class Half, layout How>
bool measure_product(const char* what, std::size_t m, std::size_t k, std::size_t n, int rounds, double batch) {
  const auto random = [](auto key, std::size_t rows, std::size_t columns, bool transposed) {
    return ebb::normal<float, ebb::dyn, ebb::dyn>(key, {transposed ? columns : rows, transposed ? rows : columns});
  };
  const auto [key_x, key_y] = ebb::random_key(7).split<2>();
  const auto x = random(key_x, m, k, How == layout::left_transposed), y = random(key_y, k, n, How == layout::right_transposed);
  const ebb::tensor<Half, ebb::dyn, ebb::dyn> narrow_x = ebb::cast<Half>(x), narrow_y = ebb::cast<Half>(y);
  ebb::tensor<float, ebb::dyn, ebb::dyn> wide(m, n);
  ebb::tensor<Half, ebb::dyn, ebb::dyn> narrow(m, n);
  const auto r = in_turns([&] { multiply<How>(ebb::into(wide), x, y); }, [&] { multiply<How>(ebb::into(narrow), narrow_x, narrow_y); },
                          rounds, batch);
  std::printf("%-26s %5zu %5zu %5zu %10.1f %10.1f %6.0f  %6.2f  %.2f..%.2f\n", what, m, k, n, r.first * 1e6, r.second * 1e6,
              2e-9 * static_cast<double>(m * k * n) / r.second, r.ratio, r.quarter, r.three_quarters);
  const float bound = 0.05f * std::sqrt(static_cast<float>(k));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (!(std::fabs(static_cast<float>(narrow(i, j)) - wide(i, j)) <= bound)) {
        std::printf("WRONG: element (%zu, %zu)\n", i, j);
        return false;
      }
  return true;
}

inline bool measure_products(bool smoke, int rounds) {
  using enum layout;
  using ebb::bfloat16, ebb::float16;
  std::printf("us a call; goal: bfloat16 at 256 to 1024 1.8 times as fast as float where the target has the instruction (here it has %s)\n",
              ebb::target_has::bfloat16_dot ? "it" : "none");
  std::printf("%-26s %5s %5s %5s %10s %10s %6s  %6s  %s\n", "product", "m", "k", "n", "float", "half", "GF/s", "float/", "quartiles");
  const double batch = smoke ? 1e-5 : 2e-3;
  bool right = true;
  for (const std::size_t n : {256u, 512u, 1024u}) {
    if (smoke && n > 256) continue;
    right = measure_product<bfloat16, as_is>("bfloat16", n, n, n, rounds, batch) && right;
    right = measure_product<bfloat16, left_transposed>("bfloat16, left transposed", n, n, n, rounds, batch) && right;
    right = measure_product<bfloat16, right_transposed>("bfloat16, right transposed", n, n, n, rounds, batch) && right;
    right = measure_product<float16, as_is>("float16", n, n, n, rounds, batch) && right;
  }
  right = measure_product<bfloat16, as_is>("bfloat16, a small layer", 32, 64, 128, rounds, batch) && right;
  right = measure_product<bfloat16, as_is>("bfloat16, a small layer", 32, 784, 128, rounds, batch) && right;
  right = measure_product<bfloat16, as_is>("bfloat16, a row", 1, 512, 512, rounds, batch) && right;
  right = measure_product<bfloat16, as_is>("bfloat16, a column", 512, 512, 1, rounds, batch) && right;
  return right;
}

}  // namespace bench
