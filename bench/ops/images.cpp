// bench/ops/images.cpp — pools, grids, norms, positions and recurrent layers by ebb: planes, lines or volumes of an image with rows of 64.
// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

#include <ebb/functional.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::dyn, ebb::pool;

/// F keeps the extents of an image with so many channels and rows of 64.
template <std::size_t Channels, class F>
struct on_image {
  using in_view = ebb::view<const float, dyn, dyn, dyn, dyn>;
  using out_view = ebb::view<float, dyn, dyn, dyn, dyn>;
  template <class View>
  static View image(auto* x, std::size_t n) {
    return View(x, 1, Channels, n / (64 * Channels), 64);
  }
  static void value(const float* const* in, void* const* out, std::size_t n) {
    static constexpr auto f = ebb::compile(F{});
    f(ebb::into(image<out_view>(static_cast<float*>(out[0]), n)), image<in_view>(in[0], n));
  }
  static void gradient(const float* const* in, void* const* out, std::size_t n) {
    static constexpr auto f = ebb::grad([](auto x) { return ebb::sum(ebb::square(F{}(x))); });
    f(ebb::into(image<out_view>(static_cast<float*>(out[0]), n)), image<in_view>(in[0], n));
  }
};

template <std::size_t Channels = 4, class F>
void add_image(ops::table& t, const char* name, F) {
  using k = on_image<Channels, F>;
  t.ops.push_back({name, {{-1, 1}}, false, &k::value, &k::gradient, nullptr, nullptr});
}

constexpr pool line{.size = 3, .stride = 1, .padding = 1};
/// The largest elements and their places, added: both are computed.
constexpr auto added = [](auto r) { return std::get<0>(r) + ebb::cast<float>(std::get<1>(r)); };

}  // namespace

void ops::images(table& t) {
  add_image(t, "max_pool1d", [](auto x) { return ebb::max_pool1d<line>(x); });
  add_image(t, "max_pool2d", [](auto x) { return ebb::max_pool2d<line>(x); });
  add_image(t, "max_pool3d", [](auto x) { return ebb::max_pool3d<line>(x); });
  add_image(t, "max_pool1d_with_index", [](auto x) { return added(ebb::max_pool1d_with_index<line>(x)); });
  add_image(t, "max_pool2d_with_index", [](auto x) { return added(ebb::max_pool2d_with_index<line>(x)); });
  add_image(t, "max_pool3d_with_index", [](auto x) { return added(ebb::max_pool3d_with_index<line>(x)); });
  // Places near those of the elements, so that the gradient is by both arguments.
  add_image<2>(t, "grid_sample", [](auto x) { return ebb::grid_sample(x, ebb::unsqueeze<0>(ebb::stack<-1>(x[0](0), x[0](1)))); });
  add_image(t, "affine_grid", [](auto x) {
    return ebb::reshape_like(ebb::affine_grid<32, 64>(ebb::reshape<1, 2, 3>(ebb::slice<-1, 0, 6>(x[0](0)[0]))), x);
  });
  add_image(t, "dropout_channels", [](auto x) { return ebb::dropout_channels(x, 0.5, ebb::cast<std::int64_t>(ebb::sum(x[0](0)[0]))); });
  add_image(t, "local_response_norm", [](auto x) { return ebb::local_response_norm<5>(x); });
  add_image(t, "weight_norm", [](auto x) { return ebb::weight_norm<-1>(x, x[0](0)[0]); });
  add_image(t, "spectral_norm", [](auto x) {
    const auto w = x[0];
    return ebb::unsqueeze<0>(std::get<0>(ebb::spectral_norm(w, ebb::slice<0, 0, 4>(w(0)[0]), ebb::flatten(w(1)))));
  });
  add_image(t, "unfold2d", [](auto x) { return ebb::reshape_like(ebb::unfold2d<ebb::patches{.size = {2, 4}, .stride = {2, 4}}>(x), x); });
  add_image(t, "fold2d", [](auto x) {
    return ebb::fold2d<16, 64, ebb::patches{.size = {2, 4}, .stride = {2, 4}}>(ebb::reshape<1, 32, 128>(x));
  });
  // Four steps of 16 sequences of 64 numbers.
  add_image(t, "rnn", [](auto x) {
    const auto w = ebb::reshape<64, 64>(x);
    return ebb::unsqueeze<0>(std::get<0>(ebb::rnn(x[0], ebb::slice<0, 0, 1>(x[0]), std::tuple(w, w))));
  });
  add_image(t, "gru", [](auto x) {
    const auto w = ebb::tile<3, 1>(ebb::reshape<64, 64>(x));
    return ebb::unsqueeze<0>(std::get<0>(ebb::gru(x[0], ebb::slice<0, 0, 1>(x[0]), std::tuple(w, w))));
  });
  add_image(t, "lstm", [](auto x) {
    const auto w = ebb::tile<4, 1>(ebb::reshape<64, 64>(x));
    const auto h = ebb::slice<0, 0, 1>(x[0]);
    return ebb::unsqueeze<0>(std::get<0>(ebb::lstm(x[0], h, h, std::tuple(w, w))));
  });
  // 4096 waves of 16 positions, and scores of 4 heads.
  add_image(t, "sinusoidal", [](auto x) { return ebb::reshape_like(ebb::sinusoidal<256>(ebb::slice<0, 0, 16>(x[0](0)[0])), x); });
  add_image(t, "alibi", [](auto x) {
    const auto q = x[0](0);
    return x + ebb::unsqueeze<0>(ebb::alibi<4>(q, ebb::reshape<64, 16>(q)));
  });
  add_image(t, "avg_pool1d", [](auto x) { return ebb::avg_pool1d<line>(x); });
  add_image(t, "avg_pool2d", [](auto x) { return ebb::avg_pool2d<line>(x); });
  add_image(t, "avg_pool3d", [](auto x) { return ebb::avg_pool3d<line>(x); });
}
