// ebb/op/arithmetic.hpp — elementwise arithmetic: sums, products, quotients, signs and magnitudes, lerp.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "call.hpp"
#include "kit.hpp"

#include "../num/quotient.hpp"

namespace ebb::inline EBB_ABI::op {

/// x + y.   Dtype: for bool it is x || y.   Saves: nothing.   Error: 0.5 ulp.
struct add : elementwise<2> {
  static constexpr std::string_view name = "add";
  static constexpr auto value(auto x, auto y) { return x + y; }
  static constexpr auto pull(auto g, auto, auto, auto) { return grads(g, g); }
};

/// x - y.   Dtype: bool is refused.   Saves: nothing.   Error: 0.5 ulp.
struct sub : elementwise<2> {
  static constexpr std::string_view name = "sub";
  static constexpr domain accepts = domain::signed_number;
  static constexpr auto value(auto x, auto y) { return x - y; }
  static constexpr auto pull(auto g, auto, auto, auto) { return grads(g, -g); }
};

/// x * y.   Dtype: for bool it is x && y.   Saves: x, y.   Error: 0.5 ulp.
struct mul : elementwise<2> {
  static constexpr std::string_view name = "mul";
  static constexpr arithmetic computes = arithmetic::product;
  static constexpr auto value(auto x, auto y) { return x * y; }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return grads(g * y, g * x); }
};

/// x / y.   Dtype: integers are converted to float first.   Saves: y, out.   Error: 0.5 ulp.
struct div : elementwise<2> {
  static constexpr std::string_view name = "div";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto y) { return x / y; }
  static EBB_INLINE constexpr auto by_reciprocal(auto x, auto y, auto high, auto low) {
    return lane::quotient(x, y, high, low);
  }
  static constexpr auto pull(auto g, auto, auto y, auto out) { return grads(g / y, -(g / y * out)); }
};

/// -x, the sign of zero included.   Dtype: bool is refused.   Saves: nothing.   Error: exact.
struct neg : elementwise<1> {
  static constexpr std::string_view name = "neg";
  static constexpr domain accepts = domain::signed_number;
  static constexpr auto value(auto x) { return -x; }
  static constexpr auto pull(auto g, auto, auto) { return grads(-g); }
};

/// x * x.   Saves: x.   Error: 0.5 ulp.
struct square : elementwise<1> {
  static constexpr std::string_view name = "square";
  static constexpr auto value(auto x) { return x * x; }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * (2 * x)); }
};

/// 1 / x.   Dtype: integers are converted to float first.   Saves: out.   Error: 0.5 ulp.
struct reciprocal : elementwise<1> {
  static constexpr std::string_view name = "reciprocal";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) { return lane::all<decltype(x)>(1) / x; }
  static constexpr auto pull(auto g, auto, auto out) { return grads(-g * (out * out)); }
};

/// 1, 0 or -1; 0 for both zeros and for NaN.   Saves: nothing: its derivative is 0.   Error: exact.
struct sign : elementwise<1> {
  static constexpr std::string_view name = "sign";
  static constexpr domain accepts = domain::signed_number;
  static constexpr auto value(auto x) {
    using V = decltype(x);
    V zero = lane::all<V>(0), one = lane::all<V>(1);
    return lane::select(x > zero, one, lane::select(x < zero, -one, zero));
  }
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

/// The magnitude. Its derivative is 0 at 0 and at NaN, as in PyTorch.   Saves: x.   Error: exact.
struct abs : elementwise<1> {
  static constexpr std::string_view name = "abs";
  static constexpr domain accepts = domain::signed_number;
  static constexpr auto value(auto x) { return lane::abs(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sign>({}, x)); }
};

/// a + w (b - a), and b - (b - a) (1 - w) from w = 1/2 on: the ends are exact.   Saves: a, b, w.   Error: 2 ulp of the larger of |a|, |b|.
struct lerp : elementwise<3> {
  static constexpr std::string_view name = "lerp";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto a, auto b, auto w) {
    using V = decltype(w);
    V one = lane::all<V>(1), difference = b - a;
    return lane::select(w < lane::all<V>(lane::element_of<V>(0.5)), a + w * difference, b - difference * (one - w));
  }
  static constexpr auto pull(auto g, auto a, auto b, auto w, auto) { return grads(g * (1 - w), g * w, g * (b - a)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::square> square{};
inline constexpr call<op::reciprocal> reciprocal{};
inline constexpr call<op::sign> sign{};
inline constexpr call<op::abs> abs{};
/// lerp(a, b, w)
inline constexpr call<op::lerp> lerp{};

}  // namespace ebb::inline EBB_ABI
