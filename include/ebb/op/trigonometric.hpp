// ebb/op/trigonometric.hpp — sine and cosine.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "exponential.hpp"

#include "../num/trigonometric.hpp"

namespace ebb::inline EBB_ABI::op {

struct cos;

/// Sine, of radians. NaN at infinity.   Saves: x.   Error: 1 ulp for arguments of any size.
struct sin : transcendental {
  static constexpr std::string_view name = "sin";
  static constexpr auto value(auto x) { return lane::sin(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<cos>({}, x)); }
};

/// Cosine, of radians. NaN at infinity.   Saves: x.   Error: 1 ulp for arguments of any size.
struct cos : transcendental {
  static constexpr std::string_view name = "cos";
  static constexpr auto value(auto x) { return lane::cos(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(-g * emit_on<sin>({}, x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::sin> sin{};
inline constexpr call<op::cos> cos{};

}  // namespace ebb::inline EBB_ABI
