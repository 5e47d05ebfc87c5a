// bench/peers/steps/transformer.cpp — steps of the transformer of examples/transformer: 2 blocks, d = 64, 16 windows of 64 letters.
// SPDX-License-Identifier: BSL-1.0
#include "turns.hpp"

#include "../../../examples/numbered_text.hpp"
#include "../../../examples/transformer/model.hpp"

namespace {

using window = ebb::tensor<int, batch, reach>;

constexpr std::size_t different = 64;  // batches, which come again

/// Windows of the text, and the same one letter later.
std::vector<std::pair<window, window>> batches(const numbered_text& text) {
  std::vector<std::pair<window, window>> all;
  for (std::size_t b = 0; b < different; ++b) {
    const auto from = [&](std::size_t later) {
      return window::generate([&](std::size_t i, std::size_t j) {
        return text.numbers[(b * batch + i) * 7919 % (text.numbers.size() - reach) + j + later];
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
  const auto first = [&]<std::size_t... E>(std::type_identity<ebb::tensor<float, E...>>) {
    if constexpr (sizeof...(E) == 2) return ebb::normal<float, E...>(key.fold_in(number++), 0.f, 0.05f);
    else return ebb::tensor<float, E...>::full(1.f);
  };
  const auto data = batches(numbered_text(EBB_DATA "/coriolanus/coriolanus.txt", letters));
  train(t, "transformer", net, first, [&](std::size_t step) {
    const auto& [letters_before, letters_after] = data[step % different];
    return region(net, letters_before, letters_after);
  });
}
