// ebb/plan/grouping.hpp — the equations that share a nest, those that are in memory, and those that lie in others.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "readers.hpp"

#include "../graph/loop.hpp"

namespace ebb::inline EBB_ABI {

struct group {
  int level = 0, shape = -1;
  int whole = -1;         // an equation that is a step of its own: a product, a move
  int run_axis = -1;      // the first axis of its reductions along the last axes
  vec<int> members;
};

struct grouping {
  vec<group> groups;
  vec<int> of;            // the group of each equation; -1: a source, or a view of something else
  vec<char> stored;       // must be in memory when its group has run
  vec<array_part> part;   // where each equation lies in another one
  vec<copy_reason> copies;  // of moves

  /// Whether k lies in its operand: a slice or a place that is no step, or a broadcast that products read there. Other parts lie in a later
  /// equation, which joins them.
  constexpr bool is_view(int k) const { return part.data()[k].whole >= 0 && part.data()[k].whole < k; }
  /// The equation whose step writes what k shows: k itself, or what it is a view of.
  constexpr int shown(const graph& g, int k) const;
  /// Whether a slice or permutation between shown(g, k) and k leaves elements out or in another order: k has no address then, but a view.
  constexpr bool is_shown_apart(const graph& g, int k) const;
  /// Whether k shows a literal with zeros around, which loops make: it is never in memory.
  constexpr bool is_placed_literal(const graph& g, int k) const;
};

constexpr int grouping::shown(const graph& g, int k) const {
  for (k = viewed(g, k); is_view(k);) k = viewed(g, part[k].whole);
  return k;
}

constexpr bool grouping::is_shown_apart(const graph& g, int k) const {
  for (k = viewed(g, k); is_view(k); k = viewed(g, part[k].whole))
    if (part.data()[k].at.apart) return true;
  return false;
}

constexpr bool grouping::is_placed_literal(const graph& g, int k) const {
  bool placed = false;
  for (k = viewed(g, k); is_view(k); k = viewed(g, part[k].whole)) placed = placed || g.op(k).family == family_of<op::place>;
  return placed && g.op(k).what == kind::literal;
}

constexpr bool is_source(kind what) { return what == kind::input || what == kind::literal || what == kind::index; }
constexpr bool is_source(const graph& g, int k) { return is_source(g.op(k).what); }
/// Whether k reduces all elements of an array with any number of rows.
constexpr bool reduces_all_rows(const graph& g, int k) {
  if (g.op(k).what != kind::reduce || g.eq[k].attr[0] != 0) return false;
  const shape& x = g.shape_of(g.operand(k, 0));
  return x.rank > 0 && g.eq[k].attr[1] == x.rank && g.syms.find(x.e[0]) < 0;
}
/// The number of the shape that an equation is computed over.
constexpr int iteration_shape(const graph& g, int k) {
  return g.op(k).what == kind::reduce ? g.eq[g.operand(k, 0)].shape : g.eq[k].shape;
}

}  // namespace ebb::inline EBB_ABI
