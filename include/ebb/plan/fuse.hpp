// ebb/plan/fuse.hpp — groups of equations that share a loop nest.
// SPDX-License-Identifier: BSL-1.0
//
// [note: fused by level]
// The level of an equation is the length of the longest chain of group boundaries below it. Equations of one level and one iteration space
// are one group. That takes linear time, makes no cycles, and also fuses equations that do not depend on each other.
// There is a boundary after each value that must be complete before it is read: a reduction, a product, a move, and a value that is read
// in another shape (broadcast, reshape).
#pragma once

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
};

/// The equation whose memory k shows: a reshape is a view. Broadcasts are views too, but only loops can read them.
constexpr int viewed(const graph& g, int k) {
  while (g.op(k).what == kind::reshape) k = g.operand(k, 0);
  return k;
}

constexpr bool is_source(kind what) { return what == kind::input || what == kind::literal || what == kind::index; }
constexpr bool is_source(const graph& g, int k) { return is_source(g.op(k).what); }
/// The number of the shape that an equation is computed over.
constexpr int iteration_shape(const graph& g, int k) {
  return g.op(k).what == kind::reduce ? g.eq[g.operand(k, 0)].shape : g.eq[k].shape;
}

namespace detail {

class fuser {
 public:
  EBB_COLD_CTOR constexpr explicit fuser(const graph& g) : g_(g), level_(g.size(), 0) {
    r_.of = vec<int>(g.size(), -1);
    r_.stored = vec<char>(g.size(), 0);
    for (int k = 0; k < g.size(); ++k) {
      const kind what = g.eq.data()[k].op->what;
      if (what == kind::elementwise || what == kind::reduce) place_fused(k);
      else if (what == kind::broadcast) level_[k] = level_above(g.operand(k, 0));
      else if (what == kind::reshape) place_view(k);
      else if (what == kind::result) place_result(k);
      else if (!is_source(what)) place_whole(k);
    }
    for (int o : g.out) require_memory(o);
  }
  constexpr grouping take() { return static_cast<grouping&&>(r_); }

 private:
  /// The level of an equation that reads all of k from memory.
  constexpr int level_above(int k) {
    k = viewed(g_, k);
    if (is_source(g_, k)) return 0;
    return level_[k] + 1;
  }
  // This runs for each equation: plain pointers save compile time, as in graph::add.
  EBB_COLD constexpr void place_fused(int k) {
    const equation* const eq = g_.eq.data();
    const int* const in = g_.pool.data() + eq[k].first;
    const int count = eq[k].count, space = iteration_shape(g_, k);
    int level = 0;
    for (int j = 0; j < count; ++j) {
      const int i = in[j];
      const kind what = eq[i].op->what;
      if (is_source(what)) continue;
      const bool in_loop = what == kind::broadcast || (what == kind::elementwise && eq[i].shape == space);
      const int l = in_loop ? level_.data()[i] : level_above(i);
      if (l > level) level = l;
    }
    level_.data()[k] = level;
    join(k, level, space);
    const int* const of = r_.of.data();
    for (int j = 0; j < count; ++j) {
      const int i = in[j];
      if (of[i] == of[k]) continue;
      const kind what = eq[i].op->what;
      if (what == kind::broadcast) require_memory(g_.operand(i, 0));
      else if (!is_source(what)) require_memory(i);
    }
  }
  constexpr void place_view(int k) {
    require_memory(g_.operand(k, 0));
    level_[k] = level_[viewed(g_, k)];
  }
  /// An array that a loop gives is in memory when the loop has run.
  constexpr void place_result(int k) {
    const int loop = g_.operand(k, 0);
    level_[k] = level_[loop];
    r_.of[k] = r_.of[loop];
    r_.stored[k] = 1;
  }
  EBB_COLD constexpr void place_whole(int k) {
    int level = 0;
    for (int i : g_.operands(k)) {
      require_memory(i);
      const int l = level_above(i);
      if (l > level) level = l;
    }
    level_[k] = level;
    group x;
    x.level = level;
    x.whole = k;
    r_.of[k] = r_.groups.push(x);
    r_.stored[k] = 1;
  }
  /// k is read as an array. Literals, indices and broadcasts then need a loop that writes them.
  EBB_COLD constexpr void require_memory(int k) {
    k = viewed(g_, k);
    if (r_.stored[k] || g_.op(k).what == kind::input) return;
    r_.stored[k] = 1;
    if (r_.of[k] >= 0) return;
    if (g_.op(k).what == kind::broadcast) require_memory(g_.operand(k, 0));
    join(k, is_source(g_, k) ? -1 : level_[k], g_.eq[k].shape);
    if (is_source(g_, k)) level_[k] = -1;
  }
  /// k joins the first group of its level and space, so that others can read its values. Two splits are two groups.
  EBB_COLD constexpr void join(int k, int level, int space) {
    const bool run = g_.op(k).what == kind::reduce && g_.eq[k].attr[1] == g_.shapes[space].rank;
    const int axis = run ? static_cast<int>(g_.eq[k].attr[0]) : -1;
    while (at_level_.size() < level + 2) at_level_.push({});
    for (int f : at_level_[level + 1]) {
      group& x = r_.groups[f];
      if (x.shape != space || (run && x.run_axis >= 0 && x.run_axis != axis)) continue;
      if (run) x.run_axis = axis;
      x.members.push(k);
      r_.of[k] = f;
      return;
    }
    group x;
    x.level = level;
    x.shape = space;
    x.run_axis = axis;
    x.members.push(k);
    r_.of[k] = r_.groups.push(static_cast<group&&>(x));
    at_level_[level + 1].push(r_.of[k]);
  }

  const graph& g_;
  vec<int> level_;
  vec<vec<int>> at_level_;  // nests only; literals in memory are at level -1
  grouping r_;
};

}  // namespace detail

constexpr grouping fuse(const graph& g) { return detail::fuser(g).take(); }

}  // namespace ebb::inline EBB_ABI
