// bench/ops/indexing.cpp — rows and elements by index, scatters, segments and embeddings by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/nn.hpp>
#include <ebb/shapes.hpp>

void ops::indexing(table& t) {
  using matrix = of<64, 64>;
  constexpr range signs[] = {{-1, 1}}, both[] = {{-1, 1}, {-1, 1}};
  add_shaped<matrix, matrix, at<64>>(t, "take", signs, [](auto x, auto i) { return ebb::take(x, i); });
  add_shaped<matrix, matrix, at<64>>(t, "embedding", signs, [](auto x, auto i) { return ebb::embedding<0>(x, i); });
  add_shaped<of<512, 8>, of<64, 8>, at<512>>(t, "embedding <8>", signs, [](auto x, auto i) { return ebb::embedding<0>(x, i); });
  add_shaped<matrix, matrix, at<64, 64>>(t, "take_along_axis", signs, [](auto x, auto i) { return ebb::take_along_axis<1>(x, i); });
  add_shaped<matrix, matrix, matrix, at<64, 64>>(t, "scatter", both, [](auto x, auto u, auto i) { return ebb::scatter<1>(x, i, u); });
  add_shaped<matrix, matrix, matrix, at<64, 64>>(t, "scatter_add", both,
                                                 [](auto x, auto u, auto i) { return ebb::scatter_add<1>(x, i, u); });
  add_shaped<matrix, matrix, matrix, at<64>>(t, "index_add", both, [](auto x, auto u, auto i) { return ebb::index_add<0>(x, i, u); });
  add_shaped<matrix, matrix, matrix, at<64>>(t, "index_copy", both, [](auto x, auto u, auto i) { return ebb::index_copy<0>(x, i, u); });
  add_shaped<of<64>, of<4096>, at<4096>>(t, "segment_sum", signs, [](auto x, auto i) { return ebb::segment_sum<64>(x, i); });
  add_shaped<of<64, 8>, of<512, 8>, at<512>>(t, "segment_sum <8>", signs, [](auto x, auto i) { return ebb::segment_sum<64>(x, i); });
  add_shaped<of<64>, of<4096>, at<4096>>(t, "segment_max", signs, [](auto x, auto i) { return ebb::segment_max<64>(x, i); });
  add_shaped_value<of<64, 64>, of<1>, at<64>>(t, "one_hot", signs, [](auto, auto i) { return ebb::one_hot<64, -1, float>(i); });
}
