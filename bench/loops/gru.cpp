// bench/loops/gru.cpp — a GRU that reads letters: the loss and its gradients by one scan, and by a region for each letter.
// SPDX-License-Identifier: BSL-1.0
//
// bench/peers/gru.py is the same network in PyTorch.
#include "../suite/data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace loops {
namespace {

constexpr std::size_t letters = 31, width = 48, length = 24;

template <template <class, std::size_t...> class Array>
struct network {
  using letter_rows = Array<float, letters, width>;
  using gates = Array<float, 3 * width, width>;
  using gates_row = Array<float, 3 * width>;
  using last = Array<float, letters>;
  BOOST_HANA_DEFINE_STRUCT(network, (letter_rows, table), (gates, of_letter), (gates, of_state), (gates_row, letter_bias),
                           (gates_row, state_bias), (letter_rows, out), (last, out_bias));
};
using states = ebb::tensor<float, ebb::dyn, width>;
using text = ebb::tensor<int, ebb::dyn, ebb::dyn>;
using column = ebb::tensor<int, ebb::dyn>;

constexpr auto after = [](auto state, auto letter, auto net) {
  return ebb::gru_cell(ebb::take(net.table, letter), state, net.of_letter, net.of_state, net.letter_bias, net.state_bias);
};
constexpr auto error = [](auto read, auto next, auto net) {
  return ebb::cross_entropy(ebb::linear(read, net.out, net.out_bias), next);
};
constexpr auto loss = [](auto net, auto start, auto texts, auto next) {
  const auto [end, all] = ebb::scan([](auto state, auto letter, auto weights) {
    const auto now = after(state, letter, weights);
    return std::tuple(now, now);
  }, start, texts, ebb::whole(net));
  return error(all, next, net);
};
/// The same: what the gates take from the letters is one product, ahead of the loop.
constexpr auto loss_ahead = [](auto net, auto start, auto texts, auto next) {
  const auto [end, all] = ebb::scan([](auto state, auto x, auto weights, auto bias) {
    const auto [xr, xz, xn] = ebb::chunk<-1, 3>(x);
    const auto [hr, hz, hn] = ebb::chunk<-1, 3>(ebb::linear(state, weights, bias));
    const auto update = ebb::sigmoid(xz + hz), change = ebb::tanh(xn + ebb::sigmoid(xr + hr) * hn);
    const auto now = change + update * (state - change);
    return std::tuple(now, now);
  }, start, ebb::linear(ebb::take(net.table, texts), net.of_letter, net.letter_bias), ebb::whole(net.of_state), ebb::whole(net.state_bias));
  return error(all, next, net);
};

constexpr auto by_scan = ebb::compile(loss);
constexpr auto by_scan_ahead = ebb::compile(loss_ahead);
constexpr auto step = ebb::compile(after);
constexpr auto error_of_step = ebb::compile(error);

float loss_by_regions(const network<ebb::variable>& net, const states& start, const std::vector<column>& now,
                      const std::vector<column>& next) {
  ebb::variable<float> sum;
  ebb::variable<float, ebb::dyn, width> state(start);
  for (std::size_t i = 0; i < length; ++i) {
    state = step(state, now[i], net);
    const auto here = error_of_step(state, next[i], net);
    sum = i ? ebb::variable<float>(sum + here) : ebb::variable<float>(here);
  }
  const ebb::variable<float> mean = sum * (1.f / length);
  mean.backward();
  return mean.item();
}

void row(bool smoke, std::size_t batch) {
  suite::generator g(72);
  network<ebb::variable> net;
  ebb::each_leaf([&]<std::size_t... E>(ebb::variable<float, E...>& v) {
    ebb::tensor<float, E...> x;
    std::generate_n(x.mutable_data(), x.size(), [&] { return static_cast<float>(g.in(-0.3, 0.3)); });
    v = ebb::variable(x);
  }, net);
  const auto letter = [&](std::size_t i, std::size_t j) { return static_cast<int>((i * 7 + j * 11 + i * i * j) % letters); };
  const text texts = text::generate(letter, length, batch);
  const text next = text::generate([&](std::size_t i, std::size_t j) { return letter(i + 1, j); }, length, batch);
  std::vector<column> now, later;
  for (std::size_t i = 0; i < length; ++i) {
    now.push_back(column::generate([&](std::size_t j) { return letter(i, j); }, batch));
    later.push_back(column::generate([&](std::size_t j) { return letter(i + 1, j); }, batch));
  }
  const states start = states::zeros(batch);
  float value = 0;
  const auto scan = [&](auto& region) {
    const auto result = region(net, start, texts, next);
    result.backward();
    value = result.item();
  };
  const auto plain = [&] { ebb::zero_grad(net), scan(by_scan); };
  const auto ahead = [&] { ebb::zero_grad(net), scan(by_scan_ahead); };
  const auto regions = [&] { ebb::zero_grad(net), value = loss_by_regions(net, start, now, later); };
  std::vector<double> first;
  const auto results = [&](auto& candidate) {
    candidate();
    std::vector<double> r{static_cast<double>(value)};
    ebb::each_leaf([&](const auto& v) {
      const auto gradient = v.grad().value();
      r.insert(r.end(), gradient.begin(), gradient.end());
    }, net);
    if (first.empty()) first = r;
    for (std::size_t i = 0; i < r.size(); ++i) check("the loss of the GRU, or a gradient", r[i], first[i], 1e-5);
  };
  results(plain), results(ahead), results(regions);
  const auto a = in_turns(smoke, plain, regions), b = in_turns(smoke, ahead, regions);
  std::printf("%-20zu %10.2f %10.2f %10.2f %14.2f %10.2f\n", batch, 1e6 * a.first / length, 1e6 * b.first / length, 1e6 * a.second / length,
              1 / a.ratio, 1 / b.ratio);
}

}  // namespace

void gru(bool smoke) {
  std::printf("\na GRU of %zu numbers reads %zu letters, loss and gradients: us a letter\n%-20s %10s %10s %10s %14s %10s\n", width,
              length, "texts side by side", "scan", "ahead", "regions", "regions / scan", "/ ahead");
  for (const std::size_t batch : {std::size_t{1}, std::size_t{8}, std::size_t{64}}) row(smoke, batch);
}

}  // namespace loops
