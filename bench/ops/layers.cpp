// bench/ops/layers.cpp — gates, norms, losses, pools and images by ebb: values of 64 rows of 64 numbers.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/nn.hpp>
#include <ebb/stats.hpp>

void ops::layers(table& t) {
  using matrix = of<64, 64>;
  using number = of<>;
  constexpr range one[] = {{-1, 1}}, two[] = {{-1, 1}, {-1, 1}}, three[] = {{-1, 1}, {-1, 1}, {-1, 1}};
  constexpr range spread[] = {{-1, 1}, {-1, 1}, {0.5, 2}}, deviations[] = {{-1, 1}, {0.5, 2}}, parts[] = {{0.1, 1}, {0, 1}},
                  shares[] = {{-3, 3}, {0, 1}};
  add_shaped_value<of<64, 32>, matrix>(t, "glu", one, [](auto x) { return ebb::glu(x); });
  add_shaped_value<of<64, 32>, matrix>(t, "swiglu", one, [](auto x) { return ebb::swiglu(x); });
  add_shaped_value<of<64, 32>, matrix>(t, "geglu", one, [](auto x) { return ebb::geglu(x); });
  add_shaped_value<matrix, matrix>(t, "rms_norm", one, [](auto x) { return ebb::rms_norm(x, 1e-5); });
  add_shaped_value<matrix, matrix>(t, "batch_norm", one, [](auto x) { return ebb::batch_norm(x); });
  add_shaped_value<matrix, matrix>(t, "group_norm", one, [](auto x) { return ebb::group_norm<8>(x); });
  add_shaped_value<of<8, 8, 64>, of<8, 8, 64>>(t, "instance_norm", one, [](auto x) { return ebb::instance_norm(x); });
  add_shaped_value<matrix, matrix, of<64, 32>, of<64, 32>>(t, "rotary", three, [](auto x, auto c, auto s) { return ebb::rotary(x, c, s); });

  add_shaped_value<number, matrix, at<64>>(t, "cross_entropy", one, [](auto x, auto i) { return ebb::cross_entropy(x, i); });
  add_shaped_value<number, matrix, at<64>>(t, "nll", one, [](auto x, auto i) { return ebb::nll(x, i); });
  add_shaped_value<number, matrix, at<64>>(t, "multi_margin", one, [](auto x, auto i) { return ebb::multi_margin(x, i); });
  add_shaped_value<number, matrix, matrix, matrix>(t, "gaussian_nll", spread,
                                                   [](auto x, auto y, auto v) { return ebb::gaussian_nll(x, y, v); });
  add_shaped_value<number, matrix, matrix>(t, "margin_ranking", two, [](auto x, auto y) { return ebb::margin_ranking(x, y, 1, 0.1); });
  add_shaped_value<number, matrix, matrix>(t, "hinge_embedding", two, [](auto x, auto y) { return ebb::hinge_embedding(x, ebb::sign(y)); });
  add_shaped_value<number, matrix, matrix>(t, "cosine_embedding", two, [](auto x, auto y) { return ebb::cosine_embedding(x, y, 1); });
  add_shaped_value<number, matrix, matrix, matrix>(t, "triplet", three, [](auto a, auto p, auto n) { return ebb::triplet(a, p, n); });
  add_shaped_value<number, matrix, matrix>(t, "multilabel_soft_margin", shares,
                                           [](auto x, auto y) { return ebb::multilabel_soft_margin(x, y); });
  add_shaped_value<number, matrix, matrix>(t, "focal", shares, [](auto x, auto y) { return ebb::focal(x, ebb::cast<float>(y > 0.5)); });
  add_shaped_value<number, matrix, matrix>(t, "dice", parts, [](auto p, auto y) { return ebb::dice(p, y); });
  add_shaped_value<number, matrix, matrix>(t, "info_nce", two, [](auto q, auto k) { return ebb::info_nce(q, k); });
  add_shaped_value<matrix, matrix, matrix>(t, "normal_kl", deviations, [](auto m, auto s) { return ebb::normal_kl(m, s, 0.5, 2.0); });

  add_shaped_value<of<1, 64, 16>, of<1, 64, 64>>(t, "adaptive_avg_pool1d", one, [](auto x) { return ebb::adaptive_avg_pool1d<16>(x); });
  add_shaped_value<of<1, 64, 16>, of<1, 64, 64>>(t, "adaptive_max_pool1d", one, [](auto x) { return ebb::adaptive_max_pool1d<16>(x); });
  add_shaped_value<of<4, 4, 16, 16>, of<4, 16, 8, 8>>(t, "pixel_shuffle", one, [](auto x) { return ebb::pixel_shuffle<2>(x); });
  add_shaped_value<of<4, 16, 8, 8>, of<4, 4, 16, 16>>(t, "pixel_unshuffle", one, [](auto x) { return ebb::pixel_unshuffle<2>(x); });
  add_shaped_value<of<4, 32, 64>, of<4, 16, 32>>(t, "upsample_nearest", one, [](auto x) { return ebb::upsample_nearest<32, 64>(x); });
}
