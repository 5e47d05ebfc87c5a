// ebb/num/polynomial.hpp — polynomials by Horner's rule, unrolled.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lane.hpp"

#include <cstddef>
#include <utility>

namespace ebb::inline EBB_ABI::lane {

namespace detail {
// A fold instead of a loop: g++ -O2 does not unroll the loop and keeps its sum in memory.
template <class V, class T, std::size_t N, std::size_t... I>
EBB_INLINE constexpr V horner_fold([[maybe_unused]] V x, const T (&terms)[N], std::index_sequence<I...>) {
  V sum = all<V>(terms[N - 1]);
  ((sum = fma(sum, x, all<V>(terms[N - 2 - I]))), ...);
  return sum;
}

/// The terms 2 i and 2 i + 1; the last one may be alone.
template <class V, class T, std::size_t N>
EBB_INLINE constexpr V horner_pair([[maybe_unused]] V x, const T (&terms)[N], std::size_t i) {
  return 2 * i + 1 == N ? all<V>(terms[2 * i]) : fma(all<V>(terms[2 * i + 1]), x, all<V>(terms[2 * i]));
}
template <class V, class T, std::size_t N, std::size_t... I>
EBB_INLINE constexpr V horner_pairs_fold(V x, const T (&terms)[N], std::index_sequence<I...>) {
  [[maybe_unused]] V square = x * x;
  V sum = horner_pair(x, terms, sizeof...(I));
  ((sum = fma(sum, square, horner_pair(x, terms, sizeof...(I) - 1 - I))), ...);
  return sum;
}
}  // namespace detail

/// terms[0] + terms[1] x + terms[2] x^2 + ...
template <class V, class T, std::size_t N>
EBB_INLINE constexpr V horner(V x, const T (&terms)[N]) {
  return detail::horner_fold(x, terms, std::make_index_sequence<N - 1>{});
}

/// The same by pairs of terms: a chain of half as many steps, for long polynomials whose steps wait for each other.
template <class V, class T, std::size_t N>
EBB_INLINE constexpr V horner_by_pairs(V x, const T (&terms)[N]) {
  return detail::horner_pairs_fold(x, terms, std::make_index_sequence<(N - 1) / 2>{});
}

}  // namespace ebb::inline EBB_ABI::lane
