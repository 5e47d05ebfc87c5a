// bench/ops/networks.cpp — linear layers, cells, attention, bags of embeddings, statistics and losses by ebb: values of floats.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/nn.hpp>
#include <ebb/stats.hpp>

namespace {

/// 6 labels of 31 classes for each of 8 texts, or the same number of steps or labels for all texts.
struct of_labels {
  static auto operand(const float*) { return ebb::view<const std::int64_t, ebb::dyn, 6>(ops::labels().data(), 8); }
};
struct of_key {
  static std::int64_t operand(const float*) { return 7; }
};
template <std::int64_t Value>
struct of_each_text {
  static auto operand(const float*) {
    static constexpr std::int64_t all[] = {Value, Value, Value, Value, Value, Value, Value, Value};
    return ebb::view<const std::int64_t, ebb::dyn>(all, 8);
  }
};

}  // namespace

void ops::networks(table& t) {
  using matrix = of<64, 64>;
  using column = of<64>;
  using states = of<128, 32>;
  using heads = of<4, 64, 16>;
  using channels = of<8>;
  using images = of<8, 8, 64>;
  constexpr range one[] = {{-1, 1}}, three[] = {{-1, 1}, {-1, 1}, {-1, 1}}, variances[] = {{-1, 1}, {-1, 1}, {0.5, 2}};
  constexpr range parts[] = {{0.01, 1}}, logs[] = {{-6, -2}}, shares[] = {{0.01, 0.02}, {0.5, 3}}, counts[] = {{0, 6}, {0.01, 0.02}};
  add_shaped_value<matrix, matrix, matrix, column>(t, "linear", three, [](auto x, auto w, auto b) { return ebb::linear(x, w, b); });
  // The weights that are not the third operand are the rows of x.
  add_shaped_value<matrix, matrix, matrix, matrix, matrix>(t, "rnn_cell", three, [](auto x, auto h, auto wi, auto wh) {
    return ebb::rnn_cell(x, h, wi, wh);
  });
  add_shaped_value<states, states, states, of<96, 32>, of<96, 32>>(t, "gru_cell", three, [](auto x, auto h, auto wi, auto wh) {
    return ebb::gru_cell(x, h, wi, wh);
  });
  add_shaped_value<states, states, states, states, states, states>(t, "lstm_cell", three, [](auto x, auto h, auto c, auto wi, auto wh) {
    const auto [next, cell] = ebb::lstm_cell(x, h, c, wi, wh);
    return next + cell;
  });
  add_shaped_value<heads, heads, heads, heads>(t, "scaled_dot_product_attention", three, [](auto q, auto k, auto v) {
    return ebb::scaled_dot_product_attention(q, k, v);
  });
  add_shaped_value<matrix, matrix, of_key>(t, "dropout", one, [](auto x, auto key) { return ebb::dropout(x, 0.25, key); });
  add_shaped_value<matrix, matrix, at<64, 16>>(t, "embedding_bag", one, [](auto x, auto i) { return ebb::embedding_bag(x, i); });
  add_shaped_value<images, images, channels, channels>(t, "batch_norm_by", variances, [](auto x, auto m, auto v) {
    return ebb::batch_norm_by(x, m, v);
  });
  add_shaped_value<column, matrix, column, column>(t, "running_statistics", variances, [](auto x, auto m, auto v) {
    const auto [mean, variance] = ebb::running_statistics(x, m, v);
    return mean + variance;
  });
  using texts = of<16, 8, 32>;
  add_shaped_value<channels, texts, of_labels, of_each_text<16>, of_each_text<6>>(t, "ctc", logs, [](auto p, auto y, auto n, auto m) {
    return ebb::ctc(p, y, n, m, ebb::unreduced);
  });
  add_shaped_value<column, matrix, at<64>>(t, "categorical_lpmf", parts, [](auto p, auto k) { return ebb::categorical_lpmf(k, p); });
  add_shaped_value<column, matrix, at<64>>(t, "categorical_logit_lpmf", one, [](auto x, auto k) {
    return ebb::categorical_logit_lpmf(k, x);
  });
  add_shaped_value<column, matrix, matrix>(t, "dirichlet_lpdf", shares, [](auto x, auto alpha) { return ebb::dirichlet_lpdf(x, alpha); });
  add_shaped_value<column, matrix, matrix>(t, "multinomial_lpmf", counts, [](auto k, auto p) {
    return ebb::multinomial_lpmf(ebb::floor(k), p);
  });
}
