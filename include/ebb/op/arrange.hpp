// ebb/op/arrange.hpp — parts of arrays in tuples, axes in another order, and elements rolled, rotated or repeated along an axis.
// SPDX-License-Identifier: BSL-1.0
//
// Axes, sizes and counts are template arguments; negative axes count from the last one. Dtype: as x.   Saves: nothing.   Error: exact.
#pragma once

#include "../tensor/borrow.hpp"
#include "along.hpp"
#include "box.hpp"
#include "compare.hpp"
#include "like.hpp"
#include "remainder.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<386, Call> : Call {
  static_assert(Call::code != 386, "[ebb E0386] split: the sizes are not negative, and together those of the axis");
};
template <class Call>
struct refusal<387, Call> : Call {
  static_assert(Call::code != 387, "[ebb E0387] roll: the steps are an integer, or a scalar of integers");
};

namespace functions {

/// One part of `split` into parts of the given sizes.
template <int Axis, int Number, int... Sizes>
struct part_of_split {
  static constexpr std::string_view name = "split";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    constexpr int sizes[] = {Sizes..., 0}, all = (0 + ... + Sizes);
    int start = 0;
    for (int i = 0; i < Number; ++i) start += sizes[i];
    if (((Sizes < 0) || ...) || !x.g->syms.unify(x.extent(axis), all)) return refuse<T>(*x.g, 386);
    return slice_as(x, {axis, start}, x.g->intern(x.g->syms.find(with_extent(x.extents(), axis, sizes[Number]))));
  }
};

/// One of `Count` equal parts along an axis whose extent is known only at the call.
template <int Axis, int Number, int Count>
struct part_of_chunk {
  static constexpr std::string_view name = "chunk";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    const int each = x.g->syms.derive(extent_rule::quotient, x.extent(axis), Count);
    const shape one = with_extent(x.extents(), axis, each);
    const auto parts = reshape_as(x, with_axis(one, axis, Count));
    if (parts.is_refused()) return parts;
    return view_as(slice_as(parts, {axis, Number}, x.g->intern(with_axis(one, axis, 1))), one);
  }
};

template <int From, int To>
struct movedim {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int from = axis_of(From, x.rank()), to = axis_of(To, x.rank());
    if (!has_axis(from, x.rank()) || !has_axis(to, x.rank())) return refuse<T>(*x.g, 103);
    return axis_moved(x, from, to);
  }
};

template <int A, int B>
struct swap_axes {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int a = axis_of(A, x.rank()), b = axis_of(B, x.rank());
    if (!has_axis(a, x.rank()) || !has_axis(b, x.rank())) return refuse<T>(*x.g, 103);
    if (a == b) return x;
    int order[max_rank] = {};
    for (int i = 0; i < x.rank(); ++i) order[i] = i == a ? b : i == b ? a : i;
    return emit_on<op::permute>({pack_axes(order, x.rank())}, x);
  }
};

struct squeeze_all {
  static constexpr std::string_view name = "squeeze";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    std::int64_t ones = 0;
    for (int i = 0; i < x.rank(); ++i)
      if (x.extent(i) == 1) ones |= std::int64_t{1} << i;
    return view_as(x, without_axes(x.extents(), ones));
  }
};

template <int Axis>
struct roll {
  /// Steps that are known while tracing make two slices: the end of the axis, and what is before it.
  template <class T>
  static constexpr operand<T> along(operand<T> x, std::int64_t steps, int axis) {
    graph& g = *x.g;
    const int length = x.extent(axis);
    if (steps == 0) return x;
    if (steps < -largest_value || steps > largest_value) {
      if (length < 0) return by_index(x, steps, axis);
      steps %= length > 0 ? length : 1;
    }
    const int turn = g.syms.derive(extent_rule::remainder, static_cast<int>(steps < 0 ? -steps : steps), length);
    if (turn == 0) return x;
    const int rest = g.syms.derive(extent_rule::difference, length, turn);
    const auto cut = [&](std::int64_t start, int count) {
      return slice_as(x, {axis, start}, g.intern(with_extent(x.extents(), axis, count))).id;
    };
    const int parts[] = {cut(stride::at_the_end, steps < 0 ? rest : turn), cut(0, steps < 0 ? turn : rest)};
    return {&g, emit_as<op::concat, T>(g, x.shape_number(), number_range{parts, 2}, {axis})};
  }
  /// Elements and short rows are a box of x after itself: that is less work than an index for each. Long rows are copied once, by index.
  template <class T>
  static constexpr operand<T> by_index(operand<T> x, auto number_or_operand, int axis) {
    graph& g = *x.g;
    const auto steps = to_operand<std::int64_t>(g, number_or_operand);
    const auto length = count_along<std::int64_t>(x, std::int64_t{1} << axis);
    const auto first = emit_on<op::remainder>({}, emit_on<op::neg>({}, steps), length);
    if (has_short_rows(x.extents(), axis)) {
      const int twice[] = {x.id, x.id};
      const int both = emit<op::concat, T>(g, number_range{twice, 2}, {axis});
      return box_equation<op::box<std::int64_t, roll<0>>, T>(g, x.shape_number(), both, -1, {first.id}, {.axes = std::int64_t{1} << axis});
    }
    const auto place = index_along<std::int64_t>(g, g.intern(g.syms.find(axes_between(x.extents(), axis, axis + 1))), 0);
    const auto along_axis = [&](auto scalar) { return repeat(scalar, place, 1); };
    const auto at = place + along_axis(first), end = along_axis(length);
    return parts_at<roll<0>>(x, emit_on<op::where>({}, emit_on<op::less>({}, at, end), at, at - end), axis);
  }
  static constexpr bool has_short_rows(const shape& s, int axis) {
    constexpr int most = 16;
    int row = 1;
    for (int a = axis + 1; a < s.rank; ++a) row = s.e[a] < 0 || s.e[a] > most ? most + 1 : std::min(row * s.e[a], most + 1);
    return row <= most;
  }
  template <class T>
  static constexpr operand<T> apply(operand<T> x, std::int64_t steps) {
    const int axis = axis_of(Axis, x.rank());
    return has_axis(axis, x.rank()) ? along(x, steps, axis) : refuse<T>(*x.g, 103);
  }
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> x, operand<I> steps) {
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 387);
    else {
      if (x.is_refused() || steps.is_refused()) return {x.g, x.is_refused() ? x.id : steps.id};
      const int axis = axis_of(Axis, x.rank());
      if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
      if (steps.rank() > 0) return refuse<T>(*x.g, 387);
      return by_index(x, steps, axis);
    }
  }
};

/// x repeated `count` times along an axis: each element, or the whole array.
template <class T>
constexpr operand<T> copies_along(operand<T> x, int axis, int count, bool each) {
  if (x.is_refused() || count == 1) return x;
  symbols& s = x.g->syms;
  const int added = each ? axis + 1 : axis;
  const shape apart = with_axis(x.extents(), added, count);
  const auto copies = ebb::broadcast_to(x, x.g->intern(s.find(apart)), std::int64_t{1} << added);
  return view_as(copies, with_extent(x.extents(), axis, s.derive(extent_rule::product, x.extent(axis), count)));
}

template <int Axis, int Count>
struct repeat_interleave {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    return copies_along(x, axis, Count, true);
  }
};

template <int... Counts>
struct tile {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    constexpr int counts[] = {Counts..., 0}, given = sizeof...(Counts);
    if (x.is_refused()) return x;
    while (x.rank() < given) x = view_as(x, with_axis(x.extents(), 0, 1));
    for (int i = 0; i < given; ++i) x = copies_along(x, x.rank() - given + i, counts[i], false);
    return x;
  }
};

template <int Turns, int A, int B>
struct rot90 {
  static constexpr auto apply(auto x) {
    constexpr int turns = (Turns % 4 + 4) % 4;
    if constexpr (turns == 0) return x;
    else if constexpr (turns == 2) return flip<A, B>::apply(x);
    else return flip<(turns == 1 ? A : B)>::apply(swap_axes<A, B>::apply(x));
  }
};

}  // namespace functions

namespace detail {

/// The number of axes of an array or a term.
template <class X>
constexpr int rank_in_type() {
  if constexpr (requires { typename X::extents_type; }) return X::extents_type::rank;
  else return borrowed_extents<X>::rank;
}
/// The extent of an axis of an array or a term: dyn if it is known only at the call, or if there is no such axis.
template <int Axis, class X>
constexpr std::size_t extent_in_type() {
  if constexpr (requires { typename X::extents_type; }) {
    if constexpr (has_axis(axis_of(Axis, X::extents_type::rank), X::extents_type::rank))
      return declared_extent<Axis>(typename X::extents_type{});
    else return dyn;
  } else {
    constexpr auto declared = borrowed_layout<X>::declared;
    constexpr int axis = axis_of(Axis, borrowed_extents<X>::rank);
    if constexpr (has_axis(axis, borrowed_extents<X>::rank)) return declared[axis];
    else return dyn;
  }
}

template <class>
struct list_of_sizes;
template <int... Size>
struct list_of_sizes<std::integer_sequence<int, Size...>> {
  template <int Axis, class X>
  static constexpr auto split(const X& x) {
    return [&]<int... Number>(std::integer_sequence<int, Number...>) {
      return std::tuple(apply_function(functions::part_of_split<Axis, Number, Size...>{}, x)...);
    }(std::make_integer_sequence<int, sizeof...(Size)>{});
  }
};
/// The sizes of parts: each has Size elements, the last one the rest.
template <int Extent, int Size, int... Number>
constexpr auto sizes_of_parts(std::integer_sequence<int, Number...>) {
  return std::integer_sequence<int, (Size * (Number + 1) <= Extent ? Size : Extent - Size * Number)...>{};
}
template <int Axis, int Size, class Array>
constexpr auto split_evenly(const Array& x) {
  constexpr std::size_t extent = extent_in_type<Axis, Array>();
  constexpr int length = extent == dyn ? 0 : static_cast<int>(extent);
  constexpr int count = length > 0 ? (length + Size - 1) / Size : 1;
  return list_of_sizes<decltype(sizes_of_parts<length, Size>(std::make_integer_sequence<int, count>{}))>::template split<Axis>(x);
}

}  // namespace detail

/// Parts of x along an axis, in a tuple. With one size, each part has it, except that the last one has the rest. Several sizes are those of
/// the parts.   const auto [head, tail] = ebb::split<0, 2, 3>(x);   split<1, 4>(x)
/// One size needs an extent that the type fixes.
/// Shape: x's, with the sizes of the parts along the axis.   Throws: if the sum of the sizes is not the extent of a call's axis.
template <int Axis, int Size, int... Sizes, class X>
constexpr auto split(const X& x) {
  constexpr std::size_t extent = detail::extent_in_type<Axis, X>();
  if constexpr (sizeof...(Sizes) > 0) {
    constexpr std::int64_t all = (std::int64_t{Size} + ... + Sizes);
    constexpr bool fits = Size >= 0 && ((Sizes >= 0) && ...) && (extent == dyn || static_cast<std::int64_t>(extent) == all);
    static_assert(fits, "[ebb E0386] split: the sizes are not negative, and together those of the axis");
    if constexpr (fits) return detail::list_of_sizes<std::integer_sequence<int, Size, Sizes...>>::template split<Axis>(x);
    else return std::array<X, 1 + sizeof...(Sizes)>{};
  } else {
    constexpr bool known = extent != dyn;
    static_assert(known, "[ebb E0388] split, unbind: the type does not fix the extent, so the number of parts is not known; "
                         "chunk<Axis, parts> says it");
    static_assert(Size > 0, "[ebb E0386] split: the sizes are not negative, and together those of the axis");
    if constexpr (known && Size > 0) return detail::split_evenly<Axis, Size>(x);
    else return std::tuple<>();
  }
}
/// Count parts of x along an axis, in a tuple. If the type fixes the extent, the last part may be smaller, as in PyTorch, and there may be
/// fewer parts; else all are equal.   const auto [q, k, v] = ebb::chunk<-1, 3>(x);
/// Shape: x's, with the sizes of the parts along the axis.   Throws: if a call's axis cannot be divided into equal parts.
template <int Axis, int Count, class X>
constexpr auto chunk(const X& x) {
  static_assert(Count > 0, "[ebb E0389] chunk: the number of parts must be positive");
  constexpr std::size_t extent = detail::extent_in_type<Axis, X>();
  if constexpr (Count <= 0) return std::tuple<>();
  else if constexpr (extent != dyn && extent > 0) return detail::split_evenly<Axis, (static_cast<int>(extent) + Count - 1) / Count>(x);
  else
    return [&]<int... Number>(std::integer_sequence<int, Number...>) {
      return std::tuple(apply_function(functions::part_of_chunk<Axis, Number, Count>{}, x)...);
    }(std::make_integer_sequence<int, Count>{});
}
/// The parts of x at each index along an axis, which is dropped, in a tuple.   const auto [a, b, c] = ebb::unbind<0>(x);
/// The extent must be fixed by the type.   Shape: x's without the axis.
template <int Axis, class X>
constexpr auto unbind(const X& x) {
  constexpr std::size_t extent = detail::extent_in_type<Axis, X>();
  static_assert(extent != dyn, "[ebb E0388] split, unbind: the type does not fix the extent, so the number of parts is not known; "
                               "chunk<Axis, parts> says it");
  constexpr int count = extent == dyn ? 0 : static_cast<int>(extent);
  return [&]<int... Number>(std::integer_sequence<int, Number...>) {
    return std::tuple(apply_function(functions::select<Axis, Number>{}, x)...);
  }(std::make_integer_sequence<int, count>{});
}
/// x with axis From at place To; the other axes keep their order.   Shape: x's extents in the new order.
template <int From, int To, class X>
constexpr auto movedim(X&& x) {
  return apply_function(functions::movedim<From, To>{}, std::forward<X>(x));
}
/// x with two axes exchanged.   Shape: x's, with two extents exchanged.
template <int A, int B, class X>
constexpr auto swap_axes(X&& x) {
  return apply_function(functions::swap_axes<A, B>{}, std::forward<X>(x));
}
/// The axes of x in the given order: transpose<Axes...>(x).   All fields as transpose.
template <int... Axes, class X>
constexpr auto permute(X&& x) {
  return apply_function(functions::transpose<Axes...>{}, std::forward<X>(x));
}
/// x without its axes of static extent 1. It costs no work.   Shape: x's without these axes.
template <class X>
constexpr auto squeeze(X&& x) {
  return apply_function(functions::squeeze_all{}, std::forward<X>(x));
}
/// x repeated along axes that it lacks or that have extent 1: broadcast_to<E...>(x).   All fields as broadcast_to.
template <std::size_t... E, class X>
constexpr auto expand(X&& x) {
  return apply_function(functions::broadcast_to<E...>{}, std::forward<X>(x));
}
/// The elements of x moved by a number of steps along an axis: elements that leave one end enter at the other, as in torch.roll. The steps
/// may be negative, or more than there are elements. They are a number, or an integer scalar.   roll<0>(x, 1), roll<-1>(x, k)
/// Shape: x's.   Saves: the steps, if they are computed.
template <int Axis, class X, class Steps>
constexpr auto roll(X&& x, Steps&& steps) {
  using S = std::remove_cvref_t<Steps>;
  if constexpr (!std::integral<S> || std::same_as<S, bool>) {
    return apply_function(functions::roll<Axis>{}, std::forward<X>(x), std::forward<Steps>(steps));
  } else if constexpr (array_like<X>) {
    return apply_function(functions::roll<Axis>{}, std::forward<X>(x), tensor<std::int64_t>(static_cast<std::int64_t>(steps)));
  } else return apply_function(functions::roll<Axis>{}, std::forward<X>(x), static_cast<std::int64_t>(steps));
}
/// Along several axes, with steps for each.   roll<0, 1>(x, 1, -2)
template <int Axis, int Second, int... More, class X, class Steps, class... Rest>
constexpr auto roll(X&& x, Steps&& steps, Rest&&... rest) {
  return roll<Second, More...>(roll<Axis>(std::forward<X>(x), std::forward<Steps>(steps)), std::forward<Rest>(rest)...);
}
/// Each element repeated Count times along an axis: 1 1 2 2.   Shape: x's, the extent of the axis times Count.
template <int Axis, int Count, class X>
constexpr auto repeat_interleave(X&& x) {
  static_assert(Count >= 0, "[ebb E0390] repeat_interleave, tile: a count is not negative");
  return apply_function(functions::repeat_interleave<Axis, (Count < 0 ? 0 : Count)>{}, std::forward<X>(x));
}
/// x repeated as a whole: 1 2 1 2. The counts are those of the last axes; if there are more counts than axes, axes are added in front.
///   tile<2, 3>(x)
/// Shape: x's extents times the counts.
template <int... Counts, class X>
constexpr auto tile(X&& x) {
  static_assert(((Counts >= 0) && ...), "[ebb E0390] repeat_interleave, tile: a count is not negative");
  return apply_function(functions::tile<(Counts < 0 ? 0 : Counts)...>{}, std::forward<X>(x));
}
/// x rotated by Turns quarter turns, from axis A towards axis B.   rot90<1>(x), rot90<-1, 0, 2>(x)
/// Shape: x's, with both extents exchanged for an odd number of turns.
template <int Turns = 1, int A = 0, int B = 1, class X>
constexpr auto rot90(X&& x) {
  return apply_function(functions::rot90<Turns, A, B>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
