// ebb/num/constant.hpp — ln 2 in two parts.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

namespace ebb::inline EBB_ABI::lane {

/// high + low is ln 2 to about 1.7 times the precision of T; the product of high and an exponent is exact. Both are positive: with an
/// infinite exponent the sum of the two products is infinite, not NaN.
template <class T>
struct ln2;
template <>
struct ln2<float> {
  static constexpr float high = 0x1.62e4p-1f, low = 0x1.7f7d1cp-20f, reciprocal = 0x1.715476p+0f;
};
template <>
struct ln2<double> {
  static constexpr double high = 0x1.62e42fefap-1, low = 0x1.cf79abc9e3b3ap-40, reciprocal = 0x1.71547652b82fep+0;
};

}  // namespace ebb::inline EBB_ABI::lane
