// ebb/num/ldexp.hpp — a number times a power of two, for any number and power, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lane.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

/// x * 2^n, rounded once, for any n, which is rounded to an integer; zeros, infinities and NaN stay. NaN if n is.
template <class V>
EBB_INLINE constexpr V ldexp(V x, V n) {
  using T = element_of<V>;
  if constexpr (requires { V::scale(x, n); }) {  // for any x; n only has to be finite, so that 0 and infinity stay
    V far = all<V>(T(4 * format<T>::bias));
    return V::scale(x, at_least(at_most(rint(n), far), -far));
  }
  auto [m, e] = split(x);
  // Beyond twice the range of exponents nothing changes any more.
  V most = all<V>(T(2 * format<T>::bias - 2)), zero = all<V>(0);
  auto is_number = n == n, scales = x != zero && abs(x) < all<V>(std::numeric_limits<T>::infinity()) && is_number;
  V power = at_least(at_most(rint(n) + select(scales, e, zero), most), -most);
  V result = select(scales, copysign(scale(m, select(scales, power, zero)), x), x);
  return select(is_number, result, n);
}

}  // namespace ebb::inline EBB_ABI::lane
