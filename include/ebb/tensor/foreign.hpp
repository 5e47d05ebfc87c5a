// ebb/tensor/foreign.hpp — Eigen's matrices and std::mdspan as arrays, recognized by their members: no header of theirs is included.
// SPDX-License-Identifier: BSL-1.0
//
// [note: matrices of others]
//   Eigen      Matrix, Array, Map, Ref, Block and every other type with data() and strides, row- or column-major. Eigen's vectors have
//              one axis, all others have two. Extents static in Eigen are static here. An expression holds no elements: evaluate it.
//   mdspan     std::mdspan and Kokkos' mdspan, of any strided layout, with plain pointers to elements. Static extents stay static.
// Types that are always row-major without gaps, Eigen's vectors and its row-major matrices, are arrays like a std::vector. The others are
// strided: an array that turns out to be row-major when it is passed is used in place. Any other is copied once per call, arguments before
// it and destinations after it. So x(i, j) is the same element in both libraries, whatever the order in memory.
#pragma once

#include "borrow.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

template <class A>
concept eigen_like = requires(const A& a) {
  typename A::Scalar;
  typename A::PlainObject;
  A::RowsAtCompileTime;
  A::ColsAtCompileTime;
  A::IsVectorAtCompileTime;
  A::IsRowMajor;
  a.data();
  a.rows();
  a.cols();
  a.innerStride();
  a.outerStride();
} && element<std::remove_const_t<typename A::Scalar>>;

/// An Eigen expression: its elements are computed when it is assigned.
template <class A>
concept eigen_expression = requires(const A& a) {
  typename A::Scalar;
  typename A::PlainObject;
  A::RowsAtCompileTime;
  a.eval();
} && !requires(const A& a) { a.data(); };

template <class A>
concept mdspan_like = requires(const A& a) {
  typename A::extents_type;
  typename A::layout_type;
  typename A::element_type;
  { a.data_handle() } -> std::same_as<typename A::element_type*>;
  { A::rank() } -> std::convertible_to<std::size_t>;
  a.mapping().extents();
  requires A::is_always_strided();
  requires std::same_as<typename A::reference, typename A::element_type&>;
} && element<std::remove_const_t<typename A::element_type>>;

constexpr std::size_t eigen_extent(int n) { return n < 0 ? dyn : static_cast<std::size_t>(n); }

template <class A>
struct eigen_array {
  using element = std::remove_const_t<typename A::Scalar>;
  static constexpr bool is_vector = A::IsVectorAtCompileTime;
  static constexpr bool is_row = is_vector && A::RowsAtCompileTime == 1;
  static constexpr std::size_t rows = eigen_extent(A::RowsAtCompileTime), columns = eigen_extent(A::ColsAtCompileTime);
  using extents_type = std::conditional_t<is_vector, extents<is_row ? columns : rows>, extents<rows, columns>>;
  static constexpr std::size_t extent(const A& a, int axis) {
    return static_cast<std::size_t>(is_row || axis == 1 ? a.cols() : a.rows());
  }

 protected:
  template <class B>
  static constexpr bool writes = requires(B& b) {
    { b.data() } -> std::same_as<element*>;
  };
};

template <class A>
concept in_rows_by_type = eigen_like<A> && ((bool(A::IsVectorAtCompileTime) && int(A::InnerStrideAtCompileTime) == 1) ||
                                            (bool(A::IsRowMajor) && std::same_as<A, typename A::PlainObject>));

template <class A, class Order>
struct mdspan_extents;
template <class A, std::size_t... R>
struct mdspan_extents<A, std::index_sequence<R...>> {
  using type = extents<A::static_extent(R)...>;  // std::dynamic_extent is dyn
};

}  // namespace detail

template <detail::eigen_like A>
  requires detail::in_rows_by_type<A>
struct borrow<A> : detail::eigen_array<A> {
  using element = typename detail::eigen_array<A>::element;
  static constexpr const element* data(const A& a) { return a.data(); }
  static constexpr element* mutable_data(A& a)
    requires(borrow::template writes<A>)
  {
    return a.data();
  }
};

template <detail::eigen_like A>
struct borrow<A> : detail::eigen_array<A> {
  using element = typename detail::eigen_array<A>::element;
  static constexpr const element* origin(const A& a) { return a.data(); }
  static constexpr element* mutable_origin(A& a)
    requires(borrow::template writes<A>)
  {
    return a.data();
  }
  static constexpr std::ptrdiff_t stride(const A& a, int axis) {
    const bool inner = borrow::is_vector || (axis == 1) == bool(A::IsRowMajor);
    return static_cast<std::ptrdiff_t>(inner ? a.innerStride() : a.outerStride());
  }
};

template <detail::mdspan_like A>
struct borrow<A> {
  using element = std::remove_const_t<typename A::element_type>;
  using extents_type = typename detail::mdspan_extents<A, std::make_index_sequence<A::rank()>>::type;
  static constexpr const element* origin(const A& a) { return a.data_handle(); }
  static constexpr element* mutable_origin(const A& a)
    requires(!std::is_const_v<typename A::element_type>)
  {
    return a.data_handle();
  }
  static constexpr std::size_t extent(const A& a, int axis) {
    return static_cast<std::size_t>(a.extent(static_cast<std::size_t>(axis)));
  }
  static constexpr std::ptrdiff_t stride(const A& a, int axis) {
    return static_cast<std::ptrdiff_t>(a.stride(static_cast<std::size_t>(axis)));
  }
};

}  // namespace ebb::inline EBB_ABI
