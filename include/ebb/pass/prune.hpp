// ebb/pass/prune.hpp — unused equations away, equal equations once.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../graph/graph.hpp"

namespace ebb::inline EBB_ABI {

/// Keeps arguments (they are the signature) and what the outputs need. An output may be -1: none.
EBB_COLD constexpr graph prune(const graph& g) {
  const int n = g.size();
  const equation* eq = g.eq.data();
  const int* pool = g.pool.data();
  vec<char> live(n, 0);
  vec<int> to(n, -1), sub_to(g.subs.size(), -1);
  char* alive = live.data();
  for (int o : g.out)
    if (o >= 0) alive[o] = 1;
  for (int k = n - 1; k >= 0; --k) {
    if (eq[k].op->what == kind::input) alive[k] = 1;
    if (alive[k])
      for (int j = 0; j < eq[k].count; ++j) alive[pool[eq[k].first + j]] = 1;
  }
  graph r = shell_of(g);
  r.subs = {};
  for (int k = 0; k < n; ++k) {
    if (!alive[k]) continue;
    to.data()[k] = r.append_renumbered(g, k, to.data());
    if (const int sub = eq[k].sub; sub >= 0) {
      if (sub_to[sub] < 0) sub_to[sub] = r.subs.push(g.subs[sub]);
      r.eq.back().sub = sub_to[sub];
    }
  }
  for (int o : g.out) r.out.push(o < 0 ? -1 : to[o]);
  if (g.simplified == n) r.simplified = r.size();
  return r;
}

}  // namespace ebb::inline EBB_ABI
