// ebb/num/power.hpp — pow, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// |x|^y = e^(y log |x|). The logarithm and the product have twice the precision: an error of y log |x| is multiplied by up to 1000.
// As in logarithm.hpp: |x| = m 2^k, s = (m - 1) / (m + 1), log m = 2 s + s^3 (2/3 + s^2 p(s^2)). Only p is in plain precision.
// Signs and special values follow C's annex F.   Source: the method of the Handbook of Floating-Point Arithmetic (2018), chapter 10.
#pragma once

#include "constant.hpp"
#include "exponential.hpp"
#include "lane.hpp"
#include "polynomial.hpp"
#include "twofold.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct power;

template <>
struct power<float> {
  static constexpr float two_thirds_high = 0x1.555556p-1f, two_thirds_low = -0x1.555556p-26f;
  static constexpr float greatest_exponent = 0x1p+36f;  // from here on |x|^y is 0, 1 or infinite
  static constexpr float p[] = {0x1.999aa2p-2f, 0x1.2419bp-2f, 0x1.e8fb3ap-3f};
};
template <>
struct power<double> {
  static constexpr double two_thirds_high = 0x1.5555555555555p-1, two_thirds_low = 0x1.5555555555555p-55;
  static constexpr double greatest_exponent = 0x1p+66;
  static constexpr double p[] = {0x1.9999999999967p-2, 0x1.2492492498f12p-2, 0x1.c71c71bc4f66p-3, 0x1.745d1bd1185cp-3,
                                 0x1.3b129649ec04ep-3, 0x1.113a53da3e28fp-3, 0x1.dac97777de68fp-4, 0x1.0192d8b63e441p-3};
};

/// log |x| for finite x other than 0.
template <class V>
EBB_INLINE constexpr twofold<V> twofold_log(V x) {
  using T = element_of<V>;
  using C = power<T>;
  V one = all<V>(1);
  auto [m, k] = split(x);

  // s = f / d: the quotient, and its remainder over d.
  V f = m - one;
  twofold<V> d = quick_sum(one, m);
  V inverse = one / d.high, quotient = f * inverse;
  twofold<V> back = product(quotient, d.high);
  twofold<V> s{quotient, (((f - back.high) - back.low) - quotient * d.low) * inverse};

  twofold<V> z = product(s, s);
  V tail = z.high * horner(z.high, C::p);
  twofold<V> factor = quick_sum(all<V>(C::two_thirds_high), tail);
  factor.low = factor.low + all<V>(C::two_thirds_low);
  twofold<V> cubic = product(product(z, s), factor);

  twofold<V> log_m = quick_sum(s.high + s.high, cubic.high);
  V rest = log_m.low + (fma(all<V>(2), s.low, cubic.low) + k * all<V>(ln2<T>::low));
  twofold<V> sum = quick_sum(k * all<V>(ln2<T>::high), log_m.high);
  return quick_sum(sum.high, sum.low + rest);
}

/// e^(x.high + x.low)
template <class V>
EBB_INLINE constexpr V exp_of(twofold<V> x) {
  using T = element_of<V>;
  using C = exponential<T>;
  V one = all<V>(1), high = at_most(at_least(x.high, all<V>(C::least)), all<V>(C::greatest));
  auto reduced = reduce(high);
  V r = reduced.r + select(high == x.high, x.low, all<V>(0));
  return scale(fma(fma(horner(r, C::q), r, one), r, one), reduced.n);
}

}  // namespace detail

/// a * b for integers, wrapping around.
template <class V>
EBB_INLINE constexpr V wrapped_product(V a, V b) {
  if constexpr (!scalar<V>) return a * b;
  else return static_cast<V>(static_cast<bits_of<V>>(a) * static_cast<bits_of<V>>(b));
}

/// x to the y; a negative x has a power for integer y only, else NaN.   Error: 1.5 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V pow(V x, V y) {
  using T = element_of<V>;
  using B = bits_of<V>;
  constexpr T infinite = std::numeric_limits<T>::infinity();
  V zero = all<V>(0), one = all<V>(1), infinity = all<V>(infinite), limit = all<V>(detail::power<T>::greatest_exponent);
  V magnitude = abs(x), near_y = rint(y), half_y = y * all<V>(T(0.5));

  V exponent = at_most(at_least(y, -limit), limit);
  twofold<V> log_x = detail::twofold_log(magnitude);
  twofold<V> p = product(exponent, log_x.high);
  V regular = detail::exp_of(twofold<V>{p.high, fma(exponent, log_x.low, p.low)});

  // For 0 and infinity the power is 0 or infinity too. A NaN in y stays.
  V other = from_bits<V>(all<B>(to_bits(infinite)) - to_bits(magnitude));
  V extreme = select(y > zero, magnitude, select(y < zero, other, y));
  auto is_extreme = magnitude == zero || magnitude == infinity;
  V absolute = select(is_extreme, extreme, regular);

  auto odd = near_y == y && !(rint(half_y) == half_y);
  auto undefined = x < zero && !(near_y == y) && x > -infinity;
  V result = select(undefined, all<V>(std::numeric_limits<T>::quiet_NaN()), select(odd, copysign(absolute, x), absolute));
  return select(x == one || y == zero, one, result);
}

/// x to the y for integers, by squaring; wraps around. A negative y gives 1 / x^-y rounded towards zero, and 0 for x = 0, as in PyTorch.
template <class V>
  requires std::integral<element_of<V>>
EBB_INLINE constexpr V pow(V x, V y) {
  V zero = all<V>(0), one = all<V>(1), result = one, square = x, rest = y;
  for (int bit = 0; bit < std::numeric_limits<element_of<V>>::digits; ++bit) {
    if constexpr (scalar<V>) {
      if (rest <= 0) break;
    } else if (!V::any(rest > zero)) break;
    result = select((rest & one) == one, wrapped_product(result, square), result);
    square = wrapped_product(square, square);
    rest = rest >> 1;
  }
  V alternating = select((y & one) == one, -one, one);
  V inverse = select(x == one, one, select(x == -one, alternating, zero));
  return select(y < zero, inverse, result);
}

}  // namespace ebb::inline EBB_ABI::lane
