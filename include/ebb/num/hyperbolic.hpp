// ebb/num/hyperbolic.hpp — sinh, cosh and hypot, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// e^|x| = 2^n (1 + t) as in exponential.hpp, so e^-|x| = 2^-n (1 - t + s) with s = t^2 / (1 + t), and with c = 2^-2n
//   2 cosh x = 2^n ((1 + c) + (t - c t + c s)),   2 sinh |x| is the same with -c,
// where the first sum is nearly exact; for sinh it is 0 if n is 0, so that 2 t - s loses no digits. The last scaling overflows exactly
// where the result does.
// hypot: the square root of a sum, corrected by its remainder and by the rounding error of the smaller square.
// Source: W. J. Cody, W. Waite, Software Manual for the Elementary Functions (1980), chapter 9; C. F. Borges, An improved algorithm for
// hypot(x, y), ACM TOMS 47 (2021).
#pragma once

#include "exponential.hpp"
#include "twofold.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct hyperbolic;

template <>
struct hyperbolic<float> {
  static constexpr float greatest = 91, farthest = 40;  // results are infinite from here on; c is rounded off for such n
  static constexpr float large = 0x1p+60f, down = 0x1p-80f, small = 0x1p-40f, up = 0x1p+100f;  // squares of hypot stay normal between
};
template <>
struct hyperbolic<double> {
  static constexpr double greatest = 712, farthest = 100;
  static constexpr double large = 0x1p+500, down = 0x1p-600, small = 0x1p-400, up = 0x1p+700;
};

/// sinh |x| for Sign -1, cosh x for Sign 1.
template <int Sign, class V>
EBB_INLINE constexpr V half_sum(V magnitude) {
  using T = element_of<V>;
  using C = hyperbolic<T>;
  V one = all<V>(1), sign = all<V>(T(Sign));
  auto reduced = reduce(at_most(magnitude, all<V>(C::greatest)));
  V t = reduced.with(exponential<T>::q), square = t * (t / (one + t)), near = at_most(reduced.n, all<V>(C::farthest));
  V c = sign * power_of_two(-(near + near));
  return scale((one + c) + fma(c, square, fma(-c, t, t)), reduced.n - one);
}

}  // namespace detail

/// Hyperbolic sine; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V sinh(V x) {
  return copysign(detail::half_sum<-1>(abs(x)), x);
}
/// Hyperbolic cosine.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V cosh(V x) {
  return detail::half_sum<1>(abs(x));
}

namespace detail {

/// sqrt(larger^2 + smaller^2) for larger >= smaller >= 0 whose squares are in range.
template <class V>
EBB_INLINE constexpr V root_of_squares(V larger, V smaller) {
  using T = element_of<V>;
  using B = bits_of<V>;
  // The root of a sum s and its remainder, with what rounding smaller^2 has lost. 0.5 / sqrt(s) by its bits is good to an eighth.
  // Without fma the error of the root is in the bound.
  constexpr bits_of<T> half_inverse = sizeof(T) == 4 ? bits_of<T>(0x7e731100u) : bits_of<T>(0x7fce6200'00000000u);
  V square = smaller * smaller, sum = fma(larger, larger, square), root = sqrt(sum);
  if constexpr (!fused) return root;
  V rest = fma(-root, root, sum) + fma(smaller, smaller, -square);
  return fma(from_bits<V>(all<B>(half_inverse) - to_bits(root)), rest, root);
}
/// For any numbers, of which some may need a factor.
template <class V>
EBB_APART constexpr V scaled_hypot(V x, V y) {
  using T = element_of<V>;
  using C = hyperbolic<T>;
  V one = all<V>(1), infinity = all<V>(std::numeric_limits<T>::infinity()), larger = at_least(x, y);
  auto is_large = larger > all<V>(C::large), is_small = larger < all<V>(C::small);
  V factor = select(is_large, all<V>(C::down), select(is_small, all<V>(C::up), one));
  V back = select(is_large, all<V>(1 / C::down), select(is_small, all<V>(1 / C::up), one));
  V result = root_of_squares(larger * factor, at_most(y, x) * factor) * back;
  return select(x == infinity || y == infinity, infinity, result);
}

}  // namespace detail

/// sqrt(x^2 + y^2) without intermediate overflow or underflow; infinite if either is, even if the other is NaN.   Error: 1 ulp.
// Few lanes need a factor, and it is 1 for the others: these have the same bits without it.
template <class V>
EBB_INLINE constexpr V hypot(V x, V y) {
  using C = detail::hyperbolic<element_of<V>>;
  V ax = abs(x), ay = abs(y), larger = at_least(ax, ay);  // larger and smaller are x and y in some order, a NaN included
  if (detail::in_no_lane<V>(!(larger >= all<V>(C::small) && larger <= all<V>(C::large)))) [[likely]]
    return detail::root_of_squares(larger, at_most(ay, ax));
  return detail::scaled_hypot(ax, ay);
}

}  // namespace ebb::inline EBB_ABI::lane
