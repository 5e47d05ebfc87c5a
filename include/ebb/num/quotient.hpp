// ebb/num/quotient.hpp — many quotients by one number: products with its reciprocal, corrected to the bits of a division.
// SPDX-License-Identifier: BSL-1.0
//
// [note: quotients by one number]
// Let h be -1 / y, rounded, and l what is missing, so that h + l is -1 / y with twice the digits. q = -x (h + l), the products added by
// fma, is one of the two numbers beside x / y. So q y - x is exact, and q + (q y - x) h by fma is x / y, correctly rounded. That holds as
// long as q y - x does not lose digits below the smallest number, and nothing overflows. The bounds below are sufficient: ulp(q) ulp(y) is
// at least the smallest subnormal number. If q or y is outside of them, zero, infinite or NaN, the lanes are divided.
// Source: N. Brisebarre, J.-M. Muller and S. K. Raina, Accelerating correctly rounded floating-point division when the divisor is known in
// advance, IEEE Trans. Computers 53, 2004; P. Markstein, IBM J. Res. Dev. 34, 1990, theorem 8.
#pragma once

#include "lane.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct quotient_bounds;
template <>
struct quotient_bounds<float> {
  static constexpr float least = 0x1p-60f, most = 0x1p80f, least_divisor = 0x1p-42f, most_divisor = 0x1p60f;
};
template <>
struct quotient_bounds<double> {
  static constexpr double least = 0x1p-500, most = 0x1p500, least_divisor = 0x1p-400, most_divisor = 0x1p400;
};

}  // namespace detail

/// -1 / y in two parts if `quotient` may use it, else NaN: then it divides.
template <class V>
struct negative_reciprocal {
  V high, low;
};
template <scalar T>
EBB_INLINE constexpr negative_reciprocal<T> negative_reciprocal_of(T y) {
  using bounds = detail::quotient_bounds<T>;
  const T size = abs(y);
  if (!(fused && size >= bounds::least_divisor && size <= bounds::most_divisor)) return {std::numeric_limits<T>::quiet_NaN(), 0};
  const T high = -1 / y;
  return {high, -fma(high, y, T(1)) / y};
}

/// x / y, from the negative reciprocal of y.   Error: 0.5 ulp: the bits of the division.
template <class V>
EBB_INLINE constexpr V quotient(V x, V y, V high, V low) {
  using bounds = detail::quotient_bounds<element_of<V>>;
  V minus = -x, near = fma(minus, high, minus * low), q = fma(fma(near, y, minus), high, near), size = abs(q);
  mask_of<V> usual = size >= all<V>(bounds::least) && size <= all<V>(bounds::most);
  if (detail::in_every_lane<V>(usual)) [[likely]] return q;
  mask_of<V> zero = x == all<V>(0) && high == high;
  if (detail::in_every_lane<V>(usual || zero)) return select(zero, minus * high, q);
  return x / y;
}

}  // namespace ebb::inline EBB_ABI::lane
