// bench/autocast/check.hpp — the time in which a backward compares the context of its call with the one that its regions assume.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "turns.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

namespace bench {

/// x, with a pull that a context would cast: so cheap that the walk dominates the measurement.
struct low_product : ebb::elementwise<2> {
  static constexpr std::string_view name = "low_product";
  static constexpr auto autocast = ebb::precision::low;
  static constexpr auto value(auto x, auto y) { return x * y; }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return ebb::grads(g * y, g * x); }
};
struct pulled_low : ebb::elementwise<1> {
  static constexpr std::string_view name = "pulled_low";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(ebb::call<low_product>{}(g, x)); }
};

/// Chains of segments. The context is compared in each segment of `assumes`; `recorded` is the same program and assumes nothing. The two
/// chains are recorded in turns, so that neither has better places in memory, and several times: places in caches differ by more than the
/// check costs.
inline bool measure_check(bool smoke, int rounds) {
  constexpr int segments = 1000;
  constexpr auto assumes = ebb::compile([](auto x) { return ebb::call<pulled_low>{}(x); });
  constexpr auto recorded = ebb::patch<ebb::backward_pass_autocast<ebb::as_recorded>>(assumes);
  const ebb::variable x(ebb::tensor<float, 16>::ones());
  std::vector<double> checked, unchecked, cost;
  for (int pair = 0; pair < (smoke ? 1 : 15); ++pair) {
    ebb::variable<float, 16> h = x, k = x;
    for (int i = 0; i < segments; ++i) {
      if ((i + pair) % 2) h = assumes(h);
      k = recorded(k);
      if ((i + pair) % 2 == 0) h = assumes(h);
    }
    const auto backward = [](const ebb::variable<float>& l) { return [&l] { l.backward({.retain_graph = true}); }; };
    const ebb::variable<float> first = ebb::sum(h), second = ebb::sum(k);
    const auto r = in_turns(backward(first), backward(second), rounds, smoke ? 1e-4 : 1e-3);
    checked.push_back(r.first / segments * 1e9);
    unchecked.push_back(r.second / segments * 1e9);
    cost.push_back(checked.back() - unchecked.back());
  }
  for (auto* v : {&checked, &unchecked, &cost}) std::sort(v->begin(), v->end());
  const auto middle = [](const std::vector<double>& v) { return v[v.size() / 2]; };
  std::printf("ns a segment of a backward; goal: at most 2 for the check of its context\n");
  std::printf("%-20s %8.1f\n%-20s %8.1f\n%-20s %8.2f  %.2f..%.2f\n", "checked", middle(checked), "unchecked", middle(unchecked),
              "the check", middle(cost), cost[cost.size() / 4], cost[cost.size() * 3 / 4]);
  return std::isfinite(middle(cost));
}

}  // namespace bench
