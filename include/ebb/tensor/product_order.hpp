// ebb/tensor/product_order.hpp — the one order in which an element of a matrix product is summed.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a product]
// Each element of c = a * b is one chain: acc = 0; for p = 0 ... k - 1: acc = fma(a(i, p), b(p, j), acc). Blocking, packing, threads and
// the width of registers do not change it, so the bits are the same everywhere; where the target has no fma (lane::fused), a link of
// the chain is a product and a sum, and the bits are the same among those targets. k = 0 gives zeros.
//
// Where rows of a matrix are multiplied by a vector (X w, w X^T, and the product of two vectors), chains would forbid to read a row as it
// lies. There element p belongs to logical lane p % 32, each lane is a chain, the lanes are added as in [note: logical reduction tree],
// and last 0 is added, so that a lane without elements cannot be told from one of zeros. X^T w has chains: its rows lie side by side.
// Which of the two it is stands in the equation (in_lanes). That is decided where the equation is made, from static extents and
// transpositions alone, and kept by every pass: neither an extent that happens to be 1 at a call nor a transpose that was looked through
// later changes bits.
// float16 is computed as float and rounded once, at the end. bfloat16 has an order of its own: see bfloat16_order.hpp. Integers wrap.
#pragma once

#include "../num/lane.hpp"
#include "reduction_tree.hpp"

#include <cstdint>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// attr 0 of a product has this bit if its elements are summed in lanes.
inline constexpr std::int64_t in_lanes = 8;

/// The reference: sum over p < k of left(p) * right(p), both of the type T that is accumulated in.
template <class T>
constexpr T multiply_in_order(std::size_t k, auto&& left, auto&& right, bool lanes) {
  const auto link = [](T a, T b, T acc) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(acc));
    } else return lane::fma(a, b, acc);
  };
  if (!lanes) {
    T acc = 0;
    for (std::size_t p = 0; p < k; ++p) acc = link(left(p), right(p), acc);
    return acc;
  }
  T sum[logical_lanes] = {};
  for (std::size_t p = 0; p < k; ++p) sum[p % logical_lanes] = link(left(p), right(p), sum[p % logical_lanes]);
  for (int half = logical_lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sum[l] = link(sum[l], T(1), sum[l + half]);
  return link(sum[0], T(1), T(0));
}

}  // namespace ebb::inline EBB_ABI
