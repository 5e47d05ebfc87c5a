// ebb/pass/prune.hpp — unused equations away, equal equations once.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../graph/graph.hpp"

namespace ebb::inline EBB_ABI {

/// Keeps arguments (they are the signature), equations with an effect, and what the outputs need. An output may be -1: none.
constexpr graph prune(const graph& g) {
  const int n = g.size();
  vec<char> live(n, 0);
  for (int o : g.out)
    if (o >= 0) live[o] = 1;
  for (int k = n - 1; k >= 0; --k) {
    if (g.op(k).what == kind::input || g.eq[k].does != effect::none) live[k] = 1;
    if (live[k])
      for (int i : g.operands(k)) live[i] = 1;
  }
  graph r = shell_of(g);
  r.subs = {};
  vec<int> to(n, -1), sub_to(g.subs.size(), -1);
  for (int k = 0; k < n; ++k) {
    if (!live[k]) continue;
    equation e = g.eq[k];
    if (e.sub >= 0) {
      if (sub_to[e.sub] < 0) sub_to[e.sub] = r.subs.push(g.subs[e.sub]);
      e.sub = sub_to[e.sub];
    }
    const vec<int> in = renumbered(g, k, to);
    to[k] = r.append(e, range_of(in));
  }
  for (int o : g.out) r.out.push(o < 0 ? -1 : to[o]);
  return r;
}

/// Equal equations become one: the same op, operands, shape, attributes and sub-graph.
constexpr graph share(const graph& g) {
  graph r = shell_of(g);
  vec<int> to(g.size(), -1);
  for (int k = 0; k < g.size(); ++k) {
    const vec<int> in = renumbered(g, k, to);
    to[k] = r.add(g.eq[k], range_of(in));
  }
  for (int o : g.out) r.out.push(o < 0 ? -1 : to[o]);
  return r;
}

}  // namespace ebb::inline EBB_ABI
