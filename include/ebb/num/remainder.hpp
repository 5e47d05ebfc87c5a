// ebb/num/remainder.hpp — remainders and quotients of a division, for one element and for batches of floats and of integers.
// SPDX-License-Identifier: BSL-1.0
//
// x - trunc(x / y) y is wrong as soon as the quotient has more digits than the format. So the quotient is taken a few digits at a time:
// each step subtracts an integer times y, and its result is exact, because it is smaller than y and a multiple of y's last place.
//
// [note: short quotients]
// Let n be the whole part of x / y as it is rounded, and x / y be below 2^24, in double 2^53. n is exact, or one too large if the quotient
// was rounded up to an integer. With fma x - n y is exact, for the reason above, and negative in the latter case. A quotient that is
// longer, infinite or NaN is taken in steps. fmod has the same bits by both ways. A division that is rounded towards the whole part needs
// no correction: see `quotient_down` in lane.hpp. The bounds below are such that both ways give the same bits next to 2^24 and 2^53.
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

/// From here on quotients are long.
template <class V>
inline constexpr element_of<V> least_long = 2 * format<element_of<V>>::ulp_one;

/// The lanes with a short quotient, and whether these are all. A quotient that is rounded to the bound may be below it.
template <class V>
EBB_INLINE constexpr mask_of<V> has_short(V q) {
  return abs(q) <= all<V>(least_long<V>);
}
template <class V>
EBB_INLINE constexpr bool is_short(V q) {
  return in_no_lane<V>(!has_short(q));
}
/// Whether x / y is taken at once. Constant expressions cannot divide by 0, and no quotient may overflow there.
template <class V>
EBB_INLINE constexpr bool takes_short([[maybe_unused]] V x, [[maybe_unused]] V y) {
  if constexpr (!fused) return false;
  else if constexpr (scalar<V>) return !__builtin_is_constant_evaluated() || abs(x) * element_of<V>(0x1p-60) < abs(y);
  else return true;
}

/// x with its sign flipped where y is negative.
template <class V>
EBB_INLINE constexpr V times_sign(V x, V y) {
  return from_bits<V>(to_bits(x) ^ (to_bits(y) & all<bits_of<V>>(format<element_of<V>>::sign)));
}

/// a - n b for a short quotient with the whole part n. An infinite b has n = 0 or -1, and is taken for a finite one: 0 times it is 0.
template <class V>
EBB_INLINE constexpr V short_rest(V a, V n, V b) {
  return fma(-n, at_most(b, all<V>(std::numeric_limits<element_of<V>>::max())), a);
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

/// fmod of any floats.
template <class V>
EBB_APART constexpr V long_fmod(V x, V y) {
  using T = element_of<V>;
  V one = all<V>(1), infinity = all<V>(std::numeric_limits<T>::infinity()), a = abs(x), b = abs(y);
  auto divides = a < infinity && b > all<V>(0), less = a < b;
  auto whole = divides && b <= a;
  V rest = remainder_of_magnitudes(select(whole, a, one), select(whole, b, one));
  V nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  return select(divides, copysign(select(less, a, rest), x), nan);
}

/// Whether a remainder r of a division by y is not zero and has the other sign.
template <class V>
EBB_INLINE constexpr mask_of<V> is_opposed(V r, V y) {
  V zero = all<V>(0);
  return (r < zero && y > zero) || (r > zero && y < zero);
}

/// trunc(x / y) of any floats; NaN if fmod is.
template <class V>
EBB_APART constexpr V long_whole_quotient(V x, V y) {
  return times_sign(times_sign(abs(rint((x - long_fmod(x, y)) / y)), x), y);
}

/// floor(x / y) of any floats.
template <class V>
EBB_APART constexpr V long_floor_quotient(V x, V y) {
  V one = all<V>(1), zero = all<V>(0), r = long_fmod(x, y), q = (x - r) / y;
  q = select(is_opposed(r, y), q - one, q);
  // q is a whole number up to its rounding.
  return select(y == zero, x / y, select(q == zero, copysign(zero, x / y), rint(q)));
}

}  // namespace detail

/// x - n y with n = trunc(x / y), exact: the result has the sign of x. NaN if x is infinite or y is 0; for integers 0 if y is 0.
template <class V>
EBB_INLINE constexpr V fmod(V x, V y) {
  if constexpr (std::integral<element_of<V>>) return detail::integer_remainder(x, y);
  else {
    if (detail::takes_short(x, y)) {
      V a = abs(x), b = abs(y), q = a / b;
      if (detail::is_short(q)) [[likely]] {
        V rest = detail::short_rest(a, floor(q), b);
        return copysign(select(rest < all<V>(0), rest + b, rest), x);
      }
    }
    return detail::long_fmod(x, y);
  }
}

/// x - n y with n = floor(x / y): the result has the sign of y, and that of x if it is 0.   Error: 0.5 ulp.
template <class V>
EBB_INLINE constexpr V floor_remainder(V x, V y) {
  if constexpr (std::integral<element_of<V>>) {
    V r = fmod(x, y);
    return select(detail::is_opposed(r, y), r + y, r);
  } else {
    if (detail::takes_short(x, y)) {
      V zero = all<V>(0), a = detail::times_sign(x, y), b = abs(y), q = a / b;
      if (detail::is_short(q)) [[likely]] {
        V rest = detail::short_rest(a, floor(q), b);
        rest = select(rest < zero, rest + b, rest);
        return select(rest == zero, copysign(zero, x), detail::times_sign(rest, y));
      }
    }
    V r = detail::long_fmod(x, y);
    return select(detail::is_opposed(r, y), r + y, r);
  }
}

/// trunc(x / y) of the exact quotient, with its sign also at 0; NaN where fmod is.   Error: with fma exact if short, else 2 ulp.
template <class V>
EBB_INLINE constexpr V whole_quotient(V x, V y) {
  if constexpr (std::integral<element_of<V>>) return detail::integer_quotient(x, y);
  else {
    if (detail::takes_short(x, y)) {
      if constexpr (requires { V::quotient_to_zero(x, y); }) {
        V q = V::quotient_to_zero(x, y), n = trunc(q);
        auto is_long = !(abs(q) < all<V>(detail::least_long<V>));
        if (detail::in_no_lane<V>(is_long)) [[likely]] return n;
        return select(is_long, detail::long_whole_quotient(x, y), n);
      } else {
        V a = abs(x), b = abs(y), q = a / b, n = floor(q);
        n = select(detail::short_rest(a, n, b) < all<V>(0), n - all<V>(1), n);
        n = detail::times_sign(detail::times_sign(n, x), y);
        if (detail::is_short(q)) [[likely]] return n;
        return select(detail::has_short(q), n, detail::long_whole_quotient(x, y));
      }
    }
    return detail::long_whole_quotient(x, y);
  }
}

/// floor(x / y) of the exact quotient; by 0: x / y, for integers 0. A NaN if x is infinite.   Error: with fma exact if short, else 2 ulp.
template <class V>
EBB_INLINE constexpr V floor_quotient(V x, V y) {
  V one = all<V>(1);
  if constexpr (std::integral<element_of<V>>) {
    return detail::integer_quotient(x, y) - select(detail::is_opposed(detail::integer_remainder(x, y), y), one, all<V>(0));
  } else {
    if (detail::takes_short(x, y)) {
      if constexpr (requires { V::quotient_down(x, y); }) {
        // By a finite number: the whole part of a negative number by infinity is -1, too.
        V most = all<V>(std::numeric_limits<element_of<V>>::max()), bound = all<V>(detail::least_long<V>);
        V q = V::quotient_down(x, at_least(at_most(y, most), -most)), n = floor(q);
        auto is_long = !(q < bound && q >= -bound);
        if (detail::in_no_lane<V>(is_long)) [[likely]] return n;
        return select(is_long, detail::long_floor_quotient(x, y), n);
      } else {
        V a = detail::times_sign(x, y), b = abs(y), q = a / b, n = floor(q);
        n = select(detail::short_rest(a, n, b) < all<V>(0), n - one, n);
        if (detail::is_short(q)) [[likely]] return n;
        // A short n is exact; the other way may be a unit off from 2^22 on.
        return select(detail::has_short(q), n, detail::long_floor_quotient(x, y));
      }
    }
    return detail::long_floor_quotient(x, y);
  }
}

}  // namespace ebb::inline EBB_ABI::lane
