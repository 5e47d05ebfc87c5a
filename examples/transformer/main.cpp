// examples/transformer/main.cpp — a transformer learns the letters of a play, beside the same network in PyTorch.
// SPDX-License-Identifier: BSL-1.0
//
// main                      trains, and compares with what train.py recorded
// main --first <file>       writes the first weights for train.py
// main --draw <file>        trains, and draws both losses
#include "model.hpp"

#include "../numbered_text.hpp"

#include <ebb/io/safetensors.hpp>
#include <ebb/svg/curves.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

constexpr std::size_t steps = 600;

constexpr auto region = ebb::compile(loss);

/// A window of the text for each place in `begins`, from `later` letters on.
template <std::size_t N>
ebb::tensor<int, N, reach> windows(const numbered_text& text, const std::vector<std::size_t>& begins, std::size_t later) {
  const auto letter = [&](std::size_t i, std::size_t j) { return text.numbers[begins[i] + j + later]; };
  if constexpr (N == ebb::dyn) return ebb::tensor<int, N, reach>::generate(letter, begins.size());
  else return ebb::tensor<int, N, reach>::generate(letter);
}

transformer<ebb::tensor> initial_transformer(ebb::random_key key) {
  transformer<ebb::tensor> net;
  std::uint64_t number = 0;
  ebb::each_leaf([&]<std::size_t... E>(ebb::tensor<float, E...>& x) {
    if constexpr (sizeof...(E) == 2) x = ebb::normal<float, E...>(key.fold_in(number++), 0.f, 0.05f);
  }, net);
  const auto ones = ebb::tensor<float, width>::generate([](std::size_t) { return 1.f; });
  net.norm = net.a.norm1 = net.a.norm2 = net.b.norm1 = net.b.norm2 = ones;
  return net;
}

/// Trains, and returns the loss of each step.
std::vector<double> train(const transformer<ebb::variable>& net, const numbered_text& text) {
  ebb::optimizer adam(ebb::adam{}, net);
  std::vector<double> losses;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < batch; ++i) begins.push_back((step * batch + i) * 7919 % (text.held_out() - reach));
    const auto value = region(net, windows<batch>(text, begins, 0), windows<batch>(text, begins, 1));
    value.backward();
    adam.rule().lr = ebb::schedule::warm_up(ebb::schedule::cosine(3e-3, step, steps), step, 50);
    adam.step();
    adam.zero_grad();
    losses.push_back(static_cast<double>(value.item()));
    if ((step + 1) % 100 == 0) {
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      std::printf("step %zu  %.3f bits  %.1f ms a step\n", step + 1, losses.back() / std::numbers::ln2,
                  time.count() / static_cast<double>(step + 1));
      std::fflush(stdout);
    }
  }
  return losses;
}

/// Bits a character of the text that is held out: the mean of -log2 of the probability that each letter had.
double held_out_bits(const transformer<ebb::tensor>& net, const numbered_text& text) {
  std::vector<std::size_t> begins;
  for (std::size_t i = text.held_out(); i + reach < text.numbers.size(); i += reach) begins.push_back(i);
  const auto next = windows<ebb::dyn>(text, begins, 1);
  const auto s = ebb::compile(scores)(net, windows<ebb::dyn>(text, begins, 0));
  double sum = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const float* const row = s.data() + i * letters;
    double all = 0;
    for (std::size_t c = 0; c < letters; ++c) all += std::exp(static_cast<double>(row[c]));
    sum += std::log2(all) - static_cast<double>(row[next.data()[i]]) / std::numbers::ln2;
  }
  return sum / static_cast<double>(next.size());
}

/// Letters after those at the beginning of the text that is held out, each drawn with the probability that the network gives it.
std::string written(const transformer<ebb::tensor>& net, const numbered_text& text, ebb::random_key key, std::size_t count) {
  auto window = windows<ebb::dyn>(text, {text.held_out()}, 0);
  std::string result;
  const auto random = ebb::uniform<float, ebb::dyn>(key, count);
  for (std::size_t n = 0; n < count; ++n) {
    const auto s = ebb::compile(scores)(net, window);
    const float* const row = s.data() + (reach - 1) * letters;
    double all = 0, below = 0;
    for (std::size_t c = 0; c < letters; ++c) all += std::exp(static_cast<double>(row[c]));
    std::size_t letter = 0;
    while (letter + 1 < letters && (below += std::exp(static_cast<double>(row[letter]))) <= all * static_cast<double>(random(n))) ++letter;
    result += text.alphabet[letter];
    int* const w = window.mutable_data();
    std::rotate(w, w + 1, w + reach);
    w[reach - 1] = static_cast<int>(letter);
  }
  return result;
}

int main(int count, char** arguments) {
  const std::string option = count > 2 ? arguments[1] : "";
  const ebb::random_key seed = 1;
  const auto start = initial_transformer(seed.fold_in(0));
  if (option == "--first") return ebb::save_safetensors(arguments[2], start), 0;

  const numbered_text text(EBB_DATA "/coriolanus/coriolanus.txt", letters);
  transformer<ebb::variable> net;
  ebb::each_leaf([](auto& v, const auto& x) { v = ebb::variable(x); }, net, start);
  const auto losses = train(net, text);
  transformer<ebb::tensor> trained;
  ebb::each_leaf([](auto& x, const auto& v) { x = v.value(); }, trained, net);

  const ebb::safetensors recorded(EBB_DATA "/../transformer/recorded.safetensors");
  const auto theirs = recorded.view<float, steps>("losses");
  double apart = 0;
  for (std::size_t i = 0; i < 50; ++i) apart = std::max(apart, std::abs(losses[i] - static_cast<double>(theirs(i))));
  const double ours = held_out_bits(trained, text), pytorch = static_cast<double>(recorded.load<float>("held_out")) / std::numbers::ln2;
  std::printf("the losses of the first 50 steps differ from PyTorch's by at most %.0e\n", apart);
  std::printf("held out: %.3f bits a character, PyTorch %.3f\n\n%s\n", ours, pytorch, written(trained, text, seed.fold_in(1), 300).c_str());
  if (option == "--draw") {
    std::vector<double> mean[2];  // over 10 steps
    for (std::size_t i = 0; i < steps; ++i)
      for (int who : {0, 1}) {
        if (i % 10 == 0) mean[who].push_back(0);
        mean[who].back() += (who == 0 ? losses[i] : static_cast<double>(theirs(i))) / (10 * std::numbers::ln2);
      }
    std::ofstream(arguments[2]) << ebb::to_svg({{"ebb", mean[0]}, {"PyTorch", mean[1]}}, "bits a character", {"tens of steps", "bits"});
  }
  return apart < 1e-4 && std::abs(ours - pytorch) < 0.01 ? 0 : 1;
}
