// bench/ops/pairs.cpp — integrals, products, distances and statistics of rows, masks, segments, and moves between shapes, by ebb: values.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/linalg.hpp>
#include <ebb/reductions.hpp>
#include <ebb/shapes.hpp>

void ops::pairs(table& t) {
  using matrix = of<64, 64>;
  using row = of<64>;
  using cubes = of<16, 16, 16>;
  constexpr range one[] = {{-1, 1}}, two[] = {{-1, 1}, {-1, 1}}, weighted[] = {{-1, 1}, {0.5, 1}};
  add_shaped_value<of<64, 63>, matrix>(t, "diff", one, [](auto x) { return ebb::diff(x); });
  add_shaped_value<row, matrix>(t, "trapezoid", one, [](auto x) { return ebb::trapezoid(x); });
  add_shaped_value<of<64, 63>, matrix>(t, "cumulative_trapezoid", one, [](auto x) { return ebb::cumulative_trapezoid(x); });
  add_shaped_value<row, of<64, 63>>(t, "simpson", one, [](auto x) { return ebb::simpson(x); });
  add_shaped_value<row, matrix>(t, "norm_squared", one, [](auto x) { return ebb::norm_squared<1>(x); });
  add_shaped_value<row, matrix>(t, "log_mean_exp", one, [](auto x) { return ebb::log_mean_exp<1>(x); });
  add_shaped_value<row, matrix, matrix>(t, "weighted_mean", weighted, [](auto x, auto w) { return ebb::weighted_mean<1>(x, w); });
  add_shaped_value<row, matrix>(t, "skew", one, [](auto x) { return ebb::skew<1>(x); });
  add_shaped_value<row, matrix>(t, "kurtosis", one, [](auto x) { return ebb::kurtosis<1>(x); });
  add_shaped_value<matrix, matrix>(t, "cov", one, [](auto x) { return ebb::cov(x); });
  add_shaped_value<matrix, matrix>(t, "corrcoef", one, [](auto x) { return ebb::corrcoef(x); });
  add_shaped_value<matrix, matrix>(t, "softmin", one, [](auto x) { return ebb::softmin(x); });
  add_shaped_value<matrix, matrix, matrix>(t, "linear_scan", two, [](auto a, auto b) { return ebb::linear_scan(a, b); });

  add_shaped_value<of<>, of<4096>, of<4096>>(t, "dot", two, [](auto x, auto y) { return ebb::dot(x, y); });
  add_shaped_value<row, matrix, matrix>(t, "vecdot", two, [](auto x, auto y) { return ebb::vecdot(x, y); });
  add_shaped_value<matrix, row, row>(t, "outer", two, [](auto x, auto y) { return ebb::outer(x, y); });
  add_shaped_value<matrix, of<8, 8>, of<8, 8>>(t, "kron", two, [](auto x, auto y) { return ebb::kron(x, y); });
  add_shaped_value<of<512, 3>, of<512, 3>, of<512, 3>>(t, "cross", two, [](auto x, auto y) { return ebb::cross(x, y); });
  add_shaped_value<of<448, 3>, of<448, 3, 3>, of<448, 3>>(t, "matmul 3 x 3 by 3", two, [](auto a, auto x) {
    return ebb::map([](auto m, auto p) { return ebb::matmul(m, p); }, a, x);
  });
  add_shaped_value<of<448, 3, 3>, of<448, 3, 3>, of<448, 3, 3>>(t, "matmul 3 x 3", two, [](auto a, auto b) { return ebb::matmul(a, b); });
  add_shaped_value<of<1344, 3>, of<1344, 3>, of<3, 3>>(t, "matmul rows of 3", two, [](auto x, auto m) { return ebb::matmul(x, m); });
  add_shaped_value<matrix, of<64, 16>, of<64, 16>>(t, "inner", two, [](auto x, auto y) { return ebb::inner(x, y); });
  add_shaped_value<matrix, of<64, 16>, of<64, 16>>(t, "cdist", two, [](auto x, auto y) { return ebb::cdist(x, y); });
  add_shaped_value<row, matrix, matrix>(t, "pairwise_distance", two, [](auto x, auto y) { return ebb::pairwise_distance(x, y); });
  add_shaped_value<row, matrix, matrix>(t, "cosine_similarity", two, [](auto x, auto y) { return ebb::cosine_similarity(x, y); });
  add_shaped_value<matrix, matrix>(t, "normalize", one, [](auto x) { return ebb::normalize(x); });

  add_shaped_value<row, matrix, matrix>(t, "masked_sum", two, [](auto x, auto y) { return ebb::masked_sum<1>(x, y > 0); });
  add_shaped_value<row, matrix, matrix>(t, "masked_mean", two, [](auto x, auto y) { return ebb::masked_mean<1>(x, y > 0); });
  add_shaped_value<row, matrix, matrix>(t, "masked_max", two, [](auto x, auto y) { return ebb::masked_max<1>(x, y > 0); });
  add_shaped_value<row, matrix, matrix>(t, "masked_min", two, [](auto x, auto y) { return ebb::masked_min<1>(x, y > 0); });
  add_shaped_value<matrix, matrix, matrix>(t, "masked_fill", two, [](auto x, auto y) { return ebb::masked_fill(x, y > 0, 0.5); });
  add_shaped_value<row, of<4096>, at<4096>>(t, "segment_mean", one, [](auto x, auto i) { return ebb::segment_mean<64>(x, i); });
  add_shaped_value<row, of<4096>, at<4096>>(t, "segment_min", one, [](auto x, auto i) { return ebb::segment_min<64>(x, i); });
  add_shaped_value<of<4096>, of<4096>, at<4096>>(t, "segment_softmax", one, [](auto x, auto i) { return ebb::segment_softmax<64>(x, i); });
  add_shaped_value<matrix, matrix, at<64>>(t, "index_fill", one, [](auto x, auto i) { return ebb::index_fill<0>(x, i, 0.5); });
  add_shaped_value<matrix, matrix, matrix, at<64>>(t, "index_put", two, [](auto x, auto u, auto i) { return ebb::index_put(x, u, i); });
  add_shaped_value<matrix, matrix, matrix, at<64>>(t, "index_put_add", two,
                                                   [](auto x, auto u, auto i) { return ebb::index_put_add(x, u, i); });
  add_shaped_value<matrix, matrix, matrix, at<64, 64>>(t, "scatter_reduce", two, [](auto x, auto u, auto i) {
    return ebb::scatter_reduce<1, ebb::combination::amax>(x, i, u);
  });

  add_shaped_value<matrix, matrix>(t, "tril", one, [](auto x) { return ebb::tril(x); });
  add_shaped_value<matrix, matrix>(t, "triu", one, [](auto x) { return ebb::triu<1>(x); });
  add_shaped_value<of<16>, cubes>(t, "trace", one, [](auto x) { return ebb::trace(x); });
  add_shaped_value<of<16, 16>, cubes>(t, "diagonal", one, [](auto x) { return ebb::diagonal(x); });
  add_shaped_value<of<64, 8, 8>, of<64, 8>>(t, "diag_embed", one, [](auto x) { return ebb::diag_embed(x); });
  add_shaped_value<of<128, 64>, matrix>(t, "tile", one, [](auto x) { return ebb::tile<2, 1>(x); });
  add_shaped_value<matrix, matrix>(t, "rot90", one, [](auto x) { return ebb::rot90<1>(x); });
  add_shaped_value<cubes, cubes>(t, "swap_axes", one, [](auto x) { return ebb::swap_axes<0, 2>(x); });
  add_shaped_value<cubes, cubes>(t, "movedim", one, [](auto x) { return ebb::movedim<0, 2>(x); });
  add_shaped_value<cubes, cubes>(t, "permute", one, [](auto x) { return ebb::permute<1, 0, 2>(x); });
  add_shaped_value<of<64, 2, 64>, matrix, matrix>(t, "stack", two, [](auto x, auto y) { return ebb::stack<1>(x, y); });
  add_shaped_value<of<2048, 2>, of<2048>, of<2048>>(t, "stack of computed columns", two, [](auto x, auto y) {
    return ebb::stack<-1>(x + y, x * y);
  });
  add_shaped_value<of<66, 66>, matrix>(t, "relu of a padded matrix", one, [](auto x) {
    return ebb::relu(ebb::pad<1, 1, 1>(ebb::pad<0, 1, 1>(x)));
  });
  add_shaped_value<matrix, matrix>(t, "sum with its transpose", one, [](auto x) { return x + ebb::transpose(x); });
  add_shaped_value<of<64, 15, 8>, matrix>(t, "unfold", one, [](auto x) { return ebb::unfold<1, 8, 4>(x); });
  add_shaped_value<matrix, row, row>(t, "toeplitz", two, [](auto x, auto y) { return ebb::toeplitz(x, y); });
  add_shaped_value<matrix, row>(t, "vander", one, [](auto x) { return ebb::vander<64>(x); });
}
