// ebb/op/shape.hpp — functions that move elements or change the shape: reshape, transpose, slice, concat, pad and others.
// SPDX-License-Identifier: BSL-1.0
//
// Axes and extents are template arguments; negative axes count from the last one. Dtype: as x.   Saves: nothing.   Error: exact.
#pragma once

#include "compare.hpp"
#include "list.hpp"
#include "move.hpp"

namespace ebb::inline EBB_ABI {

/// The Stop of a slice that reaches to the end of its axis.
inline constexpr int to_end = std::numeric_limits<int>::max();

namespace detail {

/// "reshape<dyn, 4>": the name of a function with its template arguments, for errors.
class spelled {
 public:
  template <class... Number>
  constexpr explicit spelled(std::string_view function, Number... n) {
    put(function);
    [[maybe_unused]] std::string_view before = "<";
    ((put(before), put_number(n), before = ", "), ...);
    if (sizeof...(n) > 0) put(">");
  }
  constexpr operator std::string_view() const { return {text_, size_}; }

 private:
  constexpr void put(std::string_view part) {
    for (const char c : part)
      if (size_ < sizeof text_) text_[size_++] = c;
  }
  constexpr void put_number(std::size_t extent) {
    if (extent == dyn) return put("dyn");
    if (extent >= 10) put_number(extent / 10);
    const char digit = static_cast<char>('0' + extent % 10);
    put({&digit, 1});
  }
  constexpr void put_number(int n) {
    if (n < 0) put("-");
    if (n == to_end) put("to_end");
    else put_number(static_cast<std::size_t>(n < 0 ? -n : n));
  }

  char text_[96] = {};
  std::size_t size_ = 0;
};

}  // namespace detail

template <class Call>
struct refusal<113, Call> : Call {
  static_assert(Call::code != 113, "[ebb E0113] slice: the range leaves the axis");
};

template <class Call>
struct refusal<118, Call> : Call {
  static_assert(Call::code != 118, "[ebb E0118] broadcast_to: a new axis needs a static extent");
};

namespace functions {

template <std::size_t... E>
struct reshape {
  static constexpr detail::spelled name{"reshape", E...};
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    constexpr std::size_t wanted[] = {E..., 0};
    constexpr int rank = sizeof...(E), unknown = (0 + ... + (E == dyn));
    graph& g = *x.g;
    shape to, given;
    for (int i = 0; i < x.rank(); ++i)
      if (x.extent(i) < 0) given.push(x.extent(i));
    int known = 1, at = 0, rest = -1;
    for (int i = 0; i < rank; ++i) {
      if (wanted[i] != dyn) known *= to.e[i] = static_cast<int>(wanted[i]);
      else if (++at < unknown) {
        // All dyn extents but the last are those of x, in their order.
        if (at > given.rank) return refuse<T>(g, 112);
        to.e[i] = given.e[at - 1];
      } else rest = i;
    }
    to.rank = rank;
    if (rest >= 0) {
      if (known == 0) return refuse<T>(g, 112);
      // The last one takes the rest: x's other dyn extents times its known ones, divided by the known extents of the result.
      shape left;
      int dropped = 0;
      for (int i = 0; i < x.rank(); ++i)
        if (x.extent(i) >= 0 || dropped++ >= at - 1) left.push(x.extent(i));
      int numbers = 1, symbol = 1;
      for (int i = 0; i < left.rank; ++i) {
        if (left.e[i] >= 0) numbers *= left.e[i];
        else symbol = g.syms.derive(extent_rule::product, symbol, left.e[i]);
      }
      if (numbers % known == 0) to.e[rest] = g.syms.derive(extent_rule::product, symbol, numbers / known);
      else to.e[rest] = g.syms.derive(extent_rule::quotient, g.syms.derive(extent_rule::product, symbol, numbers), known);
    }
    return reshape_as(x, to);
  }
};

template <int First, int Last>
struct flatten {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int first = axis_of(First, x.rank()), last = axis_of(Last, x.rank());
    if (x.rank() > 0 && !(has_axis(first, x.rank()) && has_axis(last, x.rank()) && first <= last)) return refuse<T>(*x.g, 103);
    shape to = axes_between(x.extents(), 0, first);
    to.push(volume_of(x.g->syms, axes_between(x.extents(), first, last + 1)));
    return view_as(x, joined(to, axes_between(x.extents(), last + 1, x.rank())));
  }
};

template <int Axis>
struct unsqueeze {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank() + 1);
    if (!has_axis(axis, x.rank() + 1)) return refuse<T>(*x.g, 103);
    return view_as(x, with_axis(x.extents(), axis, 1));
  }
};

template <int Axis>
struct squeeze {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    if (!x.g->syms.unify(x.extent(axis), 1)) return refuse<T>(*x.g, 112);
    return view_as(x, without_axes(x.extents(), std::int64_t{1} << axis));
  }
};

template <std::size_t... E>
struct broadcast_to {
  static constexpr detail::spelled name{"broadcast_to", E...};
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    constexpr std::size_t wanted[] = {E..., 0};
    constexpr int rank = sizeof...(E);
    shape to;
    for (int i = 0; i < rank; ++i) {
      const int own = i - (rank - x.rank());
      if (wanted[i] == dyn && own < 0) return refuse<T>(*x.g, 118);
      to.push(wanted[i] == dyn ? x.extent(own) : static_cast<int>(wanted[i]));
    }
    return like(x, to);
  }
  /// x repeated to the shape `to`, which must be the broadcast of x and `to`.
  template <class T>
  static constexpr operand<T> like(operand<T> x, const shape& to) {
    const shape both[] = {to, x.extents()};
    const shape common = broadcast_shapes(x.g->syms, both, 2);
    if (common.is_refused() || !x.g->syms.unify(common, to)) return refuse<T>(*x.g, 102);
    return detail::fit(x, common);
  }
};

struct broadcast_like {
  template <class T, class Like>
  static constexpr operand<T> apply(operand<T> x, operand<Like> like) {
    return broadcast_to<>::like(x, like.extents());
  }
};

template <int... Axes>
struct transpose {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int rank = x.rank();
    int order[max_rank] = {};
    if constexpr (sizeof...(Axes) == 0) {
      if (rank < 2) return refuse<T>(*x.g, 103);
      for (int i = 0; i < rank; ++i) order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    } else {
      if (rank != sizeof...(Axes) || axes_mask<Axes...>(rank) < 0) return refuse<T>(*x.g, 103);
      int i = 0;
      for (const int axis : {Axes...}) order[i++] = axis_of(axis, rank);
    }
    return emit_on<op::permute>({pack_axes(order, rank)}, x);
  }
};

/// The number of elements from Start to Stop, -1 if the range leaves the axis. If the axis is dyn, differences that must not be negative
/// become symbols, which the call checks.
template <int Start, int Stop, int Step>
constexpr int slice_length(symbols& s, int length) {
  constexpr auto difference = extent_rule::difference;
  constexpr int step = Step, stop = Stop == to_end ? 0 : Stop;
  constexpr bool from_end = Start < 0, to_the_end = Stop == to_end || Stop < 0;
  if (length >= 0) {
    const int first = from_end ? length + Start : Start, last = to_the_end ? length + stop : stop;
    return 0 <= first && first <= last && last <= length ? (last - first + step - 1) / step : -1;
  }
  if (from_end) s.derive(difference, length, -Start);
  if (!to_the_end) s.derive(difference, length, stop);
  int count = stop - Start;  // both count from the same end
  if (!from_end && to_the_end) count = s.derive(difference, length, Start - stop);
  else if (from_end && !to_the_end) count = s.derive(difference, stop - Start, length);
  else if (count < 0) return -1;
  return s.derive(extent_rule::quotient, count, step);
}

template <int Axis, int Start, int Stop, int Step>
struct slice {
  static constexpr detail::spelled name = Step != 1          ? detail::spelled("slice", Axis, Start, Stop, Step)
                                          : Stop != to_end ? detail::spelled("slice", Axis, Start, Stop)
                                                           : detail::spelled("slice", Axis, Start);
  static_assert(Step > 0, "[ebb E0122] slice: the step must be positive; flip<Axis> turns an axis round");
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    const int length = x.extent(axis), count = slice_length<Start, Stop, Step>(x.g->syms, length);
    if (length >= 0 && count < 0) return refuse<T>(*x.g, 113);
    if (length < 0 && count == -1 && (Start < 0) == (Stop < 0 || Stop == to_end)) return refuse<T>(*x.g, 113);
    return slice_as(x, {axis, Start, Step}, x.g->intern(with_extent(x.extents(), axis, count)));
  }
};

template <int Axis, int Index>
struct select {
  static constexpr auto apply(auto x) {
    const auto row = slice<Axis, Index, (Index == -1 ? to_end : Index + 1), 1>::apply(x);
    return view_as(row, without_axes(row.extents(), std::int64_t{1} << axis_of(Axis, x.rank())));
  }
};

template <int... Axes>
struct flip {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const std::int64_t mask = axes_mask<Axes...>(x.rank());
    if (mask < 0) return refuse<T>(*x.g, 103);
    for (int axis = 0; axis < x.rank(); ++axis)
      if (mask >> axis & 1) x = slice_as(x, {axis, -1, -1}, x.shape_number());
    return x;
  }
};

template <int Axis>
struct concat {
  static constexpr precision autocast = op::concat::autocast;
  template <class... A>
  static constexpr auto apply(A... x) {
    using T = detail::promoted_of<op::concat, A...>;
    graph& g = *detail::first_operand(x...).g;
    const int in[] = {cast_to<T>(x).id...};
    return operand<T>{&g, emit<op::concat, T>(g, number_range{in, sizeof...(A)}, {axis_of(Axis, detail::first_operand(x...).rank())})};
  }
};

template <int Axis>
struct stack {
  static constexpr precision autocast = op::concat::autocast;
  static constexpr auto apply(auto... x) { return concat<Axis>::apply(unsqueeze<Axis>::apply(x)...); }
};

template <int Axis, int Before, int After>
struct pad {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if constexpr (Before < 0 || After < 0) {
      const auto kept = slice<Axis, Before < 0 ? -Before : 0, After < 0 ? After : to_end, 1>::apply(x);
      return kept.is_refused() ? kept : pad<Axis, Before < 0 ? 0 : Before, After < 0 ? 0 : After>::apply(kept);
    }
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    const int length = x.g->syms.derive(extent_rule::sum, x.extent(axis), Before + After);
    return place_in(x, {axis, Before}, x.g->intern(with_extent(x.extents(), axis, length)));
  }
  /// value: a number, or a scalar.
  template <class T>
  static constexpr operand<T> apply(operand<T> x, auto value) {
    const auto padded = apply(x);
    if (padded.is_refused()) return padded;
    const auto inside = apply(literal_in<bool>(*x.g, x.shape_number(), true));
    return detail::broadcasting<op::where>::apply(inside, padded, in_dtype<T>(value));
  }
};

}  // namespace functions

/// The same elements, in the same order, under another shape. The last dyn extent takes the rest, those before it are x's dyn extents.
///   reshape<dyn, 8>(x)
/// Shape: E..., with as many elements.   Saves: nothing; no work.   Throws: if the elements of a call cannot be divided so.
template <std::size_t... E, class X>
constexpr auto reshape(X&& x) {
  return apply_function(functions::reshape<E...>{}, std::forward<X>(x));
}
/// The axes from First to Last merged into one.   Shape: their extents are multiplied.   Saves: nothing; no work.
template <int First = 0, int Last = -1, class X>
constexpr auto flatten(X&& x) {
  return apply_function(functions::flatten<First, Last>{}, std::forward<X>(x));
}
/// A new axis of extent 1.   Shape: Axis counts in the result.   Saves: nothing; no work.
template <int Axis, class X>
constexpr auto unsqueeze(X&& x) {
  return apply_function(functions::unsqueeze<Axis>{}, std::forward<X>(x));
}
/// Drops an axis of extent 1.   Shape: x's without the axis.   Saves: nothing; no work.   Throws: if a call's extent is not 1.
template <int Axis, class X>
constexpr auto squeeze(X&& x) {
  return apply_function(functions::squeeze<Axis>{}, std::forward<X>(x));
}
/// x repeated along axes that it lacks or that have extent 1. dyn: the extent of x.   broadcast_to<4, dyn>(x)
/// Shape: E....   Saves: nothing.   Throws: if an extent of a call does not fit.
template <std::size_t... E, class X>
constexpr auto broadcast_to(X&& x) {
  return apply_function(functions::broadcast_to<E...>{}, std::forward<X>(x));
}
/// x repeated to the shape of another array.   Shape: that of the other array.   Saves: nothing.   Throws: as broadcast_to.
template <class X, class Like>
constexpr auto broadcast_like(X&& x, Like&& like) {
  return apply_function(functions::broadcast_like{}, std::forward<X>(x), std::forward<Like>(like));
}
/// The last two axes exchanged, or all axes in the given order.   transpose(x), transpose<1, 0, 2>(x)
/// Shape: x's extents in that order.   Saves: nothing.
template <int... Axes, class X>
constexpr auto transpose(X&& x) {
  return apply_function(functions::transpose<Axes...>{}, std::forward<X>(x));
}
/// Every Step-th element along an axis, from Start to before Stop. Negative bounds count from the end.
///   slice<0, 2, 5>(x)   slice<1, -3>(x)   slice<0, 0, to_end, 2>(x)
/// Shape: x's, with that number of elements along the axis.   Saves: nothing.   Throws: if the range leaves a call's axis.
template <int Axis, int Start, int Stop = to_end, int Step = 1, class X>
constexpr auto slice(X&& x) {
  return apply_function(functions::slice<Axis, Start, Stop, Step>{}, std::forward<X>(x));
}
/// The elements at one index along an axis, which is dropped.   Shape: x's without the axis.   Saves: nothing.
/// Throws: if a call's axis has no such index.
template <int Axis, int Index, class X>
constexpr auto select(X&& x) {
  return apply_function(functions::select<Axis, Index>{}, std::forward<X>(x));
}
/// The elements along the given axes, by default all, in reverse order.   Shape: x's.   Saves: nothing.
template <int... Axes, class X>
constexpr auto flip(X&& x) {
  return apply_function(functions::flip<Axes...>{}, std::forward<X>(x));
}
/// Arrays joined along an axis: concat<0>(x, y), or those in a std::tuple, a std::array, or, outside of traced functions, a std::vector.
/// Shape: the extents along the axis are added.   Dtype: promoted.   Saves: nothing.
/// Throws: if a call's other extents differ, or a std::vector is empty.
template <int Axis, class... X>
constexpr auto concat(X&&... x) {
  return apply_function(functions::concat<Axis>{}, std::forward<X>(x)...);
}
/// Arrays of one shape joined along a new axis, one by one or in a list as for concat.
/// Shape: with an axis whose extent is their number.   Dtype: promoted.   Saves: nothing.
/// Throws: if a call's extents differ, or a std::vector is empty.
template <int Axis, class... X>
constexpr auto stack(X&&... x) {
  return apply_function(functions::stack<Axis>{}, std::forward<X>(x)...);
}
/// x with Before and After zeros, or copies of a number, added at both ends of an axis; a negative width takes elements away. Several axes:
/// three numbers for each.   pad<0, 1, 1>(x), pad<0, 1, 1, -1, -2, 0>(x, 0.5)
/// Shape: x's, with Before + After more elements along the axis.   Dtype: x's.   Saves: nothing.
/// Throws: if more elements are taken away than a call's axis has.
template <int Axis, int Before, int After, class X, class... Number>
constexpr auto pad(X&& x, Number... value) {
  return apply_function(functions::pad<Axis, Before, After>{}, std::forward<X>(x), value...);
}
template <int Axis, int Before, int After, int Second, int SecondBefore, int SecondAfter, int... More, class X, class... Number>
constexpr auto pad(X&& x, Number... value) {
  return pad<Second, SecondBefore, SecondAfter, More...>(pad<Axis, Before, After>(std::forward<X>(x), value...), value...);
}

}  // namespace ebb::inline EBB_ABI
