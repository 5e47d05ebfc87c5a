// bench/peers/steps/turns.hpp — runs the steps of a training: a fixed number, or as many as another program asks for, in turns with it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../../clock.hpp"

#include <ebb/ebb.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

class turns {
 public:
  bool smoke = false;
  std::string first;  // the file for the first weights; the number of steps is then read from the standard input, again and again

  /// Writes the first weights, one array after the other.
  void weights(const std::vector<float>& all) const {
    if (first.empty()) return;
    std::FILE* const file = std::fopen(first.c_str(), "wb");
    if (!file || std::fwrite(all.data(), sizeof(float), all.size(), file) != all.size()) std::perror(first.c_str());
    if (file) std::fclose(file);
  }

  /// step(i): the loss of step i, which it has taken.
  void run(const char* name, const std::function<double(std::size_t)>& step) const {
    std::size_t done = 0;
    double loss = 0;
    const auto milliseconds = [&](std::size_t steps) {
      const double start = thread_seconds();
      for (std::size_t i = 0; i < steps; ++i) loss = step(done++);
      return 1e3 * (thread_seconds() - start) / static_cast<double>(steps);
    };
    if (!first.empty()) {
      std::printf("ready\n");
      std::fflush(stdout);
      for (std::size_t steps = 0; std::scanf("%zu", &steps) == 1 && steps > 0;) {
        const double time = milliseconds(steps);
        std::printf("%.6f %.6f\n", time, loss);
        std::fflush(stdout);
      }
      return;
    }
    std::vector<double> times;
    for (int round = 0; round < (smoke ? 1 : 15); ++round) times.push_back(milliseconds(smoke ? 1 : 10));
    std::printf("%-12s %8.3f ms a step, loss %.4f after %zu steps\n", name, median(times), loss, done);
  }
};

/// Trains a network by Adam. first(type): the first values of the next parameter, an array of this type; step(i): the loss of step i.
void train(const turns& t, const char* name, auto& net, auto&& first, auto&& step) {
  std::vector<float> all;
  ebb::each_leaf([&]<std::size_t... E>(ebb::variable<float, E...>& v) {
    const ebb::tensor<float, E...> x = first(std::type_identity<ebb::tensor<float, E...>>{});
    all.insert(all.end(), x.data(), x.data() + x.size());
    v = ebb::variable(x);
  }, net);
  t.weights(all);
  ebb::optimizer adam(ebb::adam{.lr = 1e-3}, net);
  t.run(name, [&](std::size_t i) {
    const auto value = step(i);
    value.backward();
    adam.step();
    adam.zero_grad();
    return static_cast<double>(value.item());
  });
}

void transformer_steps(const turns&);
void convnet_steps(const turns&);

}  // namespace bench
