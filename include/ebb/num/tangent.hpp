// ebb/num/tangent.hpp — tan for arguments of any size, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// |x| = n pi/2 + r as for sin and cos; tan r = r + r^3 p(r^2) / q(r^2) with polynomials p and q, q(0) = 1. The result is the quotient of
// r q(r^2) + r^3 p(r^2) and q(r^2), or its negative inverse for odd n: one division. The rounding error of q cancels except beside p.
// Source: W. J. Cody, W. Waite, Software Manual for the Elementary Functions (1980), chapter 9, for the form; p / q is minimax, by Remez's
// algorithm, for relative errors of 2^-29 and 2^-59.
#pragma once

#include "trigonometric.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct tangent;

template <>
struct tangent<float> {
  static constexpr float p[] = {0x1.555556p-2f, -0x1.e81ea2p-7f};
  static constexpr float q[] = {1, -0x1.c75c78p-2f, 0x1.05aafap-6f};
};
template <>
struct tangent<double> {
  static constexpr double p[] = {0x1.5555555555555p-2, -0x1.5ed53edbee435p-6, 0x1.fdbd9b9f8b848p-13};
  static constexpr double q[] = {1, -0x1.db619562d6464p-2, 0x1.91bd30280c2e9p-6, -0x1.0a4edf5aec761p-12, -0x1.3eeb49fcea32ap-26};
};

/// tan |x|, with the sign of x.
struct tangent_of {
  template <class V>
  EBB_INLINE static constexpr V at(const angle<V>& a, V x) {
    using T = element_of<V>;
    using B = bits_of<V>;
    V r = a.high, square = r * r, below = horner(square, tangent<T>::q);
    // tan(high + low) = tan(high) + low (1 + tan^2(high)): times q, the factor is nearly 1 + 0.72 r^2.
    V rest = fma(square * r, horner(square, tangent<T>::p), a.low * fma(square, all<V>(T(0.72)), all<V>(1)));
    V above = fma(r, below, rest);
    auto even = is_even<V>(a.quadrant);
    B sign = (a.quadrant << (8 * static_cast<int>(sizeof(T)) - 1)) ^ (to_bits(x) & all<B>(format<T>::sign));
    return from_bits<V>(to_bits(select(even, above, below) / select(even, below, above)) ^ sign);
  }
};

}  // namespace detail

/// Tangent; keeps the sign of zero, and is NaN at infinity.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V tan(V x) {
  return detail::circular<detail::tangent_of>(x);
}

}  // namespace ebb::inline EBB_ABI::lane
