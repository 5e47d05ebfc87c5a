// ebb/plan/later.hpp — values that only a later loop reads are computed there.
// SPDX-License-Identifier: BSL-1.0
//
// [note: computed later]
// The first loop that could compute a value stores it if only a later loop reads it, see [note: fused by level]. The later loop computes it
// instead if its operands are in memory anyway, or are computed later too. A loop that waits for a sum then computes all that only it
// reads. That pays if it saves more than the additional loads of the later loop cost: one store and one load for each value that was
// stored, against one load for each array that the later loop did not read before.
#pragma once

#include "grouping.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

class later_equations {
 public:
  EBB_COLD_CTOR constexpr later_equations(const graph& g, const grouping& r)
      : g_(g), r_(r), reader_(g.size(), unread), later_(g.size(), 0), stored_(g.size(), 0) {
    for (int o : g.out)
      if (o >= 0) reader_[o] = several;
    for (int k = g.size() - 1; k >= 0; --k) find(k);
  }
  /// Of each equation the level of its readers if it is computed there, else -1; empty if there is none.
  constexpr vec<int> levels() {
    vec<int> r;
    if (!any_ || !settle()) return r;
    keep_what_pays();
    for (int k = 0; k < g_.size(); ++k) {
      if (!later_[k]) continue;
      if (r.empty()) r = vec<int>(g_.size(), -1);
      r[k] = r_.groups[reader_[k]].level;
    }
    return r;
  }

 private:
  static constexpr int unread = -1, several = -2;

  /// The group that computes k.
  constexpr int group_of(int k) const { return later_.data()[k] ? reader_.data()[k] : r_.of.data()[k]; }
  /// Whether k reads its operand i element by element.
  constexpr bool reads_elements(int k, int i) const {
    const kind what = g_.op(k).what;
    return what == kind::reduce || (what == kind::elementwise && g_.eq.data()[k].shape == g_.eq.data()[i].shape);
  }
  /// All readers of k have been seen.
  constexpr void find(int k) {
    const int by = reader_[k], of = r_.of[k];
    if (by >= 0 && of >= 0 && by != of && g_.op(k).what == kind::elementwise && is_found_again(by)) {
      const group &from = r_.groups[of], &to = r_.groups[by];
      later_[k] = from.shape == to.shape && from.level < to.level && !is_number(g_.shapes[to.shape]);
      any_ = any_ || later_[k];
    }
    const int reader = group_of(k);
    for (int i : g_.operands(k)) {
      int& r = reader_[i];
      if (reader < 0 || !reads_elements(k, i)) r = several;
      else r = r == unread || r == reader ? reader : several;
    }
  }
  /// Whether an equation at the level and over the shape of the group `by` joins it.
  constexpr bool is_found_again(int by) const {
    const group& x = r_.groups[by];
    if (x.whole >= 0) return false;
    for (int f = 0; f < by; ++f)
      if (r_.groups[f].whole < 0 && r_.groups[f].level == x.level && r_.groups[f].shape == x.shape) return false;
    return true;
  }

  /// Takes back each value that would make others be stored. False: that does not come to an end soon.
  EBB_COLD constexpr bool settle() {
    for (int round = 0; round < 8; ++round) {
      find_stored();
      bool same = true;
      for (int k = g_.size() - 1; k >= 0; --k) {
        if (!later_[k] || stays_later(k)) continue;
        later_[k] = 0, same = false;
        take_back_operands(k);
      }
      if (same) return true;
    }
    return false;
  }
  /// The loop that computes k reads its operands. An equation comes after its operands, so later ones need no second look.
  constexpr void take_back_operands(int k) {
    for (int i : g_.operands(k))
      if (later_[i] && reader_[i] != group_of(k)) later_[i] = 0, take_back_operands(i);
  }
  constexpr bool stays_later(int k) const {
    for (int i : g_.operands(k))
      if (g_.op(i).what == kind::elementwise && group_of(i) != reader_[k] && !stored_[i]) return false;
    return true;
  }
  /// Finds the values that are in memory because of equations that stay where they are.
  constexpr void find_stored() {
    for (int k = 0; k < g_.size(); ++k) stored_[k] = reader_[k] == several && r_.stored[k];
    for (int k = 0; k < g_.size(); ++k) {
      if (later_[k]) continue;
      for (int i : g_.operands(k))
        if (reader_[i] >= 0 && group_of(i) != r_.of[k]) stored_[i] = 1;
    }
  }
  /// Takes back the values of each group that loads more because of them than they save.
  EBB_COLD constexpr void keep_what_pays() {
    vec<vec<int>> of(r_.groups.size(), vec<int>{});  // the values that each group computes for earlier ones
    for (int k = 0; k < g_.size(); ++k)
      if (later_[k]) of[reader_[k]].push(k);
    vec<int> seen(g_.size(), -1);  // of each equation: the last group that loads it or saves it
    for (int f = 0; f < of.size(); ++f) {
      if (of[f].empty()) continue;
      int gain = 0;
      for (int k : r_.groups[f].members)
        for (int i : g_.operands(k)) {
          if (seen[i] != f && later_[i]) gain += 2;
          seen[i] = f;
        }
      for (int k : of[f])
        for (int i : g_.operands(k)) {
          if (seen[i] != f && group_of(i) != f && g_.op(i).what != kind::literal) --gain;
          seen[i] = f;
        }
      if (gain < 0)
        for (int k : of[f]) later_[k] = 0;
    }
  }

  const graph& g_;
  const grouping& r_;
  vec<int> reader_;  // of each equation: the group that reads it, or several
  vec<char> later_;  // whether it is computed by the group that reads it
  vec<char> stored_;
  bool any_ = false;
};

/// Of each equation the least level at which it is computed, see [note: computed later]; empty if the first possible ones are the best.
EBB_COLD constexpr vec<int> levels_of_readers(const graph& g, const grouping& r) { return later_equations(g, r).levels(); }

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
