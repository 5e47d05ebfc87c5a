// ebb/special/activation.hpp — further activations: softsign, tanhshrink, softshrink, hardshrink, threshold, squareplus, quick_gelu.
// SPDX-License-Identifier: BSL-1.0
//
// Parameters are numbers, or operands that are broadcast. Derivatives at kinks are PyTorch's.
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "../num/gamma.hpp"
#include "../num/hyperbolic.hpp"
#include "../op/activation.hpp"
#include "../op/arithmetic.hpp"
#include "../op/hyperbolic.hpp"
#include "../op/power.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// (x - tanh x) / x^3 as a quotient of polynomials of x^2, for |x| <= 2.
template <class T>
struct tanh_rest;
template <>
struct tanh_rest<float> {
  static constexpr float over[] = {0x1.555556p-2f, 0x1.5e0252p-6f, 0x1.f97998p-13f, 0x1.1a1e18p-26f};
  static constexpr float under[] = {0x1.db3a0ap-2f, 0x1.90a67cp-6f, 0x1.081a06p-12f};
};
template <>
struct tanh_rest<double> {
  static constexpr double over[] = {0x1.5555555555555p-2, 0x1.ba845874f702fp-6, 0x1.468d1829d13e1p-11, 0x1.6e413c2386bcep-18,
                                    0x1.3d8a8bab6d85ep-26, 0x1.4a56204fff752p-36, 0x1.c6883533b98d6p-55};
  static constexpr double under[] = {0x1.ec926a2f87ea2p-2, 0x1.0936a558890a3p-5, 0x1.6be989ad2232bp-11, 0x1.87b77a52f961ep-18,
                                     0x1.4a0f36f0fcc9ep-26, 0x1.4f29da11802acp-36};
};

}  // namespace detail

/// x - tanh x, without cancellation.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V tanhshrink(V x) {
  using C = detail::tanh_rest<element_of<V>>;
  V two = all<V>(2), small = at_most(at_least(x, -two), two), square = small * small;
  return select(abs(x) < two, small * square * detail::quotient(square, C::over, C::under), x - tanh(x));
}

namespace detail {
/// square_plus for any numbers.
template <bool Slope, class V>
EBB_APART constexpr V careful_square_plus(V x, V b) {
  using T = element_of<V>;
  V zero = all<V>(0), half = all<V>(T(0.5)), infinity = all<V>(std::numeric_limits<T>::infinity());
  V a = at_most(abs(x), all<V>(std::numeric_limits<T>::max())), root = hypot(a, sqrt(b));
  V large = fma(a, half, root * half), small = b * all<V>(T(0.25)) / large;
  auto right = x >= zero;
  if constexpr (Slope) return select(right, large, small) / root;
  else return select(right, select(x == infinity, x, large), select(x == -infinity, zero, small));
}
}  // namespace detail

/// (x + sqrt(x^2 + b)) / 2, or its derivative (1 + x / sqrt(x^2 + b)) / 2, without cancellation for negative x.
// Few lanes need care for overflow: the others have the same bits without it.
template <bool Slope, class V>
EBB_INLINE constexpr V square_plus(V x, V b) {
  using T = element_of<V>;
  using C = detail::hyperbolic<T>;
  V half = all<V>(T(0.5)), a = abs(x), square = fma(a, a, b), root = sqrt(square), large = (a + root) * half;
  auto right = x >= all<V>(0), fits = square <= all<V>(C::large * C::large) && b >= all<V>(C::small);
  V result;
  if constexpr (Slope) result = select(right, large, b * half) / select(right, root, fma(a, root, square));
  else result = select(right, large, b * all<V>(T(0.25)) / large);
  if (detail::in_no_lane<V>(!fits)) [[likely]] return result;
  return select(fits, result, detail::careful_square_plus<Slope>(x, b));
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// x / (1 + |x|): -1 and 1 at infinity, where PyTorch's is NaN.   Saves: x.   Error: 1.5 ulp; the derivatives are relative too.
struct softsign : elementwise<1> {
  static constexpr std::string_view name = "softsign";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) {
    using V = decltype(x);
    V one = lane::all<V>(1), a = lane::abs(x), infinity = lane::all<V>(std::numeric_limits<lane::element_of<V>>::infinity());
    return lane::select(a == infinity, lane::copysign(one, x), x / (one + a));
  }
  static constexpr auto pull(auto g, auto x, auto) {
    const auto inverse = emit_on<reciprocal>({}, 1 + emit_on<abs>({}, x));
    return grads(g * (inverse * inverse));
  }
};

/// x - tanh(x), without cancellation near 0.   Saves: x.   Error: 4 ulp. PyTorch's loses all digits near 0.
struct tanhshrink : transcendental {
  static constexpr std::string_view name = "tanhshrink";
  static constexpr auto value(auto x) { return lane::tanhshrink(x); }
  static constexpr auto pull(auto g, auto x, auto) {
    const auto t = emit_on<tanh>({}, x);
    return grads(g * (t * t));
  }
};

/// (1 + x / sqrt(x^2 + b)) / 2, the derivative of squareplus by x.   Saves: x, b.   Error: 4 ulp.
struct squareplus_slope : elementwise<2> {
  static constexpr std::string_view name = "squareplus_slope";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto b) { return lane::square_plus<true>(x, b); }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> b, operand<T>) {
    // b / (2 h^3) and -x / (4 h^3) with h = sqrt(x^2 + b)
    const auto inverse = emit_on<reciprocal>({}, emit_on<hypot>({}, x, emit_on<sqrt>({}, b)));
    const auto by_x = g * (b / 2 * inverse * inverse * inverse);
    if (is_literal(b)) return grads(by_x, nothing);
    return grads(by_x, -g * (x * inverse / 4 * inverse * inverse));
  }
};

/// (x + sqrt(x^2 + b)) / 2, a smooth form of relu.   Saves: x, b.   Error: 4 ulp.   Domain: b > 0.
/// Source: J. T. Barron, Squareplus: a softplus-like algebraic rectifier (2021).
struct squareplus : elementwise<2> {
  static constexpr std::string_view name = "squareplus";
  static constexpr domain accepts = domain::real;
  static constexpr std::array otherwise{4.0};
  static constexpr auto value(auto x, auto b) { return lane::square_plus<false>(x, b); }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> b, operand<T>) {
    const auto by_x = g * emit_on<squareplus_slope>({}, x, b);
    if (is_literal(b)) return grads(by_x, nothing);
    return grads(by_x, g * emit_on<reciprocal>({}, emit_on<hypot>({}, x, emit_on<sqrt>({}, b))) / 4);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

namespace functions {

/// The common part of the functions below: x as a real number.
struct shrinking {
  template <class T>
  static constexpr auto real(operand<T> x) {
    return cast_to<decltype(detail::accepted<op::softsign, T>())>(x);
  }
};

struct softshrink : shrinking {
  static constexpr std::string_view name = "softshrink";
  template <class T>
  static constexpr auto apply(operand<T> x, auto bound) {
    const auto y = real(x);
    const auto b = in_dtype<typename decltype(y)::value_type>(bound);
    const auto moved = broadcast_on<op::sub>(y, broadcast_on<op::mul>(emit_on<op::sign>({}, y), b));
    return broadcast_on<op::where>(broadcast_on<op::less_equal>(emit_on<op::abs>({}, y), b), literal_like(y, 0), moved);
  }
};

struct hardshrink : shrinking {
  static constexpr std::string_view name = "hardshrink";
  template <class T>
  static constexpr auto apply(operand<T> x, auto bound) {
    const auto y = real(x);
    const auto is_small = broadcast_on<op::less_equal>(emit_on<op::abs>({}, y), in_dtype<typename decltype(y)::value_type>(bound));
    return broadcast_on<op::where>(is_small, literal_like(y, 0), y);
  }
};

struct threshold : shrinking {
  static constexpr std::string_view name = "threshold";
  template <class T>
  static constexpr auto apply(operand<T> x, auto bound, auto value) {
    const auto y = real(x);
    using R = typename decltype(y)::value_type;
    return broadcast_on<op::where>(broadcast_on<op::less_equal>(y, in_dtype<R>(bound)), in_dtype<R>(value), y);
  }
};

struct quick_gelu : shrinking {
  static constexpr std::string_view name = "quick_gelu";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    const auto y = real(x);
    return emit_on<op::silu>({}, y, literal_like(y, 1.702));
  }
};

}  // namespace functions

inline constexpr call<op::softsign> softsign{};
inline constexpr call<op::tanhshrink> tanhshrink{};
/// squareplus(x), squareplus(x, b); b is 4 by default.   Fields as op::squareplus.
inline constexpr detail::call_with_defaults<op::squareplus> squareplus{};

/// 0 where |x| <= bound, else x moved towards 0 by bound.   Saves: x.   Error: 0.5 ulp. The derivative is 0 at -bound and bound.
template <class X, number Bound = double>
constexpr auto softshrink(X&& x, Bound bound = 0.5) {
  return apply_function(functions::softshrink{}, std::forward<X>(x), bound);
}
/// 0 where |x| <= bound, else x.   Saves: x.   Error: exact. The derivative is 0 at -bound and bound.
template <class X, number Bound = double>
constexpr auto hardshrink(X&& x, Bound bound = 0.5) {
  return apply_function(functions::hardshrink{}, std::forward<X>(x), bound);
}
/// x where it is above bound, else value; a NaN stays.   Saves: x.   Error: exact. The derivative is 0 at bound.
template <class X, number Bound, number Value>
constexpr auto threshold(X&& x, Bound bound, Value value) {
  return apply_function(functions::threshold{}, std::forward<X>(x), bound, value);
}
/// x sigmoid(1.702 x), an approximation of gelu.   Saves: x.   Error: that of silu.
inline constexpr call<functions::quick_gelu> quick_gelu{};

}  // namespace ebb::inline EBB_ABI
