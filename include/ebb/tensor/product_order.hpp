// ebb/tensor/product_order.hpp — the fixed order of summation in a matrix product.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a product]
// Each element of c = a * b is one chain: acc = 0; for p = 0 ... k - 1: acc = fma(a(i, p), b(p, j), acc). Blocking, packing, threads and
// the width of registers do not change it, so the bits are the same everywhere. If the target has no fma (lane::fused), a link of
// the chain is a product and a sum, and the bits are the same among those targets. k = 0 gives zeros.
//
// In a product of matrix rows with a vector (X w, w X^T, and the product of two vectors), chains would forbid reading a row in the order of
// memory. There element p belongs to logical lane p % 32, each lane is a chain, and the lanes are added as in
// [note: logical reduction tree]. 0 is added last, so that a lane without elements gives the same bits as a lane of zeros. X^T w uses
// chains: its rows lie side by side.
// The equation says which of the two applies (in_lanes). Static extents and transpositions decide it when the equation is made, and every
// pass keeps it. So neither an extent that happens to be 1 at a call nor a transpose that is folded in later changes bits.
// float16 is computed as float and rounded once, at the end. bfloat16 has another order: see bfloat16_order.hpp. Integers wrap.
#pragma once

#include "../num/lane.hpp"
#include "reduction_tree.hpp"

#include <cstdint>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// attr 0 of a product: which operands are read transposed (their last two axes), so that no transpose is ever materialised for it; whether
/// an operand was a vector: autocast does not cast the products in the pull of such a product, as with PyTorch's mv and dot; and whether
/// elements are summed in lanes.
inline constexpr std::int64_t left_transposed = 1, right_transposed = 2, of_vector = 4, in_lanes = 8;

/// The axis of operand j, 0 or 1, that a product of arrays of this rank sums, and the one that its result keeps.
constexpr int summed_axis(std::int64_t attr, int j, int rank) {
  const bool turned = attr & (j == 0 ? left_transposed : right_transposed);
  return (j == 0) != turned ? rank - 1 : rank - 2;
}
constexpr int kept_axis(std::int64_t attr, int j, int rank) { return 2 * rank - 3 - summed_axis(attr, j, rank); }

/// The reference: the sum over p < k of left(p) * right(p). Both have the type T of the accumulator.
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
