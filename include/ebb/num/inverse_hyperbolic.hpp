// ebb/num/inverse_hyperbolic.hpp — asinh, acosh and atanh, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// All three are log(1 + f) for an f that does not cancel, known in two parts:
//   asinh x = log(1 + x + x^2 / (1 + sqrt(1 + x^2)))     acosh x = log(1 + t + sqrt(t (t + 2))) with t = x - 1
//   atanh x = log(1 + 2 x / (1 - x)) / 2
// From x^2 = 1 / epsilon on the first two are log x + log 2.
// Source: FDLIBM's s_asinh.c, e_acosh.c, e_atanh.c (1993) for the three forms.
#pragma once

#include "logarithm.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// From here on 1 is rounded off beside the square.
template <class T>
inline constexpr T far_from_one = sizeof(T) == 4 ? T(0x1p+13) : T(0x1p+28);

/// log(1 + f), or, where a number is large, log(2 large).
template <class V>
EBB_INLINE constexpr V log_of_sum(twofold<V> f, mask_of<V> is_large, V large) {
  using T = element_of<V>;
  using B = bits_of<V>;
  V one = all<V>(1), zero = all<V>(0), y = select(is_large, large, one + f.high);
  auto [m, k] = split(y);
  V power = from_bits<V>(to_bits(m) - to_bits(y) + all<B>(format<T>::one));
  V exact = select(is_large || !(y < all<V>(T(0x1p+60))), m - one, fma(f.high, power, power - one));
  V rest = select(is_large, zero, f.low / y), doubled = select(is_large, one, zero);
  return log_of(exact, k + doubled, rest);
}

}  // namespace detail

/// Inverse hyperbolic sine; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V asinh(V x) {
  using T = element_of<V>;
  V one = all<V>(1), magnitude = abs(x), a = at_most(magnitude, all<V>(detail::far_from_one<T>));
  V square = a * a;
  auto f = quick_sum(a, square / (one + sqrt(fma(a, a, one))));
  return copysign(detail::log_of_sum(f, magnitude > a, magnitude), x);
}

/// Inverse hyperbolic cosine: 0 at 1, NaN below.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V acosh(V x) {
  using T = element_of<V>;
  V one = all<V>(1), nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  V near = at_most(x, all<V>(detail::far_from_one<T>));
  twofold<V> t = quick_sum(near, -one), sum = quick_sum(near, one), z = product(t.high, sum.high);
  V root = sqrt(z.high);
  twofold<V> square = product(root, root);
  V over = (z.high - square.high) - square.low + (z.low + (t.high * sum.low + t.low * sum.high));
  auto f = quick_sum(root, t.high);
  f.low = f.low + (t.low + over / at_least(root + root, all<V>(std::numeric_limits<T>::min())));
  V result = detail::log_of_sum(f, x > near, x);
  return select(x < one, nan, select(x == one, x - one, result));
}

/// Inverse hyperbolic tangent: infinite at -1 and 1, NaN beyond; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V atanh(V x) {
  using T = element_of<V>;
  V one = all<V>(1), half = all<V>(T(0.5)), magnitude = abs(x), nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  V a = at_most(magnitude, all<V>(T(1) - std::numeric_limits<T>::epsilon() / 2));
  twofold<V> below = quick_sum(one, -a);
  V twice = a + a, q = twice / below.high;
  twofold<V> back = product(q, below.high);
  V over = ((twice - back.high) - back.low - q * below.low) / below.high;
  V result = half * detail::log_of_sum(twofold<V>{q, over}, one < all<V>(0), one);
  V infinite = all<V>(std::numeric_limits<T>::infinity());
  return copysign(select(magnitude < one, result, select(magnitude == one, infinite, nan)), x);
}

}  // namespace ebb::inline EBB_ABI::lane
