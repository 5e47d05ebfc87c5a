// ebb/plan/view.hpp — arrays that lie in other arrays, and so need no copy.
// SPDX-License-Identifier: BSL-1.0
//
// [note: parts of arrays]
// Rows that follow each other along the first axis of an array (or along an axis after axes of extent 1) are adjacent in memory. So
//   slice    of step 1 along that axis is no step: its readers begin at another address. A select is a slice of one row.
//   concat   along that axis has its pieces written where they belong: a stack and a pad too. It is a step that does nothing. Columns that
//            a loop computes are stored side by side, see [note: joined stores]: there is no step.
//   place    likewise: its step only writes the zeros around. Loops may put these around themselves: see [note: zeros around].
// In a plan such an array is a buffer of the role `part`: the buffer in which it lies, and where. An address is found when a call begins.
// Other slices and permutations are no steps either if only loops and products read them: these have strides. Loops write pieces along
// another axis in their place, too. See [note: rows apart].
// Other arrays are copied, for these reasons; `ebb::print<ebb::stages::planned, ...>` names the reason at each step:
//   an axis        slice, concat and place along an axis after one that is not 1: rows are not adjacent, and neither loops nor products
//                  step over them
//   a step         slices that leave out or reverse elements, if no loop or product steps over them likewise; each place with a step
//   a permutation  elements in another order, if not only products and loops read or write them where they lie. One that only moves axes of
//                  extent 1 is no copy: simplify makes it a reshape
//   a result       a slice that is a result, because results do not share memory; so is a piece that is a result, too
//   an argument    a piece that is an argument, or a part of another array: it has its memory already
//   twice          a piece that is joined more than once, or to two arrays: the first one has it
//   an offset      a piece between two pieces with dyn extents
//   a loop         a piece that ebb::scan and the like give
//   often          a slice that more loops read with a step than may
//   rows by index  gather and scatter: their addresses are known only when indices have been read
//
// [note: rows apart]
// A loop reads an array with a stride for each of its loops. So slices, permutations and reshapes that only elementwise equations over
// their own shape, reductions and each other read are no steps, if lanes find enough to do. Axes whose strides fit are one loop, and lanes
// run along the axes of the last one. These must have at least `least_apart` elements, where extents that only the call knows count as 64;
// `least_adjacent` are enough for the stride 1, if no loop over the shape adds all of its elements.
// The stride of the last axis decides:
//   1, -1      registers are loaded, or loaded and reversed, by any number of loops
//   2, 3       adjacent registers are loaded, and lanes chosen from them: see [note: every third element]. Two loops may do that: a copy
//              would read as much, and write. Components of 3 numbers, see [note: components], are read so.
//   others     a column, x[:, i]: elements are loaded one by one, as a copy would load them. One loop may do that, unless a
//              permutation precedes it: a copy of a transpose reads each line of the cache once, by tiles, and takes less time.
// If more loops read it, it is copied, and so is a permutation on the way to it: that one gives all components at once.
// An element that is repeated along the last axis, x - x[:, 0:1], is read once for each row, with any strides.
// A concat and a place copy rows from anywhere: a slice that only they and such loops read is no step.
// A loop that computes a piece writes it likewise, with or without the axis of a stack, if only loops over its own shape read it besides.
//
// [note: zeros around]
// A place has zeros around its operand. If only loops read it, directly or by slices of step 1, and its operand is in memory anyway, it is
// no step: along each axis with zeros there is a loop, which knows the rows that are not zeros, and loads these from the operand. So
// `pad` of an argument before a loop, and the neighbours of a padded grid, are no passes over memory. Lanes run along axes without zeros,
// or along one with zeros at both ends of its rows, which take a step under a mask. An operand that a loop computes for the place alone,
// such as the gradient of a slice, is written where it lies in the place. If a broadcast reads the place or a slice of it, the place is a
// step: a loop loads one number of each row without a question about zeros.
// A slice of a place may be in a place again, as in a chain of neighbours: the rows that are not zeros are one interval all the same. A
// literal with zeros around, such as the mask of `pad` with a value, is never in memory: loops make it from the interval. A loop along one
// axis has a second body for the steps that need no zeros.
//
// [note: operands of products]
// A product packs its operands, so it reads matrices with rows or columns any distance apart, and batches with any stride along each axis.
// Slices, permutations and reshapes that only products read, such as the heads of an attention, are no steps: the product has the address
// and the strides of its operand, a `plan_view`. So is a broadcast along batches, whose stride is 0 there: one matrix for all heads. Loops
// may read a broadcast besides, since they read its operand. A product writes a piece of a concat or place along any axis where it lies,
// and a permutation of its result, such as heads put side by side. These are copied:
//   an operand   whose rows and columns both have another stride than 1, or whose rows are in reverse order; one row or column that is not
//                adjacent, since it is read often; one whose strides a reshape takes away: the rows of a part of the rows, as one axis,
//                or batches of which some repeat; one that repeats along rows or columns, or that anything but loops and products reads
//   a result     whose rows are not rows of the other array; one that anything else reads; one column
// Loops over its own shape may read a slice, too, if it is one of those in [note: rows apart].
#pragma once

#include "step.hpp"

#include "../graph/graph.hpp"
#include "../op/move.hpp"

#include <bit>

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

/// The elements of a row that a loop may read by itself; and if they are adjacent, and no sum goes across the ends of the loop's rows: each
/// row then begins within a register, and takes two steps.
inline constexpr int least_apart = 16, least_adjacent = 8;

/// Whether rows of s from `axis` on are long enough for lanes that run along them.
constexpr bool has_long_rows(const graph& g, const shape& s, int axis, int least = least_apart) {
  std::int64_t n = 1;
  for (int a = axis; a < s.rank; ++a) {
    const int e = g.syms.find(s.e[a]);
    n *= e < 0 ? 64 : e;
  }
  return n >= least;
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

/// x times the extent e; false if that has too many symbols.
constexpr bool multiply(const symbols& syms, extent_product& x, int e) {
  e = syms.find(e);
  if (x.factor == 0) return true;
  if (e >= 0) {
    x.factor *= e;
    if (e == 0) x = {.factor = 0};
    return true;
  }
  if (const extent_origin& o = syms.origin(~e); o.rule == extent_rule::product) return multiply(syms, x, o.a) && multiply(syms, x, o.b);
  int at = extent_product::most;
  for (; at > 0 && x.symbols[at - 1] == 0;) --at;
  if (at == extent_product::most) return false;
  for (; at > 0 && x.symbols[at - 1] > e; --at) x.symbols[at] = x.symbols[at - 1];
  x.symbols[at] = e;
  return true;
}
/// Whether x is a multiple of y for all extents.
constexpr bool divides(const extent_product& y, const extent_product& x) {
  if (y.factor == 0 || x.factor % y.factor != 0) return false;
  int i = 0;
  for (int e : y.symbols) {
    if (e == 0) break;
    while (i < extent_product::most && x.symbols[i] < e) ++i;
    if (i == extent_product::most || x.symbols[i++] != e) return false;
  }
  return true;
}

/// Finds the strides of an array in the order of its axes, whose last one has the stride `step`.
constexpr bool put_strides(const graph& g, const shape& s, plan_view& v) {
  extent_product step;
  for (int a = s.rank; a-- > 0;) {
    v.along[a] = step;
    if (!multiply(g.syms, step, s.e[a])) return false;
  }
  return true;
}
/// Finds the strides in v, which are those of an array of shape `from`, for the same elements in the shape `to`. False if there are none.
constexpr bool restride(const graph& g, const shape& from, const shape& to, plan_view& v) {
  plan_view r;
  const auto is_one = [&](const shape& s, int a) { return g.syms.find(s.e[a]) == 1; };
  int i = from.rank, j = to.rank;  // axes from there on are done
  for (;;) {
    for (; i > 0 && is_one(from, i - 1);) --i;
    for (; j > 0 && is_one(to, j - 1);) r.along[--j].factor = 0;
    if (i == 0 || j == 0) break;
    // The least groups of axes with as many elements.
    const int last = i, end = j;
    extent_product x, y;
    if (!multiply(g.syms, x, from.e[--i]) || !multiply(g.syms, y, to.e[--j])) return false;
    for (; !(x == y);) {
      if (i > 0 && divides(x, y)) {
        if (!multiply(g.syms, x, from.e[--i])) return false;
      } else if (j > 0 && divides(y, x)) {
        if (!multiply(g.syms, y, to.e[--j])) return false;
      } else return false;
    }
    extent_product step = v.along[last - 1], own = step;
    for (int a = last; a-- > i;) {
      if (is_one(from, a)) continue;
      if (!(v.along[a] == own)) return false;
      own = v.along[a];
      if (!multiply(g.syms, own, from.e[a])) return false;
    }
    for (int b = end; b-- > j;) {
      r.along[b] = step;
      if (is_one(to, b)) r.along[b].factor = 0;
      if (!multiply(g.syms, step, to.e[b])) return false;
    }
  }
  if (i != 0 || j != 0) return false;
  for (int b = 0; b < to.rank; ++b) v.along[b] = r.along[b];
  return true;
}

/// Adds x to the offset of a view; false if it has too many terms.
constexpr bool add_offset(plan_view& v, const extent_product& x) {
  if (x.factor == 0) return true;
  for (int i = 0; i < v.terms; ++i) {
    extent_product same = x;
    same.factor = v.offset[i].factor;
    if (!(same == v.offset[i])) continue;
    v.offset[i].factor += x.factor;
    return true;
  }
  if (v.terms == plan_view::most_terms) return false;
  v.offset[v.terms++] = x;
  return true;
}
/// Adds the elements before a slice to the offset, and makes the strides those of the slice.
constexpr bool slice_view(const graph& g, const shape& whole, const shape& own, const stride& s, plan_view& v) {
  const extent_product row = v.along[s.axis];
  const auto add = [&](int extent, std::int64_t times) {
    extent_product x = row;
    x.factor *= times;
    return (times == 0 || extent == 1 || multiply(g.syms, x, extent)) && add_offset(v, x);
  };
  if (placed_rows& p = v.placed[s.axis]; p.some) {
    if (s.step != 1 || s.start < 0) return false;
    p.first -= s.start;
  }
  v.along[s.axis].factor *= s.step;
  if (s.start == stride::at_the_end) return add(whole.e[s.axis], 1) && add(own.e[s.axis], -1);
  return (s.start >= 0 || add(whole.e[s.axis], 1)) && add(1, s.start);
}

/// Whether an array of extent `all` ends `before` rows and the extent `own` after its beginning.
constexpr bool ends_after(const symbols& syms, std::int64_t before, int own, int all) {
  own = syms.find(own);
  all = syms.find(all);
  if (own >= 0 && all >= 0) return before + own == all;
  if (before == 0) return own == all;
  for (int i = 0; i < syms.count(); ++i) {
    const extent_origin& o = syms.origin(i);
    if (o.b != before) continue;
    if (o.rule == extent_rule::sum && syms.find(o.a) == own && syms.find(~i) == all) return true;
    if (o.rule == extent_rule::difference && syms.find(o.a) == all && syms.find(~i) == own) return true;
  }
  return false;
}
/// Leaves out the elements before a place: the first of its rows begins where the array of shape `own` does. If that has zeros itself,
/// rows that are no zeros must end where they did, or where the array of shape `all` ends: a view has one interval of them.
constexpr bool place_view(const graph& g, const shape& own, const shape& all, const stride& s, plan_view& v) {
  if (s.step != 1 || s.start < 0) return false;
  placed_rows& p = v.placed[s.axis];
  const int rows = g.syms.find(own.e[s.axis]);
  if (p.some) {
    const bool inside = rows >= 0 && p.count >= 0 ? p.first + p.count <= rows : p.first <= 0 && p.count == rows;
    if (!inside && !ends_after(g.syms, s.start, rows, all.e[s.axis])) return false;
    if (p.first < 0 && s.start != 0) return false;
    p.first += s.start;
  } else p = {s.start, rows, true};
  extent_product before = v.along[s.axis];
  before.factor *= -s.start;
  return add_offset(v, before);
}
constexpr bool has_zeros(const plan_view& v) {
  for (const placed_rows& p : v.placed)
    if (p.some) return true;
  return false;
}

/// Whether an op copies its operands into its result, each with strides of its own.
constexpr bool joins_parts(const op_info& op) { return op.family == family_of<op::concat> || op.family == family_of<op::place>; }

/// Whether k only shows elements of its operand, each once: a reshape, a slice or a permutation.
constexpr bool may_show(const graph& g, int k) {
  const op_info& op = g.op(k);
  return op.what == kind::reshape || op.family == family_of<op::slice> || op.family == family_of<op::permute>;
}
/// Whether k repeats its operand along axes.
constexpr bool may_repeat(const graph& g, int k) { return g.op(k).what == kind::broadcast && !g.op(k).names_places; }
/// Finds where the elements of k lie in an earlier array, from which k is made by reshapes, permutations, slices and broadcasts: by the
/// equations for which `shows` holds. The stride of a repeated axis is 0.
constexpr bool find_view(const graph& g, int k, auto&& shows, plan_view& v) {
  if (!shows(k)) return put_strides(g, g.shape_of(k), v);
  const int x = g.operand(k, 0);
  if (!find_view(g, x, shows, v)) return false;
  if (g.op(k).what == kind::reshape) return !has_zeros(v) && restride(g, g.shape_of(x), g.shape_of(k), v);
  if (g.op(k).family == family_of<op::place>)
    return place_view(g, g.shape_of(x), g.shape_of(k), stride::unpacked(g.eq[k].attr[0], g.eq[k].attr[1]), v);
  if (g.op(k).family == family_of<op::slice>)
    return slice_view(g, g.shape_of(x), g.shape_of(k), stride::unpacked(g.eq[k].attr[0], g.eq[k].attr[1]), v);
  const plan_view from = v;
  const bool repeats = g.op(k).what == kind::broadcast;
  for (int a = 0, own = 0; a < g.shape_of(k).rank; ++a) {
    if (!repeats) {
      const int axis = packed_axis(g.eq[k].attr[0], a);
      v.along[a] = from.along[axis];
      v.placed[a] = from.placed[axis];
    } else if (g.eq[k].attr[0] >> a & 1) v.along[a] = {.factor = 0};
    else v.along[a] = from.along[own++];
  }
  return true;
}

/// Whether the elements along axis a follow those along the axis b after it with the same stride, so that both are one loop.
constexpr bool continues_row(const graph& g, const shape& s, const plan_view& v, int a, int b) {
  if (v.placed[a].some || v.placed[b].some) return false;
  extent_product row = v.along[b];
  return multiply(g.syms, row, s.e[b]) && row == v.along[a];
}
/// The axes of a nest at which loops over an array of shape s begin, since elements after them are not where those before them lead: v are
/// its strides, and the nest repeats it along the axes `repeated`.
EBB_COLD constexpr std::int64_t starts_of(const graph& g, const shape& s, const plan_view& v, std::int64_t repeated) {
  std::int64_t starts = 0;
  int behind = -1, axis_behind = -1, axis = s.rank + std::popcount(static_cast<std::uint64_t>(repeated));
  for (int a = s.rank; a-- > 0;) {
    do --axis;
    while (repeated >> axis & 1);
    if (g.syms.find(s.e[a]) == 1) continue;
    if (behind >= 0 && !continues_row(g, s, v, a, behind)) starts |= std::int64_t{1} << axis_behind;
    behind = a;
    axis_behind = axis;
  }
  return starts;
}
/// Whether a product may read an array of shape s with the strides of v: see [note: operands of products].
constexpr bool is_matrix_operand(const graph& g, const shape& s, const plan_view& v) {
  const int last = s.rank - 1;
  const bool row = g.syms.find(s.e[last - 1]) == 1, column = g.syms.find(s.e[last]) == 1;
  const auto lies = [&](int a) { return v.along[a].is(1); };
  const auto rises = [&](int a) { return v.along[a].factor > 0; };
  if (row || column) return (row && column) || lies(row ? last : last - 1);
  return (lies(last) && rises(last - 1)) || (lies(last - 1) && rises(last));
}
/// Whether lanes take elements that far apart from adjacent ones in registers.
constexpr bool is_short_step(const extent_product& step) { return step.is(2) || step.is(3); }
/// The axes along which lanes run if a loop reads an array of shape s with the strides of v: those from `from` on, which are merged, with
/// the stride of the axis `last`, the last one whose extent is not 1. Without such an axis `last` is -1.
struct lane_axes {
  int from = 0, last = -1;
};
constexpr lane_axes lane_axes_of(const graph& g, const shape& s, const plan_view& v) {
  lane_axes r;
  int behind = -1;
  for (int a = s.rank; a-- > 0;) {
    if (g.syms.find(s.e[a]) == 1) continue;
    if (r.last < 0) r.last = a;
    else if (!continues_row(g, s, v, a, behind)) {
      r.from = behind;
      break;
    }
    behind = a;
  }
  return r;
}
/// Whether a product may write one: its rows are rows in memory.
constexpr bool is_matrix_result(const graph& g, const shape& s, const plan_view& v) {
  const int last = s.rank - 1;
  return v.along[last].is(1) && (v.along[last - 1].factor > 0 || g.syms.find(s.e[last - 1]) == 1);
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
