// ebb/num/logarithmic.hpp — logarithms of a sum of exponentials and of 1 - e^x, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// Source: M. Maechler, Accurately computing log(1 - exp(-|a|)) (2012), for the two forms of log1mexp and where they meet.
#pragma once

#include "exponential.hpp"
#include "logarithm.hpp"
#include "twofold.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// x - y in two parts, 0 if both are equal infinities. Rounded to one part, e^(x - y) would lose |x - y| / 2 ulp.
template <class V>
EBB_INLINE constexpr twofold<V> difference(V x, V y) {
  V zero = all<V>(0), high = select(x == y, zero, x - y), back = high + y, low = (x - back) + ((back - high) - y);
  return {high, select(abs(low) < all<V>(std::numeric_limits<element_of<V>>::infinity()), low, zero)};
}

}  // namespace detail

/// log(e^x + e^y), without overflow; two equal infinities give that infinity.   Error: 3 ulp of the largest of |x|, |y| and |out|.
template <class V>
EBB_INLINE constexpr V logaddexp(V x, V y) {
  V larger = maximum(x, y);
  twofold<V> d = detail::difference(minimum(x, y), larger);
  V e = exp(d.high);
  return larger + log1p_of_part(fma(e, d.low, e));
}

/// e^x / (e^x + e^y), 1/2 for two equal infinities.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V share_of_exp(V x, V y) {
  twofold<V> d = detail::difference(x, y);
  V s = sigmoid(d.high);
  return fma(s * (all<V>(1) - s), d.low, s);
}

/// log(1 - e^x) for x <= 0: -infinity at 0, NaN above.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V log1mexp(V x) {
  using T = element_of<V>;
  using B = bits_of<V>;
  using C = detail::exponential<T>;
  // e^x and e^x - 1 of one polynomial; then the logarithm of 1 - e^x, of which a number known exactly is left beside 1 if x is far from 0.
  V one = all<V>(1), zero = all<V>(0);
  auto near = x > all<V>(T(-0.6931471805599453));
  auto reduced = detail::reduce(at_most(at_least(x, all<V>(C::least)), zero));
  V r = reduced.r, q = horner(r, C::q), e = scale(fma(fma(q, r, one), r, one), reduced.n);
  V power = select(near, reduced.power(), one), t = reduced.rough + fma(r * r, q, reduced.rest);
  V y = select(near, fma(power, -t, one - power), one - e);
  auto [m, k] = split(y);
  V back = from_bits<V>(to_bits(m) - to_bits(y) + all<B>(format<T>::one));
  V result = detail::log_of(select(near, m - one, fma(-e, back, back - one)), k);
  return select(x <= zero, copysign(result, -one), all<V>(std::numeric_limits<T>::quiet_NaN()));
}

}  // namespace ebb::inline EBB_ABI::lane
