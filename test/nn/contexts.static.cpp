// test/nn/contexts.static.cpp — the autocast class of each function of nn.hpp.
// SPDX-License-Identifier: BSL-1.0
// covers: attention.hpp cell.hpp class_loss.hpp convolution.hpp ctc.hpp dropout.hpp grid.hpp loss.hpp margin.hpp
// covers: norm.hpp patches.hpp pool.hpp position.hpp recurrent.hpp resize.hpp weight_norm.hpp
#include <ebb/nn.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class, test::have_class;
using enum test::context_class;
using images_in = test::extents_in<2, 4, 4, 4>;
using volumes_in = test::extents_in<2, 4, 2, 2, 2>;
using signals_in = test::extents_in<2, 4, 4>;

constexpr auto row = [](auto x) { return ebb::select<0, 0>(x); };
constexpr auto classes = [](auto x) { return ebb::cast<int>(row(x)); };

static_assert(has_class<low, signals_in>([](auto x) { return ebb::scaled_dot_product_attention(x, x, x); }));
static_assert(has_class<low, signals_in>([](auto x) { return ebb::scaled_dot_product_attention(x, x, x, x > 0); }));
static_assert(has_class<own>([](auto x) { return ebb::dropout(x, 0.5, ebb::cast<std::int64_t>(ebb::sum(x))); }));
static_assert(has_class<own>([](auto x) { return ebb::dropout_channels(x, 0.5, ebb::cast<std::int64_t>(ebb::sum(x))); }));
static_assert(has_class<low, signals_in>([](auto x) { return ebb::conv1d(x, x); }));
static_assert(has_class<low, images_in>([](auto x) { return ebb::conv2d(x, x); }));
static_assert(has_class<low, volumes_in>([](auto x) { return ebb::conv3d(x, x); }));
static_assert(has_class<low, volumes_in>([](auto x) { return ebb::conv_transpose3d(x, ebb::slice<0, 0, 4>(ebb::concat<0>(x, x))); }));
static_assert(has_class<low, signals_in>([](auto x) { return ebb::conv_transpose1d(x, ebb::slice<0, 0, 4>(ebb::concat<0>(x, x))); }));
static_assert(has_class<low, images_in>([](auto x) { return ebb::conv_transpose2d(x, ebb::slice<0, 0, 4>(ebb::concat<0>(x, x))); }));

static_assert(has_class<own>([](auto x) { return ebb::embedding<0>(x, classes(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::embedding_bag(x, classes(x), classes(x)); }));
constexpr auto gates = [](auto x, auto count) { return ebb::tile<count(), 1>(x); };  // the weights of so many gates
constexpr auto three = std::integral_constant<int, 3>{};
constexpr auto four = std::integral_constant<int, 4>{};
// Products have the context's dtype; the state keeps its own.
static_assert(has_class<low>([](auto x) { return ebb::rnn_cell(x, x, x, x); }));
static_assert(has_class<own>([](auto x) { return std::get<1>(ebb::lstm_cell(x, x, x, gates(x, four), gates(x, four))); }));
static_assert(has_class<own>([](auto x) { return ebb::gru_cell(x, x, gates(x, three), gates(x, three)); }));
constexpr auto one_row = [](auto x) { return ebb::slice<0, 0, 1>(x); };
static_assert(has_class<own, signals_in>([](auto x) { return std::get<0>(ebb::rnn(x, one_row(x), std::tuple(row(x), row(x)))); }));
static_assert(has_class<own, signals_in>([](auto x) {
  return std::get<2>(ebb::lstm(x, one_row(x), one_row(x), std::tuple(gates(row(x), four), gates(row(x), four))));
}));
static_assert(has_class<own, signals_in>([](auto x) {
  return std::get<1>(ebb::gru(x, one_row(x), std::tuple(gates(row(x), three), gates(row(x), three))));
}));
static_assert(has_class<own, images_in>([](auto x) { return ebb::unfold2d<ebb::patches{.size = 2}>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::fold2d<2, 2, ebb::patches{}>(x); }));
static_assert(has_class<own>([](auto x) { return ebb::rotary(x, ebb::slice<1, 0, 2>(x), ebb::slice<1, 0, 2>(x)); }));

static_assert(have_class<full, 2>(ebb::l1, ebb::huber, ebb::smooth_l1, ebb::bce, ebb::kl_div, ebb::poisson_nll));
static_assert(have_class<full, 2>(ebb::soft_margin, ebb::hinge_embedding));
static_assert(have_class<full, 3>(ebb::margin_ranking, [](auto... x) { return ebb::triplet(x...); }));
static_assert(have_class<own, 3>(ebb::gaussian_nll));  // PyTorch has no op for it
static_assert(have_class<full, 2>(ebb::focal, ebb::dice, ebb::info_nce));
static_assert(have_class<own, 2>(ebb::multilabel_soft_margin));  // PyTorch has no op for it
static_assert(has_class<full, signals_in>([](auto x) { return ebb::ctc(x, ebb::cast<int>(row(x)), ebb::iota<1>(x), ebb::iota<1>(x)); }));
static_assert(has_class<full>([](auto x) { return ebb::cosine_embedding(x, x, row(x)); }));
static_assert(has_class<full>([](auto x) { return ebb::multi_margin(x, classes(x)); }));

static_assert(has_class<own>([](auto x) { return ebb::rms_norm(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::batch_norm(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::batch_norm_by(x, ebb::mean<0, 2>(x), ebb::var<0, 2>(x)); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::instance_norm(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::group_norm<2>(x); }));

static_assert(has_class<own, signals_in>([](auto x) {
  return std::get<1>(ebb::running_statistics(x, ebb::mean<0, 2>(x), ebb::var<0, 2>(x)));
}));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::upsample_nearest<3>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::upsample_linear<3, 3>(x, ebb::align_corners); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::upsample_nearest_exact<3>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::upsample_cubic<3>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::pixel_shuffle<1>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::pixel_unshuffle<2>(x); }));

static_assert(has_class<full, images_in>([](auto x) { return ebb::grid_sample(x, ebb::slice<-1, 0, 2>(x)); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::affine_grid<2, 2, 2>(ebb::slice<1, 0, 3>(x)); }));

static_assert(has_class<own, images_in>([](auto x) { return ebb::local_response_norm<3>(x); }));
static_assert(has_class<own, images_in>([](auto x) { return ebb::weight_norm<-1>(x, x[0](0)[0]); }));
static_assert(has_class<own, signals_in>([](auto x) {
  return std::get<0>(ebb::spectral_norm<0>(x, ebb::slice<0, 0, 2>(x[0](0)), ebb::flatten(x[0])));
}));

static_assert(has_class<own>([](auto x) { return ebb::sinusoidal<4>(x); }));
static_assert(has_class<own>([](auto x) { return ebb::alibi<4>(x, x); }));

constexpr ebb::pool two{.size = 2};
static_assert(has_class<own, signals_in>([](auto x) { return ebb::max_pool1d<two>(x); }));
static_assert(has_class<own, images_in>([](auto x) { return ebb::max_pool2d<two>(x); }));
static_assert(has_class<full, volumes_in>([](auto x) { return ebb::max_pool3d<two>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return std::get<0>(ebb::max_pool1d_with_index<two>(x)); }));
static_assert(has_class<own, images_in>([](auto x) { return std::get<0>(ebb::max_pool2d_with_index<two>(x)); }));
static_assert(has_class<full, volumes_in>([](auto x) { return std::get<0>(ebb::max_pool3d_with_index<two>(x)); }));
static_assert(has_class<full, volumes_in>([](auto x) { return ebb::avg_pool3d<two>(x); }));
static_assert(has_class<full, volumes_in>([](auto x) { return ebb::adaptive_avg_pool3d<1, 1, 1>(x); }));
static_assert(has_class<full, volumes_in>([](auto x) { return ebb::adaptive_max_pool3d<1, 1, 1>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::avg_pool1d<two>(x); }));
static_assert(has_class<own, images_in>([](auto x) { return ebb::avg_pool2d<two>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::adaptive_avg_pool1d<2>(x); }));
static_assert(has_class<own, images_in>([](auto x) { return ebb::adaptive_avg_pool2d<2, 2>(x); }));
static_assert(has_class<own, signals_in>([](auto x) { return ebb::adaptive_max_pool1d<2>(x); }));
static_assert(has_class<own, images_in>([](auto x) { return ebb::adaptive_max_pool2d<2, 2>(x); }));

}  // namespace
