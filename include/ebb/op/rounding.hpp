// ebb/op/rounding.hpp — floor, ceil, trunc and round; their derivatives are 0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "arithmetic.hpp"

namespace ebb::inline EBB_ABI::op {

/// Saves: nothing.   Error: exact. The derivative is 0. Infinities, NaN and the sign of zero stay.
struct rounding : elementwise<1> {
  static constexpr domain accepts = domain::real;
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

/// The largest integer that is not above x.
struct floor : rounding {
  static constexpr std::string_view name = "floor";
  static constexpr auto value(auto x) { return lane::floor(x); }
};
/// The smallest integer that is not below x.
struct ceil : rounding {
  static constexpr std::string_view name = "ceil";
  static constexpr auto value(auto x) { return lane::ceil(x); }
};
/// The integer part: x rounded towards zero.
struct trunc : rounding {
  static constexpr std::string_view name = "trunc";
  static constexpr auto value(auto x) { return lane::trunc(x); }
};
/// The nearest integer; a tie goes to the even one.
struct round : rounding {
  static constexpr std::string_view name = "round";
  static constexpr auto value(auto x) { return lane::rint(x); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::floor> floor{};
inline constexpr call<op::ceil> ceil{};
inline constexpr call<op::trunc> trunc{};
inline constexpr call<op::round> round{};

}  // namespace ebb::inline EBB_ABI
