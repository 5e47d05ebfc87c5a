// ebb/num/remainder.hpp — remainders and quotients of a division, for one element and for batches of floats and of integers.
// SPDX-License-Identifier: BSL-1.0
//
// x - trunc(x / y) y is wrong as soon as the quotient has more digits than the format. So the quotient is taken a few digits at a time:
// each step subtracts an integer times y, and its result is exact, because it is smaller than y and a multiple of y's last place.
#pragma once

#include "lane.hpp"
#include "twofold.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// Towards zero; x / 0 is 0 and the smallest integer / -1 wraps around, as for batches.
template <class V>
EBB_INLINE constexpr V integer_quotient(V x, V y) {
  if constexpr (!scalar<V>) return x / y;
  else if (y == 0) return 0;
  else if (y == -1) return static_cast<V>(0 - static_cast<std::make_unsigned_t<V>>(x));
  else return static_cast<V>(x / y);
}

template <class V>
EBB_INLINE constexpr V integer_remainder(V x, V y) {
  V zero = all<V>(0);
  // Of products that wrap around the difference is right: it is that of exact products modulo 2^width.
  if constexpr (scalar<V>) return y == zero || y == -1 ? zero : static_cast<V>(x % y);
  else return V::select(y == zero, zero, x - (x / y) * y);
}

/// |x| - n |y| with n = trunc(|x| / |y|), for finite x and y other than 0.
template <class V>
EBB_INLINE constexpr V remainder_of_magnitudes(V x, V y) {
  using T = element_of<V>;
  constexpr T digits = sizeof(T) == 4 ? 20 : 50;  // of the quotient in each step: two fewer than a float has
  auto [rest, x_exponent] = split(x);
  auto [unit, y_exponent] = split(y);
  V zero = all<V>(0), gap = at_least(x_exponent - y_exponent, zero);
  constexpr int most = 2 + (std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::min_exponent + std::numeric_limits<T>::digits) /
                               static_cast<int>(digits);
  for (int i = 0; i < most; ++i) {
    V taken = at_most(gap, all<V>(digits)), high = rest * power_of_two(taken), n = trunc(high / unit);
    gap = gap - taken;
    if constexpr (fused) rest = fma(-n, unit, high);
    else {
      twofold<V> p = product(n, unit);
      rest = (high - p.high) - p.low;
    }
    // The rounded quotient may be 1 too large.
    rest = select(rest < zero, rest + unit, rest);
    if (in_no_lane<V>(gap > zero)) break;
  }
  return scale(rest, y_exponent);
}

}  // namespace detail

/// x - n y with n = trunc(x / y), exact: the result has the sign of x. NaN if x is infinite or y is 0; for integers 0 if y is 0.
template <class V>
EBB_INLINE constexpr V fmod(V x, V y) {
  using T = element_of<V>;
  if constexpr (std::integral<T>) return detail::integer_remainder(x, y);
  else {
    V one = all<V>(1), infinity = all<V>(std::numeric_limits<T>::infinity()), a = abs(x), b = abs(y);
    auto divides = a < infinity && b > all<V>(0), less = a < b;
    auto whole = divides && b <= a;
    V rest = detail::remainder_of_magnitudes(select(whole, a, one), select(whole, b, one));
    V nan = all<V>(std::numeric_limits<T>::quiet_NaN());
    return select(divides, copysign(select(less, a, rest), x), nan);
  }
}

/// Whether a remainder r of a division by y is not zero and has the other sign.
template <class V>
EBB_INLINE constexpr mask_of<V> is_opposed(V r, V y) {
  V zero = all<V>(0);
  return (r < zero && y > zero) || (r > zero && y < zero);
}

/// x - n y with n = floor(x / y): the result has the sign of y.   Error: 0.5 ulp.
template <class V>
EBB_INLINE constexpr V floor_remainder(V x, V y) {
  V r = fmod(x, y);
  return select(is_opposed(r, y), r + y, r);
}

/// floor(x / y) of the exact quotient, rounded; by 0: x / y, for integers 0. A NaN if x is infinite.
template <class V>
EBB_INLINE constexpr V floor_quotient(V x, V y) {
  V one = all<V>(1);
  if constexpr (std::integral<element_of<V>>) {
    return detail::integer_quotient(x, y) - select(is_opposed(detail::integer_remainder(x, y), y), one, all<V>(0));
  } else {
    V zero = all<V>(0), r = fmod(x, y), q = (x - r) / y;
    q = select(is_opposed(r, y), q - one, q);
    // q is a whole number up to its rounding.
    return select(y == zero, x / y, select(q == zero, copysign(zero, x / y), rint(q)));
  }
}

}  // namespace ebb::inline EBB_ABI::lane
