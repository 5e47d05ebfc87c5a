// ebb/trace/subscript.hpp — subscripts of terms: x(i, j) and x[i], by numbers and by terms.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lift.hpp"

#include "../op/subscript.hpp"

namespace ebb::inline EBB_ABI::detail {

/// An integer, or a term that holds one.
template <class I>
inline constexpr bool names_one_place = std::integral<I> && !std::same_as<I, bool>;
template <class T>
inline constexpr bool names_one_place<term<T>> = names_one_place<T>;
template <class C, class T>
inline constexpr bool names_one_place<term_under<C, T>> = names_one_place<T>;

/// An integer, or a term of integers of any rank.
template <class I>
inline constexpr bool names_places = names_one_place<I>;
template <class T, std::size_t... E>
inline constexpr bool names_places<term<T, E...>> = names_one_place<T>;
template <class C, class T, std::size_t... E>
inline constexpr bool names_places<term_under<C, T, E...>> = names_one_place<T>;

/// x(first)(rest...): terms among them gather one row after the other.
template <class X, class First, class... Rest>
constexpr auto subscript_in_order(const X& x, const First& first, const Rest&... rest) {
  return subscript(subscript(x, first), rest...);
}

template <class X, class... I>
constexpr auto subscript(const X& x, const I&... i) {
  constexpr bool fits = X::rank >= static_cast<int>(sizeof...(I));
  constexpr bool one_each = (sizeof...(I) == 1 && !(number<I> || ...)) || ((names_places<I> || has_refused<I>) && ...);
  static_assert(fits, "[ebb E0231] there are more subscripts than axes");
  static_assert(one_each, "[ebb E0232] subscripts are integers, or arrays of integers");
  if constexpr (!fits || !one_each || has_refused<I...>) return refused_result{};
  else if constexpr (sizeof...(I) == 0) return x;
  else if constexpr ((number<I> && ...)) {
    const auto part = apply_function(functions::subscript{}, x, i...);
    if (is_outside(part)) refuse_subscript("[ebb E0230] a subscript is outside of its axis");
    return part;
  } else if constexpr (sizeof...(I) == 1) return apply_function(functions::take{}, x, i...);
  else if constexpr ((names_one_place<I> && ...)) return subscript_in_order(x, i...);
  else return apply_function(functions::gather_nd{}, x, i...);
}

}  // namespace ebb::inline EBB_ABI::detail
