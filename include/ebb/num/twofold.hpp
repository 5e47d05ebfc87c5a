// ebb/num/twofold.hpp — unevaluated sums of two floating-point numbers, with twice the precision of one.
// SPDX-License-Identifier: BSL-1.0
//
// Source: T. J. Dekker, A floating-point technique for extending the available precision (1971);
// J.-M. Muller et al., Handbook of Floating-Point Arithmetic (2018), chapter 4.
#pragma once

#include "lane.hpp"

namespace ebb::inline EBB_ABI::lane {

/// high + low, where low is at most about one unit in the last place of high.
template <class V>
struct twofold {
  V high, low;
};

/// a + b exactly, for |a| >= |b| or a = 0.
template <class V>
EBB_INLINE constexpr twofold<V> quick_sum(V a, V b) {
  V sum = a + b;
  return {sum, b - (sum - a)};
}

/// a * b exactly, except on underflow and if splitting a factor overflows: each factor is split into two halves whose products are exact.
template <class V>
EBB_INLINE constexpr twofold<V> product_by_halves(V a, V b) {
  constexpr int half_digits = (format<element_of<V>>::fraction_bits + 2) / 2;
  V cutter = all<V>(static_cast<element_of<V>>((bits_of<element_of<V>>{1} << half_digits) + 1));
  V high = a * b, ca = cutter * a, cb = cutter * b;
  V a1 = ca - (ca - a), a2 = a - a1, b1 = cb - (cb - b), b2 = b - b1;
  return {high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2};
}
/// a * b exactly, except on underflow and, without fma, if splitting a factor overflows.
template <class V>
EBB_INLINE constexpr twofold<V> product(V a, V b) {
  if constexpr (fused) {
    V high = a * b;
    return {high, fma(a, b, -high)};
  } else return product_by_halves(a, b);
}

/// The product of two twofold numbers, to nearly twice the precision of one.
template <class V>
EBB_INLINE constexpr twofold<V> product(twofold<V> a, twofold<V> b) {
  twofold<V> p = product(a.high, b.high);
  return {p.high, p.low + fma(a.high, b.low, a.low * b.high)};
}

}  // namespace ebb::inline EBB_ABI::lane
