// examples/digits/model.hpp — a network with one hidden layer, its loss, and a training step as one compiled program.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <tuple>

/// network<ebb::tensor> holds arrays. A traced function gets network<ebb::term>, and its gradients are a network<ebb::tensor> again.
template <template <class, std::size_t...> class Array>
struct network {
  using hidden_weights = Array<float, 128, 64>;
  using hidden_bias = Array<float, 128>;
  using output_weights = Array<float, 10, 128>;
  using output_bias = Array<float, 10>;
  BOOST_HANA_DEFINE_STRUCT(network, (hidden_weights, w1), (hidden_bias, b1), (output_weights, w2), (output_bias, b2));
};

/// Adam's state: running means of the gradients and of their squares, and the number of updates.
template <template <class, std::size_t...> class Array>
struct adam {
  using parameters = network<Array>;
  using number = Array<float>;
  BOOST_HANA_DEFINE_STRUCT(adam, (parameters, mean), (parameters, square), (number, steps));
};

/// Random weights with the deviation sqrt(2 / inputs), and biases of 0.
inline network<ebb::tensor> initial_network(ebb::random_key key) {
  const auto [hidden, output] = key.split<2>();
  network<ebb::tensor> net;
  net.w1 = ebb::normal<float, 128, 64>(hidden, 0.f, 0.177f);
  net.w2 = ebb::normal<float, 10, 128>(output, 0.f, 0.125f);
  return net;
}

constexpr auto logits = [](auto net, auto images) {
  const auto hidden = ebb::relu(ebb::linear(images, net.w1, net.b1));
  return ebb::linear(hidden, net.w2, net.b2);
};

constexpr auto loss = [](auto net, auto images, auto labels) { return ebb::cross_entropy(logits(net, images), labels); };

/// One step: forward, backward and Adam's update (D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015).
constexpr auto train_step = [](auto net, auto state, auto images, auto labels, auto chosen, auto rate) {
  auto [value, gradient] = ebb::value_and_grad(loss)(net, ebb::take(images, chosen), ebb::take(labels, chosen));
  state.steps += 1;
  const auto pace = rate * ebb::sqrt(1 - ebb::pow(0.999, state.steps)) / (1 - ebb::pow(0.9, state.steps));
  ebb::each_leaf([&](auto& p, auto& mean, auto& square, auto g) {
    mean = 0.9 * mean + 0.1 * g;
    square = 0.999 * square + 0.001 * g * g;
    p -= pace * mean / (ebb::sqrt(square) + 1e-8);
  }, net, state.mean, state.square, gradient);
  return std::tuple(value, net, state);
};

constexpr auto predict = [](auto net, auto images) { return ebb::argmax<1>(logits(net, images)); };
