// ebb/num/promote.hpp — the result dtype of an operation on two dtypes, by PyTorch's rules.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dtype.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <element A, element B>
constexpr auto promote() {
  constexpr dtype a = dtype_of<A>, b = dtype_of<B>;
  if constexpr (a == b) return A{};
  else if constexpr (is_real(a) != is_real(b)) {
    if constexpr (is_real(a)) return A{};
    else return B{};
  } else if constexpr (size_of(a) == size_of(b)) return float{};  // float16 and bfloat16
  else if constexpr (size_of(a) > size_of(b)) return A{};
  else return B{};
}

/// A literal is weak: it changes the kind of number (2.5 makes integers float), never its width.
template <element T, class Number>
constexpr auto promote_weak() {
  if constexpr (std::is_same_v<Number, bool>) return T{};
  else if constexpr (std::is_floating_point_v<Number> && !is_real(dtype_of<T>)) return float{};
  else if constexpr (std::is_same_v<T, bool>) return std::int64_t{};
  else return T{};
}

}  // namespace detail

/// Real wins over integer, integer over bool, wide over narrow; float16 and bfloat16 give float.
template <element A, element B>
using promoted = decltype(detail::promote<A, B>());
template <element T, class Number>
using promoted_weak = decltype(detail::promote_weak<T, Number>());
/// The dtype of a function whose values are real numbers, such as exp or a mean: T if it is real, float for integers and bool.
template <element T>
using promoted_to_real = std::conditional_t<real_element<T>, T, float>;

}  // namespace ebb::inline EBB_ABI
