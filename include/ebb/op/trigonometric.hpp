// ebb/op/trigonometric.hpp — sine, cosine, tangent and their inverses.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compare.hpp"
#include "exponential.hpp"

#include "../num/inverse_trigonometric.hpp"
#include "../num/tangent.hpp"
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

/// Tangent, of radians. NaN at infinity.   Saves: out.   Error: 2 ulp for arguments of any size.
struct tan : transcendental {
  static constexpr std::string_view name = "tan";
  static constexpr auto value(auto x) { return lane::tan(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (1 + out * out)); }
};

/// 1 / sqrt(1 - x^2), the derivative of asin.   Saves: x, out.   Error: 2 ulp.
struct asin_slope : transcendental {
  static constexpr std::string_view name = "asin_slope";
  static constexpr auto value(auto x) {
    auto one = lane::all<decltype(x)>(1);
    return one / lane::sqrt((one - x) * (one + x));
  }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * (x * out * out * out)); }
};

/// Inverse sine. Its derivative at -1 and 1 is infinite.   Saves: x.   Error: 2 ulp.   Domain: -1 <= x <= 1.
struct asin : transcendental {
  static constexpr std::string_view name = "asin";
  static constexpr auto value(auto x) { return lane::asin(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<asin_slope>({}, x)); }
};

/// Inverse cosine. Its derivative at -1 and 1 is -infinity.   Saves: x.   Error: 2 ulp.   Domain: -1 <= x <= 1.
struct acos : transcendental {
  static constexpr std::string_view name = "acos";
  static constexpr auto value(auto x) { return lane::acos(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(-g * emit_on<asin_slope>({}, x)); }
};

/// 1 / (1 + x^2), the derivative of atan. At infinity it and its derivatives are 0.   Saves: x, out.   Error: 1.5 ulp.
struct atan_slope : transcendental {
  static constexpr std::string_view name = "atan_slope";
  static constexpr auto value(auto x) {
    auto one = lane::all<decltype(x)>(1);
    return one / lane::fma(x, x, one);
  }
  static constexpr auto pull(auto g, auto x, auto out) {
    const auto finite = emit_on<where>({}, emit_on<isfinite>({}, x), x, literal_like(x, 0));
    return grads(g * (-2 * (finite * out) * out));
  }
};

/// Inverse tangent.   Saves: x.   Error: 1 ulp.
struct atan : transcendental {
  static constexpr std::string_view name = "atan";
  static constexpr auto value(auto x) { return lane::atan(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<atan_slope>({}, x)); }
};

/// x / (x^2 + y^2), 0 at (0, 0) and at infinity: the derivative of atan2(y, x) by y.   Saves: x, y, out.   Error: 2.5 ulp.
/// No intermediate result overflows or underflows.
struct atan2_slope : elementwise<2> {
  static constexpr std::string_view name = "atan2_slope";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::atan2_slope(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) {
    // By x (y^2 - x^2) / (x^2 + y^2)^2, by y -2 x y / (x^2 + y^2)^2.
    const auto other = emit_on<atan2_slope>({}, y, x);
    return grads(g * ((other - out) * (other + out)), -2 * g * (out * other));
  }
};

/// The angle of the point (x, y): atan2(y, x), from -pi to pi.   Saves: x, y.   Error: 2 ulp.
/// Zeros and infinities follow C's annex F. Derivatives at (0, 0) are 0, the second ones too; PyTorch's are NaN.
struct atan2 : elementwise<2> {
  static constexpr std::string_view name = "atan2";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto y, auto x) { return lane::atan2(y, x); }
  static constexpr auto pull(auto g, auto y, auto x, auto) {
    return grads(g * emit_on<atan2_slope>({}, x, y), -g * emit_on<atan2_slope>({}, y, x));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::sin> sin{};
inline constexpr call<op::cos> cos{};
inline constexpr call<op::tan> tan{};
inline constexpr call<op::asin> asin{};
inline constexpr call<op::acos> acos{};
inline constexpr call<op::atan> atan{};
/// atan2(y, x)
inline constexpr call<op::atan2> atan2{};

}  // namespace ebb::inline EBB_ABI
