// ebb/num/activation.hpp — silu, mish and their derivatives, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// With e = e^-|u|, x / (1 + e^-u) is x - x e / (1 + e) for u >= 0, and x e - x e e / (1 + e) for u < 0. For u < 0 the product x e is
// computed from e = p 2^n as (x p) 2^n, rounded once: e alone underflows earlier than the product.   Source: S. Elfwing, E. Uchibe,
// K. Doya, Sigmoid-weighted linear units (2018); D. Misra, Mish (2019).
#pragma once

#include "exponential.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// The smallest exponent that lane::scale takes. Below it x e^u is at most a few times the smallest normal number, even for the largest x.
template <class T>
inline constexpr T least_exponent = T(-0.69) * (2 * format<T>::bias - 2);

/// e^u and x e^u for u <= 0, each rounded once.
template <class V>
EBB_INLINE constexpr parts<V> exp_and_product(V u, V x) {
  using T = element_of<V>;
  V one = all<V>(1);
  V least = all<V>(least_exponent<T>);
  auto reduced = reduce(at_least(u, least));
  V r = reduced.r, p = fma(fma(horner(r, exponential<T>::q), r, one), r, one);
  V e = scale(p, reduced.n), product = scale(x * p, reduced.n);
  return {e, select(u < least, copysign(all<V>(0), x), product)};
}

template <class V>
EBB_INLINE constexpr mask_of<V> is_infinite(V x) {
  return abs(x) == all<V>(std::numeric_limits<element_of<V>>::infinity());
}

/// x bounded to +-1000: beyond it, all terms added to the limits underflow or are rounded off.
template <class V>
EBB_INLINE constexpr V not_far(V x) {
  return at_most(at_least(x, all<V>(-1000)), all<V>(1000));
}

}  // namespace detail

/// x / (1 + e^-u). An infinite x gives 0 where 1 / (1 + e^-u) is 0.   Error: 2.5 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gated(V x, V u) {
  V one = all<V>(1);
  auto [e, product] = detail::exp_and_product(-abs(u), x);
  V whole = select(u < all<V>(0), product, x), result = fma(whole, e / (-one - e), whole);
  return copysign(select(detail::is_infinite(whole) && u == u, whole, result), x);
}

/// The derivative of u / (1 + e^-u): s (1 + u (1 - s)) with s = 1 / (1 + e^-u).   Error: 4 ulp of the larger of the result and 1.
template <class V>
EBB_INLINE constexpr V silu_slope(V u) {
  V one = all<V>(1), near = detail::not_far(u), e = lane::exp(-abs(near)), larger = one / (one + e), smaller = e * larger;
  auto left = u < all<V>(0);
  V s = select(left, smaller, larger), rest = select(left, larger, smaller);
  return s * fma(near, rest, one);
}

/// x tanh(log(1 + e^x)).   Error: 2.5 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V mish(V x) {
  // With e = e^-|x|, tanh(..) is 1 - 2 e^2 / (1 + 2 e + 2 e^2) for x >= 0 and e - e (e^2 + e) / (2 + 2 e + e^2) for x < 0.
  V one = all<V>(1), two = all<V>(2);
  auto left = x < all<V>(0);
  auto [e, product] = detail::exp_and_product(-abs(x), x);
  V above = select(left, fma(e, e, e), two * (e * e)), below = select(left, fma(e, e, fma(two, e, two)), fma(two * e, e, fma(two, e, one)));
  V whole = select(left, product, x), result = fma(whole, -(above / below), whole);
  return copysign(select(detail::is_infinite(whole), whole, result), x);
}

/// The derivative of mish.   Error: 4 ulp of the larger of the result and 1.
template <class V>
EBB_INLINE constexpr V mish_slope(V x) {
  // w + x s (1 - w^2) with w = tanh(..) and s = 1 / (1 + e^-x), both over the denominator of mish.
  V one = all<V>(1), two = all<V>(2), near = detail::not_far(x), e = lane::exp(-abs(near)), square = e * e;
  auto left = x < all<V>(0);
  V below = one / select(left, fma(e, e, fma(two, e, two)), fma(two * e, e, fma(two, e, one)));
  V w = select(left, fma(e, e, two * e), fma(two, e, one)) * below;
  V bend = all<V>(4) * select(left, e, square) * (one + e) * below * below;
  return fma(near, bend, w);
}

}  // namespace ebb::inline EBB_ABI::lane
