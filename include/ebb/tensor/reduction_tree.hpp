// ebb/tensor/reduction_tree.hpp — the fixed order in which the elements of a reduction are combined.
// SPDX-License-Identifier: BSL-1.0
//
// [note: logical reduction tree]
// Sums of floats depend on their order, so the order is part of a reduction's meaning: it depends on the length of the run alone, not
// on the instruction set, fusion, blocks or threads.
//
// A run that ends at the last axis (its elements are adjacent in memory) has 32 logical lanes:
//   leaves    element i belongs to lane i mod 32 of leaf i / 4096; a lane combines its elements in rising order, from the identity
//   cascade   whole leaves are combined lane by lane like the digits of a binary counter: two leaves to a pair, two pairs to a four...
//   rest      the incomplete last leaf, then the counter's digits from the smallest: rest = combine(digit, rest)
//   lanes     lane i with lane i + 16, then + 8, + 4, + 2, + 1
// 32 lanes are two registers of AVX-512, four of AVX2 and eight of SSE2: on each, enough chains to hide the latency of an addition.
//
// Any other run (a sum over rows) is one chain for each element of the result, in rising order, from the identity.
#pragma once

#include "../base/config.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

inline constexpr int logical_lanes = 32;
inline constexpr std::size_t leaf_length = 4096;
inline constexpr int cascade_depth = 48;  // 4096 * 2^48 elements

/// The reference: combines get(0) ... get(n - 1) in the order above. In `combine(a, b)`, a is the older one.
template <class T>
constexpr T reduce_in_order(std::size_t n, auto&& get, T identity, auto&& combine) {
  T rest[logical_lanes], digit[cascade_depth][logical_lanes]{};
  for (T& lane : rest) lane = identity;
  std::size_t leaves = 0;
  for (std::size_t i = 0; i < n; ++i) {
    T& lane = rest[i % logical_lanes];
    lane = combine(lane, get(i));
    if ((i + 1) % leaf_length != 0) continue;
    int d = 0;
    for (; leaves >> d & 1; ++d)
      for (int l = 0; l < logical_lanes; ++l) rest[l] = combine(digit[d][l], rest[l]);
    for (int l = 0; l < logical_lanes; ++l) {
      digit[d][l] = rest[l];
      rest[l] = identity;
    }
    ++leaves;
  }
  for (int d = 0; d < cascade_depth; ++d)
    if (leaves >> d & 1)
      for (int l = 0; l < logical_lanes; ++l) rest[l] = combine(digit[d][l], rest[l]);
  for (int half = logical_lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) rest[l] = combine(rest[l], rest[l + half]);
  return rest[0];
}

}  // namespace ebb::inline EBB_ABI
