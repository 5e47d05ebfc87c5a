// ebb/op/like.hpp — functions of an array's extents: the extents, indices along an axis, arrays of the same extents.
// SPDX-License-Identifier: BSL-1.0
//
// None of them reads an element of x, and x gets no gradient. An extent may be known only at the call; one that the type fixes is a number,
// in a traced function too.
#pragma once

#include "../tensor/borrow.hpp"
#include "axes.hpp"

#include <cstdint>
#include <string_view>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<233, Call> : Call {
  static_assert(Call::code != 233, "[ebb E0233] full_like: the value is a number, or an array of rank 0");
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
/// The elements of x, in the same order, with the extents of another array.
/// Shape: that of the other array.   Dtype: x's.   Saves: nothing; no work.
/// Throws: if a call's arrays have different numbers of elements.
template <class X, class Like>
constexpr auto reshape_like(X&& x, Like&& like) {
  return apply_function(functions::reshape_like{}, std::forward<X>(x), std::forward<Like>(like));
}

}  // namespace ebb::inline EBB_ABI
