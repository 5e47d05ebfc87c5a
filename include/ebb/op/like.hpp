// ebb/op/like.hpp — functions of an array's extents: the extents, indices along an axis, arrays of the same extents.
// SPDX-License-Identifier: BSL-1.0
//
// None of them reads an element of x, and x gets no gradient. An extent may be known only at the call; one that the type fixes is a number,
// in a traced function too.
#pragma once

#include "../tensor/borrow.hpp"
#include "../tensor/tensor.hpp"
#include "axes.hpp"

#include <cstdint>
#include <string_view>
#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<524, Call> : Call {
  static_assert(Call::code != 524, "[ebb E0524] zeros, ones, full: a dyn extent is that of the same axis of x, which x lacks");
};

template <class Call>
struct refusal<233, Call> : Call {
  static_assert(Call::code != 233, "[ebb E0233] full_like, full: the value is a number, or an array of rank 0");
};

namespace functions {

template <int Axis>
struct extent {
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<std::int64_t>(*x.g, 103);
    return count_along<std::int64_t>(x, std::int64_t{1} << axis);
  }
};

struct numel {
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> x) {
    return count_along<std::int64_t>(x, axis_run(0, x.rank()));
  }
};

template <int Axis>
struct iota {
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<std::int64_t>(*x.g, 103);
    return index_along<std::int64_t>(*x.g, x.g->intern(x.g->syms.find(axes_between(x.extents(), axis, axis + 1))), 0);
  }
};

template <int Axis>
struct arange_like {
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<std::int64_t>(*x.g, 103);
    return index_along<std::int64_t>(*x.g, x.shape_number(), axis);
  }
};

template <int Value>
struct filled_like {
  static constexpr std::string_view name = Value == 0 ? "zeros_like" : "ones_like";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    return literal_like(x, Value);
  }
};

struct full_like {
  template <class T>
  static constexpr operand<T> apply(operand<T> x, number auto value) {
    return literal_like(x, value);
  }
  template <class T, class N>
  static constexpr operand<T> apply(operand<T> x, operand<N> value) {
    if (x.is_refused() || value.is_refused()) return {x.g, x.is_refused() ? x.id : value.id};
    if (value.rank() > 0) return refuse<T>(*x.g, 233);
    return repeat(cast_to<T>(value), x, axis_run(0, x.rank()));
  }
};

/// Extents E, where dyn stands for the extent of the same axis of x. T: the dtype, void for that of x, or of a value alone.
template <class T, std::size_t... E>
struct filled {
  static constexpr std::string_view name = "full";
  static constexpr bool keeps_numbers = true;
  template <class X>
  using element = std::conditional_t<std::is_void_v<T>, X, T>;
  template <class X>
  static constexpr auto apply(operand<X> x, number auto value) {
    const int to = extents_from(x);
    return to < 0 ? refuse<element<X>>(*x.g, -to) : literal_in<element<X>>(*x.g, to, value);
  }
  template <class X, class V>
  static constexpr operand<element<X>> apply(operand<X> x, operand<V> value) {
    const int to = extents_from(x);
    if (to < 0 || value.is_refused()) return refuse<element<X>>(*x.g, to < 0 ? -to : -value.id);
    if (value.rank() > 0) return refuse<element<X>>(*x.g, 233);
    return ebb::broadcast_to(cast_to<element<X>>(value), to, axis_run(0, sizeof...(E)));
  }
  template <class V>
  static constexpr operand<element<V>> apply(operand<V> value) {
    return apply(value, value);
  }

 private:
  template <class X>
  static constexpr int extents_from(operand<X> x) {
    if (x.is_refused()) return x.id;
    if (sizeof...(E) > max_rank) return -524;
    constexpr std::size_t wanted[] = {E..., 0};
    shape to;
    for (int i = 0; i < static_cast<int>(sizeof...(E)); ++i) {
      if (wanted[i] == dyn && i >= x.rank()) return -524;
      to.push(wanted[i] == dyn ? x.extent(i) : static_cast<int>(wanted[i]));
    }
    return x.g->intern(to);
  }
};
/// The number Value in every element. It is a constant of the function, not an argument.
template <int Value, class T, std::size_t... E>
struct filled_with {
  static constexpr std::string_view name = Value == 0 ? "zeros" : "ones";
  template <class X>
  static constexpr auto apply(operand<X> x) {
    return filled<T, E...>::apply(x, Value);
  }
};

struct reshape_like {
  template <class T, class Like>
  static constexpr operand<T> apply(operand<T> x, operand<Like> like) {
    if (like.is_refused()) return {x.g, like.id};
    return reshape_as(x, like.extents());
  }
};

}  // namespace functions

namespace detail {

/// The extent of axis Axis: dyn if it is known only at the call, 0 if there is no such axis.
template <int Axis, std::size_t... E>
constexpr std::size_t declared_extent(extents<E...>) {
  constexpr std::size_t e[] = {E..., 0};
  constexpr int axis = axis_of(Axis, sizeof...(E));
  return e[has_axis(axis, sizeof...(E)) ? axis : static_cast<int>(sizeof...(E))];
}

}  // namespace detail

/// The extent of an axis. If the type fixes it, it is a constant, while tracing too: `constexpr auto n = ebb::extent<0>(x)`. Else it is a
/// number for an array and a term of rank 0 for a term.   Shape: [].   Dtype: int64, no gradient.
template <int Axis, class X>
constexpr auto extent(const X& x) {
  if constexpr (requires { typename X::extents_type; }) {
    constexpr int rank = X::extents_type::rank;
    static_assert(has_axis(axis_of(Axis, rank), rank), "[ebb E0103] there is no such axis");
    constexpr std::size_t known = detail::declared_extent<Axis>(typename X::extents_type{});
    if constexpr (known != dyn) return static_cast<std::int64_t>(known);
    else if constexpr (array_like<X>) return static_cast<std::int64_t>(borrow<X>::extent(x, axis_of(Axis, rank)));
    else return apply_function(functions::extent<Axis>{}, x);
  } else if constexpr (array_like<X>) {
    constexpr int rank = borrowed_extents<X>::rank;
    static_assert(has_axis(axis_of(Axis, rank), rank), "[ebb E0103] there is no such axis");
    return static_cast<std::int64_t>(borrow<X>::extent(x, axis_of(Axis, rank)));
  } else return apply_function(functions::extent<Axis>{}, x);
}
/// The number of elements: a number if it is known, as extent, else a term of rank 0.   Shape: [].   Dtype: int64, no gradient.
template <class X>
constexpr auto numel(const X& x) {
  const auto known = []<std::size_t... E>(extents<E...>) { return (std::int64_t{1} * ... * static_cast<std::int64_t>(E)); };
  if constexpr (requires { requires X::extents_type::is_static; }) return known(typename X::extents_type{});
  else if constexpr (array_like<X>) {
    std::int64_t count = 1;
    for (int axis = 0; axis < borrowed_extents<X>::rank; ++axis) count *= static_cast<std::int64_t>(borrow<X>::extent(x, axis));
    return count;
  } else return apply_function(functions::numel{}, x);
}
/// 0, 1, 2, ... along an axis of x.   Shape: that axis alone.   Dtype: int64, no gradient.
template <int Axis, class X>
constexpr auto iota(X&& x) {
  return apply_function(functions::iota<Axis>{}, std::forward<X>(x));
}
/// The index of each element along an axis.   where(arange_like<-1>(x) < lengths, x, 0.0)   Shape: x's.   Dtype: int64, no gradient.
template <int Axis, class X>
constexpr auto arange_like(X&& x) {
  return apply_function(functions::arange_like<Axis>{}, std::forward<X>(x));
}
/// Zeros, or ones.   Shape and Dtype: x's.   Saves: nothing.
template <class X>
constexpr auto zeros_like(X&& x) {
  return apply_function(functions::filled_like<0>{}, std::forward<X>(x));
}
template <class X>
constexpr auto ones_like(X&& x) {
  return apply_function(functions::filled_like<1>{}, std::forward<X>(x));
}
/// One number or scalar in every element. The scalar gets the gradient.   Shape and Dtype: x's.   Saves: nothing.
template <class X, class Value>
constexpr auto full_like(X&& x, Value&& value) {
  return apply_function(functions::full_like{}, std::forward<X>(x), std::forward<Value>(value));
}
/// One number or scalar in every element of given extents: full<2, 3>(v), or full<2, 3>(x, v) with the dtype of x, where dyn is the extent
/// of the same axis of x. full<double, 2, 3>(v) says the dtype. full<2, 3>(1.0) makes a tensor; in a traced function write
/// full<2, 3>(x, 1.0). The scalar gets the gradient.   Shape: E.   Dtype: T, or x's, or v's.
/// Saves: nothing.   Error: exact.
template <class T, std::size_t... E, class... A>
  requires(element<T> && sizeof...(A) > 0)
constexpr auto full(const A&... a) {
  if constexpr (sizeof...(A) == 1 && (number<A> && ...)) {
    constexpr bool known = ((E != dyn) && ...);
    static_assert(known, "[ebb E0524] zeros, ones, full: a dyn extent is that of the same axis of x, which x lacks");
    return tensor<T, (E == dyn ? 1 : E)...>::full(as_element<T>(a...));
  } else return apply_function(functions::filled<T, E...>{}, a...);
}
template <std::size_t... E, class... A>
  requires(sizeof...(A) > 0)
constexpr auto full(const A&... a) {
  using first = std::tuple_element_t<0, std::tuple<A...>>;
  using computed = std::conditional_t<std::is_floating_point_v<first>, double, std::int64_t>;
  if constexpr (sizeof...(A) == 1 && number<first>) return full<std::conditional_t<element<first>, first, computed>, E...>(a...);
  else return apply_function(functions::filled<void, E...>{}, a...);
}
/// Zeros, or ones, of given extents; dyn: the extent of the same axis of x. zeros<dyn, 64>(x) may begin a loop over the rows of x.
/// In a traced function an argument says the dtype, zeros<2, 3>(x), unless it is given, zeros<double, 2, 3>(x). Outside of them
/// zeros<double, 2, 3>() is a tensor.   Shape: E.   Dtype: T, or x's, no gradient.   Saves: nothing.   Error: exact.
template <std::size_t... E, class X>
constexpr auto zeros(X&& x) {
  return apply_function(functions::filled_with<0, void, E...>{}, std::forward<X>(x));
}
template <element T, std::size_t... E, class X>
constexpr auto zeros(X&& x) {
  return apply_function(functions::filled_with<0, T, E...>{}, std::forward<X>(x));
}
template <element T, std::size_t... E>
constexpr auto zeros() {
  return full<T, E...>(0);
}
template <std::size_t... E, class X>
constexpr auto ones(X&& x) {
  return apply_function(functions::filled_with<1, void, E...>{}, std::forward<X>(x));
}
template <element T, std::size_t... E, class X>
constexpr auto ones(X&& x) {
  return apply_function(functions::filled_with<1, T, E...>{}, std::forward<X>(x));
}
template <element T, std::size_t... E>
constexpr auto ones() {
  return full<T, E...>(1);
}
/// The elements of x, in the same order, with the extents of another array.
/// Shape: that of the other array.   Dtype: x's.   Saves: nothing; no work.
/// Throws: if a call's arrays have different numbers of elements.
template <class X, class Like>
constexpr auto reshape_like(X&& x, Like&& like) {
  return apply_function(functions::reshape_like{}, std::forward<X>(x), std::forward<Like>(like));
}

}  // namespace ebb::inline EBB_ABI
