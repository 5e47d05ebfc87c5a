// ebb/num/inverse_trigonometric.hpp — asin, acos, atan and atan2, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// asin s = s + s^3 p(s^2) for s up to 1/2. Larger |x| use asin x = pi/2 - 2 asin s, acos x = 2 asin s with s = sqrt((1 - |x|) / 2),
// computed as a root and its remainder. atan t = t + t^3 q(t^2) for |t| up to tan(pi/8). The angle of a / b is atan t for t = a / b, or
// pi/4 + atan t for t = (a - b) / (a + b), or pi/2 - atan t for t = b / a: t is a quotient and its remainder. Multiples of pi/4 have
// two parts.
// Source: FDLIBM's e_asin.c, e_acos.c, s_atan.c (1993) for the reductions; the polynomials are fitted at Chebyshev's points, by least
// squares of the relative error.
#pragma once

#include "lane.hpp"
#include "polynomial.hpp"
#include "twofold.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct inverse_trigonometric;

template <>
struct inverse_trigonometric<float> {
  static constexpr float half_pi_high = 0x1.921fb6p+0f, half_pi_low = -0x1.777a5cp-25f;
  static constexpr float all_but_infinite = 0x1p+30f;                                            // from here on atan is pi/2
  static constexpr float large = 0x1p+60f, down = 0x1p-80f, small = 0x1p-40f, up = 0x1p+100f;  // products of atan2 stay normal between
  static constexpr float p[] = {0x1.5555c8p-3f, 0x1.330262p-4f, 0x1.74705p-5f, 0x1.8cb902p-6f, 0x1.58f074p-5f};
  static constexpr float q[] = {-0x1.555548p-2f, 0x1.99913ap-3f, -0x1.23aed2p-3f, 0x1.b1938ep-4f, -0x1.f03d2cp-5f};
};
template <>
struct inverse_trigonometric<double> {
  static constexpr double half_pi_high = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  static constexpr double all_but_infinite = 0x1p+60;
  static constexpr double large = 0x1p+500, down = 0x1p-600, small = 0x1p-400, up = 0x1p+700;
  static constexpr double p[] = {0x1.5555555555396p-3, 0x1.333333336d5fbp-4, 0x1.6db6db4355137p-5,  0x1.f1c72bed51ac5p-6,
                                 0x1.6e89fb90c0b6ap-6, 0x1.1c6b722207dffp-6, 0x1.c706599abf788p-7,  0x1.8e8b12bc4f452p-7,
                                 0x1.adac3f7647c94p-8, 0x1.3eb408825030p-6,  -0x1.07e5dbac5781p-6, 0x1.04c7edd47ccc6p-5};
  static constexpr double q[] = {-0x1.555555555553ap-2, 0x1.9999999995236p-3,  -0x1.2492492288c41p-3, 0x1.c71c70d85fd02p-4,
                                 -0x1.745cf75f4cb1ap-4, 0x1.3b10ff4771e1ep-4,  -0x1.10ea98774fb0ep-4, 0x1.deff33710af44p-5,
                                 -0x1.9c8b39a40a87bp-5, 0x1.3722155834be2p-5, -0x1.23e50cc4fd3dbp-6};
};

/// asin s as s + rest, where s is |x| up to 1/2 and sqrt((1 - |x|) / 2) above.
template <class V>
struct half_angle {
  mask_of<V> above;
  V s, rest;
};
template <class V>
EBB_INLINE constexpr half_angle<V> half_angle_of(V x) {
  using T = element_of<V>;
  V magnitude = abs(x), half = all<V>(T(0.5)), zero = all<V>(0);
  auto above = magnitude > half;
  V z = select(above, (all<V>(1) - magnitude) * half, magnitude * magnitude), root = sqrt(z);
  twofold<V> square = product(root, root);
  V over = ((z - square.high) - square.low) / at_least(root + root, all<V>(std::numeric_limits<T>::min()));
  V s = select(above, root, magnitude);
  return {above, s, fma(s * z, horner(z, inverse_trigonometric<T>::p), select(above, over, zero))};
}

/// base + s + rest, where base is 0 or larger than s.
template <class V>
EBB_INLINE constexpr V added_to(twofold<V> base, V s, V rest) {
  twofold<V> sum = quick_sum(base.high, s);
  return sum.high + (sum.low + (base.low + rest));
}

/// The angle of (x, y) for x, y >= 0, not both 0; measured from pi down if `backwards`.
template <class V>
EBB_INLINE constexpr V angle_of_quotient(V y, V x, mask_of<V> backwards) {
  using T = element_of<V>;
  using C = inverse_trigonometric<T>;
  V zero = all<V>(0), one = all<V>(1), tangent = all<V>(T(0.41421356)), larger = at_least(y, x), smaller = at_most(x, y);
  auto flat = y <= x * tangent, steep = x <= y * tangent;
  // Sum and difference are twofold numbers; then the quotient of the case at hand and its remainder.
  twofold<V> sum = quick_sum(larger, smaller), difference = quick_sum(larger, -smaller);
  V above = select(flat || steep, smaller, difference.high), above_low = select(flat || steep, zero, difference.low);
  V below = select(flat || steep, larger, sum.high), below_low = select(flat || steep, zero, sum.low);
  V t = above / below;
  twofold<V> back = product(t, below);
  V over = (((above - back.high) - back.low) + (above_low - t * below_low)) / below;
  V z = t * t, rest = fma(t * z, horner(z, C::q), fma(-z, over, over));
  // flat: + t. Steep: pi/2 - t. Between: pi/4 -+ t. `backwards` subtracts this from pi.
  auto falls = steep || (!flat && y < x);
  V sign = select((falls && !backwards) || (!falls && backwards), -one, one);
  V quarters = select(flat, zero, select(steep, one, all<V>(T(0.5))));
  quarters = select(backwards, all<V>(2) - quarters, quarters);
  return added_to(twofold<V>{quarters * all<V>(C::half_pi_high), quarters * all<V>(C::half_pi_low)}, sign * t, sign * rest);
}

}  // namespace detail

/// Inverse sine: NaN beyond 1; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V asin(V x) {
  using C = detail::inverse_trigonometric<element_of<V>>;
  auto [above, s, rest] = detail::half_angle_of(x);
  V far = detail::added_to(twofold<V>{all<V>(C::half_pi_high), all<V>(C::half_pi_low)}, -(s + s), -(rest + rest));
  return copysign(select(above, far, s + rest), x);
}

/// Inverse cosine: NaN beyond 1, +0 at 1.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V acos(V x) {
  using T = element_of<V>;
  using C = detail::inverse_trigonometric<T>;
  auto [above, s, rest] = detail::half_angle_of(x);
  // pi/2 - asin x for |x| <= 1/2; above, 2 asin s, or pi - 2 asin s for negative x.
  V quarters = select(above, select(x < all<V>(0), all<V>(2), all<V>(0)), all<V>(1));
  V factor = copysign(select(above, all<V>(2), all<V>(1)), select(above, x, -x));
  return detail::added_to(twofold<V>{quarters * all<V>(C::half_pi_high), quarters * all<V>(C::half_pi_low)}, factor * s, factor * rest);
}

/// Inverse tangent: +-pi/2 at infinity; keeps the sign of zero.   Error: 1 ulp.
template <class V>
EBB_INLINE constexpr V atan(V x) {
  using C = detail::inverse_trigonometric<element_of<V>>;
  V magnitude = at_most(abs(x), all<V>(C::all_but_infinite)), one = all<V>(1);
  return copysign(detail::angle_of_quotient(magnitude, one, one < all<V>(0)), x);
}

/// The angle of the point (x, y), from -pi to pi; zeros and infinities follow C's annex F.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V atan2(V y, V x) {
  using T = element_of<V>;
  using C = detail::inverse_trigonometric<T>;
  V zero = all<V>(0), one = all<V>(1), infinity = all<V>(std::numeric_limits<T>::infinity()), ay = abs(y), ax = abs(x);
  // A point at infinity has its direction's angle; (0, 0) has that of the x axis.
  V larger = at_least(ay, ax);
  auto infinite = larger == infinity, nowhere = larger == zero;
  V factor = select(larger > all<V>(C::large), all<V>(C::down), select(larger < all<V>(C::small), all<V>(C::up), one));
  V up = select(infinite, select(ay == infinity, one, zero), ay * factor);
  V along = select(infinite, select(ax == infinity, one, zero), select(nowhere, one, ax * factor));
  auto backwards = copysign(one, x) < zero;
  V angle = detail::angle_of_quotient(up, along, backwards);
  // Scaling may lose a y that is tiny compared with x; then the quotient is the angle.
  V near_axis = select(ay < ax * all<V>(std::numeric_limits<T>::epsilon()) && !backwards, ay / ax, angle);
  return select(isnan(x), x, select(isnan(y), y, copysign(near_axis, y)));
}

namespace detail {
/// For any x and y. A factor keeps the squares normal; another keeps the quotient of tiny numbers normal.
template <class V>
EBB_APART constexpr V scaled_atan2_slope(V x, V y) {
  using T = element_of<V>;
  using C = inverse_trigonometric<T>;
  constexpr T lift = sizeof(T) == 4 ? T(0x1p+64) : T(1);
  V zero = all<V>(0), one = all<V>(1), sum = abs(x) + abs(y);
  auto is_large = sum > all<V>(C::large), is_small = sum < all<V>(C::small);
  V factor = select(is_large, all<V>(C::down), select(is_small, all<V>(C::up), one));
  V back = select(is_large, all<V>(C::down), select(is_small, all<V>(C::up / lift), one));
  V u = x * factor, v = y * factor, squares = u * u + v * v;
  V slope = u * select(is_small, all<V>(lift), one) / select(squares == zero, one, squares) * back;
  return select(squares == all<V>(std::numeric_limits<T>::infinity()), zero, slope);
}
}  // namespace detail

/// x / (x^2 + y^2), 0 at (0, 0) and at infinity.   Error: 2.5 ulp.
// Few lanes need a factor, and it is 1 for the others: these have the same bits without it. Sums and products are written so that a
// compiler sees that those of (y, x) are the same.
template <class V>
EBB_INLINE constexpr V atan2_slope(V x, V y) {
  using C = detail::inverse_trigonometric<element_of<V>>;
  V sum = abs(x) + abs(y);
  if (detail::in_no_lane<V>(!(sum >= all<V>(C::small) && sum <= all<V>(C::large)))) [[likely]] return x / (x * x + y * y);
  return detail::scaled_atan2_slope(x, y);
}

}  // namespace ebb::inline EBB_ABI::lane
