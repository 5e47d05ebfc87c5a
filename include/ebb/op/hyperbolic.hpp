// ebb/op/hyperbolic.hpp — sinh, cosh and their inverses, the inverse of tanh, and hypot.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compare.hpp"
#include "exponential.hpp"

#include "../num/hyperbolic.hpp"
#include "../num/inverse_hyperbolic.hpp"

namespace ebb::inline EBB_ABI::op {

struct cosh;

/// Hyperbolic sine.   Saves: x.   Error: 2.1 ulp.
struct sinh : transcendental {
  static constexpr std::string_view name = "sinh";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::sinh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<cosh>({}, x)); }
};

/// Hyperbolic cosine.   Saves: x.   Error: 2 ulp.
struct cosh : transcendental {
  static constexpr std::string_view name = "cosh";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::cosh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sinh>({}, x)); }
};

/// 1 / sqrt(x^2 + 1), the derivative of asinh. At infinity it and its derivatives are 0.   Saves: x, out.   Error: 2 ulp.
struct asinh_slope : transcendental {
  static constexpr std::string_view name = "asinh_slope";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    auto one = lane::all<V>(1), magnitude = lane::abs(x), near = lane::at_most(magnitude, lane::all<V>(far<lane::element_of<V>>));
    return one / lane::select(magnitude > near, magnitude, lane::sqrt(lane::fma(near, near, one)));
  }
  static constexpr auto pull(auto g, auto x, auto out) {
    const auto finite = emit_on<where>({}, emit_on<isfinite>({}, x), x, literal_like(x, 0));
    return grads(-g * (finite * out * out * out));
  }

  /// From here on sqrt(x^2 + 1) and sqrt(x^2 - 1) are x.
  template <class T>
  static constexpr T far = sizeof(T) == 4 ? T(0x1p+15) : T(0x1p+30);
};

/// Inverse hyperbolic sine.   Saves: x.   Error: 2 ulp.
struct asinh : transcendental {
  static constexpr std::string_view name = "asinh";
  static constexpr auto value(auto x) { return lane::asinh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<asinh_slope>({}, x)); }
};

/// 1 / sqrt(x^2 - 1), the derivative of acosh. At infinity it and its derivatives are 0.   Saves: x, out.   Error: 2 ulp.
struct acosh_slope : transcendental {
  static constexpr std::string_view name = "acosh_slope";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    auto one = lane::all<V>(1), magnitude = lane::abs(x);
    auto near = lane::at_most(magnitude, lane::all<V>(asinh_slope::far<lane::element_of<V>>));
    return one / lane::select(magnitude > near, magnitude, lane::sqrt((near - one) * (near + one)));
  }
  static constexpr auto pull(auto g, auto x, auto out) {
    const auto finite = emit_on<where>({}, emit_on<isfinite>({}, x), x, literal_like(x, 0));
    return grads(-g * (finite * out * out * out));
  }
};

/// Inverse hyperbolic cosine. Its derivative at 1 is infinite.   Saves: x.   Error: 2 ulp.   Domain: x >= 1.
struct acosh : transcendental {
  static constexpr std::string_view name = "acosh";
  static constexpr auto value(auto x) { return lane::acosh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<acosh_slope>({}, x)); }
};

/// 1 / (1 - x^2), the derivative of atanh.   Saves: x, out.   Error: 2 ulp.
struct atanh_slope : transcendental {
  static constexpr std::string_view name = "atanh_slope";
  static constexpr auto value(auto x) {
    auto one = lane::all<decltype(x)>(1);
    return one / ((one - x) * (one + x));
  }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * (2 * (x * out) * out)); }
};

/// Inverse hyperbolic tangent. Its derivative at -1 and 1 is infinite.   Saves: x.   Error: 2 ulp.   Domain: -1 <= x <= 1.
struct atanh : transcendental {
  static constexpr std::string_view name = "atanh";
  static constexpr auto value(auto x) { return lane::atanh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<atanh_slope>({}, x)); }
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
inline constexpr call<op::asinh> asinh{};
inline constexpr call<op::acosh> acosh{};
inline constexpr call<op::atanh> atanh{};
inline constexpr call<op::hypot> hypot{};

}  // namespace ebb::inline EBB_ABI
