// ebb/pass/custom.hpp — the pull-back of a function whose pull the user has written.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "pull_back.hpp"

#include "../graph/custom.hpp"
#include "../graph/loop.hpp"
#include "../graph/splice.hpp"

namespace ebb::inline EBB_ABI {

/// Appends the pull-back of k, a custom equation: see pull_back_by.
constexpr void pull_custom(graph& g, int k, const int* cotangent, int count, const char* active, int* out) {
  const equation e = g.eq[k];
  const custom_parts p = custom_parts::of(e);
  const graph pull = g.subs[e.sub];
  vec<int> given(p.values, -1), result(p.values, -1), in;
  for (int r = k + 1; r < count; ++r) {
    if (g.op(r).what != kind::result || g.operand(r, 0) != k) continue;
    const int i = static_cast<int>(g.eq[r].attr[0]);
    result[i] = r;
    given[i] = cotangent[r];
  }
  for (int j = p.first_saved(); j < e.count; ++j) {
    int saved = g.operand(k, j);
    for (int i = 0; i < p.values; ++i)
      if (result[i] >= 0 && g.operand(k, p.arguments + i) == saved) saved = result[i];
    in.push(saved);
  }
  for (int i = 0; i < p.values; ++i) in.push(or_zeros(g, given[i], g.operand(k, p.arguments + i)));
  const vec<int> gradients = splice(g, pull, in);
  for (int j = 0; j < p.arguments; ++j) out[j] = active[g.operand(k, j)] ? gradients[j] : -1;
}

}  // namespace ebb::inline EBB_ABI
