// ebb/tensor/borrow.hpp — borrow<A>: the customization point through which calls read and write arrays of any type without owning them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: borrowing]
// A call takes any array that borrow<A> describes, without copying it. To pass an array type of your own, specialize:
//
//   template <>
//   struct ebb::borrow<my_matrix> {
//     using element = float;                                          // one of the seven element types, without const
//     using extents_type = ebb::extents<ebb::dyn, 3>;                 // the extents that the type fixes; dyn for the others
//     static const float* data(const my_matrix& a);                   // the elements, in row-major order without gaps
//     static float* mutable_data(my_matrix& a);                       // optional: the same memory, for writing
//     static std::size_t extent(const my_matrix& a, int axis);        // 0 <= axis < rank; returns static extents too
//     using value = ebb::tensor<float, ebb::dyn, 3>;                  // optional: the type in which a result of this kind is returned
//   };
//
// An array with another order in memory gives its strides, in place of data and mutable_data; calls copy it, see exec/in_rows.hpp:
//
//     static const float* origin(const my_matrix& a);                 // the element at index 0, 0
//     static float* mutable_origin(my_matrix& a);                     // optional
//     static std::ptrdiff_t stride(const my_matrix& a, int axis);     // in elements, from one index of the axis to the next
//
// Eigen's matrices and std::mdspan are recognized by their members, see tensor/foreign.hpp.
//
// The contract. A is a plain type: no reference, no const. data(a) stays valid and extent(a, axis) stays the same until a is changed or
// destroyed. Any alignment will do, no padding is expected, and no memory outside the elements is read or written. An array without
// elements may return null. mutable_data may change a (a tensor detaches from its copies): a caller that both reads and writes one
// array asks for the mutable pointer first and for data() afterwards. Handles that can be written through a const object (a span, a
// view) take it by const reference in mutable_data. Of these functions only mutable_data may throw, for lack of memory.
#pragma once

#include "../base/config.hpp"
#include "../num/dtype.hpp"
#include "extents.hpp"
#include "tensor.hpp"
#include "view.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace ebb::inline EBB_ABI {

template <class A>
struct borrow;

template <element T, std::size_t... E>
struct borrow<tensor<T, E...>> {
  using element = T;
  using extents_type = extents<E...>;
  static constexpr const T* data(const tensor<T, E...>& a) { return a.data(); }
  static constexpr T* mutable_data(tensor<T, E...>& a) { return a.mutable_data(); }
  static constexpr std::size_t extent(const tensor<T, E...>& a, int axis) { return a.extent(axis); }
};

template <class T, std::size_t... E>
struct borrow<view<T, E...>> {
  using element = std::remove_const_t<T>;
  using extents_type = extents<E...>;
  static constexpr const T* data(const view<T, E...>& a) { return a.data(); }
  static constexpr T* mutable_data(const view<T, E...>& a)
    requires(!std::is_const_v<T>)
  {
    return a.data();
  }
  static constexpr std::size_t extent(const view<T, E...>& a, int axis) { return a.extent(axis); }
};

template <class T, std::size_t N>
  requires element<std::remove_const_t<T>>
struct borrow<std::span<T, N>> {
  using element = std::remove_const_t<T>;
  using extents_type = extents<N>;  // std::dynamic_extent is dyn
  static constexpr const T* data(const std::span<T, N>& a) { return a.data(); }
  static constexpr T* mutable_data(const std::span<T, N>& a)
    requires(!std::is_const_v<T>)
  {
    return a.data();
  }
  static constexpr std::size_t extent(const std::span<T, N>& a, int) { return a.size(); }
};

template <element T, std::size_t N>
struct borrow<std::array<T, N>> {
  using element = T;
  using extents_type = extents<N>;
  static constexpr const T* data(const std::array<T, N>& a) { return a.data(); }
  static constexpr T* mutable_data(std::array<T, N>& a) { return a.data(); }
  static constexpr std::size_t extent(const std::array<T, N>&, int) { return N; }
};

template <element T, class Allocator>
  requires(!std::same_as<T, bool>)  // packed bits have no address
struct borrow<std::vector<T, Allocator>> {
  using element = T;
  using extents_type = extents<dyn>;
  static constexpr const T* data(const std::vector<T, Allocator>& a) { return a.data(); }
  static constexpr T* mutable_data(std::vector<T, Allocator>& a) { return a.data(); }
  static constexpr std::size_t extent(const std::vector<T, Allocator>& a, int) { return a.size(); }
};

/// A number is an array of rank 0, and a result of its kind is returned as a number.
template <element T>
struct borrow<T> {
  using element = T;
  using extents_type = extents<>;
  using value = T;
  static constexpr const T* data(const T& a) { return &a; }
  static constexpr T* mutable_data(T& a) { return &a; }
  static constexpr std::size_t extent(const T&, int) { return 0; }
};

/// A, possibly const or a reference, is an array that can be read.
template <class A>
concept array_like = requires(const std::remove_cvref_t<A>& a, int axis) {
  typename borrow<std::remove_cvref_t<A>>::extents_type;
  requires element<typename borrow<std::remove_cvref_t<A>>::element>;
  { borrow<std::remove_cvref_t<A>>::data(a) } -> std::convertible_to<const typename borrow<std::remove_cvref_t<A>>::element*>;
  { borrow<std::remove_cvref_t<A>>::extent(a, axis) } -> std::convertible_to<std::size_t>;
};

/// An array that can be read and whose elements lie at strides.
template <class A>
concept strided_like = requires(const std::remove_cvref_t<A>& a, int axis) {
  typename borrow<std::remove_cvref_t<A>>::extents_type;
  requires element<typename borrow<std::remove_cvref_t<A>>::element>;
  { borrow<std::remove_cvref_t<A>>::origin(a) } -> std::convertible_to<const typename borrow<std::remove_cvref_t<A>>::element*>;
  { borrow<std::remove_cvref_t<A>>::stride(a, axis) } -> std::convertible_to<std::ptrdiff_t>;
};
template <class A>
concept borrowable = array_like<A> || strided_like<A>;

/// An array that can be written; `const A&` is one for handles only.
template <class A>
concept mutable_array_like = array_like<A> && requires(std::remove_reference_t<A>& a) {
  { borrow<std::remove_cvref_t<A>>::mutable_data(a) } -> std::same_as<typename borrow<std::remove_cvref_t<A>>::element*>;
};

template <class A>
concept mutable_strided_like = strided_like<A> && requires(std::remove_reference_t<A>& a) {
  { borrow<std::remove_cvref_t<A>>::mutable_origin(a) } -> std::same_as<typename borrow<std::remove_cvref_t<A>>::element*>;
};

template <borrowable A>
using borrowed_element = typename borrow<std::remove_cvref_t<A>>::element;
template <borrowable A>
using borrowed_extents = typename borrow<std::remove_cvref_t<A>>::extents_type;
template <borrowable A>
using borrowed_layout = typename layout_for<borrowed_extents<A>>::type;

// Array<T, ...>, extents<E...> -> Array<T, E...>
template <template <class, std::size_t...> class Array, class T, class Extents>
struct with_extents;
template <template <class, std::size_t...> class Array, class T, std::size_t... E>
struct with_extents<Array, T, extents<E...>> {
  using type = Array<T, E...>;
};
template <element T, class Extents>
using tensor_of = typename with_extents<tensor, T, Extents>::type;
template <class T, class Extents>
using view_of = typename with_extents<view, T, Extents>::type;

// A -> the type that owns such an array: borrow<A>::value if there is one (T for a number), else tensor<T, E...>
template <class A>
struct value_of_impl {
  using type = tensor_of<borrowed_element<A>, borrowed_extents<A>>;
};
template <class A>
  requires requires { typename borrow<A>::value; }
struct value_of_impl<A> {
  using type = typename borrow<A>::value;
};
template <borrowable A>
using value_of = typename value_of_impl<std::remove_cvref_t<A>>::type;

/// The extents of any array.
template <borrowable A>
constexpr borrowed_layout<A> layout_in(const A& a) {
  using from = borrow<A>;
  std::array<std::size_t, static_cast<std::size_t>(borrowed_extents<A>::rank)> shape{};
  for (int axis = 0; axis < borrowed_extents<A>::rank; ++axis) shape[static_cast<std::size_t>(axis)] = from::extent(a, axis);
  return {"ebb::borrow", shape};
}
/// A view of any array, without copying it.
template <array_like A>
constexpr auto borrowed_view(const A& a) {
  return view_of<const borrowed_element<A>, borrowed_extents<A>>(borrow<A>::data(a), layout_in(a));
}
template <mutable_array_like A>
constexpr auto borrowed_mutable_view(A&& a) {
  using from = borrow<std::remove_cvref_t<A>>;
  borrowed_element<A>* data = from::mutable_data(a);
  return view_of<borrowed_element<A>, borrowed_extents<A>>(data, layout_in(a));
}

}  // namespace ebb::inline EBB_ABI
