// bench/autocast/check.hpp — what it costs a backward to compare the context of its call with the one that its regions assume.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "turns.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdio>

namespace bench {

/// Products in a row, each a segment. `assumes` is compared in each of them; `recorded`, the same program, assumes nothing.
inline bool measure_check(bool smoke, int rounds) {
  constexpr int segments = 1000;
  constexpr auto assumes = ebb::compile([](auto x, auto w) { return ebb::matmul(x, w); });
  constexpr auto recorded = ebb::patch<ebb::backward_pass_autocast<ebb::as_recorded>>(assumes);
  using W = ebb::tensor<float, 4, 4>;
  const ebb::variable x(W::ones());
  const auto chain = [&](auto region) {
    const W w = W::full(0.25f);
    ebb::variable<float, 4, 4> h = x;
    for (int i = 0; i < segments; ++i) h = region(h, w);
    return ebb::variable<float>(ebb::sum(h));
  };
  const ebb::variable<float> checked = chain(assumes), unchecked = chain(recorded);
  const auto backward = [](const ebb::variable<float>& l) { return [&l] { l.backward({.retain_graph = true}); }; };
  const auto r = in_turns(backward(checked), backward(unchecked), rounds, smoke ? 1e-4 : 1e-2);
  const double cost = (r.first - r.second) / segments * 1e9;
  std::printf("ns a segment of a backward; goal: at most 2 for the check of its context\n");
  std::printf("%-20s %8.1f\n%-20s %8.1f\n%-20s %8.2f\n", "checked", r.first / segments * 1e9, "unchecked", r.second / segments * 1e9, "the check",
              cost);
  return std::isfinite(cost);
}

}  // namespace bench
