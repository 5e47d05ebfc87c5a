// bench/row_sums.hpp — the sums of as many registers as one has lanes, in one register.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/kernel/batch.hpp>

#include <utility>

namespace bench {

/// Lane i of the result has a half of the sum of x or y: two registers become one that holds half of each.
template <int Half, class V, int... I>
EBB_INLINE V pair_sums(V x, V y, std::integer_sequence<int, I...>) {
  constexpr int n = static_cast<int>(sizeof...(I));
  return __builtin_shufflevector(x, y, (I & Half ? I + n : I)...) +
         __builtin_shufflevector(x, y, (I & Half ? (I ^ Half) + n : I ^ Half)...);
}
/// Lane i of the result is the sum of all lanes of x[i]. Half is half of the number of lanes; x is overwritten.
template <int Half, class T>
EBB_INLINE ebb::simd::vector<T> row_sums(ebb::simd::vector<T>* x) {
  if constexpr (Half == 0) return x[0];
  else {
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      ((x[I] = pair_sums<Half>(x[I], x[I + Half], std::make_integer_sequence<int, ebb::simd::count_of<T>>{})), ...);
    }(std::make_integer_sequence<int, Half>{});
    return row_sums<Half / 2, T>(x);
  }
}

}  // namespace bench
