// ebb/num/logarithm.hpp — log, log2, log10 and log1p, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// x = m 2^k with 0.75 <= m < 1.5, f = m - 1, s = f / (2 + f): log m = 2 artanh s = f - (f^2/2 - s (f^2/2 + s^2 p(s^2))), where the
// difference loses no digits for small f.   Source: K. C. Ng's arrangement in FDLIBM's e_log.c (1993); the coefficients are ebb's own.
// The error bounds hold with fma; without it errors are up to twice as large.
#pragma once

#include "constant.hpp"
#include "lane.hpp"
#include "polynomial.hpp"
#include "twofold.hpp"

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

/// k ln 2 + log(1 + f) + rest, which is small
template <class V, class... Rest>
EBB_INLINE constexpr V log_of(V f, V k, Rest... rest) {
  using T = element_of<V>;
  using C = logarithm<T>;
  V s = f / (all<V>(2) + f), z = s * s, half_square = f * all<V>(T(0.5)) * f;
  V correction = (fma(s, fma(z, horner(z, C::p), half_square), k * all<V>(ln2<T>::low)) + ... + rest);
  return fma(k, all<V>(ln2<T>::high), f - (half_square - correction));
}

/// 1 / ln b and log_b 2, each in two parts; the product of log_two and an exponent is exact.
template <class T, int Base>
struct logarithm_base;
template <>
struct logarithm_base<float, 2> {
  static constexpr float high = 0x1.715476p+0f, low = 0x1.4ae0cp-26f, log_two = 1, rest = 0;
};
template <>
struct logarithm_base<double, 2> {
  static constexpr double high = 0x1.71547652b82fep+0, low = 0x1.777d0ffda0d24p-56, log_two = 1, rest = 0;
};
template <>
struct logarithm_base<float, 10> {
  static constexpr float high = 0x1.bcb7b2p-2f, low = -0x1.5b235ep-27f, log_two = 0x1.344p-2f, rest = 0x1.3509f8p-18f;
};
template <>
struct logarithm_base<double, 10> {
  static constexpr double high = 0x1.bcb7b1526e50ep-2, low = 0x1.95355baaafad3p-57;
  static constexpr double log_two = 0x1.34413509f6p-2, rest = 0x1.9fef311f12b36p-42;
};

/// The logarithm to a base: log m in two parts, times 1 / ln b in two parts, plus the exponent times log_b 2.
template <int Base, class V>
EBB_INLINE constexpr V log_to(V x) {
  using T = element_of<V>;
  using C = logarithm<T>;
  using B = logarithm_base<T, Base>;
  auto [m, k] = split(x);
  V f = m - all<V>(1), s = f / (all<V>(2) + f), z = s * s, half_square = f * all<V>(T(0.5)) * f, high = f - half_square;
  V low = ((f - high) - half_square) + s * fma(z, horner(z, C::p), half_square);
  twofold<V> p = product(high, all<V>(B::high)), sum = quick_sum(k * all<V>(B::log_two), p.high);
  V rest = p.low + fma(high, all<V>(B::low), low * all<V>(B::high));
  if constexpr (Base != 2) rest = fma(k, all<V>(B::rest), rest);
  V finite = sum.high + (sum.low + rest), result = select(abs(k) < all<V>(std::numeric_limits<T>::infinity()), finite, k);
  return select(x < all<V>(0), all<V>(std::numeric_limits<T>::quiet_NaN()), result);
}

}  // namespace detail

/// Logarithm to base 2, exact for powers of two: -infinity at 0, NaN below.   Error: 1.1 ulp.
template <class V>
EBB_INLINE constexpr V log2(V x) {
  return detail::log_to<2>(x);
}
/// Logarithm to base 10, exact for powers of ten that the type represents: -infinity at 0, NaN below.   Error: 1 ulp.
template <class V>
EBB_INLINE constexpr V log10(V x) {
  return detail::log_to<10>(x);
}

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
  // 1 + x is rounded; (1 + x) 2^-k - 1 = x 2^-k + (2^-k - 1) is not. Where 2^-k might leave the range, 1 is rounded off anyway.
  V one = all<V>(1), y = one + x;
  auto [m, k] = split(y);
  V power = from_bits<V>(to_bits(m) - to_bits(y) + all<B>(format<T>::one));
  V f = select(y < all<V>(T(0x1p+60)), fma(x, power, power - one), m - one);
  V result = copysign(detail::log_of(f, k), x);
  return select(x < all<V>(-1), all<V>(std::numeric_limits<T>::quiet_NaN()), result);
}

/// log1p(x) for 0 <= x <= 1, with the same bits: there the exponent of 1 + x is one of two.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V log1p_of_part(V x) {
  V zero = all<V>(0), one = all<V>(1), half = all<V>(element_of<V>(0.5));
  auto upper = one + x >= one + half;
  return detail::log_of(select(upper, x * half - half, x), select(upper, one, zero));
}

}  // namespace ebb::inline EBB_ABI::lane
