// bench/compile_time/programs/lstm.cpp — a step of an LSTM of LAYERS layers, as in GradBench's lstm: its value and the gradient by all
// parameters and states, written to given memory.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <cmath>
#include <cstdio>
#include <tuple>

#ifndef LAYERS
#define LAYERS 4
#endif

constexpr std::size_t letters = 14;

template <std::size_t N, class T>
using array_of = T;
template <class T, class I>
struct several;
template <class T, std::size_t... I>
struct several<T, std::index_sequence<I...>> {
  using type = std::tuple<array_of<I, T>...>;
};
template <class T, std::size_t N>
using tuple_of = typename several<T, std::make_index_sequence<N>>::type;

using row = ebb::tensor<double, letters>;
using weights = tuple_of<row, 8>;                // of a layer: four weights, four biases
using state = tuple_of<row, 2>;                  // of a layer: its output and its cell

constexpr auto layer = [](auto p, auto in, auto h, auto c) {
  const auto [w_forget, w_in, w_out, w_change, b_forget, b_in, b_out, b_change] = p;
  const auto forget = ebb::sigmoid(in * w_forget + b_forget), ingate = ebb::sigmoid(h * w_in + b_in);
  const auto outgate = ebb::sigmoid(in * w_out + b_out), change = ebb::tanh(h * w_change + b_change);
  const auto cell = c * forget + ingate * change;
  return std::tuple(outgate * ebb::tanh(cell), cell);
};

constexpr auto step = [](auto layers, auto extra, auto states, auto x, auto gold) {
  const auto [scale, weight, bias] = extra;
  auto in = x * scale;
  [&]<std::size_t... L>(std::index_sequence<L...>) {
    ((std::get<L>(states) = layer(std::get<L>(layers), in, std::get<0>(std::get<L>(states)), std::get<1>(std::get<L>(states))),
      in = std::get<0>(std::get<L>(states))), ...);
  }(std::make_index_sequence<LAYERS>{});
  const auto y = in * weight + bias;
  auto loss = ebb::sum(gold * y) - ebb::log(2.0 + ebb::sum(ebb::exp(y))) * ebb::sum(gold);
  ebb::each_leaf([&](auto s) { loss = loss + ebb::sum(s * s); }, states);
  return loss;
};

int main() {
  tuple_of<weights, LAYERS> layers, d_layers;
  tuple_of<row, 3> extra, d_extra;
  tuple_of<state, LAYERS> states, d_states;
  row x, gold;
  unsigned r = 7;
  const auto fill = [&](auto& a) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      r = r * 1664525u + 1013904223u;
      a.at(i) = static_cast<double>(r >> 8) / 16777216 - 0.5;
    }
  };
  ebb::each_leaf(fill, layers);
  ebb::each_leaf(fill, extra);
  ebb::each_leaf(fill, states);
  fill(x);
  gold.at(3) = 1;
  ebb::tensor<double> value, moved;
  const auto gradient = [&](auto& at) {
    ebb::value_and_grad<0, 1, 2>(step)(ebb::into(at, d_layers, d_extra, d_states), layers, extra, states, x, gold);
  };
  gradient(value);
  double square = 0;
  const auto move = [&](auto& a, const auto& d) {
    for (std::size_t i = 0; i < letters; ++i) square += d(i) * d(i);
    a -= 1e-6 * d;
  };
  ebb::each_leaf(move, layers, d_layers);
  ebb::each_leaf(move, extra, d_extra);
  ebb::each_leaf(move, states, d_states);
  gradient(moved);
  std::printf("%d %d\n", LAYERS, std::abs((value() - moved()) / 1e-6 / square - 1) < 1e-3);
}
