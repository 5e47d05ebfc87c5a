// ebb/num/exponential.hpp — exp, exp2, expm1, tanh and sigmoid, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// All but exp2 write x = n ln 2 + r with an integer n and |r| <= ln 2 / 2, so that e^x = 2^n e^r. n ln 2 is subtracted in two parts, of
// which the first is exact. e^r = 1 + r + r^2 q(r); the minimax polynomial q also keeps the relative error of e^r - 1 small.
// Source: W. J. Cody, W. Waite, Software Manual for the Elementary Functions (1980), chapter 6; J.-M. Muller, Elementary Functions (2016).
// The error bounds hold with fma; without it errors are up to twice as large.
#pragma once

#include "constant.hpp"
#include "lane.hpp"
#include "polynomial.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct exponential;

template <>
struct exponential<float> {
  static constexpr float least = -105, greatest = 89;                        // e^x is 0 below, infinite above
  static constexpr float one_from = 10;                                      // tanh(x) is 1 from here on
  static constexpr float minus_one_below = -18;                              // expm1(x) is -1 below
  static constexpr float q[] = {0x1.fffffep-2f, 0x1.5554bp-3f, 0x1.55572ap-5f, 0x1.122792p-7f, 0x1.6b5c1ap-10f};
};
template <>
struct exponential<double> {
  static constexpr double least = -746, greatest = 710;
  static constexpr double one_from = 20;
  static constexpr double minus_one_below = -38;
  static constexpr double q[] = {0x1.0000000000005p-1, 0x1.555555555554p-3, 0x1.555555555211ap-5, 0x1.111111111758dp-7,
                                 0x1.6c16c17f2aacp-10, 0x1.a01a017de8722p-13, 0x1.a019a6af1d35ap-16, 0x1.71de7454daadfp-19,
                                 0x1.28a281f5982p-22, 0x1.ae8acbe17aa67p-26};
};

/// x = n ln 2 + r. r is rough + rest, rounded; power() is 2^n where that is a normal number.
template <class V>
struct reduced {
  V shifted, n, rough, rest, r;
  EBB_INLINE constexpr V power() const { return from_bits<V>(to_bits(shifted) << format<element_of<V>>::fraction_bits); }
  /// r + r^2 q(r), corrected for the rounding of r.
  template <class T, std::size_t N>
  EBB_INLINE constexpr V with(const T (&q)[N]) const { return rough + fma(r * r, horner(r, q), rest); }
};

/// Divides x by ln 2 / Parts. Adding a large constant leaves n + bias in the low bits; shifted up, they are 2^n.
template <int Parts = 1, class V>
EBB_INLINE constexpr reduced<V> reduce(V x) {
  using T = element_of<V>;
  constexpr T rounder = format<T>::rounder + format<T>::bias;
  V shifted = fma(x, all<V>(ln2<T>::reciprocal * Parts), all<V>(rounder)), n = shifted - all<V>(rounder);
  V rough = fma(n, all<V>(-ln2<T>::high / Parts), x), rest = n * all<V>(-ln2<T>::low / Parts);
  return {shifted, n, rough, rest, rough + rest};
}

/// q for e^(2r) - 1 = 2 (r + r^2 twice(r)).
template <class T>
struct doubled {
  T q[sizeof(exponential<T>::q) / sizeof(T)];
  constexpr doubled() {
    T factor = 2;
    for (int i = 0; T & term : q) {
      term = exponential<T>::q[i++] * factor;
      factor *= 2;
    }
  }
};
template <class T>
inline constexpr doubled<T> of_twice{};

}  // namespace detail

/// e to the x.   Error: 1 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V exp(V x) {
  using C = detail::exponential<element_of<V>>;
  auto reduced = detail::reduce(at_most(at_least(x, all<V>(C::least)), all<V>(C::greatest)));
  V r = reduced.r, one = all<V>(1);
  return scale(fma(fma(horner(r, C::q), r, one), r, one), reduced.n);
}

/// 2 to the x, exact for integers.   Error: 1 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V exp2(V x) {
  using T = element_of<V>;
  using C = detail::exponential<T>;
  // n is the nearest integer, x - n is exact, and its product with ln 2 is r.
  constexpr T wider = T(1.5);  // greater than 1 / ln 2
  V clamped = at_most(at_least(x, all<V>(C::least * wider)), all<V>(C::greatest * wider));
  V n = rint(clamped), r = (clamped - n) * all<V>(ln2<T>::high + ln2<T>::low), one = all<V>(1);
  return scale(fma(fma(horner(r, C::q), r, one), r, one), n);
}

/// e^x - 1, exact in the relative sense near 0; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V expm1(V x) {
  using T = element_of<V>;
  using C = detail::exponential<T>;
  V one = all<V>(1), clamped = at_most(at_least(x, all<V>(C::minus_one_below)), all<V>(C::greatest));
  auto reduced = detail::reduce(clamped);
  // 2^n ((e^r - 1) + (1 - 2^-n)). 2^-n is computed as half of 2^(1-n), which may underflow to 0.
  V rest = fma(power_of_two(one - reduced.n), all<V>(T(-0.5)), one);
  return copysign(scale(reduced.with(C::q) + rest, reduced.n), x);
}

/// Hyperbolic tangent.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V tanh(V x) {
  using T = element_of<V>;
  using C = detail::exponential<T>;
  // With E = (e^2|x| - 1) / 2: tanh |x| = E / (E + 1). The formula serves all x: near 0, n is 0 and E = r + r^2 q.
  auto reduced = detail::reduce<2>(at_most(abs(x), all<V>(C::one_from)));
  V power = reduced.power(), half = all<V>(T(0.5)), one = all<V>(1);
  V e = fma(power, reduced.with(detail::of_twice<T>.q), fma(power, half, -half));
  // E / (E + 1) is E - E * E / (E + 1) and also 1 - 1 / (E + 1): below and above E = 1, each gives the rounding of E + 1 less weight.
  V smaller = at_most(e, one);
  return copysign(fma(smaller, smaller / (-one - e), smaller), x);
}

/// 1 / (1 + e^-x), with full precision on both sides.   Error: 2 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V sigmoid(V x) {
  // With e = e^-|x|: e / (1 + e) = e - e * e / (1 + e) for x < 0, 1 / (1 + e) = 1 - e / (1 + e) for x >= 0.
  V one = all<V>(1), e = lane::exp(-abs(x)), whole = select(x < all<V>(0), e, one);
  return fma(whole, e / (-one - e), whole);
}

}  // namespace ebb::inline EBB_ABI::lane
