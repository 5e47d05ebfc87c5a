// ebb/plan/rows.hpp — finds the steps of a program that run on a block of rows at a time.
// SPDX-License-Identifier: BSL-1.0
//
// [note: blocks of rows]
// A program that computes each row by itself, such as a map over n points, has temporaries of n rows, which are written to memory and read
// again. So the steps that compute rows run on blocks of rows, so short that the temporaries stay in the second-level cache: the memory of
// a call does not depend on n. In a block, the value of the symbol n is the block's number of rows, and arguments and results begin at the
// block's first row. Steps run in turns, one after the other:
//   odd turns    steps that keep rows apart: no product, move or gather across them. Also steps that reduce rows
//                to an array whose elements are chains, such as the sum of [n, k] over n, or a scatter: the chains continue from block to
//                block.
//   even turns   steps that read no rows, that read such a sum, or that reduce rows in another way: all of their rows must be in memory
// The steps of an odd turn are a run of blocks: the first turn if it pays, and later ones that pay and have a product for each row, since
// the operands of products are large. The gradient of a mixture of Gaussians has two: its forward and its backward.
// Each row is computed as without blocks, and each chain adds in the same order, so the bits are the same.
// The program has a row symbol if
//   arguments  have it as their first extent or not at all; so do results, and other arrays that are written in blocks and live longer
//   shapes     have it once, and no other extent is computed from it; nothing is an index along it
//   it pays    temporaries that live within a block are at least half as large as those that the run writes and that live longer, and
//              twice as large if the run has no product
#pragma once

#include "../graph/box.hpp"
#include "../op/move.hpp"
#include "../tensor/product_order.hpp"
#include "repeats.hpp"

#include <bit>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The temporaries of a block, and its rows of arguments and results, take half of a usual second-level cache.
inline constexpr std::size_t block_bytes = 256 * 1024;

/// The most rows of a block, for so many rows with so many bytes of temporaries, arguments and results each. Components lie that far
/// apart: at a multiple of 256 elements they would share a few sets of the first-level cache.
/// A row of more than an eighth of them is a wide array: lanes run along it, and a block of one row is long enough.
constexpr std::size_t height_of_block(std::size_t rows, std::size_t bytes) {
  const std::size_t most = block_bytes / (bytes + 1), eighths = most / 8 * 8;
  if (most < 8) return most > 1 ? most : 1;
  if (rows <= 64) return 64;
  if (most >= 64) return most / 64 * 64 - (most / 64 % 4 == 0 ? 64 : 0);
  return eighths > 8 ? eighths : 8;
}
/// Whether the address of a buffer advances from block to block.
constexpr bool advances(const plan_buffer& b) {
  return b.is != plan_buffer::role::part &&
         (b.rows == row_use::beyond || b.rows == row_use::result || (b.rows == row_use::within && b.is == plan_buffer::role::result));
}

class row_planner {
 public:
  constexpr row_planner(const graph& g, plan& p) : g_(g), p_(p) {}

  /// Orders the steps and fills in what the plan says about blocks, if the program has a row symbol. `operand(k)` is the operand from which
  /// k is read where k itself is not in memory, or -1.
  EBB_COLD constexpr void run(auto&& operand) {
    if (!p_.bands.empty()) return;
    for (int k = 0; k < g_.size(); ++k) instead_.push(operand(k));
    for (int o : g_.out)
      if (try_symbol(g_.shape_of(o))) return;
    for (int k = 0; k < g_.size(); ++k)
      if (g_.op(k).what == kind::input && try_symbol(g_.shape_of(k))) return;
  }

 private:
  enum class way { apart, chained, across, elsewhere };  // what an equation does with rows; elsewhere: it has none

  constexpr bool try_symbol(const shape& s) {
    const int e = s.rank > 0 ? g_.syms.find(s.e[0]) : 0;
    if (e >= 0) return false;
    for (int tried : tried_)
      if (tried == e) return false;
    tried_.push(e);
    rows_ = e;
    axis_.shrink(0);
    if (!numbers_axes() || !find_turns()) return false;
    runs_.shrink(0);
    for (int t = 1; t <= last_turn_ && runs_.size() < most_runs; t += 2)
      if (t == 1 || multiplies_in(t)) runs_.push(t);
    repeatable_ = vec<int>(p_.buffers.size(), -1);
    if (runs_.size() > 1) repeatable_ = steps_to_repeat(g_, p_);
    for (int dropped = 0; dropped >= 0;) {
      if (runs_.empty()) return false;
      dropped = place_buffers();
      if (dropped >= 0) drop_run(dropped);
    }
    finish();
    p_.row_symbol = rows_;
    return true;
  }
  constexpr void drop_run(int i) {
    for (; i + 1 < runs_.size(); ++i) runs_[i] = runs_[i + 1];
    runs_.pop();
  }

  /// The axis of rows of each shape, or -1. False if a shape has two, or an extent that is computed from them.
  constexpr bool numbers_axes() {
    for (const shape& s : g_.shapes) {
      int at = -1;
      for (int a = 0; a < s.rank; ++a) {
        const int e = g_.syms.find(s.e[a]);
        if (e == rows_ && at < 0) at = a;
        else if (depends(e)) return false;
      }
      axis_.push(at);
    }
    return true;
  }
  constexpr bool depends(int e) const {
    if (e >= 0) return false;
    e = g_.syms.find(e);
    if (e == rows_) return true;
    if (e >= 0) return false;
    const extent_origin& o = g_.syms.origin(~e);
    return o.rule != extent_rule::argument && (depends(o.a) || (o.b < 0 && depends(o.b)));
  }
  constexpr int axis(int k) const { return axis_.data()[g_.eq.data()[k].shape]; }
  constexpr std::int64_t volume_before(int k, int axis) const {
    std::int64_t n = 1;
    for (int a = 0; a < axis; ++a) n *= g_.syms.find(g_.shape_of(k).e[a]);
    return n;
  }
  /// The elements of a row; extents that only the call knows count as 64.
  constexpr std::int64_t row_volume(int shape) const {
    std::int64_t n = 1;
    for (int a = 0; a < g_.shapes[shape].rank; ++a)
      if (const int e = g_.syms.find(g_.shapes[shape].e[a]); a != axis_[shape]) n *= e < 0 ? 64 : e;
    return n;
  }

  EBB_COLD constexpr way way_of(int k) const {
    const equation& e = g_.eq.data()[k];
    const int own = axis(k), x = e.count > 0 ? g_.operand(k, 0) : -1;
    bool rows_in = false;
    for (int i : g_.operands(k)) rows_in = rows_in || axis(i) >= 0;
    if (own < 0) {
      if (!rows_in) return way::elsewhere;
      const bool chains = (e.op->what == kind::reduce && e.attr[1] < g_.shape_of(x).rank) || is_scatter_of_rows(k);
      return chains ? way::chained : way::across;
    }
    const int last = g_.shape_of(k).rank - 1;
    const auto apart_if = [](bool kept) { return kept ? way::apart : way::across; };
    switch (e.op->what) {
      case kind::input: return apart_if(own == 0);
      case kind::literal: case kind::elementwise: case kind::broadcast: return way::apart;
      case kind::index: return apart_if(e.attr[0] != own);
      case kind::reduce: return way::apart;  // the result has the rows
      case kind::scan: return apart_if(e.attr[0] != own);
      case kind::contract: return apart_if(own < last - 1 || is_row_by_row(k));
      case kind::solve: case kind::triangle: case kind::factor: return apart_if(own < last - 1);
      case kind::rows: return apart_if(own < last);
      case kind::reshape:
        return apart_if(axis(x) >= 0 && volume_before(x, axis(x)) == volume_before(k, own) && volume_before(k, own) > 0);
      case kind::move: return apart_if(e.op->family == family_of<op::permute> || (e.attr[0] & 15) != own);
      case kind::gather: return apart_if(own < e.attr[0] || (axis(x) < 0 && axis(g_.operand(k, 1)) >= 0));
      case kind::scatter: return apart_if(own < e.attr[0]);
      case kind::own: return apart_if(e.op->needs_elements || (is_box(*e.op) && keeps_boxes(k, own)));  // the axis of places is another one
      default: return way::across;
    }
  }

  /// Whether k adds the rows of a block, one after the other, to an array that all blocks share.
  constexpr bool is_scatter_of_rows(int k) const {
    if (g_.op(k).what != kind::scatter || axis(g_.operand(k, 1)) != 0 || g_.eq[k].attr[0] != 0) return false;
    for (int j = 2; j < g_.eq[k].count; ++j)
      if (axis(g_.operand(k, j)) >= 0) return false;
    const int added = g_.operand(k, 0);
    return axis(added) == (g_.eq[k].attr[1] ? g_.shape_of(added).rank - g_.shape_of(g_.operand(k, 1)).rank : 0);
  }

  /// Whether k is the product of each row with a matrix that all rows share, in lanes: that packs no operand, so blocks of rows take as
  /// long as all rows at once. Other products pack the matrix once for all rows.
  constexpr bool is_row_by_row(int k) const {
    const bool by_rows = (g_.eq[k].attr[0] & (in_lanes | left_transposed)) == in_lanes;
    return by_rows && g_.shape_of(k).rank == 2 && axis(k) == 0 && axis(g_.operand(k, 1)) < 0;
  }

  /// Whether the axis `own` of k, an equation about boxes, is a batch, or one along which all boxes are read from one array.
  constexpr bool keeps_boxes(int k, int own) const {
    const box_form f = box_form::of(g_.eq[k].attr);
    const bool one_array = f.what == box_form::reads && axis(g_.operand(k, 0)) < 0;
    return own < f.own || (one_array && own < g_.shape_of(g_.operand(k, 1)).rank);
  }

  /// The equation whose memory is read to get k; -1: none. A literal or an index is computed where it is read, but a view shows memory.
  constexpr int source(int k) const {
    const bool shows = instead_.data()[k] >= 0;
    while (instead_.data()[k] >= 0) k = instead_.data()[k];
    return p_.group_of[k] >= 0 && (shows || g_.eq[k].count > 0) ? k : -1;
  }
  /// Whether k is some of the rows of its source, without an axis of rows: it is read when all are in memory.
  constexpr bool takes_some_rows(int k) const {
    for (; instead_.data()[k] >= 0; k = instead_.data()[k])
      if (is_slice_of_rows(k)) return true;
    return false;
  }
  constexpr bool is_slice_of_rows(int k) const { return g_.op(k).what == kind::move && axis(k) < 0 && axis(g_.operand(k, 0)) >= 0; }
  /// The first turn in which a step can read k. A step on all rows can do so in an even turn only, see find_turns.
  constexpr int turn_of(int k) const {
    const int from = source(k), t = from < 0 ? 0 : turn_[p_.group_of[from]];
    return t % 2 == 1 && (axis(from) < 0 || takes_some_rows(k)) ? t + 1 : t;
  }

  /// Whether steps of a turn multiply matrices, one for each row: their operands are large.
  constexpr bool multiplies_in(int turn) const {
    for (int s = 0; s < turn_.size(); ++s)
      if (const plan_step& x = p_.steps[s]; turn_[s] == turn && x.nest < 0 && (x.what == kind::contract || x.what == kind::triangle))
        return true;
    return false;
  }

  /// The turn of each step. Steps that keep rows apart run in odd turns, the others in even ones: those of one odd turn may run on blocks.
  /// False if rows cannot be kept apart.
  EBB_COLD constexpr bool find_turns() {
    const int steps = p_.steps.size();
    turn_ = vec<int>(steps, 0);
    last_turn_ = 0;
    vec<int> first(steps, -1), next(g_.size(), -1);
    for (int k = g_.size(); k-- > 0;) {
      const int s = p_.group_of[k];
      // Views, and what is computed where it is read: an index even if it is also stored.
      if ((s < 0 || g_.op(k).what == kind::index) && way_of(k) == way::across && !is_slice_of_rows(k)) return false;
      if (s < 0) continue;
      next[k] = first[s];
      first[s] = k;
    }
    for (int s = 0; s < steps; ++s) {
      bool apart = false, across = false;
      int t = 0;
      for (int k = first[s]; k >= 0; k = next[k]) {
        const way w = way_of(k);
        apart = apart || w == way::apart || w == way::chained;
        across = across || w == way::across;
        for (int i : g_.operands(k))
          if (const int from = source(i); from >= 0 && p_.group_of[from] != s && turn_of(i) > t) t = turn_of(i);
      }
      if (across && t == 0) t = 2;
      turn_[s] = t + ((t % 2 == 1) != (apart && !across));
      if (turn_[s] > last_turn_) last_turn_ = turn_[s];
    }
    return last_turn_ > 0;
  }

  /// The steps of run i are phase 2i + 1; steps before it, and after the run before that, are phase 2i.
  constexpr int phase_of(int s) const {
    int i = 0;
    while (i < runs_.size() && runs_[i] < turn_[s]) ++i;
    return i < runs_.size() && runs_[i] == turn_[s] ? 2 * i + 1 : 2 * i;
  }
  static constexpr unsigned bit(int phase) { return 1u << phase; }
  static constexpr unsigned all_runs = 0xaaaaaaaau;

  /// Decides how blocks use each buffer. Returns a run that is impossible or does not pay, or -1.
  EBB_COLD constexpr int place_buffers() {
    vec<unsigned> used(p_.buffers.size(), 0);  // the phases that read or write each buffer
    written_ = vec<int>(p_.buffers.size(), -1);
    for (int s = 0; s < p_.steps.size(); ++s)
      each_buffer(p_, p_.steps[s], [&](int b) { used[owner_of(p_.buffers, b)] |= bit(phase_of(s)); });
    each_written(p_, [&](int s, int b) {
      for (const int phase = phase_of(s); b >= 0; b = p_.buffers[b].whole)
        if (written_[b] < 0 || phase < written_[b]) written_[b] = phase;
    });
    for (const plan_copy& c : p_.copies) used[owner_of(p_.buffers, c.buffer)] |= bit(2 * runs_.size());
    vec<std::int64_t> within(runs_.size(), 0), beyond(runs_.size(), 0);
    use_ = vec<row_use>(p_.buffers.size(), row_use::none);
    repeats_.shrink(0);
    for (int b = 0; b < p_.buffers.size(); ++b) {
      const plan_buffer& x = p_.buffers[b];
      if (axis_[x.shape] < 0 || x.is == plan_buffer::role::part) continue;
      const bool temporary = x.is == plan_buffer::role::temporary;
      const unsigned in_runs = used[b] & all_runs;
      if (x.is != plan_buffer::role::argument && in_runs == 0) continue;
      const int own = temporary && written_[b] % 2 == 1 ? written_[b] : -1;  // the phase of the run that writes it
      if (own >= 0 && (used[b] == bit(own) || (repeatable_[b] >= 0 && used[b] == in_runs))) {
        use_[b] = row_use::within;
        for (int i = 0; i < runs_.size(); ++i) {
          if (!(in_runs & bit(2 * i + 1))) continue;
          within[i] += row_volume(x.shape);
          if (2 * i + 1 != own) repeats_.push({repeatable_[b], b, i});
        }
        continue;
      }
      if (axis_[x.shape] != 0) return std::countr_zero(in_runs | bit(2 * runs_.size() - 1)) / 2;
      use_[b] = x.is == plan_buffer::role::result ? row_use::result : row_use::beyond;
      if (own >= 0) beyond[own / 2] += row_volume(x.shape);
    }
    for (int i = 0; i < runs_.size(); ++i)
      if (within[i] == 0 || 2 * within[i] < (multiplies_in(runs_[i]) ? 1 : 4) * beyond[i]) return i;
    return -1;
  }

  constexpr void finish() {
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (plan_buffer& x = p_.buffers[b]; x.is != plan_buffer::role::part || axis_[x.shape] >= 0) x.rows = use_[owner_of(p_.buffers, b)];
    for (nest_reduce& r : p_.reduces) r.continues = written_[r.buffer] % 2 == 1 && axis_[p_.buffers[r.buffer].shape] < 0;
    vec<vec<plan_step>> repeated(runs_.size(), vec<plan_step>{});
    for (const repeat& x : repeats_)
      repeated[x.run].push(repeat_step(p_, x.step, x.buffer, [&](int s) { return phase_of(s) == 2 * x.run + 1; }));
    order_steps(repeated);
  }
  /// The phases in their order. A run begins with the steps that it repeats.
  constexpr void order_steps(vec<vec<plan_step>>& repeated) {
    vec<int> number(p_.steps.size(), 0);
    vec<plan_step> steps;
    for (int phase = 0; phase <= 2 * runs_.size(); ++phase) {
      const int first = steps.size();
      if (phase % 2 == 1)
        for (plan_step& s : repeated[phase / 2]) {
          s.repeats = number[s.repeats];
          steps.push(s);
        }
      for (int s = 0; s < number.size(); ++s)
        if (phase_of(s) == phase) number[s] = steps.push(p_.steps[s]);
      if (phase % 2 == 1) p_.blocks.push({first, steps.size() - first});
    }
    p_.steps = static_cast<vec<plan_step>&&>(steps);
    for (int& s : p_.group_of)
      if (s >= 0) s = number[s];
  }

  /// A step that a later run repeats, since it reads the step's buffer.
  struct repeat {
    int step, buffer, run;
  };
  static constexpr int most_runs = 8;

  const graph& g_;
  plan& p_;
  int rows_ = 0;
  vec<int> instead_, axis_, tried_;  // by equation; by shape; extents
  vec<int> turn_;                    // by step
  int last_turn_ = 0;
  vec<int> runs_;                    // the turns that run on blocks
  vec<row_use> use_;                 // by buffer
  vec<int> written_, repeatable_;    // by buffer: the first phase that writes it, and the step that a later run may repeat; or -1
  vec<repeat> repeats_;
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
