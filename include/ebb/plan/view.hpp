// ebb/plan/view.hpp — arrays that lie in other arrays, and so need no copy.
// SPDX-License-Identifier: BSL-1.0
//
// [note: parts of arrays]
// Rows that follow each other along the first axis of an array (or along an axis after axes of extent 1) are adjacent in memory. So
//   slice    of step 1 along that axis is no step: its readers begin at another address. A select is a slice of one row.
//   concat   along that axis has its pieces written where they belong: a stack and a pad too. It is a step that does nothing.
//   place    likewise: its step only writes the zeros around.
// In a plan such an array is a buffer of the role `part`: the buffer in which it lies, and where. An address is found when a call begins.
// A slice of step 1 along another axis is no step either if only loops over its own shape read it: they step over the rows between. A loop
// writes pieces along another axis in their place, too. See [note: rows apart].
// Other arrays are copied, for these reasons; `ebb::print<ebb::stages::planned, ...>` names the reason at each step:
//   an axis        slice, concat and place along an axis after one that is not 1: rows are not adjacent, and no loop steps over them
//   a step         slices that leave out or reverse elements, if no loop steps over them likewise; each place with a step
//   a permutation  elements in another order. One that only moves axes of extent 1 is no copy: simplify makes it a reshape
//   a result       a slice that is a result, because results do not share memory; so is a piece that is a result, too
//   an argument    a piece that is an argument, or a part of another array: it has its memory already
//   twice          a piece that is joined more than once, or to two arrays: the first one has it
//   an offset      a piece between two pieces with dyn extents
//   a loop         a piece that ebb::scan and the like give
//   rows by index  gather and scatter: their addresses are known only when indices have been read
//
// [note: rows apart]
// A loop that reads such a slice begins a loop of its own at the slice's axis, and lanes run along the axes from there on. So there must be
// at least `least_apart` elements, where extents that only the call knows count as 64; and no reduction over the last axes may begin before
// that axis, since its lanes would go on from row to row. A select, a slice of one row without the slice's axis, is read likewise.
// A slice with a step, backwards too, is read in place if at least 16 elements follow its axis and no reduction begins at this axis or
// before it. Along the last axis lanes are loaded backwards: it needs 16 elements itself, and a reduction may begin at it. Lanes with other
// steps would be loaded one by one, which takes longer than a copy.
// A loop that computes a piece writes it likewise, with or without the axis of a stack, if only loops over its own shape read it besides.
#pragma once

#include "step.hpp"

#include "../graph/graph.hpp"
#include "../op/move.hpp"

namespace ebb::inline EBB_ABI {

/// The array in which another one lies.
struct array_part {
  int whole = -1;  // an equation; -1: it has memory of its own
  part_place at;
};

namespace detail {

/// Whether rows of s along `axis` are adjacent.
constexpr bool has_adjacent_rows(const graph& g, const shape& s, int axis) {
  for (int a = 0; a < axis; ++a)
    if (g.syms.find(s.e[a]) != 1) return false;
  return true;
}

/// The elements of a row that a loop may read by itself.
inline constexpr int least_apart = 16;

/// Whether rows of s from `axis` on are long enough for lanes that run along them.
constexpr bool has_long_rows(const graph& g, const shape& s, int axis) {
  std::int64_t n = 1;
  for (int a = axis; a < s.rank; ++a) {
    const int e = g.syms.find(s.e[a]);
    n *= e < 0 ? 64 : e;
  }
  return n >= least_apart;
}

/// Finds the place of `part` in `whole`, for a slice or a place. The reason is none if its elements are adjacent.
constexpr copy_reason find_part(const graph& g, int whole, int part, const std::int64_t* attr, part_place& at) {
  const stride s = stride::unpacked(attr[0], attr[1]);
  const shape& own = g.shape_of(part);
  at.axis = s.axis;
  at.shape = g.eq[part].shape;
  at.whole = g.eq[whole].shape;
  at.step = g.syms.find(own.e[s.axis]) != 1 ? static_cast<int>(s.step) : 1;
  at.apart = at.step != 1 || !has_adjacent_rows(g, g.shape_of(whole), s.axis);
  if (s.start == stride::at_the_end) at.from = part_place::counted::at_end;
  else {
    at.from = s.start < 0 ? part_place::counted::from_end : part_place::counted::from_start;
    at.rows = static_cast<int>(s.start < 0 ? -s.start : s.start);
  }
  return at.step != 1 ? copy_reason::step : at.apart ? copy_reason::axis : copy_reason::none;
}

/// Finds the place of piece j in a concat.
constexpr copy_reason find_piece(const graph& g, int k, int j, part_place& at) {
  const equation& e = g.eq[k];
  at.axis = static_cast<int>(e.attr[0]);
  at.shape = g.eq[g.operand(k, j)].shape;
  at.whole = e.shape;
  at.apart = !has_adjacent_rows(g, g.shape_of(k), at.axis);
  const auto extent = [&](int i) { return g.syms.find(g.shape_of(g.operand(k, i)).e[at.axis]); };
  int before = 0, after = 0;
  for (int i = 0; i < j && before >= 0; ++i) before = extent(i) < 0 ? -1 : before + extent(i);
  for (int i = j; i < e.count && after >= 0; ++i) after = extent(i) < 0 ? -1 : after + extent(i);
  if (before >= 0) at.rows = before;
  else if (after >= 0) {
    at.from = part_place::counted::from_end;
    at.rows = after;
  } else if (j + 1 == e.count) at.from = part_place::counted::at_end;
  else return copy_reason::offset;
  return at.apart ? copy_reason::axis : copy_reason::none;
}

}  // namespace detail

/// The elements of an array of shape `whole` that are before a part of shape `own`.
constexpr std::size_t elements_before(const part_place& at, const shape& whole, const shape& own, const std::size_t* symbol) {
  std::size_t row = 1;
  for (int a = at.axis + 1; a < own.rank; ++a) row *= extent_value(own.e[a], symbol);
  std::size_t rows = static_cast<std::size_t>(at.rows);
  if (at.from == part_place::counted::from_end) {
    const std::size_t all = extent_value(whole.e[at.axis], symbol);
    rows = all > rows ? all - rows : 0;
  }
  if (at.from == part_place::counted::at_end) rows = extent_value(whole.e[at.axis], symbol) - extent_value(own.e[at.axis], symbol);
  return rows * row;
}

}  // namespace ebb::inline EBB_ABI
