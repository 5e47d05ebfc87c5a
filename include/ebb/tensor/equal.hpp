// ebb/tensor/equal.hpp — all_equal and same_bits: whether two whole arrays are equal, by value or bit by bit.
// SPDX-License-Identifier: BSL-1.0
//
// [note: equal means elements]
// a == b compares elements, as a < b does, and gives an array of bools. This holds for arrays, terms and variables alike, so that a
// function means the same called on arrays and compiled. ebb::equal is that operator as a function, like ebb::less. NumPy uses the same
// names; all_equal is torch.equal, and equal is torch.eq.
// all_equal and same_bits answer with one bool. `a == b` is a condition only if it has one element: otherwise `if (a == b)` and
// `assert(a == b)` do not compile, or throw if extents are dyn. So arrays are not std::equality_comparable, except those of rank 0:
// std::find in a vector of arrays does not compile, std::find_if with all_equal does.
#pragma once

#include "borrow.hpp"

#include <bit>
#include <cstdint>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether the extents are equal and `same` holds for each pair of elements.
template <class A, class B>
constexpr bool agree(const A& a, const B& b, auto same) {
  constexpr bool one_rank = borrowed_extents<A>::rank == borrowed_extents<B>::rank;
  constexpr bool comparable = one_rank && std::is_same_v<borrowed_element<A>, borrowed_element<B>>;
  static_assert(comparable, "[ebb E0210] arrays of different dtype or rank are never equal as a whole: cast or reshape one of them first");
  if constexpr (comparable) {
    std::size_t size = 1;
    for (int axis = 0; axis < borrowed_extents<A>::rank; ++axis) {
      if (borrow<A>::extent(a, axis) != borrow<B>::extent(b, axis)) return false;
      size *= borrow<A>::extent(a, axis);
    }
    const auto *x = borrow<A>::data(a), *y = borrow<B>::data(b);
    for (std::size_t i = 0; i < size; ++i)
      if (!same(x[i], y[i])) return false;
  }
  return comparable;
}

}  // namespace detail

/// Whether two arrays have the same extents and equal elements. A NaN equals nothing; zeros of either sign are equal.
/// Shape: any arrays of one rank.   Dtype: one for both.
template <array_like A, array_like B>
constexpr bool all_equal(const A& a, const B& b) {
  return detail::agree(a, b, [](auto x, auto y) { return x == y; });
}
/// Whether two arrays have the same extents and the same bits: a NaN equals itself, and 0 is not -0.
/// Shape: any arrays of one rank.   Dtype: one for both.
template <array_like A, array_like B>
constexpr bool same_bits(const A& a, const B& b) {
  return detail::agree(a, b, []<class T>(T x, T y) {
    using bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
    return std::bit_cast<bits>(x) == std::bit_cast<bits>(y);
  });
}

}  // namespace ebb::inline EBB_ABI
