// ebb/plan/joined.hpp — components that a loop computes and stores side by side.
// SPDX-License-Identifier: BSL-1.0
//
// [note: joined stores]
// stack<-1>(f(x), g(y)) has the elements of two arrays in turns, and so have the rows of points of which each coordinate was computed. Such
// a concat, of one column each along the last axis, needs no step if a loop computes one of the columns: the loop over the shape of a
// column loads or computes all of them, mixes their registers, and stores these one after the other. A column may be computed, or an
// argument, or a literal; another loop may have computed it. It is stored alone only if something else reads it.
// Counts are products of twos and threes up to 16. Others would need an instruction for almost each element: these are copied.
#pragma once

#include "view.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Operand j of k, a concat, as a loop over the shape number `space` reads it: before reshapes; -1: there is none.
constexpr int piece_over(const graph& g, int k, int j, int space) {
  for (int x = g.operand(k, j);; x = g.operand(x, 0)) {
    const kind what = g.op(x).what;
    if (g.eq[x].shape == space || what == kind::literal) return x;
    if (what != kind::reshape) return -1;
  }
}
/// Whether all operands of k can be read by a loop over that shape, which computes one of them.
constexpr bool is_joined_over(const graph& g, int k, int space) {
  bool computes = false;
  for (int j = 0; j < g.eq[k].count; ++j) {
    const int x = piece_over(g, k, j, space);
    if (x < 0) return false;
    computes = computes || g.op(x).what == kind::elementwise;
  }
  return computes;
}
/// Finds the strides along the axes of the shape number `space` with which k, such a concat, is stored.
constexpr bool find_joined_strides(const graph& g, int k, int space, plan_view& v) {
  if (!put_strides(g, g.shape_of(k), v)) return false;
  v.along[g.eq[k].attr[0]] = {.factor = 0};
  return restride(g, g.shape_of(g.operand(k, 0)), g.shapes[space], v);
}
/// The number of the shape over which a loop stores the operands of k side by side; -1: k is a move of its own.
EBB_COLD constexpr int joined_space(const graph& g, int k) {
  const equation& e = g.eq[k];
  if (e.op->family != family_of<op::concat> || !may_store_joined(e.op->result, e.count)) return -1;
  const shape& s = g.shape_of(k);
  const int axis = static_cast<int>(e.attr[0]);
  if (has_adjacent_rows(g, s, axis) || g.syms.find(s.e[axis]) != e.count) return -1;
  for (int a = axis + 1; a < s.rank; ++a)
    if (g.syms.find(s.e[a]) != 1) return -1;
  for (int j = 0; j < e.count; ++j) {
    if (g.syms.find(g.shape_of(g.operand(k, j)).e[axis]) != 1) return -1;
    for (int x = g.operand(k, j);; x = g.operand(x, 0)) {
      plan_view v;
      const int space = g.eq[x].shape;
      if (g.op(x).what == kind::elementwise && is_joined_over(g, k, space) && find_joined_strides(g, k, space, v)) return space;
      if (g.op(x).what != kind::reshape) break;
    }
  }
  return -1;
}

}  // namespace ebb::inline EBB_ABI::detail
