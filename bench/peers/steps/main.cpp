// bench/peers/steps/main.cpp — milliseconds of a training step on the tape: forward, backward and Adam.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.steps [--smoke] [network...]        networks: transformer convnet; all if none is named
//   bench.steps --first <file> <network>      writes the first weights to the file, and takes as many steps as the input says
//
// bench/peers/steps.sh lets it take turns with the same network in PyTorch.
#include "turns.hpp"

#include <algorithm>
#include <string_view>

int main(int count, char** arguments) {
  bench::turns t;
  std::vector<std::string_view> wanted;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word == "--smoke") t.smoke = true;
    else if (word == "--first" && i + 1 < count) t.first = arguments[++i];
    else wanted.push_back(word);
  }
  const auto network = [&](std::string_view name, void (*steps)(const bench::turns&)) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) steps(t);
  };
  network("transformer", bench::transformer_steps);
  network("convnet", bench::convnet_steps);
}
