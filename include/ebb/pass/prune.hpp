// ebb/pass/prune.hpp — leaves out equations that no output needs, and of loops the results and operands that nothing needs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../graph/copy.hpp"
#include "live.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// g without what is not live. The bodies of loops are those that the equations name; equal ones are one.
EBB_COLD constexpr graph without_rest(const graph& g, const live_part& part) {
  if (g.subs.empty()) return copied(g, [live = part.is_live.data()](int k) { return live[k] != 0; });
  graph r = shell_without_subs(g);
  vec<int> at(g.size(), -1), sub(g.subs.size(), -1), cut(g.size(), -1);
  int next = part.loops.size();
  for (int k = 0; k < g.size(); ++k) {
    if (!part.is_live[k]) continue;
    const equation& e = g.eq[k];
    if (e.op->what == kind::loop && part.loops[--next].is_less()) {
      const live_loop& loop = part.loops[next];
      graph body = without_rest(g.subs[e.sub], loop.body());
      loop.cut_signature(body);
      equation less = e;
      less.attr[0] = loop.parts().attribute();
      less.sub = add_sub(r.subs, body);
      vec<int> in;
      for (int j : loop.operands()) in.push(at[g.operand(k, j)]);
      at[k] = r.append(less, range_of(in));
      cut[k] = next;
      continue;
    }
    at[k] = r.append_renumbered(g, k, at.data());
    equation& same = r.eq.back();
    if (e.op->what == kind::result && cut[g.operand(k, 0)] >= 0) same.attr[0] = part.loops[cut[g.operand(k, 0)]].number(e);
    if (e.sub < 0) continue;
    if (sub[e.sub] < 0) sub[e.sub] = add_sub(r.subs, g.subs[e.sub]);
    same.sub = sub[e.sub];
  }
  r.out = outputs_at(g, at);
  return r;
}

}  // namespace detail

/// Keeps the arguments, which are the signature, and the equations that outputs need; of loops the results that are named, and the operands
/// that these depend on. An output may be -1: none.
EBB_COLD constexpr graph prune(const graph& g) {
  detail::live_part part = detail::live_part_of(g, vec<char>(g.out.size(), 1));
  for (int k = 0; k < g.size(); ++k)
    if (g.eq.data()[k].op->what == kind::input) part.is_live.data()[k] = 1;
  graph r = detail::without_rest(g, part);
  if (g.simplified == g.size()) r.simplified = r.size();
  return r;
}

}  // namespace ebb::inline EBB_ABI
