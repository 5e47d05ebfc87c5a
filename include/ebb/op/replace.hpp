// ebb/op/replace.hpp — replaces parts of an array, and reads boxes that begin at terms: masked_fill, placed, add_at, dynamic_slice.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "along.hpp"
#include "box.hpp"
#include "extremum.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<382, Call> : Call {
  static_assert(Call::code != 382, "[ebb E0382] dynamic_slice, dynamic_update_slice: each axis has one start, a scalar integer");
};
template <class Call>
struct refusal<383, Call> : Call {
  static_assert(Call::code != 383, "[ebb E0383] dynamic_slice, dynamic_update_slice: the box is larger than the array, or of another rank");
};

/// Before the starts of dynamic_slice and dynamic_update_slice: a box that would leave the array begins at the nearest place where it fits.
struct clamped_tag {};
inline constexpr clamped_tag clamped{};

namespace detail {

template <class... Start>
constexpr bool are_starts() {
  constexpr bool fits = (!std::same_as<std::remove_cvref_t<Start>, clamped_tag> && ...);
  static_assert(fits, "[ebb E0558] dynamic_slice, dynamic_update_slice: ebb::clamped comes before the starts");
  return fits;
}

}  // namespace detail

namespace functions {

struct masked_fill {
  /// value is a number or an array.
  template <class T, class M>
  static constexpr operand<T> apply(operand<T> x, operand<M> mask, auto value) {
    return detail::broadcasting<op::where>::apply(cast_to<bool>(mask), in_dtype<T>(value), x);
  }
};

/// `part` in place of a slice of x with the same extents.
template <class T>
constexpr operand<T> with_part(operand<T> x, operand<T> part, stride s) {
  const auto ones = cast_to<bool>(literal_like(part, 1));
  const auto inside = place_in(ones, s, x.shape_number());
  return emit_on<op::where>({}, inside, place_in(part, s, x.shape_number()), x);
}

/// Adds: u is added to the slice, else it takes its place.
template <bool Adds, int Axis, int Start, int Stop, int Step>
struct replaced_part {
  static constexpr const char* call = Adds ? "add_at" : "placed";
  static constexpr detail::spelled name = Step != 1          ? detail::spelled(call, Axis, Start, Stop, Step)
                                          : Stop != to_end ? detail::spelled(call, Axis, Start, Stop)
                                                           : detail::spelled(call, Axis, Start);
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> part) {
    using T = promoted<A, B>;
    const auto x = cast_to<T>(a);
    const auto replaced = slice<Axis, Start, Stop, Step>::apply(x);
    if (replaced.is_refused()) return replaced;
    const auto fitted = broadcast_to<>::like(cast_to<T>(part), replaced.extents());
    if (fitted.is_refused()) return fitted;
    const int axis = axis_of(Axis, x.rank());
    if constexpr (Step == 1 && Start >= 0)
      if (has_long_rows(x)) return put(x, Adds ? replaced + fitted : fitted, axis);
    const stride s{axis, Start, Step};
    if constexpr (Adds) return with_part(x, replaced + fitted, s);
    else return with_part(x, fitted, s);
  }

 private:
  /// Whether copies take less time than a choice for each element. Arrays in registers, and rows that are taken apart, see [note:
  /// components], have no copies.
  template <class T>
  static constexpr bool has_long_rows(operand<T> x) {
    const int last = x.extent(x.rank() - 1), all = volume_of(x.g->syms, x.extents());
    return (last < 0 || last > 32) && (all < 0 || all >= 256);
  }
  template <class T, class I = std::int64_t>
  static constexpr operand<T> put(operand<T> x, operand<T> part, int axis) {
    vec<int> numbers;
    numbers.push(to_operand<I>(*x.g, Start).id);
    const box_form form{box_form::puts, 0, std::int64_t{1} << axis};
    return box_equation<op::box_put<I, replaced_part>, T>(*x.g, x.shape_number(), x.id, part.id, numbers, form);
  }
};

template <class S>
inline constexpr bool is_start = false;
template <class I>
inline constexpr bool is_start<operand<I>> = index_element<I>;
template <std::integral I>
inline constexpr bool is_start<I> = !std::same_as<I, bool>;

/// A start as a scalar operand.
template <class I>
constexpr operand<I> start_in(graph&, operand<I> start) {
  return start;
}
constexpr operand<std::int64_t> start_in(graph& g, std::integral auto start) {
  return to_operand<std::int64_t>(g, start);
}

/// The start of a box of so many elements, moved to the nearest place along an axis of x where the box fits.
template <class I, class T>
constexpr operand<I> start_within(operand<I> start, operand<T> x, int axis, operand<I> count) {
  const auto last = count_along<I>(x, std::int64_t{1} << axis) - count;
  return emit_on<op::minimum>({}, emit_on<op::maximum>({}, start, literal_like(start, 0)), last);
}

/// The place at which a box of `count` elements begins along an axis, if tracing knows it and the box fits; else -1.
template <bool Clamped, class S>
constexpr std::int64_t known_start(int extent, int count, S start) {
  const std::int64_t last = extent - count;
  if (extent < 0 || count < 0 || last < 0) return -1;
  if (Clamped && last == 0) return 0;
  if constexpr (std::integral<S>) {
    if (Clamped) return std::cmp_less(start, 0) ? 0 : std::cmp_greater(start, last) ? last : static_cast<std::int64_t>(start);
    if (std::cmp_greater_equal(start, 0) && std::cmp_less_equal(start, last)) return static_cast<std::int64_t>(start);
  }
  return -1;
}

/// The dtype of the numbers at which a box begins: int32 if all are.
template <class... S>
using number_of_starts = std::conditional_t<(std::same_as<S, operand<std::int32_t>> && ...), std::int32_t, std::int64_t>;

template <bool Clamped, std::size_t... E>
struct dynamic_slice {
  static constexpr std::string_view name = "dynamic_slice";
  template <class T, class... S>
  static constexpr operand<T> apply(operand<T> x, S... start) {
    if constexpr (sizeof...(S) != sizeof...(E) || !(is_start<S> && ...)) return refuse<T>(*x.g, 382);
    else {
      if (x.is_refused()) return x;
      if (x.rank() != sizeof...(E)) return refuse<T>(*x.g, 383);
      using I = number_of_starts<S...>;
      box_form form;
      vec<int> numbers;
      shape to = x.extents();
      int axis = 0;
      (take_axis<I>(x, axis++, static_cast<int>(E), start, form, numbers, to), ...);
      if (x.is_refused() || numbers.size() == 0) return x;
      return box_equation<op::box<I, dynamic_slice<false>>, T>(*x.g, x.g->intern(to), x.id, -1, numbers, form);
    }
  }

 private:
  template <class I, class T>
  static constexpr void take_axis(operand<T>& x, int axis, int count, auto start, box_form& form, vec<int>& numbers, shape& to) {
    if (x.is_refused()) return;
    auto from = start_in(*x.g, start);
    if (from.is_refused()) x = {x.g, from.id};
    else if (from.rank() > 0) x = refuse<T>(*x.g, 382);
    else if (x.extent(axis) >= 0 && x.extent(axis) < count) x = refuse<T>(*x.g, 383);
    else if (const auto known = known_start<Clamped>(x.extent(axis), count, start); known >= 0) {
      if (count < x.extent(axis)) x = slice_as(x, {axis, known}, x.g->intern(with_extent(x.extents(), axis, count)));
    } else {
      if constexpr (Clamped) from = start_within(from, x, axis, literal_like(from, count));
      form.axes |= std::int64_t{1} << axis;
      numbers.push(cast_to<I>(from).id);
    }
    to.e[axis] = count;
  }
};

template <bool Clamped>
struct dynamic_update_slice {
  static constexpr std::string_view name = "dynamic_update_slice";
  template <class A, class B, class... S>
  static constexpr auto apply(operand<A> a, operand<B> part, S... start) {
    using T = promoted<A, B>;
    if constexpr (!(is_start<S> && ...)) return refuse<T>(*a.g, 382);
    else {
      const auto x = cast_to<T>(a), box = cast_to<T>(part);
      if (x.is_refused() || box.is_refused()) return x.is_refused() ? x : box;
      if (x.rank() != sizeof...(S)) return refuse<T>(*a.g, 382);
      if (x.rank() != box.rank()) return refuse<T>(*a.g, 383);
      for (int i = 0; i < x.rank(); ++i)
        if (x.extent(i) >= 0 && box.extent(i) > x.extent(i)) return refuse<T>(*a.g, 383);
      int axis = 0;
      bool known = true;
      ((known = known && known_start<Clamped>(x.extent(axis), box.extent(axis), start) >= 0, ++axis), ...);
      if (known) return at_known(x, box, start...);
      using I = number_of_starts<S...>;
      box_form form{box_form::puts};
      vec<int> numbers;
      int refused = 0;
      axis = 0;
      (add_number<I>(x, box, axis++, start, form, numbers, refused), ...);
      if (refused < 0) return operand<T>{a.g, refused};
      return box_equation<op::box_put<I, dynamic_update_slice<false>>, T>(*a.g, x.shape_number(), x.id, box.id, numbers, form);
    }
  }

 private:
  /// At places that tracing knows: a loop reads the box where it lies within zeros.
  template <class T>
  static constexpr operand<T> at_known(operand<T> x, operand<T> box, auto... start) {
    auto inside = cast_to<bool>(literal_like(box, 1));
    int axis = x.rank();
    const auto put = [&](auto given) {
      --axis;
      if (box.extent(axis) == x.extent(axis)) return;
      const auto at = known_start<Clamped>(x.extent(axis), box.extent(axis), given);
      const int wider = x.g->intern(with_extent(box.extents(), axis, x.extent(axis)));
      inside = place_in(inside, {axis, at}, wider);
      box = place_in(box, {axis, at}, wider);
    };
    in_falling_order(put, start...);  // the axes before one then still have the extents of the box
    return emit_on<op::where>({}, inside, box, x);
  }
  static constexpr void in_falling_order(auto&) {}
  static constexpr void in_falling_order(auto& put, auto first, auto... rest) {
    in_falling_order(put, rest...);
    put(first);
  }
  template <class I, class T>
  static constexpr void add_number(operand<T> x, operand<T> box, int axis, auto given, box_form& form, vec<int>& numbers, int& refused) {
    auto start = start_in(*x.g, given);
    using S = typename decltype(start)::value_type;
    if (start.is_refused()) refused = start.id;
    else if (start.rank() > 0) refused = refuse<T>(*x.g, 382).id;
    if (refused < 0) return;
    const auto known = known_start<Clamped>(x.extent(axis), box.extent(axis), given);
    if (known == 0 && x.extent(axis) == box.extent(axis)) return;
    if (known >= 0) start = literal_like(start, static_cast<int>(known));
    else if constexpr (Clamped) start = start_within(start, x, axis, count_along<S>(box, std::int64_t{1} << axis));
    form.axes |= std::int64_t{1} << axis;
    numbers.push(cast_to<I>(start).id);
  }
};

}  // namespace functions

/// x where the mask is false, else the value: a number, or an array that is broadcast.
/// Shape: broadcast.   Dtype: x's.   Saves: the mask.   Error: exact.
template <class X, class Mask, class Value>
constexpr auto masked_fill(X&& x, Mask&& mask, Value&& value) {
  return apply_function(functions::masked_fill{}, std::forward<X>(x), std::forward<Mask>(mask), std::forward<Value>(value));
}
/// x with u in place of slice<Axis, Start, Stop, Step>(x).   placed<0, 1, 3>(x, u), placed<1, 0, to_end, 2>(x, 0 * u)
/// Shape: x's; u is broadcast to the slice.   Dtype: promoted.   Saves: nothing.   Error: exact.
/// Throws: as slice, and if u does not fit.
template <int Axis, int Start, int Stop = to_end, int Step = 1, class X, class U>
constexpr auto placed(X&& x, U&& u) {
  return apply_function(functions::replaced_part<false, Axis, Start, Stop, Step>{}, std::forward<X>(x), std::forward<U>(u));
}
/// x with u added to slice<Axis, Start, Stop, Step>(x), as x[2:5] += u in NumPy.   add_at<0, 2, 5>(x, u)
/// All other elements keep their bits. Along two axes: placed<0, 1, 3>(x, add_at<1, 2>(slice<0, 1, 3>(x), u)).
/// Shape: x's; u is broadcast to the slice.   Dtype: promoted.   Saves: nothing.   Error: 0.5 ulp.
/// Throws: as slice, and if u does not fit.
template <int Axis, int Start, int Stop = to_end, int Step = 1, class X, class U>
constexpr auto add_at(X&& x, U&& u) {
  return apply_function(functions::replaced_part<true, Axis, Start, Stop, Step>{}, std::forward<X>(x), std::forward<U>(u));
}
/// The box with the extents E... that begins at the given places, one for each axis: scalar terms, or integers.
///   dynamic_slice<2, 3>(x, i, 0)   dynamic_slice<2, 3>(x, clamped, i, j)
/// With clamped, a box that would leave x begins at the nearest place where it fits, as XLA's DynamicSlice does. A negative start does not
/// count from the end: with clamped it is 0.
/// Shape: E...   Dtype: x's.   Saves: the starts.   Error: exact.
/// Throws: if the box leaves x; with clamped, if it is larger than x.
template <std::size_t... E, class X, class... Start>
constexpr auto dynamic_slice(X&& x, Start&&... start) {
  if constexpr (detail::are_starts<Start...>())
    return apply_function(functions::dynamic_slice<false, E...>{}, std::forward<X>(x), std::forward<Start>(start)...);
  else return x;
}
template <std::size_t... E, class X, class... Start>
constexpr auto dynamic_slice(X&& x, clamped_tag, Start&&... start) {
  return apply_function(functions::dynamic_slice<true, E...>{}, std::forward<X>(x), std::forward<Start>(start)...);
}
/// x with u in place of the box that begins at the given places and has the extents of u: see dynamic_slice.
///   dynamic_update_slice(x, u, i, 0)   dynamic_update_slice(x, u, clamped, i, j)
/// Shape: x's.   Dtype: promoted.   Saves: the starts.   Error: exact.   Throws: as dynamic_slice.
template <class X, class U, class... Start>
constexpr auto dynamic_update_slice(X&& x, U&& u, Start&&... start) {
  if constexpr (detail::are_starts<Start...>())
    return apply_function(functions::dynamic_update_slice<false>{}, std::forward<X>(x), std::forward<U>(u), std::forward<Start>(start)...);
  else return x;
}
template <class X, class U, class... Start>
constexpr auto dynamic_update_slice(X&& x, U&& u, clamped_tag, Start&&... start) {
  return apply_function(functions::dynamic_update_slice<true>{}, std::forward<X>(x), std::forward<U>(u), std::forward<Start>(start)...);
}

}  // namespace ebb::inline EBB_ABI
