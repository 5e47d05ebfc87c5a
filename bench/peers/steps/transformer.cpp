// bench/peers/steps/transformer.cpp — steps of the transformer of examples/transformer: 2 blocks, d = 64, 16 windows of 64 letters.
// SPDX-License-Identifier: BSL-1.0
#include "turns.hpp"

#include "../../../examples/transformer/model.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace {

using window = ebb::tensor<int, batch, reach>;

constexpr std::size_t different = 64;  // batches, which come again

/// Windows of the text as numbers of its letters, and the same one letter later.
std::vector<std::pair<window, window>> batches(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::string alphabet = text;
  std::sort(alphabet.begin(), alphabet.end());
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  if (alphabet.size() != letters) ebb::raise(path + ": another text was expected");
  std::vector<std::pair<window, window>> all;
  for (std::size_t b = 0; b < different; ++b) {
    const auto from = [&](std::size_t later) {
      return window::generate([&](std::size_t i, std::size_t j) {
        return static_cast<int>(alphabet.find(text[(b * batch + i) * 7919 % (text.size() - reach) + j + later]));
      });
    };
    all.emplace_back(from(0), from(1));
  }
  return all;
}

constexpr auto region = ebb::compile(loss);

}  // namespace

void bench::transformer_steps(const turns& t) {
  transformer<ebb::variable> net;
  const ebb::random_key key = 1;
  std::uint64_t number = 0;
  std::vector<float> all;
  ebb::each_leaf([&]<std::size_t... E>(ebb::variable<float, E...>& v) {
    auto x = ebb::tensor<float, E...>::full(1.f);
    if constexpr (sizeof...(E) == 2) x = ebb::normal<float, E...>(key.fold_in(number++), 0.f, 0.05f);
    all.insert(all.end(), x.data(), x.data() + x.size());
    v = ebb::variable(x);
  }, net);
  t.weights(all);

  const auto data = batches(EBB_DATA "/coriolanus/coriolanus.txt");
  ebb::optimizer adam(ebb::adam{.lr = 1e-3}, net);
  t.run("transformer", [&](std::size_t step) {
    const auto& [letters_before, letters_after] = data[step % different];
    const auto value = region(net, letters_before, letters_after);
    value.backward();
    adam.step();
    adam.zero_grad();
    return static_cast<double>(value.item());
  });
}
