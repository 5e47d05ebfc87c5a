// examples/char_rnn/main.cpp — a recurrent network learns the letters of a play: it reads and writes by a scan.
// SPDX-License-Identifier: BSL-1.0
//
// main [picture.svg]
#include "model.hpp"

#include "../numbered_text.hpp"
#include "../plot.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

constexpr std::size_t texts = 16, reach = 32;  // how many are read side by side, and how many letters a gradient goes back
constexpr std::size_t steps = 1000;

using places = ebb::tensor<int, ebb::dyn, ebb::dyn>;
using states = ebb::tensor<float, ebb::dyn, width>;

constexpr auto region = ebb::compile(loss);

/// n letters in each column, the first of them at `begin`, and `apart` letters later in each further column.
places columns(const numbered_text& text, std::size_t begin, std::size_t n, std::size_t count, std::size_t apart) {
  return places::generate([&](std::size_t i, std::size_t j) { return text.numbers[begin + i + j * apart]; }, n, count);
}

network<ebb::tensor> initial_network(ebb::random_key key) {
  network<ebb::tensor> net;
  std::uint64_t number = 0;
  ebb::each_leaf([&]<std::size_t... E>(ebb::tensor<float, E...>& x) {
    if constexpr (sizeof...(E) == 2) x = ebb::normal<float, E...>(key.fold_in(number++), 0.f, 0.1f);
  }, net);
  return net;
}
network<ebb::tensor> values(const network<ebb::variable>& net) {
  network<ebb::tensor> r;
  ebb::each_leaf([](auto& x, const auto& v) { x = v.value(); }, r, net);
  return r;
}

/// Bits a character of the text that is held out, read in windows of n letters: nothing is known before a window.
double held_out_bits(const network<ebb::tensor>& net, const numbered_text& text, std::size_t n) {
  const std::size_t begin = text.held_out(), count = (text.numbers.size() - begin - 1) / n;
  const auto [value, end] = region(net, states::zeros(count), columns(text, begin, n, count, n), columns(text, begin + 1, n, count, n));
  return static_cast<double>(value) / std::numbers::ln2;
}

struct curve {
  std::vector<double> step, bits;
  void add(std::size_t s, double b) { step.push_back(static_cast<double>(s)), bits.push_back(b); }
};

/// Trains, and puts down the bits of the text that is read and of the text that is held out.
void train(const network<ebb::variable>& net, const numbered_text& text, curve& training, curve& held_out) {
  ebb::optimizer adam(ebb::adam{}, net);
  const std::size_t apart = text.held_out() / texts;
  std::size_t at = 0;
  states now = states::zeros(texts);
  double sum = 0;
  std::chrono::duration<double, std::milli> time{};
  for (std::size_t step = 1; step <= steps; ++step) {
    if (at + reach >= apart) at = 0, now = states::zeros(texts);
    const auto start = std::chrono::steady_clock::now();
    const auto [value, end] = region(net, now, columns(text, at, reach, texts, apart), columns(text, at + 1, reach, texts, apart));
    value.backward();
    adam.rule().lr = ebb::schedule::warm_up(ebb::schedule::cosine(1e-2, step, steps), step, 20);
    adam.step();
    adam.zero_grad();
    time += std::chrono::steady_clock::now() - start;
    now = end;  // the texts go on where they ended
    at += reach;
    sum += static_cast<double>(value.item()) / std::numbers::ln2;
    if (step % 20 == 0) training.add(step, sum / 20), sum = 0;
    if (step % 200 == 0) {
      held_out.add(step, held_out_bits(values(net), text, 64));
      std::printf("step %zu  %.3f bits, held out %.3f  %.1f ms a step\n", step, training.bits.back(), held_out.bits.back(),
                  time.count() / static_cast<double>(step));
    }
  }
}

int main(int count, char** arguments) {
  const ebb::random_key seed = 1;
  const numbered_text text(EBB_DATA "/coriolanus/coriolanus.txt", letters);
  network<ebb::variable> net;
  ebb::each_leaf([](auto& v, const auto& x) { v = ebb::variable(x); }, net, initial_network(seed.fold_in(0)));
  curve training, held_out;
  train(net, text, training, held_out);

  const auto trained = values(net);
  const std::size_t rest = text.numbers.size() - text.held_out() - 1;
  const double in_windows = held_out.bits.back(), in_one_go = held_out_bits(trained, text, rest);
  std::printf("held out, in windows of 64 letters: %.3f bits a character\n", in_windows);
  std::printf("held out, in one scan of %zu steps: %.3f bits a character\n\n", rest, in_one_go);

  const ebb::tensor<std::int64_t, ebb::dyn> play =
      ebb::compile(written)(trained, ebb::tensor<float, width>{}, std::int64_t{text.numbers[0]},
                            ebb::uniform<float, ebb::dyn, letters>(seed.fold_in(1), 300));
  for (const std::int64_t letter : play) std::putchar(text.alphabet[static_cast<std::size_t>(letter)]);
  std::puts("");

  if (count > 1) {
    panel bits("a GRU learns the letters of a play", "steps", "bits a character");
    bits.line(training.step, training.bits, "training");
    bits.points(held_out.step, held_out.bits, "held out");
    bits.line({0, static_cast<double>(steps)}, {3.003, 3.003}, "transformer", true);
    std::ofstream(arguments[1]) << picture({bits}, 1);
  }
  return in_windows < 2.6 && in_one_go < in_windows ? 0 : 1;
}
