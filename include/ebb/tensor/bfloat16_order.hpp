// ebb/tensor/bfloat16_order.hpp — the fixed order of summation in a product of bfloat16 matrices.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a bfloat16 product]
// Elements are taken in pairs p and p + 1 for even p; for odd k a zero follows the last element. Each element of c = a * b is one chain of
// pairs, summed in float and rounded once, at the end:
//   acc = 0; for p = 0, 2, 4, ...: acc = fma(a(i, p), b(p, j), fma(a(i, p + 1), b(p + 1, j), acc))
// The element p + 1 goes first, because such a link is one instruction of AVX-512, vdpbf16ps, which is used where the target has it.
// Blocking, packing and threads do not change the order. If the equation asks for lanes (see [note: order of a product]), pair q belongs
// to logical lane q % 32, each lane is a chain, the lanes are added as in [note: logical reduction tree], and 0 is added last.
// A product of two bfloat16 is exact in float. So the bits are the same everywhere, with fma and without, as long as all numbers are
// normal floats. The instruction reads numbers below 2^-126 as zero and returns zero for them: elements, sums and the chain itself. Other
// targets keep these numbers. Without fma a product of 2^128 or more is infinite.
#pragma once

#include "../base/target.hpp"
#include "../num/bfloat16.hpp"
#include "../num/lane.hpp"
#include "reduction_tree.hpp"

#include <concepts>
#include <limits>

namespace ebb::inline EBB_ABI {

/// acc + a1 * b1, plus a0 * b0: the same as the instruction, including its flushing where the target has it.
constexpr float link_pairs(bfloat16 a0, bfloat16 a1, bfloat16 b0, bfloat16 b1, float acc) {
  const auto flush = [](float x) {
    if (!target_has::bfloat16_dot || !(lane::abs(x) < std::numeric_limits<float>::min())) return x;
    return lane::copysign(0.f, x);
  };
  const auto add = [=](bfloat16 a, bfloat16 b, float sum) {
    return flush(lane::fma(flush(static_cast<float>(a)), flush(static_cast<float>(b)), sum));
  };
  return add(a0, b0, add(a1, b1, flush(acc)));
}

/// The reference: the sum over p < k of left(p) * right(p), before rounding.
template <std::integral I>
constexpr float multiply_pairs_in_order(I k, auto&& left, auto&& right, bool lanes) {
  const auto at = [k](auto& of, I p) { return p < k ? bfloat16(of(p)) : bfloat16(); };
  const auto link = [&](I p, float acc) { return link_pairs(at(left, p), at(left, p + 1), at(right, p), at(right, p + 1), acc); };
  if (!lanes) {
    float acc = 0;
    for (I p = 0; p < k; p += 2) acc = link(p, acc);
    return acc;
  }
  float sum[logical_lanes] = {};
  for (I p = 0; p < k; p += 2) sum[p / 2 % logical_lanes] = link(p, sum[p / 2 % logical_lanes]);
  for (int half = logical_lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sum[l] = sum[l] + sum[l + half];
  return sum[0] + 0.f;
}

}  // namespace ebb::inline EBB_ABI
