// bench/compile_time/programs/gru.cpp — a GRU on the tape learns a text by its characters and continues it: the features of a first
// program.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

constexpr std::string_view story =
    "the tide comes in, the tide goes out, and all that lies upon the sand is taken, and is given back. "
    "the flood is what we see at noon; the ebb is what we hear at night. ";
constexpr std::string_view letters = " abcdefghijklmnopqrstuvwxyz,.;";
constexpr std::size_t symbols = letters.size(), hidden = 48, batch = 8, length = 24;

template <template <class, std::size_t...> class Array>
struct gru {
  using table = Array<float, symbols, 3 * hidden>;
  using square = Array<float, 3 * hidden, hidden>;
  using row = Array<float, 3 * hidden>;
  using out = Array<float, symbols, hidden>;
  using last = Array<float, symbols>;
  BOOST_HANA_DEFINE_STRUCT(gru, (table, input), (square, recurrent), (row, bias), (out, decode), (last, shift));
};
using state = ebb::tensor<float, ebb::dyn, hidden>;
using places = ebb::tensor<int, ebb::dyn>;

constexpr auto step = ebb::compile([](auto symbol, auto h, auto input, auto recurrent, auto bias) {
  const auto a = ebb::take(input, symbol) + bias;
  const auto b = ebb::linear(h, recurrent);
  const auto reset = ebb::sigmoid(ebb::slice<1, 0, hidden>(a) + ebb::slice<1, 0, hidden>(b));
  const auto update = ebb::sigmoid(ebb::slice<1, hidden, 2 * hidden>(a) + ebb::slice<1, hidden, 2 * hidden>(b));
  const auto candidate = ebb::tanh(ebb::slice<1, 2 * hidden>(a) + reset * ebb::slice<1, 2 * hidden>(b));
  return candidate + update * (h - candidate);
});
constexpr auto error = ebb::compile([](auto h, auto decode, auto shift, auto next) {
  return ebb::cross_entropy(ebb::linear(h, decode, shift), next);
});
constexpr auto scores = ebb::compile([](auto h, auto decode, auto shift) { return ebb::linear(h, decode, shift); });

int symbol_at(std::size_t place) { return static_cast<int>(letters.find(story[place % story.size()])); }

/// The characters of a batch of text pieces at one time step.
places characters(const std::size_t (&first)[batch], std::size_t time) {
  places p = places::zeros(batch);
  for (std::size_t i = 0; i < batch; ++i) p.at(i) = symbol_at(first[i] + time);
  return p;
}

/// The text that the network writes after a beginning: always its most likely character.
std::string continued(const gru<ebb::variable>& net, std::string begun, std::size_t more) {
  const ebb::no_grad none;
  ebb::variable h(state::zeros(1));
  const std::size_t whole = begun.size() + more;
  for (std::size_t i = 0; begun.size() < whole; ++i) {
    places now = places::zeros(1);
    now.at(0) = static_cast<int>(letters.find(begun[i]));
    h = step(now, h, net.input, net.recurrent, net.bias);
    if (i + 1 < begun.size()) continue;
    const auto s = scores(h, net.decode, net.shift).value();
    std::size_t best = 0;
    for (std::size_t k = 1; k < symbols; ++k)
      if (s(0, k) > s(0, best)) best = k;
    begun += letters[best];
  }
  return begun;
}

int main(int count, char** arguments) {
  const int steps = count > 1 ? std::atoi(arguments[1]) : 300;
  const auto [ki, kr, kd] = ebb::random_key(3).split<3>();
  const gru<ebb::variable> net{
      ebb::variable(0.2f * ebb::normal<float, symbols, 3 * hidden>(ki)), ebb::variable(0.15f * ebb::normal<float, 3 * hidden, hidden>(kr)),
      ebb::variable(ebb::tensor<float, 3 * hidden>{}), ebb::variable(0.15f * ebb::normal<float, symbols, hidden>(kd)),
      ebb::variable(ebb::tensor<float, symbols>{})};
  ebb::optimizer adam(ebb::adam{.lr = 0.01}, net);
  ebb::each_leaf([](auto& p) { p.register_hook([](auto g) { return ebb::clamp(g, -5.f, 5.f); }); }, net);
  const ebb::compiled_autograd::enable scope;

  float least = 1e9f;
  for (int number = 1; number <= steps; ++number) {
    std::size_t first[batch];
    for (std::size_t i = 0; i < batch; ++i) first[i] = static_cast<std::size_t>(number) * 7 + i * 19;
    ebb::variable h(state::zeros(batch));
    ebb::variable<float> loss;
    for (std::size_t time = 0; time < length; ++time) {
      h = step(characters(first, time), h, net.input, net.recurrent, net.bias);
      const auto here = error(h, net.decode, net.shift, characters(first, time + 1));
      loss = time ? ebb::variable<float>(loss + here) : ebb::variable<float>(here);
    }
    const ebb::variable<float> mean = loss * (1.f / length);
    h.register_hook([](auto g) { return ebb::clamp(g, -1.f, 1.f); });
    mean.backward();
    const double norm = ebb::clip_grad_norm(net, 1.0);
    adam.step();
    adam.zero_grad();
    least = std::min(least, mean.item());
    if (number % 100 == 0 || number == 1) std::printf("step %4d  loss %.4f  norm %.3f\n", number, static_cast<double>(mean.item()), norm);
  }
  std::printf("%s\n", continued(net, "the ", 60).c_str());
  return steps < 300 || least < 0.5f ? 0 : 1;
}
