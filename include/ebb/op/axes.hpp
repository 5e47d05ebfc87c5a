// ebb/op/axes.hpp — axes as template arguments, and shapes made from another by adding, dropping or replacing an axis.
// SPDX-License-Identifier: BSL-1.0
//
// Functions take axes as template arguments: sum<0, 1>(x). Negative ones count from the last axis; no argument means all axes.
#pragma once

#include "shaping.hpp"

namespace ebb::inline EBB_ABI {

/// Tags of reductions: whether the reduced axes stay, with extent 1.   ebb::sum<-1>(x, ebb::keep_dims)
struct keep_dims_tag {
  static constexpr bool keeps = true;
};
struct drop_dims_tag {
  static constexpr bool keeps = false;
};
inline constexpr keep_dims_tag keep_dims{};

namespace detail {

/// keeps<Tag>::dims for the argument after x. A class that the function names itself keeps the user's line near.
template <class Tag>
struct keeps {
  static constexpr bool is_tag = requires { Tag::keeps; };
  static_assert(is_tag, "[ebb E0302] axes are template arguments, sum<0, 1>(x): after x comes nothing, or the tag ebb::keep_dims");
  static constexpr bool dims = [] {
    if constexpr (is_tag) return Tag::keeps;
    else return false;
  }();
};

}  // namespace detail

constexpr int axis_of(int axis, int rank) { return axis < 0 ? axis + rank : axis; }
constexpr bool has_axis(int axis, int rank) { return axis >= 0 && axis < rank; }

/// The given axes as a mask, or -1 if one does not exist or is named twice.
template <int... Axes>
constexpr std::int64_t axes_mask(int rank) {
  if constexpr (sizeof...(Axes) == 0) return axis_run(0, rank);
  else {
    std::int64_t mask = 0;
    for (const int axis : {axis_of(Axes, rank)...}) {
      if (!has_axis(axis, rank) || (mask >> axis & 1)) return -1;
      mask |= std::int64_t{1} << axis;
    }
    return mask;
  }
}

constexpr shape with_extent(shape s, int axis, int extent) {
  s.e[axis] = extent;
  return s;
}
constexpr shape with_axis(const shape& s, int axis, int extent) {
  shape r;
  for (int i = 0; i <= s.rank; ++i) {
    if (i == axis) r.push(extent);
    if (i < s.rank) r.push(s.e[i]);
  }
  return r;
}
constexpr shape without_axes(const shape& s, std::int64_t mask) {
  shape r;
  for (int i = 0; i < s.rank; ++i)
    if (!(mask >> i & 1)) r.push(s.e[i]);
  return r;
}
/// Axes [first, last) of s.
constexpr shape axes_between(const shape& s, int first, int last) {
  shape r;
  for (int i = first; i < last; ++i) r.push(s.e[i]);
  return r;
}
constexpr shape joined(shape a, const shape& b) {
  for (int i = 0; i < b.rank; ++i) a.push(b.e[i]);
  return a;
}

/// The number of elements. Symbols are multiplied in their order, then the known factor, so that equal products are one symbol.
constexpr int volume_of(symbols& s, const shape& x) {
  int known = 1, unknown = 1;
  for (int i = 0; i < x.rank; ++i) {
    const int e = s.find(x.e[i]);
    if (e >= 0) known *= e;
    else unknown = s.derive(extent_rule::product, unknown, e);
  }
  return known == 0 ? 0 : s.derive(extent_rule::product, unknown, known);
}

template <class Call>
struct refusal<112, Call> : Call {
  static_assert(Call::code != 112, "[ebb E0112] reshape: the number of elements differs");
};

/// Inside rules: x under another shape. Refuses with 112 if the volumes are known to differ.
template <class T>
constexpr operand<T> reshape_as(operand<T> x, const shape& to) {
  if (x.is_refused()) return x;
  graph& g = *x.g;
  if (!g.syms.unify(volume_of(g.syms, x.extents()), volume_of(g.syms, to))) return refuse<T>(g, 112);
  return reshape_to(x, g.intern(g.syms.find(to)));
}
/// Inside rules: reshape_as without the check, for shapes that differ only in axes of extent 1.
template <class T>
constexpr operand<T> view_as(operand<T> x, const shape& to) {
  return x.is_refused() ? x : reshape_to(x, x.g->intern(to));
}

/// Inside rules: x repeated along the axes in `mask`, to the shape of `like`.
template <class T, class L>
constexpr operand<T> repeat(operand<T> x, operand<L> like, std::int64_t mask) {
  return broadcast_to(x, like.shape_number(), mask);
}

/// Inside rules: the number of elements of x along the axes in `mask`, as a scalar of dtype T. It is a literal if all extents are known;
/// else the known factor times the sum of ones along each dyn axis. It depends on a shape, never on the elements of x.
template <class T, class X>
constexpr operand<T> count_along(operand<X> x, std::int64_t mask) {
  if (x.is_refused()) return {x.g, x.id};
  graph& g = *x.g;
  const auto filled = [&g](const shape& s, int value) {
    return literal_in<T>(g, g.intern(s), value);
  };
  const shape counted = g.syms.find(without_axes(x.extents(), ~mask));
  int known = 1;
  for (int axis = 0; axis < counted.rank; ++axis)
    if (counted.e[axis] >= 0) known *= counted.e[axis];
  operand<T> count = filled({}, known);
  for (int axis = 0; axis < counted.rank && known > 0; ++axis)
    if (counted.e[axis] < 0) count = count * sum_over(filled(axes_between(counted, axis, axis + 1), 1), 1);
  return count;
}

}  // namespace ebb::inline EBB_ABI
