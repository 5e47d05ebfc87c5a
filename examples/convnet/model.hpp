// examples/convnet/model.hpp — a convolutional network with batch norm, as structs, and its loss.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <tuple>

/// A convolution of 3 x 3 taps, and the scale and shift of its channels.
template <template <class, std::size_t...> class Array, std::size_t In, std::size_t Out>
struct layer {
  using taps = Array<float, Out, In, 3, 3>;
  using channels = Array<float, Out>;
  BOOST_HANA_DEFINE_STRUCT(layer, (taps, weight), (channels, scale), (channels, shift));
};
template <template <class, std::size_t...> class Array>
struct convnet {
  using first = layer<Array, 1, 16>;
  using second = layer<Array, 16, 16>;
  using third = layer<Array, 16, 32>;
  using fourth = layer<Array, 32, 32>;
  using output_weights = Array<float, 10, 32>;
  using output_bias = Array<float, 10>;
  BOOST_HANA_DEFINE_STRUCT(convnet, (first, a), (second, b), (third, c), (fourth, d), (output_weights, weight), (output_bias, bias));
};

/// Means and variances of the channels after each convolution.
template <template <class, std::size_t...> class Array>
struct moments {
  using narrow = Array<float, 16>;
  using wide = Array<float, 32>;
  BOOST_HANA_DEFINE_STRUCT(moments, (narrow, mean_a), (narrow, mean_b), (wide, mean_c), (wide, mean_d),  //
                           (narrow, variance_a), (narrow, variance_b), (wide, variance_c), (wide, variance_d));
};

/// The network with any batch norm: norm(y, layer, mean, variance) uses the moments or notes them.
constexpr auto layers = [](auto net, auto& m, auto images, auto norm) {
  const auto block = [&](auto x, auto l, auto& mean, auto& variance) {
    return ebb::relu(norm(ebb::conv2d<ebb::conv{.padding = 1}>(x, l.weight), l, mean, variance));
  };
  const auto x = ebb::reshape<ebb::dyn, 1, 8, 8>(images);
  const auto y = block(block(x, net.a, m.mean_a, m.variance_a), net.b, m.mean_b, m.variance_b);
  const auto half = ebb::max_pool2d<ebb::pool{.size = 2}>(y);
  const auto z = block(block(half, net.c, m.mean_c, m.variance_c), net.d, m.mean_d, m.variance_d);
  return ebb::linear(ebb::mean<2, 3>(z), net.weight, net.bias);
};

/// Training normalizes by the moments of the batch, and notes them.
constexpr auto by_batch = [](auto y, auto l, auto& mean, auto& variance) {
  mean = ebb::mean<0, 2, 3>(y);
  variance = ebb::var<0, 2, 3>(y);
  return ebb::batch_norm(y, l.scale, l.shift);
};
constexpr auto loss = [](auto net, auto m, auto images, auto labels) {
  return ebb::cross_entropy(layers(net, m, images, by_batch), labels, ebb::smoothed(0.1));
};
constexpr auto observe = [](auto net, auto m, auto images) {
  static_cast<void>(layers(net, m, images, by_batch));
  return m;
};

/// Prediction normalizes by moments that were noted: so an image is read the same, whatever others are beside it.
constexpr auto by_moments = [](auto y, auto l, auto mean, auto variance) {
  return ebb::batch_norm_by(y, mean, variance, l.scale, l.shift);
};
constexpr auto predict = [](auto net, auto m, auto images) { return ebb::argmax<1>(layers(net, m, images, by_moments)); };
