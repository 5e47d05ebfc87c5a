// ebb/plan/readers.hpp — the readers of each array, and whether they read it where it lies.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "joined.hpp"

namespace ebb::inline EBB_ABI {

/// The equation whose memory k shows: a reshape is a view. Broadcasts are views too, but only loops can read them.
constexpr int viewed(const graph& g, int k) {
  while (g.op(k).what == kind::reshape) k = g.operand(k, 0);
  return k;
}

namespace detail {

constexpr bool is_number(const shape& s) {
  for (int a = 0; a < s.rank; ++a)
    if (s.e[a] != 1) return false;
  return true;
}

/// The readers of each equation of a graph. Moves that are `copied` are no views.
class array_readers {
 public:
  EBB_COLD_CTOR constexpr array_readers(const graph& g, vec<char> copied)
      : g_(g), copied_(static_cast<vec<char>&&>(copied)), is_result_(g.size(), 0), is_late_(g.size(), 1), others_(g.size(), 0),
        is_read_(g.size(), 0), is_shown_(g.size(), 0), readers_(g.size(), 0) {
    for (int o : g.out) is_result_[viewed(g, o)] = is_read_[o] = 1;
    find();
  }

  constexpr bool is_result(int k) const { return is_result_[k]; }
  /// Whether k is a number that only late numbers read.
  constexpr bool is_late(int k) const { return is_late_.data()[k]; }
  /// Whether k, a reshape, has a reader other than loops that store its elements side by side: these read its operand.
  constexpr bool is_read(int k) const { return is_read_.data()[k]; }
  /// How often k is read by anything but a loop over its own shape: 0, 1, or 2 for more.
  constexpr int others(int k) const { return others_[k]; }
  constexpr bool by_loops(int k) const { return (readers_[k] & loops) != 0; }
  /// Whether loops, products and moves read k where it lies, and nothing else reads it.
  constexpr bool in_place(int k) const { return readers_[k] != 0 && (readers_[k] & steps) == 0 && !is_copied(k); }
  /// Whether only loops read k, a place, and put its zeros around what lies elsewhere: see [note: zeros around].
  constexpr bool puts_zeros_around(int k) const { return is_place(k) && readers_[k] == loops && !is_result_[k] && !is_copied(k); }
  /// Whether k is a broadcast that products read in its operand, and nothing else needs in memory. Loops read the operand anyway.
  constexpr bool is_repeated_in_place(int k) const {
    return may_repeat(g_, k) && (readers_[k] & products) != 0 && (readers_[k] & steps) == 0 && !is_result_[k];
  }
  constexpr bool is_copied(int k) const { return !copied_.empty() && copied_[k]; }

 private:
  static constexpr char loops = 1, products = 2, steps = 4, moves = 8;

  EBB_COLD constexpr void find() {
    for (int k = 0; k < g_.size(); ++k) see_reduction(k);
    const equation* const eq = g_.eq.data();
    char *const late = is_late_.data(), *const others = others_.data(), *const readers = readers_.data(), *const read = is_read_.data();
    for (int k = g_.size() - 1; k >= 0; --k) {
      const kind what = eq[k].op->what;
      const int shape = eq[k].shape;
      const int* const in = g_.pool.data() + eq[k].first;
      late[k] = late[k] && what == kind::elementwise && is_number(g_.shapes.data()[shape]);
      const int space = what == kind::move ? joined_space(g_, k) : -1;
      for (int j = 0; j < eq[k].count; ++j) {
        if (!late[k]) late[in[j]] = 0;
        if (space < 0 ? what != kind::reshape || read[k] : piece_over(g_, k, j, space) == in[j]) read[in[j]] = 1;
        const bool repeats = eq[in[j]].op->what == kind::broadcast;
        const bool is_view = repeats || eq[in[j]].op->what == kind::reshape || eq[in[j]].op->what == kind::move;
        if (what == kind::elementwise && eq[in[j]].shape == shape) {
          readers[in[j]] |= loops;
          if (is_view && !repeats && !(is_place(in[j]) ? is_read_with_zeros(in[j]) : is_read_by_loop(in[j]))) readers[in[j]] |= steps;
          continue;
        }
        others[in[j]] = others[in[j]] > 0 ? 2 : 1;
        if (what == kind::move || what == kind::reshape || what == kind::broadcast)
          is_shown_[in[j]] = is_shown_[in[j]] || !(is_slice_with_zeros(k) || puts_zeros_around(k));
        if (is_view) readers[in[j]] |= reader_of(k, j);
      }
    }
  }
  constexpr void see_reduction(int k) {
    if (g_.op(k).what != kind::reduce) return;
    const int shape = g_.eq[g_.operand(k, 0)].shape, rank = g_.shapes[shape].rank;
    if (g_.eq[k].attr[1] != rank || g_.eq[k].attr[0] > rank - 2) return;
    while (across_rows_.size() <= shape) across_rows_.push(0);
    across_rows_[shape] = 1;
  }
  /// The reader k of its operand j, a view: a loop, a product or a move that reads it where it lies, those that read k, or a step that does
  /// not.
  EBB_COLD constexpr char reader_of(int k, int j) const {
    const op_info& op = g_.op(k);
    const int x = g_.operand(k, j);
    if (is_place(x)) return reads_with_zeros(k, x) ? loops : steps;
    if (op.what == kind::contract) return is_read_by_product(x) ? products : steps;
    if (joined_space(g_, k) >= 0) return may_repeat(g_, x) || is_read_by_loop(x) ? loops : steps;
    if (puts_zeros_around(k) && shows_place(x)) return loops;
    if (joins_parts(op)) return is_read_by_rows(x) ? moves : steps;
    const bool by_products = readers_[k] == products && !is_result_[k] && !is_copied(k);  // k is a view that products alone read
    if (may_repeat(g_, x)) {
      if (op.what == kind::reduce) return loops;
      return by_products && (may_show(g_, k) || may_repeat(g_, k)) ? products : steps;
    }
    if (op.what == kind::reduce) return is_read_by_loop(x) ? loops : steps;
    if (op.what == kind::broadcast) {
      if (by_products && may_repeat(g_, k)) return products;
      return static_cast<char>((is_repeated_along_lanes(k) && is_read_by_loop(x, true) ? loops : steps) | (readers_[k] & products));
    }
    return may_show(g_, k) && !is_result_[k] && in_place(k) ? readers_[k] : steps;
  }
  constexpr bool is_place(int k) const { return g_.op(k).family == family_of<op::place>; }
  /// Whether only loops read p, a place, through k: directly, or by a slice or another place that only loops read.
  EBB_COLD constexpr bool reads_with_zeros(int k, int p) const {
    if (g_.op(k).what == kind::reduce) return is_read_with_zeros(p);
    if (readers_[k] != loops || is_result_[k] || is_copied(k)) return false;
    if (is_place(k)) return is_read_with_zeros(k);
    return is_slice_with_zeros(k);
  }
  /// Whether only loops read k, a slice of what shows a place, directly or by further slices, and may put zeros around the place's operand.
  EBB_COLD constexpr bool is_slice_with_zeros(int k) const {
    if (g_.op(k).family != family_of<op::slice> || readers_[k] != loops || is_result_[k] || is_shown_[k]) return false;
    return shows_place(k) && is_read_with_zeros(k);
  }
  constexpr bool shows_place(int k) const {
    while (may_show(g_, k)) k = g_.operand(k, 0);
    return is_place(k);
  }
  /// f(v) for the strides of k, a view, in each array on the way to it that may be in memory: other steps may need any of these. Loops read
  /// no part of a broadcast: for them it is in memory.
  constexpr bool in_each_array(int k, bool by_product, auto&& f, bool with_zeros = false) const {
    for (int whole = k;; whole = g_.operand(whole, 0)) {
      plan_view v;
      if (!find_view(g_, k, [&](int i) { return i > whole; }, v) || !f(v)) return false;
      const bool repeats = by_product && may_repeat(g_, whole), is_move = g_.op(whole).what == kind::move;
      const bool shows = repeats || may_show(g_, whole) || (with_zeros && is_place(whole));
      if (!shows || ((repeats || is_move) && is_result_[whole]) || (is_move && is_copied(whole))) return true;
    }
  }
  EBB_COLD constexpr bool is_read_by_product(int k) const {
    return in_each_array(k, true, [&](const plan_view& v) { return is_matrix_operand(g_, g_.shape_of(k), v); });
  }
  /// Whether a concat or a place may copy the rows of k from where it lies: see [note: rows apart].
  EBB_COLD constexpr bool is_read_by_rows(int k) const {
    if (may_repeat(g_, k)) return false;
    return in_each_array(k, false, [&](const plan_view& v) {
      const lane_axes lanes = lane_axes_of(g_, g_.shape_of(k), v);
      return lanes.last >= 0 && v.along[lanes.last].is(1);
    });
  }
  /// Whether a loop may read k where it lies: see [note: rows apart]. Numbers: it reads one for each row.
  /// With zeros: the loop puts the zeros of places around what lies elsewhere, see [note: zeros around].
  EBB_COLD constexpr bool is_read_by_loop(int k, bool numbers = false, bool with_zeros = false) const {
    bool permuted = false;
    for (int x = k; may_show(g_, x); x = g_.operand(x, 0)) permuted = permuted || g_.op(x).family == family_of<op::permute>;
    return in_each_array(k, false, [&](const plan_view& v) {
      const shape& s = g_.shape_of(k);
      const lane_axes lanes = lane_axes_of(g_, s, v);
      for (int a = 0; a < s.rank; ++a)
        if (v.placed[a].some && g_.syms.find(s.e[a]) == 1) return false;  // there is no loop along a
      if (numbers || lanes.last < 0) return true;
      const extent_product& step = v.along[lanes.last];
      if (has_zeros(v) && !step.is(1)) return false;
      if (step.is(1) && has_adjacent_rows(g_, s, lanes.from)) return true;
      if (!has_long_rows(g_, s, lanes.from, step.is(1) && !is_summed_across_rows(k) ? least_adjacent : least_apart)) return false;
      return step.is(1) || step.is(-1) || is_short_step(step) || !permuted;
    }, with_zeros);
  }
  /// Whether a sum over more than the last axis reads what is computed over the shape of k.
  constexpr bool is_summed_across_rows(int k) const {
    const int shape = g_.eq[k].shape;
    return shape < across_rows_.size() && across_rows_[shape];
  }
  constexpr bool is_read_with_zeros(int k) const { return is_read_by_loop(k, false, true); }
  /// Whether the last axis of k, a broadcast, is a repeated one: loops then read one element for each row.
  constexpr bool is_repeated_along_lanes(int k) const {
    int a = g_.shape_of(k).rank - 1;
    while (a >= 0 && g_.syms.find(g_.shape_of(k).e[a]) == 1) --a;
    return a >= 0 && (g_.eq[k].attr[0] >> a & 1) && !g_.op(k).names_places;
  }

  const graph& g_;
  vec<char> copied_, is_result_, is_late_, others_, is_read_;
  vec<char> is_shown_;  // a move, a reshape or a broadcast reads it, other than a slice that loops read with zeros
  vec<char> across_rows_;  // of a shape: whether a reduction along more than its last axis reads it
  vec<char> readers_;  // of a view: loops, products and moves that read it where it lies, other steps
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
