// ebb/pass/prune.hpp — leaves out equations that no output needs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "trim.hpp"

namespace ebb::inline EBB_ABI {

/// The sub-graphs that equations of g name, with new numbers. Equal ones become one.
EBB_COLD constexpr vec<graph> used_subs(graph& g, const vec<graph>& subs) {
  vec<graph> used;
  vec<int> number(subs.size(), -1);
  for (equation& e : g.eq) {
    if (e.sub < 0) continue;
    if (number[e.sub] < 0) number[e.sub] = add_sub(used, subs[e.sub]);
    e.sub = number[e.sub];
  }
  return used;
}

/// Keeps the arguments, which are the signature, and the equations that outputs need; so for the bodies of loops, see `trim`. An output may
/// be -1: none.
EBB_COLD constexpr graph prune(const graph& g) {
  const int n = g.size();
  const equation* eq = g.eq.data();
  const int* pool = g.pool.data();
  vec<char> live(n, 0);
  char* alive = live.data();
  for (int o : g.out)
    if (o >= 0) alive[o] = 1;
  for (int k = n - 1; k >= 0; --k) {
    if (eq[k].op->what == kind::input) alive[k] = 1;
    if (alive[k])
      for (int j = 0; j < eq[k].count; ++j) alive[pool[eq[k].first + j]] = 1;
  }
  graph r = copied(g, [=](int k) { return alive[k] != 0; });
  if (g.simplified == n) r.simplified = r.size();
  if (g.subs.empty()) return r;
  r.subs = used_subs(r, g.subs);
  return trim(r, [](const graph& body) { return prune(body); });
}

}  // namespace ebb::inline EBB_ABI
