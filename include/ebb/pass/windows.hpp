// ebb/pass/windows.hpp — loops compute cheap values again at the places where they read them, instead of reading them from memory.
// SPDX-License-Identifier: BSL-1.0
//
// [note: computed again]
// A loop reads a slice or a place of an array where the array lies, see [note: parts of arrays]. An array that a loop computes has to be
// in memory for that, and the reader becomes a second loop. So this pass takes slices and places ahead of cheap operations: the slice of a
// product is a product of slices. The stages of a Runge-Kutta step over neighbours are then one loop. A window is a slice or a place of
// step 1 and more than one row. It is computed again if
//   by loops   it is read only by elementwise equations over its own shape, by reductions, and by windows for which the same holds; a loop
//              computes its operand, which nothing else needs in memory: no loop that runs later, since it waits for such an operand of
//              another window or for a reduction. The pass learns that from its first result, and runs again without the windows whose
//              operand such a loop reads
//   cheap      the operations that are computed again and the arrays that they read are at most `most`, counted for each window that
//              reads the operand. On a Zen 4 limits from 8 to 16 took the same time, and 24 more in the cache. Operations are
//              sums, products, selections and the like. A value that is in memory anyway counts as an array: so a long chain is cut
//              where that is less work. A mask is no array: loops make it.
// A slice of a broadcast along a repeated axis is a broadcast of the same operand. Along another axis it is a broadcast of a slice of the
// operand, if that is the operand's first axis: such a slice is no copy.
// A place has +0 around its operand. Some operations give +0 there, as the product of two places does; some readers select other elements
// there, as `pad` with a value does. Else the loop selects the zeros.
// Bits stay the same: each element is computed by the same operations from the same elements.
#pragma once

#include "prune.hpp"

#include "../op/compare.hpp"
#include "../op/extremum.hpp"
#include "../op/move.hpp"
#include "../op/power.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

/// The reason why a window of a loop's value is read from memory.
enum class window_reason : unsigned char {
  none,     // it is computed again
  result,   // its operand is a result
  later,    // a loop that runs later reads its operand from memory
  reader,   // an op that is no such loop reads its operand, or the window
  dear,     // an op that is not cheap would be computed again
  work,     // it takes more than `most` operations and arrays
  windows,  // so do all windows of its operand together
  stored    // another window of its operand is read from memory
};

/// The decision for a window.
struct window_note {
  int value = -1, shape = -1;      // the equation whose elements it shows, numbered as before prune, and its shape
  const op_info* op = nullptr;     // of that
  int at = -1;                     // the value in the graph after the pass; -1: it is not computed for itself
  bool is_place = false;
  window_reason why = window_reason::none;
  const op_info* by = nullptr;     // the op that reads it, or that is dear
  int operations = 0, windows = 0;  // of `windows`: operations and arrays for one window, and how many there are
};

/// The graph after the pass with its decisions.
struct noted_windows {
  graph g;
  vec<window_note> notes;
  vec<int> note_of;  // by equation: the number of the note of the window for which it is computed, or -1
};

namespace detail {

class windows_of_loops {
 public:
  static constexpr int most = 12;
  static constexpr int most_runs = 3;  // each one knows what the one before left to later loops

  /// notes: gets the decisions, with equations as they are numbered before prune. None: they are not asked for.
  /// late: whether a loop that runs later reads an equation anyway.
  EBB_COLD_CTOR constexpr windows_of_loops(const graph& g, const vec<char>& late, noted_windows* notes = nullptr)
      : g_(g), late_(late), windows_(g.size(), 0), is_result_(g.size(), 0), read_by_(g.size(), -1), by_windows_(g.size(), 1),
        guarded_(g.size(), 1), r_(shell_of(g)), at_(g.size(), -1) {
    for (int o : g.out)
      if (o >= 0) is_result_[o] = 1;
    for (int k = g.size() - 1; k >= 0; --k) see_operands(k);
    for (int k = 0; k < g.size(); ++k) {
      const bool window = is_window(g, k);
      const int first = r_.size();
      if (window && !by_windows_[k]) at_[k] = again(k);
      if (notes && window && !by_windows_[k]) note(*notes, k, first);
      if (at_[k] >= 0) continue;
      at_[k] = r_.append_renumbered(g, k, at_.data());
      if (window && !by_windows_[k]) state_of(origin(k)).is_stored = true;
      else if (!only_loops_read(k)) state_of(at_[k]).is_stored = true;
    }
    r_.out = outputs_at(g, at_);
  }
  constexpr graph take() { return static_cast<graph&&>(r_); }
  /// Marks the equations whose windows have been computed again though a later loop reads them from memory. A loop is later if it reads the
  /// result of a loop before it by a window, by a broadcast or from a reduction. False: there are none.
  EBB_COLD constexpr bool find_late(vec<char>& late) const {
    const live_part part = live_part_of(r_, vec<char>(r_.out.size(), 1));
    vec<int> level(r_.size(), 0), last(r_.size(), 0);  // last: of the loops that read it
    for (int k = 0; k < r_.size(); ++k) {
      const bool loop = r_.op(k).what == kind::elementwise;
      for (int x : r_.operands(k)) {
        const kind what = r_.op(x).what;
        const bool in_register = what == kind::elementwise && (loop || r_.op(k).what == kind::reduce);
        const bool in_memory = what == kind::input || what == kind::literal || what == kind::move || what == kind::reshape;
        const bool is_view = what == kind::broadcast;
        level[k] = std::max(level[k], level[x] + !(in_register || in_memory || is_view));
      }
      if (!loop || !part.is_live[k]) continue;
      for (int x : r_.operands(k)) last[x] = std::max(last[x], level[k]);
    }
    bool some = false;
    for (int k = 0; k < g_.size(); ++k) {
      if (!is_window(g_, k) || by_windows_[k]) continue;
      int x = k;
      while (is_window(g_, x)) x = g_.operand(x, 0);
      const int y = at_[x];
      if (late[x] || g_.op(x).what != kind::elementwise || state_is_stored(y) || last[y] <= level[y]) continue;
      late[x] = some = true;
    }
    return some;
  }
  /// Whether a graph has a window of a value that a loop computes.
  static constexpr bool may_pay(const graph& g) {
    for (int k = 0; k < g.size(); ++k)
      if (is_window(g, k) && g.op(g.operand(k, 0)).what == kind::elementwise) return true;
    return false;
  }

 private:
  static constexpr bool is_window(const graph& g, int k) {
    const equation& e = g.eq.data()[k];
    if (e.op->what != kind::move || !is_op<op::slice, op::place>(*e.op)) return false;
    const stride s = stride::unpacked(e.attr[0], e.attr[1]);
    const int part = is_op<op::place>(*e.op) ? g.operand(k, 0) : k;
    return s.step == 1 && g.shapes.data()[g.eq.data()[part].shape].e[s.axis] != 1;
  }
  static constexpr bool is_cheap(const op_info& op) {
    return is_op<op::add, op::sub, op::mul, op::neg, op::square, op::abs, op::where, op::maximum, op::minimum, op::less, op::less_equal,
              op::greater, op::greater_equal, op::equal, op::not_equal>(op);
  }

  /// All readers of k have been seen.
  constexpr void see_operands(int k) {
    const equation& e = g_.eq[k];
    const bool window = is_window(g_, k), loops = e.op->what == kind::elementwise || e.op->what == kind::reduce;
    for (int j = 0; j < e.count; ++j) {
      const int x = g_.operand(k, j);
      if (window) ++windows_[x];
      const bool by_loop = window ? only_loops_read(k) : loops && (e.op->what == kind::reduce || g_.eq[x].shape == e.shape);
      if (!by_loop) read_by_[x] = (window || e.op->what == kind::reshape) && read_by_[k] >= 0 ? read_by_[k] : k;
      by_windows_[x] = by_windows_[x] && window;
      guarded_[x] = guarded_[x] && j == 1 && is_op<op::where>(*e.op) && is_inside_of(g_.operand(k, 0), x);
    }
  }
  /// Whether m is true where the place p has its operand, and false around it.
  constexpr bool is_inside_of(int m, int p) const {
    const equation &a = g_.eq[m], &b = g_.eq[p];
    if (!is_op<op::place>(*a.op) || !is_op<op::place>(*b.op)) return false;
    if (a.attr[0] != b.attr[0] || a.attr[1] != b.attr[1] || a.shape != b.shape) return false;
    const equation& all = g_.eq[g_.operand(m, 0)];
    return all.op->what == kind::literal && all.attr[0] == 1 && all.shape == g_.eq[g_.operand(p, 0)].shape;
  }
  constexpr bool only_loops_read(int k) const { return read_by_[k] < 0 && !is_result_[k] && !late_[k]; }

  /// The equation of the new graph of which the windows from k on show elements.
  constexpr int origin(int k) const {
    while (is_window(g_, k)) k = g_.operand(k, 0);
    return at_[k];
  }

  /// The window k in the new graph, computed from windows of the operands of its operand; -1: that does not pay. A window that only windows
  /// read is computed again for one of them, or not at all.
  EBB_COLD constexpr int again(int k) {
    const int of = g_.operand(k, 0);
    why_ = window_reason::none;
    if (!only_loops_read(k)) return is_read(k);
    if (!only_loops_read(of)) return is_read(of);
    const int x = is_window(g_, of) ? again(of) : at_[of];
    if (x < 0 || r_.op(x).what != kind::elementwise || state_of(x).is_stored) return -1;
    window_ = stride::unpacked(g_.eq[k].attr[0], g_.eq[k].attr[1]);
    places_ = is_op<op::place>(g_.op(k));
    shape_ = g_.eq[k].shape;
    count_ = 0;
    const bool counted = count(x), pays = counted && count_ * windows_[of] <= most;
    if (counted && !pays) {
      why_ = window_reason::windows;
      of_many_ = windows_[of];
    }
    int y = pays ? moved(x) : -1;
    if (pays && places_ && !state_of(x).is_zero && !guarded_[k]) y = with_zeros(y, r_.eq[x].shape);
    for (int i : touched_) state_of(i) = {.is_stored = state_of(i).is_stored};
    touched_.shrink(0);
    return y;
  }
  constexpr int is_read(int k) {
    by_ = nullptr;
    if (read_by_[k] >= 0) by_ = &g_.op(read_by_[k]);
    why_ = is_result_[k] ? window_reason::result : by_ ? window_reason::reader : window_reason::later;
    return -1;
  }
  /// first: the first equation that has been computed for the window k.
  EBB_COLD constexpr void note(noted_windows& to, int k, int first) {
    const int x = origin(k);
    if (r_.op(x).what != kind::elementwise) return;
    window_note n{.value = x, .shape = r_.eq[x].shape, .op = &r_.op(x), .is_place = is_op<op::place>(g_.op(k))};
    if (at_[k] < 0) {
      if (why_ == window_reason::none && !state_of(x).is_stored) return;
      n.why = why_ == window_reason::none ? window_reason::stored : why_;
      n.by = by_;
      n.operations = count_;
      n.windows = of_many_;
    }
    while (to.note_of.size() < first) to.note_of.push(-1);
    while (at_[k] >= 0 && to.note_of.size() < r_.size()) to.note_of.push(to.notes.size());
    to.notes.push(n);
  }
  /// y inside of a place whose operand has this shape, and zeros around. -1: its dtype has no such rule.
  EBB_COLD constexpr int with_zeros(int y, int inside) {
    const auto selected = [&]<class T>(T zero) {
      const operand<bool> all = place_in(literal_in<bool>(r_, inside, true), window_, shape_);
      return emit_on<op::where>({}, all, operand<T>{&r_, y}, literal_in<T>(r_, shape_, zero)).id;
    };
    if (r_.op(y).result == dtype::f32) return selected(0.0f);
    return r_.op(y).result == dtype::f64 ? selected(0.0) : -1;
  }
  /// Counts the equations that x is computed from. False: x cannot be computed again, or they are too many.
  EBB_COLD constexpr bool count(int x) {
    if (state_of(x).is_counted) return true;
    state_of(x).is_counted = true;
    touched_.push(x);
    const equation& e = r_.eq[x];
    switch (e.op->what) {
      case kind::literal: return true;
      case kind::elementwise:
        if (state_of(x).is_stored) return is_within();
        if (!is_cheap(*e.op)) return is_dear(x);
        for (int j = 0; j < e.count; ++j)
          if (const int o = r_.operand(x, j); r_.eq[o].shape != e.shape) return is_dear(o);
          else if (!count(o)) return false;
        return is_within();
      case kind::broadcast: return repeats_along_window(x) || (slices_operand(x) ? is_within() : is_dear(x));
      case kind::move:
        if (!is_window(r_, x)) return is_dear(x);
        if (r_.op(r_.operand(x, 0)).what == kind::literal) return true;  // loops make it
        [[fallthrough]];
      case kind::input:
      case kind::reduce:
      case kind::contract:
      case kind::gather:
      case kind::result: return is_within();
      default: return is_dear(x);
    }
  }
  constexpr bool is_within() {
    if (++count_ <= most) return true;
    why_ = window_reason::work;
    return false;
  }
  constexpr bool is_dear(int x) {
    why_ = window_reason::dear;
    by_ = &r_.op(x);
    return false;
  }
  constexpr bool repeats_along_window(int x) const {
    const equation& e = r_.eq[x];
    return !e.op->names_places && (e.attr[0] >> window_.axis & 1) != 0;
  }
  /// Whether the window of a broadcast is one of its operand, along the first axis: a slice there is no copy.
  constexpr bool slices_operand(int x) const {
    const equation& e = r_.eq[x];
    const std::int64_t before = (std::int64_t{1} << window_.axis) - 1;
    return !places_ && !e.op->names_places && (e.attr[0] & before) == before;
  }
  constexpr int slice_of_operand(int x) {
    const int o = r_.operand(x, 0);
    shape s = r_.shape_of(o);
    s.e[0] = r_.shapes[shape_].e[window_.axis];
    return r_.eq[x].op->kit->broadcast(r_, r_.op(o).kit->slice(r_, o, 0, window_.start, r_.intern(s)), shape_, r_.eq[x].attr[0]);
  }
  /// The window of x, for a place with anything around it where `is_zero` does not hold.
  EBB_COLD constexpr int moved(int x) {
    if (state_of(x).moved >= 0) return state_of(x).moved;
    const equation e = r_.eq[x];
    int y = 0;
    bool zero = false;
    if (e.op->what == kind::elementwise && !state_of(x).is_stored) {
      vec<int> in;
      for (int j = 0; j < e.count; ++j) in.push(moved(r_.operand(x, j)));
      equation same = e;
      same.shape = shape_;
      y = r_.add(same, range_of(in));
      zero = is_zero_around(x);
    } else if (e.op->what == kind::literal) {
      y = e.op->kit->constant(r_, shape_, static_cast<cell>(e.attr[0]));
      zero = e.attr[0] == 0;
    } else if (e.op->what == kind::broadcast && repeats_along_window(x)) {
      y = e.op->kit->broadcast(r_, r_.operand(x, 0), shape_, e.attr[0]);
    } else if (e.op->what == kind::broadcast) {
      y = slice_of_operand(x);
    } else {
      y = (places_ ? e.op->kit->place : e.op->kit->slice)(r_, x, window_.axis, window_.start, shape_);
      zero = true;
    }
    state_of(x).is_zero = zero;
    return state_of(x).moved = y;
  }
  constexpr bool is_zero_around(int x) {
    const op_info& op = r_.op(x);
    const auto zero = [&](int j) { return state_of(r_.operand(x, j)).is_zero; };
    if (is_op<op::where>(op)) return zero(2) && (zero(0) || zero(1));
    return is_op<op::add, op::sub, op::mul>(op) && zero(0) && zero(1);
  }

  /// An equation of the new graph: whether it is in memory. While a window is computed again: the number of the same window of this
  /// equation, whether that is +0 around its operand, and whether the equation has been counted.
  struct state {
    int moved = -1;
    bool is_zero = false, is_counted = false, is_stored = false;
  };
  constexpr bool state_is_stored(int x) const { return x < states_.size() && states_[x].is_stored; }
  constexpr state& state_of(int x) {
    while (states_.size() <= x) states_.push({});
    return states_[x];
  }

  const graph& g_;
  const vec<char>& late_;
  vec<int> windows_;                // of each equation: how many windows read it
  vec<char> is_result_;
  vec<int> read_by_;                // an equation that reads it and is no loop, nor a window that loops read; -1: none
  vec<char> by_windows_, guarded_;  // whether windows alone read it; whether its readers select it where a place has its operand
  graph r_;
  vec<int> at_;  // the number of each equation in the new graph
  vec<state> states_;
  vec<int> touched_;  // the equations whose state is that of the present window
  stride window_;     // the window that is computed again, whether it is a place, its shape, and what has been counted for it
  bool places_ = false;
  int shape_ = 0, count_ = 0;
  window_reason why_ = window_reason::none;  // it is not computed again; with the op and the number of windows that a note names
  const op_info* by_ = nullptr;
  int of_many_ = 0;
};

}  // namespace detail

/// g with windows of cheap values computed where they are read: see [note: computed again].
constexpr graph windows_first(graph g) {
  if (!detail::windows_of_loops::may_pay(g)) return g;
  vec<char> late(g.size(), 0);
  for (int run = 1;; ++run) {
    detail::windows_of_loops all(g, late);
    if (run == detail::windows_of_loops::most_runs || !all.find_late(late)) return prune(all.take());
  }
}

/// The same with a note of each decision.
EBB_COLD constexpr noted_windows windows_noted(const graph& g) {
  noted_windows all, r;
  if (!detail::windows_of_loops::may_pay(g)) {
    r.g = g;
    return r;
  }
  vec<char> late(g.size(), 0);
  for (int run = 1; run < detail::windows_of_loops::most_runs; ++run)
    if (!detail::windows_of_loops(g, late).find_late(late)) break;
  all.g = detail::windows_of_loops(g, late, &all).take();
  while (all.note_of.size() < all.g.size()) all.note_of.push(-1);
  r.g = prune(all.g);
  r.notes = all.notes;
  const detail::live_part part = detail::live_part_of(all.g, vec<char>(all.g.out.size(), 1));
  int at = 0;
  for (int k = 0; k < all.g.size(); ++k) {
    if (!part.is_live[k] && all.g.op(k).what != kind::input) continue;
    for (window_note& n : r.notes)
      if (n.value == k) n.at = at;
    r.note_of.push(all.note_of[k]);
    ++at;
  }
  return r;
}

}  // namespace ebb::inline EBB_ABI
