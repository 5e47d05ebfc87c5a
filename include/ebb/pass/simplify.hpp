// ebb/pass/simplify.hpp — exact rewriting, shared as it goes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "prune.hpp"

#include "../op/contract.hpp"
#include "../op/convert.hpp"

namespace ebb::inline EBB_ABI {

/// Whether equation k is the literal `value`. All dtypes hold the small numbers that rules ask for.
constexpr bool is_literal(const graph& g, int k, double value) {
  const op_info& op = g.op(k);
  if (op.what != kind::literal) return false;
  const cell bits = static_cast<cell>(g.eq[k].attr[0]);
  if (op.result == dtype::f32) return bits == to_cell(static_cast<float>(value));
  if (op.result == dtype::f64) return bits == to_cell(value);
  return false;
}

constexpr graph simplify(const graph& g) {
  graph r = shell_of(g);
  vec<int> to(g.size(), -1);
  for (int k = 0; k < g.size(); ++k) {
    equation e = g.eq[k];
    const vec<int> in = renumbered(g, k, to);
    const std::uint64_t f = e.op->family;
    int same = -1;
    if (f == family_of<op::mul>) same = is_literal(r, in[1], 1) ? in[0] : is_literal(r, in[0], 1) ? in[1] : -1;
    else if (f == family_of<op::neg> && r.op(in[0]).family == f) same = r.operand(in[0], 0);
    else if (e.op->what == kind::broadcast && r.op(in[0]).what == kind::literal) {
      equation l = r.eq[in[0]];
      l.shape = e.shape;
      same = r.add(l, {});
    }
    to[k] = same >= 0 ? same : r.add(e, range_of(in));
  }
  for (int o : g.out) r.out.push(o < 0 ? -1 : to[o]);
  return r;
}

}  // namespace ebb::inline EBB_ABI
