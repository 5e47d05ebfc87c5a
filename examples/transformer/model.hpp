// examples/transformer/model.hpp — a small transformer that predicts the next character, and its loss.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

constexpr std::size_t batch = 16, width = 64, heads = 4, letters = 61;
constexpr std::size_t reach = 64;  // how many letters a prediction sees at most

/// Attention and two linear layers, each after a norm.
template <template <class, std::size_t...> class Array>
struct block {
  using row = Array<float, width>;
  using three = Array<float, 3 * width, width>;
  using square = Array<float, width, width>;
  using wide = Array<float, 4 * width, width>;
  using wide_row = Array<float, 4 * width>;
  using narrow = Array<float, width, 4 * width>;
  BOOST_HANA_DEFINE_STRUCT(block, (row, norm1), (row, shift1), (three, qkv), (square, out), (row, norm2), (row, shift2), (wide, up),
                           (wide_row, up_bias), (narrow, down), (row, down_bias));
};
template <template <class, std::size_t...> class Array>
struct transformer {
  using letter_rows = Array<float, letters, width>;
  using place_rows = Array<float, reach, width>;
  using layers = block<Array>;
  using row = Array<float, width>;
  BOOST_HANA_DEFINE_STRUCT(transformer, (letter_rows, table), (place_rows, places), (layers, a), (layers, b), (row, norm), (row, shift));
};

/// Each place looks at the places before it, and at itself.
constexpr auto attended = [](auto x, auto l) {
  const auto in_heads = [](auto y) { return ebb::swap_axes<1, 2>(ebb::reshape<ebb::dyn, reach, heads, width / heads>(y)); };
  const auto [q, k, v] = ebb::chunk<-1, 3>(ebb::linear(x, l.qkv));
  const auto y = ebb::scaled_dot_product_attention<ebb::attention{.causal = true}>(in_heads(q), in_heads(k), in_heads(v));
  return ebb::linear(ebb::reshape<ebb::dyn, reach, width>(ebb::swap_axes<1, 2>(y)), l.out);
};
constexpr auto after_block = [](auto x, auto l) {
  const auto y = x + attended(ebb::layer_norm(x, l.norm1, l.shift1), l);
  const auto wide = ebb::gelu(ebb::linear(ebb::layer_norm(y, l.norm2, l.shift2), l.up, l.up_bias));
  return y + ebb::linear(wide, l.down, l.down_bias);
};

/// For each place of windows [n, reach] the scores of the letters that may come next. The table of letters is the last layer, too.
constexpr auto scores = [](auto net, auto windows) {
  const auto x = ebb::take(net.table, windows) + net.places;
  return ebb::linear(ebb::layer_norm(after_block(after_block(x, net.a), net.b), net.norm, net.shift), net.table);
};
constexpr auto loss = [](auto net, auto windows, auto next) { return ebb::cross_entropy(scores(net, windows), next); };
