// ebb/num/logarithm.hpp — log and log1p, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// x = m 2^k with 0.75 <= m < 1.5, f = m - 1, s = f / (2 + f): log m = 2 artanh s = f - (f^2/2 - s (f^2/2 + s^2 p(s^2))), where the
// difference loses nothing for small f.   Source: K. C. Ng's arrangement in FDLIBM's e_log.c (1993), own coefficients.
// Bounds hold with fma; without it they are up to twice as large.
#pragma once

#include "constant.hpp"
#include "lane.hpp"
#include "polynomial.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct logarithm;

template <>
struct logarithm<float> {
  static constexpr float p[] = {0x1.5555b4p-1f, 0x1.992a9ap-2f, 0x1.36ee8ap-2f};
};
template <>
struct logarithm<double> {
  static constexpr double p[] = {0x1.555555555578p-1, 0x1.99999998ee186p-2, 0x1.249249b3fb8b3p-2, 0x1.c71c00388dfecp-3,
                                 0x1.7475126f69545p-3, 0x1.384f20a22c15ep-3, 0x1.3adaed5fe3824p-3};
};

/// k ln 2 + log(1 + f)
template <class V>
EBB_INLINE constexpr V log_of(V f, V k) {
  using T = element_of<V>;
  using C = logarithm<T>;
  V s = f / (all<V>(2) + f), z = s * s, half_square = f * all<V>(T(0.5)) * f;
  V correction = fma(s, fma(z, horner(z, C::p), half_square), k * all<V>(ln2<T>::low));
  return fma(k, all<V>(ln2<T>::high), f - (half_square - correction));
}

}  // namespace detail

/// Natural logarithm: -infinity at 0, NaN below.   Error: 1 ulp.
template <class V>
EBB_INLINE constexpr V log(V x) {
  auto [m, k] = split(x);
  V result = detail::log_of(m - all<V>(1), k);
  return select(x < all<V>(0), all<V>(std::numeric_limits<element_of<V>>::quiet_NaN()), result);
}

/// log(1 + x), exact in the relative sense near 0; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V log1p(V x) {
  using T = element_of<V>;
  using B = bits_of<V>;
  // 1 + x is rounded, (1 + x) 2^-k - 1 = x 2^-k + (2^-k - 1) is not. Where 2^-k might leave the range, 1 has no weight any more.
  V one = all<V>(1), y = one + x;
  auto [m, k] = split(y);
  V power = from_bits<V>(to_bits(m) - to_bits(y) + all<B>(format<T>::one));
  V f = select(y < all<V>(T(0x1p+60)), fma(x, power, power - one), m - one);
  V result = copysign(detail::log_of(f, k), x);
  return select(x < all<V>(-1), all<V>(std::numeric_limits<T>::quiet_NaN()), result);
}

}  // namespace ebb::inline EBB_ABI::lane
