// ebb/num/tangent.hpp — tan for arguments of any size, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// |x| = n pi/2 + r as for sin and cos; tan r = r + r^3 p(r^2), a sum in twice the precision. For odd n the result is -1 / tan r, a quotient
// and its remainder.   Source: J.-M. Muller, Elementary Functions (2016), chapter 11; the polynomials are fitted at Chebyshev's points, by
// least squares of the relative error.
#pragma once

#include "trigonometric.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct tangent;

template <>
struct tangent<float> {
  static constexpr float p[] = {0x1.55556p-2f, 0x1.110d9p-3f, 0x1.badb56p-5f, 0x1.5cb48ep-6f,
                                0x1.6301a6p-7f, 0x1.7b5c6p-14f, 0x1.1ed326p-8f};
};
template <>
struct tangent<double> {
  static constexpr double p[] = {0x1.555555555555ep-2,  0x1.111111111064ep-3,  0x1.ba1ba1bab824cp-5,  0x1.664f485eb2347p-6,
                                 0x1.226e3a4ed0929p-7,  0x1.d6d2efedeb706p-9,  0x1.7db11a7b42181p-10, 0x1.34c09a95a6500p-11,
                                 0x1.feef126307fdcp-13, 0x1.5fb9c57746da2p-14, 0x1.17b4654629eb0p-14, -0x1.a2e8bc708621cp-16,
                                 0x1.936a55fc81cd6p-15, -0x1.92cd1814826f8p-16, 0x1.46db8d47c2fcep-17};
};

/// tan |x|, with the sign of x.
struct tangent_of {
  template <class V>
  EBB_INLINE static constexpr V at(const angle<V>& a, V x) {
    using T = element_of<V>;
    using B = bits_of<V>;
    V r = a.high, square = r * r, one = all<V>(1);
    // tan(high + low) = tan(high) + low (1 + tan^2(high))
    V cube = square * r * horner(square, tangent<T>::p), rough = r + cube;
    twofold<V> t = quick_sum(r, cube + fma(a.low * rough, rough, a.low));
    V parity = from_bits<V>(((a.quadrant & all<B>(1)) << (format<T>::fraction_bits - 1)) | all<B>(format<T>::one));  // 1.5, or 1
    auto odd = parity > one;
    V divisor = select(odd, t.high, one), inverse = -one / divisor;
    twofold<V> back = product(inverse, divisor);
    V rest = ((one + back.high) + back.low) + inverse * t.low;
    V result = select(odd, fma(inverse, rest, inverse), t.high);
    return from_bits<V>(to_bits(result) ^ (to_bits(x) & all<B>(format<T>::sign)));
  }
};

}  // namespace detail

/// Tangent; keeps the sign of zero, and is NaN at infinity.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V tan(V x) {
  return detail::circular<detail::tangent_of>(x);
}

}  // namespace ebb::inline EBB_ABI::lane
