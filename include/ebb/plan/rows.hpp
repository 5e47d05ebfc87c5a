// ebb/plan/rows.hpp — whether a program can run on a block of rows at a time.
// SPDX-License-Identifier: BSL-1.0
//
// [note: blocks of rows]
// A program that takes its rows one by one, a map over n points, has temporaries of n rows, which are written to memory and read again.
// Such a program runs on blocks of so many rows that the temporaries stay in the second-level cache: the memory of a call does not depend
// on n. A block is a run of all steps with the block's number of rows as the value of the symbol n, and with arguments and results from
// the block's first row on. So every row is computed as without blocks, and the bits are the same.
// The program has a row symbol if
//   results     have it as their first extent, arguments have it there or not at all
//   shapes      have it once, and no other extent is computed from it
//   equations   keep rows apart: no index along it, no reduction, product, move, gather or scatter across it
//   the rest    whole arrays that are computed have at most 256 elements: each block computes them again
// and if there are temporaries with that extent.
#pragma once

#include "../graph/graph.hpp"
#include "../op/move.hpp"
#include "step.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

class row_finder {
 public:
  constexpr row_finder(const graph& g, const plan& p) : g_(g), p_(p) {}

  /// The symbol, as an extent, or 0.
  EBB_COLD constexpr int find() {
    for (int o : g_.out) {
      const shape& s = g_.shape_of(o);
      const int e = s.rank > 0 ? g_.syms.find(s.e[0]) : 0;
      if (e >= 0 || (rows_ < 0 && e != rows_)) return 0;
      rows_ = e;
    }
    if (rows_ >= 0 || !numbers_axes()) return 0;
    bool any = false;
    for (const plan_place& x : p_.places) any = any || axis_[x.shape] >= 0;
    for (int o : g_.out) any = any && axis(o) == 0;
    for (int k = 0; k < g_.size() && any; ++k) any = keeps_rows(k);
    return any ? rows_ : 0;
  }

 private:
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
  constexpr bool is_small(int k) const {
    std::int64_t n = 1;
    for (int a = 0; a < g_.shape_of(k).rank; ++a) {
      const int e = g_.syms.find(g_.shape_of(k).e[a]);
      if (e < 0 || (n *= e) > 256) return false;
    }
    return true;
  }

  EBB_COLD constexpr bool keeps_rows(int k) const {
    const equation& e = g_.eq.data()[k];
    const int own = axis(k), x = e.count > 0 ? g_.operand(k, 0) : -1;
    bool rows_in = false;
    for (int i : g_.operands(k)) rows_in = rows_in || axis(i) >= 0;
    if (own < 0) return !rows_in && (e.op->what == kind::input || e.op->what == kind::reshape || is_small(k));
    const int last = g_.shape_of(k).rank - 1;
    switch (e.op->what) {
      case kind::input: return own == 0;
      case kind::literal: case kind::elementwise: case kind::broadcast: return true;
      case kind::index: return e.attr[0] != own;
      case kind::reduce: return true;  // the result has the rows
      case kind::scan: return e.attr[0] != own;
      case kind::contract: case kind::solve: case kind::factor: return own < last - 1;
      case kind::rows: return own < last;
      case kind::reshape: return axis(x) >= 0 && volume_before(x, axis(x)) == volume_before(k, own) && volume_before(k, own) > 0;
      case kind::move: return e.op->family == family_of<op::permute> || (e.attr[0] & 15) != own;
      case kind::gather: return own < e.attr[0] || (axis(x) < 0 && axis(g_.operand(k, 1)) >= 0);
      case kind::scatter: return own < e.attr[0];
      default: return false;
    }
  }

  const graph& g_;
  const plan& p_;
  int rows_ = 0;
  vec<int> axis_;  // by shape
};

}  // namespace detail

/// The row symbol of a program, as an extent, or 0: see [note: blocks of rows].
constexpr int find_rows(const graph& g, const plan& p) { return detail::row_finder(g, p).find(); }

}  // namespace ebb::inline EBB_ABI
