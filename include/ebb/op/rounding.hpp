// ebb/op/rounding.hpp — floor, ceil, trunc and round; their derivatives are 0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "arithmetic.hpp"

namespace ebb::inline EBB_ABI::op {

struct rounding : elementwise<1> {
  static constexpr domain accepts = domain::real;
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

struct floor : rounding {
  static constexpr std::string_view name = "floor";
  static constexpr auto value(auto x) { return lane::floor(x); }
};
struct ceil : rounding {
  static constexpr std::string_view name = "ceil";
  static constexpr auto value(auto x) { return lane::ceil(x); }
};
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
