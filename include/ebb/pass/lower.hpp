// ebb/pass/lower.hpp — what only differentiation needed goes away, once, before planning.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simplify.hpp"

namespace ebb::inline EBB_ABI {

/// Removes stop_gradient. Not part of simplify: a gradient may be traced into a function that is differentiated again.
constexpr graph lower(const graph& g) {
  graph r = shell_of(g);
  vec<int> to(g.size(), -1);
  for (int k = 0; k < g.size(); ++k) {
    const vec<int> in = renumbered(g, k, to);
    to[k] = g.op(k).family == family_of<op::stop_gradient> ? in[0] : r.add(g.eq[k], range_of(in));
  }
  for (int o : g.out) r.out.push(to[o]);
  return prune(r);
}

}  // namespace ebb::inline EBB_ABI
