// ebb/pass/windows.hpp — loops compute cheap values again at the places where they read them, instead of reading them from memory.
// SPDX-License-Identifier: BSL-1.0
//
// [note: computed again]
// A loop reads a slice or a place of an array where the array lies, see [note: parts of arrays]. An array that a loop computes has to be
// in memory for that, and the reader becomes a second loop. So this pass takes slices and places ahead of cheap operations: the slice of a
// product is a product of slices. The stages of a Runge-Kutta step over neighbours are then one loop. A window is a slice or a place of
// step 1 and more than one row. It is computed again if
//   by loops   it is read only by elementwise equations over its own shape, by reductions, and by windows for which the same holds; a loop
//              computes its operand, which nothing else needs in memory
//   cheap      the operations that are computed again and the arrays that they read are at most `most`, counted for each window that
//              reads the operand. On a Zen 4 limits from 8 to 16 took the same time, and 24 more in the cache. Operations are
//              sums, products, selections and the like. A value that is in memory anyway counts as an array: so a long chain is cut
//              where that is less work.
// A place has +0 around its operand. Some operations give +0 there, as the product of two places does; some readers select other elements
// there, as `pad` with a value does. Else the loop selects the zeros.
// Bits stay the same: each element is computed by the same operations from the same elements.
#pragma once

#include "prune.hpp"

#include "../op/compare.hpp"
#include "../op/extremum.hpp"
#include "../op/move.hpp"
#include "../op/power.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

class windows_of_loops {
 public:
  static constexpr int most = 12;

  EBB_COLD_CTOR constexpr explicit windows_of_loops(const graph& g)
      : g_(g), windows_(g.size(), 0), is_result_(g.size(), 0), by_loops_(g.size(), 1), by_windows_(g.size(), 1), guarded_(g.size(), 1),
        r_(shell_of(g)), at_(g.size(), -1) {
    for (int o : g.out)
      if (o >= 0) is_result_[o] = 1;
    for (int k = g.size() - 1; k >= 0; --k) see_operands(k);
    for (int k = 0; k < g.size(); ++k) {
      const bool window = is_window(g, k);
      if (window && !by_windows_[k]) at_[k] = again(k);
      if (at_[k] >= 0) continue;
      at_[k] = r_.append_renumbered(g, k, at_.data());
      if (window && !by_windows_[k]) state_of(origin(k)).is_stored = true;
      else if (!only_loops_read(k)) state_of(at_[k]).is_stored = true;
    }
    r_.out = outputs_at(g, at_);
  }
  constexpr graph take() { return static_cast<graph&&>(r_); }
  /// Whether a graph has a window of what a loop computes.
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
      const bool by_loop = window ? by_loops_[k] && !is_result_[k] : loops && (e.op->what == kind::reduce || g_.eq[x].shape == e.shape);
      by_loops_[x] = by_loops_[x] && by_loop;
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
  constexpr bool only_loops_read(int k) const { return by_loops_[k] && !is_result_[k]; }

  /// The equation of the new graph of which the windows from k on show elements.
  constexpr int origin(int k) const {
    while (is_window(g_, k)) k = g_.operand(k, 0);
    return at_[k];
  }

  /// The window k in the new graph, computed from windows of what its operand is computed from; -1: that does not pay. A window that only
  /// windows read is computed again for one of them, or not at all.
  EBB_COLD constexpr int again(int k) {
    const int of = g_.operand(k, 0);
    if (!only_loops_read(k) || !only_loops_read(of)) return -1;
    const int x = is_window(g_, of) ? again(of) : at_[of];
    if (x < 0 || r_.op(x).what != kind::elementwise || state_of(x).is_stored) return -1;
    window_ = stride::unpacked(g_.eq[k].attr[0], g_.eq[k].attr[1]);
    places_ = is_op<op::place>(g_.op(k));
    shape_ = g_.eq[k].shape;
    count_ = 0;
    const bool pays = count(x) && count_ * windows_[of] <= most;
    int y = pays ? moved(x) : -1;
    if (pays && places_ && !state_of(x).is_zero && !guarded_[k]) y = with_zeros(y, r_.eq[x].shape);
    for (int i : touched_) state_of(i) = {.is_stored = state_of(i).is_stored};
    touched_.shrink(0);
    return y;
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
  /// Counts what x is computed from. False: it cannot be computed again, or it is too much.
  EBB_COLD constexpr bool count(int x) {
    if (state_of(x).is_counted) return true;
    state_of(x).is_counted = true;
    touched_.push(x);
    const equation& e = r_.eq[x];
    switch (e.op->what) {
      case kind::literal: return true;
      case kind::elementwise:
        if (state_of(x).is_stored) return ++count_ <= most;
        if (!is_cheap(*e.op)) return false;
        for (int j = 0; j < e.count; ++j)
          if (const int o = r_.operand(x, j); r_.eq[o].shape != e.shape || !count(o)) return false;
        return ++count_ <= most;
      case kind::broadcast: return repeats_along_window(x);
      case kind::move:
        if (!is_window(r_, x)) return false;
        [[fallthrough]];
      case kind::input:
      case kind::reduce:
      case kind::contract:
      case kind::gather:
      case kind::result: return ++count_ <= most;
      default: return false;
    }
  }
  constexpr bool repeats_along_window(int x) const {
    const equation& e = r_.eq[x];
    return !e.op->names_places && (e.attr[0] >> window_.axis & 1) != 0;
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
  constexpr state& state_of(int x) {
    while (states_.size() <= x) states_.push({});
    return states_[x];
  }

  const graph& g_;
  vec<int> windows_;                // of each equation: how many windows read it
  vec<char> is_result_, by_loops_;  // whether it is a result; whether loops alone read it, or windows that they read
  vec<char> by_windows_, guarded_;  // whether windows alone read it; whether its readers select it where a place has its operand
  graph r_;
  vec<int> at_;  // the number of each equation in the new graph
  vec<state> states_;
  vec<int> touched_;  // the equations whose state is that of the present window
  stride window_;     // the window that is computed again, whether it is a place, its shape, and what has been counted for it
  bool places_ = false;
  int shape_ = 0, count_ = 0;
};

}  // namespace detail

/// g with windows of cheap values computed where they are read: see [note: computed again].
constexpr graph windows_first(graph g) {
  if (!detail::windows_of_loops::may_pay(g)) return g;
  return prune(detail::windows_of_loops(g).take());
}

}  // namespace ebb::inline EBB_ABI
