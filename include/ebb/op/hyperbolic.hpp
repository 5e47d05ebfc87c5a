// ebb/op/hyperbolic.hpp — sinh, cosh and hypot.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compare.hpp"
#include "exponential.hpp"

#include "../num/hyperbolic.hpp"

namespace ebb::inline EBB_ABI::op {

struct cosh;

/// Hyperbolic sine.   Saves: x.   Error: 2 ulp.
struct sinh : transcendental {
  static constexpr std::string_view name = "sinh";
  static constexpr auto value(auto x) { return lane::sinh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<cosh>({}, x)); }
};

/// Hyperbolic cosine.   Saves: x.   Error: 2 ulp.
struct cosh : transcendental {
  static constexpr std::string_view name = "cosh";
  static constexpr auto value(auto x) { return lane::cosh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sinh>({}, x)); }
};

/// x / h, or 0 if h is 0: the derivative of h = hypot(x, y) by x.   Saves: x, y, h.   Error: 0.5 ulp.
/// Its derivatives are those of x / hypot(x, y), so h gets none. The derivative by x is (y / h)^2 / h: 1 - (x / h)^2 would cancel.
struct hypot_slope : elementwise<3> {
  static constexpr std::string_view name = "hypot_slope";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto, auto h) {
    using V = decltype(h);
    return x / lane::select(h == lane::all<V>(0), lane::all<V>(1), h);
  }
  static constexpr auto pull(auto g, auto x, auto y, auto h, auto out) {
    const auto zero = literal_like(h, 0), by = emit_on<where>({}, emit_on<equal>({}, h, zero), literal_like(h, 1), h);
    const auto v = emit_on<hypot_slope>({}, y, x, h);
    return grads(g * (v * v / by), -g * (out * v / by), nothing);
  }
};

/// sqrt(x^2 + y^2), without intermediate overflow or underflow.   Saves: x, y, out.   Error: 1 ulp.
/// Infinite if x or y is, even if the other is NaN. Derivatives at (0, 0) are 0; PyTorch's are NaN.
struct hypot : elementwise<2> {
  static constexpr std::string_view name = "hypot";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::hypot(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) {
    return grads(g * emit_on<hypot_slope>({}, x, y, out), g * emit_on<hypot_slope>({}, y, x, out));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::sinh> sinh{};
inline constexpr call<op::cosh> cosh{};
inline constexpr call<op::hypot> hypot{};

}  // namespace ebb::inline EBB_ABI
