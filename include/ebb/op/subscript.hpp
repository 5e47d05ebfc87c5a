// ebb/op/subscript.hpp — elements and rows by index: x(i, j), x[i], take(x, i), gather_nd(x, i, j).
// SPDX-License-Identifier: BSL-1.0
//
// [note: subscripts]
// In a traced function x(i, j) is an element, a term of rank 0. With fewer subscripts than axes it is the part of x along the other axes,
// and x[i] is x(i). Tensors behave the same, so a function means the same called on arrays and compiled. Negative indices count from the
// end. An index that is known while the function is traced, in a loop too, becomes an attribute of a slice: if it leaves an extent that is
// known then, it is a compile error, else the call checks it. An index that the function computes, a term, names a row to gather; so does
// an index on the tape. In a traced function x(i, j) with arrays of indices is gather_nd(x, i, j), elsewhere only the latter works.
#pragma once

#include "arithmetic.hpp"
#include "gather.hpp"
#include "operators.hpp"
#include "shape.hpp"

#include <concepts>
#include <cstdlib>
#include <limits>
#include <utility>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<231, Call> : Call {
  static_assert(Call::code != 231, "[ebb E0231] there are more subscripts than axes");
};

namespace detail {

/// Not constexpr: a trace that calls it is not a constant expression, and the compiler lists the lines that led here.
[[noreturn]] inline void refuse_subscript(const char*) { std::abort(); }

/// Whether a term was refused because a subscript is out of range. Its type is that of a valid one.
constexpr bool is_outside(const auto& x) {
  if constexpr (requires { x.id; }) return x.id == -230;
  else if constexpr (requires { x.plain; }) return is_outside(x.plain);
  else return false;
}

/// Makes `index` along a leading axis nonnegative; false if it is out of range. If the extent is a symbol, the call checks that.
constexpr bool find_place(symbols& s, int extent, std::int64_t& index) {
  if (extent >= 0) {
    if (index < 0) index += extent;
    return index >= 0 && index < extent;
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (index >= most || index < -most) return false;  // symbols count in int
  if (index < 0) s.derive(extent_rule::before, extent, static_cast<int>(-index));
  else s.derive(extent_rule::after, extent, static_cast<int>(index));
  return true;
}

/// The part of x at these indices of its first axes. Subsequent axes with static extents are merged with the first: one slice.
template <class T>
constexpr operand<T> at_places(operand<T> x, const std::int64_t* index, int count) {
  graph& g = *x.g;
  while (count > 0) {
    std::int64_t place = *index;
    if (!find_place(g.syms, x.extent(0), place) && !g.tolerant) return refuse<T>(g, 230);
    int axes = 1;
    for (; axes < count && x.extent(axes) >= 0; ++axes) {
      std::int64_t next = index[axes];
      if (!find_place(g.syms, x.extent(axes), next) && !g.tolerant) return refuse<T>(g, 230);
      place = place * x.extent(axes) + next;
    }
    const shape rest = axes_between(x.extents(), axes, x.rank());
    if (axes > 1) x = view_as(x, with_axis(rest, 0, volume_of(g.syms, axes_between(x.extents(), 0, axes))));
    x = view_as(slice_as(x, {0, place, 1}, g.intern(with_axis(rest, 0, 1))), rest);
    index += axes;
    count -= axes;
  }
  return x;
}

/// The extent of an axis of x in every element of `like`.
template <class T>
constexpr operand<std::int64_t> extent_in(operand<T> x, int axis, operand<std::int64_t> like) {
  const auto extent = count_along<std::int64_t>(x, std::int64_t{1} << axis);
  return broadcast_to(extent, like.shape_number(), axis_run(0, like.rank()));
}
/// Indices along the first axes of x, all of one shape, as indices along these axes taken as one. An index outside of its axis becomes -1,
/// which is outside of all.
template <class T, class Index>  // see [note: ops on a fixed dtype]
constexpr operand<Index> place_within(operand<T> x, const operand<Index>* at, int count) {
  auto place = literal_like(at[0], 0);
  auto outside = emit_on<op::less>({}, place, place);
  for (int axis = 0; axis < count; ++axis) {
    const auto length = extent_in(x, axis, place);
    outside = emit_on<op::logical_or>({}, outside, emit_on<op::less>({}, at[axis], literal_like(place, 0)));
    outside = emit_on<op::logical_or>({}, outside, emit_on<op::greater_equal>({}, at[axis], length));
    place = place * length + at[axis];
  }
  return emit_on<op::where>({}, outside, literal_like(place, -1), place);
}

}  // namespace detail

namespace functions {

struct subscript {
  /// Numbers, known while tracing.
  template <class T, number... I>
  static constexpr operand<T> apply(operand<T> x, I... i) {
    if (x.is_refused()) return x;
    if constexpr (((!std::integral<I> || std::same_as<I, bool>) || ...)) return refuse<T>(*x.g, 115);
    else {
      if (static_cast<int>(sizeof...(I)) > x.rank()) return refuse<T>(*x.g, 231);
      if (!(std::in_range<std::int64_t>(i) && ...) && !x.g->tolerant) return refuse<T>(*x.g, 230);
      const std::int64_t index[] = {static_cast<std::int64_t>(i)...};
      return detail::at_places(x, index, sizeof...(I));
    }
  }
};

/// subscript by one number that is known while tracing, under the name take.
struct take_place : subscript {
  static constexpr std::string_view name = "take";
};

/// The elements or parts of x at indices along its first axes, one for each of them: numbers and arrays, which are broadcast.
struct gather_nd {
  template <class T, class... I>
  static constexpr operand<T> apply(operand<T> x, I... index) {
    graph& g = *x.g;
    constexpr int count = sizeof...(I);
    if constexpr (count == 0 || !(names_places<I> && ...)) return refuse<T>(g, 115);
    else {
      const shape extents[] = {shape_of(index)...};
      for (const shape& s : extents)
        if (s.is_refused()) return refuse<T>(g, s.code());
      if (x.is_refused() || x.rank() < count) return x.is_refused() ? x : refuse<T>(g, 231);
      const shape common = broadcast_shapes(g.syms, extents, count);
      if (common.is_refused()) return refuse<T>(g, common.code());
      const int number = g.intern(common);
      int axis = 0;
      const operand<std::int64_t> at[] = {along(x, axis++, index, number)...};
      const shape rest = axes_between(x.extents(), count, x.rank());
      const auto flat = view_as(x, with_axis(rest, 0, volume_of(g.syms, axes_between(x.extents(), 0, count))));
      return emit_on<op::gather<std::int64_t, gather_nd>, T>({}, flat, detail::place_within(x, at, count));
    }
  }

 private:
  template <class I>
  static constexpr bool names_places = [] {
    if constexpr (is_operand<I>) return index_element<typename I::value_type>;
    else return std::integral<I> && !std::same_as<I, bool>;
  }();

  template <class I>
  static constexpr shape shape_of(I index) {
    if constexpr (is_operand<I>) return index.is_refused() ? refused(-index.id) : index.extents();
    else return {};
  }
  /// Indices in the common shape. Negative numbers count from the end, as in x(i, j).
  template <class T, class I>
  static constexpr operand<std::int64_t> along(operand<T> x, int axis, I index, int number) {
    graph& g = *x.g;
    if constexpr (is_operand<I>) return detail::fit(cast_to<std::int64_t>(index), shape(g.shapes[number]));
    else {
      const auto place = literal_in<std::int64_t>(g, number, index);
      return index < 0 ? place + ebb::detail::extent_in(x, axis, place) : place;
    }
  }
};

/// The element or row at an index along the first Axes axes, taken as one axis.
template <int Axes>
struct take_within {
  static constexpr std::string_view name = "take";
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> x, operand<I> place) {
    if (!x.is_refused() && x.rank() < Axes) return refuse<T>(*x.g, 231);
    if (Axes > 1 && !x.is_refused()) {
      const shape rest = axes_between(x.extents(), Axes, x.rank());
      x = view_as(x, with_axis(rest, 0, volume_of(x.g->syms, axes_between(x.extents(), 0, Axes))));
    }
    return take::apply(x, place);
  }
};

}  // namespace functions

namespace detail {

/// The indices along the first axes of an array, as one index along these axes taken as one.
/// Throws: error naming the call, the indices and the extents if one is out of range.
template <class X, std::integral... I>
constexpr std::int64_t place_in_array(const char* call, const X& x, I... i) {
  constexpr std::size_t count = sizeof...(I);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t index[] = {std::in_range<std::int64_t>(i) ? static_cast<std::int64_t>(i) : most...};
  constexpr auto declared = borrowed_layout<X>::declared;
  std::size_t extents[count] = {};
  std::int64_t place = 0;
  bool inside = true;
  for (std::size_t axis = 0; axis < count; ++axis) {
    extents[axis] = declared[axis] == dyn ? borrow<X>::extent(x, static_cast<int>(axis)) : declared[axis];
    const auto extent = static_cast<std::int64_t>(extents[axis]), at = index[axis] < 0 ? index[axis] + extent : index[axis];
    inside = inside && at >= 0 && at < extent;
    place = inside ? place * extent + at : 0;
  }
  if (!inside) raise_bad_index(call, index, extents, static_cast<int>(count));
  return place;
}

/// The element or row of an array, or of a variable.
template <class X, std::integral... I>
constexpr auto subscript_array(const char* call, X&& x, I... i) {
  using A = std::remove_cvref_t<X>;
  using within = functions::take_within<static_cast<int>(sizeof...(I))>;
  if constexpr ((std::same_as<I, bool> || ...)) return apply_function(within{}, x, tensor<bool>());
  else if constexpr (borrowed_extents<A>::rank < static_cast<int>(sizeof...(I))) return apply_function(within{}, x, tensor<std::int64_t>());
  // Asking an expression for an extent that its type does not fix evaluates it: then it is no longer a temporary.
  else if constexpr (!borrowed_extents<A>::is_static)
    return apply_function(within{}, std::as_const(x), tensor<std::int64_t>(place_in_array<A>(call, x, i...)));
  else return apply_function(within{}, std::forward<X>(x), tensor<std::int64_t>(place_in_array<A>(call, x, i...)));
}

}  // namespace detail

/// The row of x at one index, or the element of a vector; a negative index counts from the end.   Shape: x's without the first axis.
/// Saves: nothing; on a tape the index.   Throws: if x has no such row. If the extent is known while tracing, that does not compile.
template <class X, std::integral I>
constexpr auto take(X&& x, I i) {
  if constexpr (array_like<X>) return detail::subscript_array("ebb::take", std::forward<X>(x), i);
  else {
    const auto row = apply_function(functions::take_place{}, x, i);
    if (detail::is_outside(row)) detail::refuse_subscript("[ebb E0230] take: a subscript is outside of its axis");
    return row;
  }
}

/// The elements of x, or its parts along the other axes, at x(i, j, ...): gather_nd(x, i, j), in a traced function x(i, j) too. The indices
/// are numbers and arrays of integers, one for each of x's first axes. A place that is named twice gets the sum of both gradients.
/// Shape: that of the indices, broadcast, then x's other axes.   Dtype: x's.   Saves: the places.   Error: exact.
/// Throws: if an index is negative or too large.   Source: x[i, j, ...] of NumPy and PyTorch.
template <class X, class... Indices>
  requires(sizeof...(Indices) > 0)
constexpr auto gather_nd(const X& x, const Indices&... indices) {
  return apply_function(functions::gather_nd{}, x, indices...);
}

}  // namespace ebb::inline EBB_ABI
