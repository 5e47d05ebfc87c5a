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
  return larger + log1p(fma(e, d.low, e));
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
  V edge = all<V>(T(-0.6931471805599453));
  auto near = x > edge;
  return select(near, log(-expm1(at_least(x, edge))), log1p(-exp(at_most(x, edge))));
}

}  // namespace ebb::inline EBB_ABI::lane
