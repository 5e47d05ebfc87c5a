// ebb/plan/fuse.hpp — groups of equations that share a loop nest.
// SPDX-License-Identifier: BSL-1.0
//
// [note: fused by level]
// The level of an equation is the length of the longest chain of group boundaries below it. Equations of one level and one iteration space
// are one group. That takes linear time, makes no cycles, and also fuses equations that do not depend on each other.
// There is a boundary after each value that must be complete before it is read: a reduction, a product, a move, and a value that is read
// in another shape (broadcast, reshape). Moves whose elements stay where they are have no group: see [note: parts of arrays].
// Loops have even levels, and numbers (spaces of one element) the odd ones between: so a loop that reads a number computed from a reduction
// is in the same group as one that reads the reduction itself. Numbers computed from arguments alone are at level -1, before all loops.
// Numbers that no loop reads, directly or through other numbers, are one group at the end.
#pragma once

#include "later.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Finds the strides of what operand j of `whole` shows, which is written where it lies there, from those of `whole`.
constexpr bool find_strides_of_operand(const graph& g, int whole, int j, plan_view& v) {
  const int piece = g.operand(whole, j);
  if (g.op(whole).family == family_of<op::permute>) {
    const plan_view to = v;
    for (int a = 0; a < g.shape_of(piece).rank; ++a) v.along[packed_axis(g.eq[whole].attr[0], a)] = to.along[a];
  }
  return restride(g, g.shape_of(piece), g.shape_of(viewed(g, piece)), v);
}
/// Finds the strides of y, which has memory of its own or lies in a later array.
constexpr bool find_strides(const graph& g, const grouping& r, int y, plan_view& v) {
  const array_part& x = r.part.data()[y];
  if (x.whole < y || !x.at.apart) return put_strides(g, g.shape_of(y), v);
  int j = 0;
  while (viewed(g, g.operand(x.whole, j)) != y) ++j;
  return find_strides(g, r, x.whole, v) && find_strides_of_operand(g, x.whole, j, v);
}

class fuser {
 public:
  /// Moves that are `copied` are no views. sums_apart: see [note: sums apart]. least: see levels_of_readers(); empty if there are none.
  EBB_COLD_CTOR constexpr explicit fuser(const graph& g, bool sums_apart, vec<char> copied = {}, vec<int> least = {})
      : g_(g), sums_apart_(sums_apart), level_(g.size(), 0), read_(g, static_cast<vec<char>&&>(copied)),
        least_(static_cast<vec<int>&&>(least)) {
    r_.of = vec<int>(g.size(), -1);
    r_.stored = vec<char>(g.size(), 0);
    r_.part = vec<array_part>(g.size(), array_part{});
    r_.copies = vec<copy_reason>(g.size(), copy_reason::none);
    for (int k = 0; k < g.size(); ++k) {
      const kind what = g.eq.data()[k].op->what;
      if (what == kind::elementwise || what == kind::reduce) place_fused(k);
      else if (what == kind::broadcast) place_broadcast(k);
      else if (what == kind::reshape) place_view(k);
      else if (what == kind::result) place_result(k);
      else if (what == kind::move) place_move(k);
      else if (!is_source(what)) place_whole(k);
    }
    for (int k : late_) join_fused(k, last_);
    for (int o : g.out) require_memory(o);
  }
  constexpr grouping take() { return static_cast<grouping&&>(r_); }

 private:
  /// Finds where the operands of k, a move, lie in k, or where k lies in its operand. Returns the reason of a copy, or none.
  EBB_COLD constexpr copy_reason find_parts(int k) {
    const std::uint64_t family = g_.op(k).family;
    part_place at;
    if (family == family_of<op::place>) {
      const int x = g_.operand(k, 0);
      if (g_.op(x).what != kind::literal || !read_.puts_zeros_around(k)) {
        const copy_reason why = put_in(k, 0, detail::find_part(g_, k, x, g_.eq[k].attr, at), at);
        if (why == copy_reason::none || !read_.puts_zeros_around(k)) return why;
      }
      r_.part[k] = {x, {.shape = g_.eq[k].shape, .whole = g_.eq[k].shape, .apart = true}};
      return copy_reason::none;
    }
    const bool is_slice = family == family_of<op::slice>;
    if (is_slice || family == family_of<op::permute>) {
      copy_reason why = is_slice ? detail::find_part(g_, g_.operand(k, 0), k, g_.eq[k].attr, at) : copy_reason::permutation;
      if (!is_slice) {
        at.shape = at.whole = g_.eq[k].shape;
        at.apart = true;
      }
      if (read_.is_result(k) && is_slice) return copy_reason::result;
      if (why != copy_reason::none && !read_.is_result(k) && read_.in_place(k)) why = copy_reason::none;
      if (why == copy_reason::none) r_.part[k] = {g_.operand(k, 0), at};
      else if (is_slice && read_.is_copied(k)) return copy_reason::often;
      if (why == copy_reason::none || is_slice || !is_written_by_product(k, 0)) return why;
      r_.part[viewed(g_, g_.operand(k, 0))] = {k, at};
      return copy_reason::none;
    }
    if (family != family_of<op::concat>) return copy_reason::permutation;
    copy_reason first = copy_reason::none;
    for (int j = 0; j < g_.eq[k].count; ++j) {
      at = {};
      const copy_reason found = detail::find_piece(g_, k, j, at), why = put_in(k, j, found, at);
      if (first == copy_reason::none) first = why;
    }
    return first;
  }
  /// Operand j of k is written where it lies in k, unless it has other memory.
  constexpr copy_reason put_in(int k, int j, copy_reason why, const part_place& at) {
    const int x = viewed(g_, g_.operand(k, j));
    if (g_.op(x).what == kind::input || r_.is_view(x)) return copy_reason::argument;
    if (r_.part[x].whole >= 0) return copy_reason::twice;
    if (read_.is_result(x)) return copy_reason::result;
    if (g_.op(x).what == kind::result) return copy_reason::loop;
    if (why == copy_reason::axis && (is_written_apart(k, j, at.axis) || is_written_by_product(k, j))) why = copy_reason::none;
    if (why != copy_reason::none) return why;
    r_.part[x] = {k, at};
    return copy_reason::none;
  }
  /// The level of an equation that reads all of k from memory: the next odd one of a number, or the next even one.
  constexpr int level_after(int k, bool number) const {
    k = r_.shown(g_, k);
    const int level = !is_source(g_, k) ? level_.data()[k] : g_.op(k).what == kind::input ? -2 : -1;
    return number ? (level + 1) | 1 : (level + 2) & ~1;
  }
  /// Whether a product writes operand j of k, a move, where it lies in k: directly, or through a permutation.
  EBB_COLD constexpr bool is_written_by_product(int k, int j) const {
    const int piece = g_.operand(k, j), x = viewed(g_, piece);
    for (int y = piece;; y = g_.operand(y, 0)) {
      if (read_.others(y) != 1 || read_.by_loops(y) || read_.is_result(y)) return false;
      if (y == x) break;
    }
    if (r_.part[x].whole >= 0) return false;
    const bool turned = g_.op(x).family == family_of<op::permute> && r_.copies[x] == copy_reason::none;
    const int by = turned ? viewed(g_, g_.operand(x, 0)) : x;
    plan_view v;
    return g_.op(by).what == kind::contract && find_strides(g_, r_, k, v) && find_strides_of_operand(g_, k, j, v) &&
           (!turned || find_strides_of_operand(g_, x, 0, v)) && is_matrix_result(g_, g_.shape_of(by), v);
  }
  /// Whether x has the shape of k, one row along `axis`, without this axis.
  constexpr bool drops_axis(int x, int k, int axis) const {
    const shape &own = g_.shape_of(k), &rest = g_.shape_of(x);
    bool same = own.e[axis] == 1 && rest.rank + 1 == own.rank;
    for (int a = 0; same && a < rest.rank; ++a) same = g_.syms.find(rest.e[a]) == g_.syms.find(own.e[a < axis ? a : a + 1]);
    return same;
  }
  /// Whether a loop writes operand j of k, a move along `axis`, where it lies though its rows are not adjacent.
  constexpr bool is_written_apart(int k, int j, int axis) const {
    const int piece = g_.operand(k, j);
    const int x = g_.op(piece).what == kind::reshape ? g_.operand(piece, 0) : piece;
    plan_view v;
    return g_.op(x).what == kind::elementwise && read_.others(x) == 1 && read_.others(piece) == 1 &&
           (x == piece || drops_axis(x, piece, axis)) && has_long_rows(g_, g_.shape_of(x), axis) && find_strides(g_, r_, k, v) &&
           find_strides_of_operand(g_, k, j, v);
  }
  // This runs for each equation: plain pointers save compile time, as in graph::add.
  EBB_COLD constexpr void place_fused(int k) {
    const equation* const eq = g_.eq.data();
    const int* const in = g_.pool.data() + eq[k].first;
    const int count = eq[k].count, space = iteration_shape(g_, k);
    const bool number = is_number(g_.shapes.data()[space]);
    int level = number ? -1 : 0;
    for (int j = 0; j < count; ++j) {
      const int i = in[j];
      const kind what = eq[i].op->what;
      if (is_source(what)) continue;
      const int l = what == kind::broadcast                                ? level_.data()[i] + number
                    : what == kind::elementwise && eq[i].shape == space ? level_.data()[i]
                                                                           : level_after(i, number);
      if (l > level) level = l;
    }
    if (sums_apart_ && reduces_all_rows(g_, k) && r_.of[in[0]] >= 0) level += 2;
    if (!least_.empty()) level = std::max(level, least_[k]);
    level_.data()[k] = level;
    if (!read_.is_late(k)) return join_fused(k, level);
    late_.push(k);
    if (level > last_) last_ = level;
  }
  EBB_COLD constexpr void join_fused(int k, int level) {
    const equation* const eq = g_.eq.data();
    const int* const in = g_.pool.data() + eq[k].first;
    const int count = eq[k].count;
    level_.data()[k] = level;
    join(k, level, iteration_shape(g_, k));
    const int* const of = r_.of.data();
    for (int j = 0; j < count; ++j)
      if (const int i = in[j]; of[i] != of[k]) require_to_load(i);
  }
  EBB_COLD constexpr void place_move(int k) {
    if (const int space = joined_space(g_, k); space >= 0) return place_joined(k, space);
    r_.copies[k] = find_parts(k);
    if (r_.is_view(k)) place_view(k);
    else place_whole(k);
  }
  /// A loop over `space` stores the operands of k side by side.
  EBB_COLD constexpr void place_joined(int k, int space) {
    int level = 0;
    for (int j = 0; j < g_.eq[k].count; ++j) {
      const int i = piece_over(g_, k, j, space);
      if (is_source(g_, i)) continue;
      const bool fused = g_.op(i).what == kind::broadcast || g_.op(i).what == kind::elementwise;
      level = std::max(level, fused ? level_[i] : level_after(i, false));
    }
    level_[k] = level;
    join(k, level, space);
    r_.stored[k] = 1;
    for (int j = 0; j < g_.eq[k].count; ++j)
      if (const int i = piece_over(g_, k, j, space); r_.of[i] != r_.of[k]) require_to_load(i);
  }
  constexpr void place_broadcast(int k) {
    level_[k] = level_after(g_.operand(k, 0), false);
    if (!read_.is_repeated_in_place(k)) return;
    const int shape = g_.eq[k].shape;
    r_.part[k] = {g_.operand(k, 0), {.shape = shape, .whole = shape, .apart = true}};
    require_memory(g_.operand(k, 0));
  }
  constexpr void place_view(int k) {
    if (read_.is_read(k)) require_memory(k);
    level_[k] = level_[r_.shown(g_, k)];
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
      const int l = level_after(i, false);
      if (l > level) level = l;
    }
    level_[k] = level;
    group x;
    x.level = level;
    x.whole = k;
    r_.of[k] = r_.groups.push(x);
    r_.stored[k] = 1;
  }
  /// A loop loads k, a value of another group.
  constexpr void require_to_load(int k) {
    const kind what = g_.eq.data()[k].op->what;
    if (what == kind::broadcast) require_memory(g_.operand(k, 0));
    else if (!is_source(what)) require_memory(k);
  }
  /// k is read as an array. Literals, indices and broadcasts then need a loop that writes them.
  EBB_COLD constexpr void require_memory(int k) {
    if (r_.is_placed_literal(g_, k)) return;
    k = r_.shown(g_, k);
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
  bool sums_apart_;
  vec<int> level_;
  array_readers read_;
  vec<int> least_;
  vec<int> late_;
  int last_ = -1;  // the level of late numbers
  vec<vec<int>> at_level_;  // nests only; literals in memory are at level -1
  grouping r_;
};

/// The moves that are copied because more loops read them by lanes with a step than [note: rows apart] allows; empty if there are none.
EBB_COLD constexpr vec<char> read_too_often(const graph& g, const grouping& r) {
  vec<char> copied;
  vec<int> last(g.size(), -1), loops(g.size(), 0);  // of each equation: the last group that reads it, and how many groups do
  for (int f = 0; f < r.groups.size(); ++f)
    for (int k : r.groups[f].members)
      for (int i : g.operands(k))
        if (last[i] != f && r.of[k] == f && g.op(i).what != kind::broadcast) {
          last[i] = f;
          ++loops[i];
        }
  for (int k = 0; k < g.size(); ++k) {
    if (loops[k] < 2 || !r.is_shown_apart(g, k)) continue;
    plan_view v;
    find_view(g, k, [&](int i) { return g.op(i).what == kind::reshape || r.is_view(i); }, v);
    const lane_axes lanes = lane_axes_of(g, g.shape_of(k), v);
    if (lanes.last < 0 || v.along[lanes.last].is(1) || v.along[lanes.last].is(-1)) continue;
    if (loops[k] <= (is_short_step(v.along[lanes.last]) ? 2 : 1)) continue;
    // A permutation gives all components at once; else the slice is copied.
    int move = -1;
    for (int x = k; g.op(x).what == kind::reshape || r.is_view(x); x = g.operand(x, 0))
      if (r.is_view(x) && (move < 0 || g.op(x).family == family_of<op::permute>)) move = x;
    if (copied.empty()) copied = vec<char>(g.size(), 0);
    copied[move] = 1;
  }
  return copied;
}

}  // namespace detail

EBB_COLD constexpr grouping fuse(const graph& g, bool sums_apart = false) {
  grouping r = detail::fuser(g, sums_apart).take();
  vec<char> copied = detail::read_too_often(g, r);
  if (!copied.empty()) r = detail::fuser(g, sums_apart, copied).take();
  vec<int> least = detail::levels_of_readers(g, r);
  if (!least.empty()) r = detail::fuser(g, sums_apart, static_cast<vec<char>&&>(copied), static_cast<vec<int>&&>(least)).take();
  return r;
}

}  // namespace ebb::inline EBB_ABI
