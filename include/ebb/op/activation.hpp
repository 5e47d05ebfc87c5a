// ebb/op/activation.hpp — activation functions: silu, mish, elu, selu, celu, leaky_relu, hardtanh, relu6, hardsigmoid, hardswish.
// SPDX-License-Identifier: BSL-1.0
//
// Derivatives at kinks are PyTorch's; each op states its own. Parameters (beta, alpha, slope, bounds) are operands: numbers, or arrays
// that are broadcast and get gradients. At infinity values and derivatives are the limits; PyTorch's are NaN.
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "exponential.hpp"
#include "extremum.hpp"

#include "../num/activation.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace ebb::inline EBB_ABI::op {

constexpr bool is_literal(auto x) { return x.op().what == kind::literal; }

/// u bounded to +-1000: beyond that, every factor that multiplies u has underflowed.
constexpr auto not_far(auto u) { return emit_on<clamp>({}, u, literal_like(u, -1000), literal_like(u, 1000)); }

/// The derivative of u / (1 + e^-u).   Saves: u.   Error: 4 ulp of max(|out|, 1).
struct silu_slope : transcendental {
  static constexpr std::string_view name = "silu_slope";
  static constexpr auto value(auto u) { return lane::silu_slope(u); }
  static constexpr auto pull(auto g, auto u, auto) {
    const auto z = not_far(u), s = emit_on<sigmoid>({}, z), rest = emit_on<sigmoid>({}, -z);
    return grads(g * (s * rest * (2 + z * (rest - s))));
  }
};

/// x / (1 + e^(-beta x)), also called swish.   Saves: x, beta.   Error: 2.5 ulp for beta = 1; else the product adds |beta x| / 2 ulp.
/// silu(-inf) is -0, its derivative is 0.
struct silu : elementwise<2> {
  static constexpr std::string_view name = "silu";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr std::array otherwise{1.0};
  static constexpr auto value(auto x, auto beta) { return lane::gated(x, x * beta); }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> beta, operand<T>) {
    const auto u = x * beta, by_x = g * emit_on<silu_slope>({}, u);
    if (is_literal(beta)) return grads(by_x, nothing);
    return grads(by_x, g * ((x * emit_on<sigmoid>({}, u)) * (x * emit_on<sigmoid>({}, -u))));
  }
};

/// The derivative of mish.   Saves: x.   Error: 4 ulp of max(|out|, 1).
struct mish_slope : transcendental {
  static constexpr std::string_view name = "mish_slope";
  static constexpr auto value(auto x) { return lane::mish_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) {
    // With w = tanh a, 1 + w = 2 high and 1 - w = 2 low, the derivative is s (1 - w^2) (2 + x (1 - s - 2 s w)).
    const auto z = not_far(x), s = emit_on<sigmoid>({}, z), rest = emit_on<sigmoid>({}, -z), a = 2 * emit_on<softplus>({}, z);
    const auto high = emit_on<sigmoid>({}, a), low = emit_on<sigmoid>({}, -a);
    return grads(g * (4 * s * low * high * (2 + z * (rest - 2 * s * (high - low)))));
  }
};

/// x tanh(log(1 + e^x)).   Saves: x.   Error: 2.5 ulp. mish(-inf) is -0, its derivative 0.
struct mish : transcendental {
  static constexpr std::string_view name = "mish";
  static constexpr auto value(auto x) { return lane::mish(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<mish_slope>({}, x)); }
};

/// x above 0, alpha (e^x - 1) below.   Saves: x, alpha, out.   Error: 2.5 ulp; of the derivative out + alpha: 1 ulp of alpha.
/// At 0 the first derivative is alpha, the second 0.
struct elu : elementwise<2> {
  static constexpr std::string_view name = "elu";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr std::array otherwise{1.0};
  static constexpr auto value(auto x, auto alpha) {
    return lane::select(x > lane::all<decltype(x)>(0), x, alpha * lane::expm1(x));
  }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> alpha, operand<T> out) {
    const auto zero = literal_like(g, 0);
    const auto below = emit_on<where>({}, emit_on<greater_equal>({}, x, zero), zero, out);
    const auto by_x = emit_on<where>({}, emit_on<greater>({}, x, zero), g, g * (below + alpha));
    if (is_literal(alpha)) return grads(by_x, nothing);
    return grads(by_x, g * emit_on<expm1>({}, emit_on<clamp_max>({}, x, zero)));
  }
};

/// x above 0, alpha (e^(x / alpha) - 1) below.   Saves: x, alpha, out.   Error: 3.5 ulp; of the derivative: 2 ulp of 1.
/// At 0 the first derivative is 1, the second 0.
struct celu : elementwise<2> {
  static constexpr std::string_view name = "celu";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr std::array otherwise{1.0};
  static constexpr auto value(auto x, auto alpha) {
    return lane::select(x > lane::all<decltype(x)>(0), x, alpha * lane::expm1(x / alpha));
  }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> alpha, operand<T> out) {
    const auto zero = literal_like(g, 0);
    const auto below = emit_on<where>({}, emit_on<greater_equal>({}, x, zero), zero, out);
    const auto fall = below / alpha;
    const auto by_x = emit_on<where>({}, emit_on<greater>({}, x, zero), g, g * (fall + 1));
    if (is_literal(alpha)) return grads(by_x, nothing);
    return grads(by_x, g * (fall - emit_on<clamp_max>({}, x, zero) / alpha * (fall + 1)));
  }
};

/// x above 0, slope x below.   Saves: x, slope.   Error: 0.5 ulp. The derivative at 0 is slope.
/// With one slope for each channel, a parameter of the network, it is PyTorch's prelu.
struct leaky_relu : elementwise<2> {
  static constexpr std::string_view name = "leaky_relu";
  static constexpr domain accepts = domain::real;
  static constexpr std::array otherwise{0.01};
  static constexpr auto value(auto x, auto slope) { return lane::select(x > lane::all<decltype(x)>(0), x, slope * x); }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> slope, operand<T>) {
    const auto zero = literal_like(g, 0);
    const auto by_x = emit_on<where>({}, emit_on<greater>({}, x, zero), g, g * slope);
    if (is_literal(slope)) return grads(by_x, nothing);
    return grads(by_x, g * emit_on<clamp_max>({}, x, zero));
  }
};

/// x between two bounds, as clamp. But x gets a gradient only strictly between the bounds; if x equals a bound, the bound gets it.
/// Saves: x, low, high.   Error: exact.
struct hardtanh : elementwise<3> {
  static constexpr std::string_view name = "hardtanh";
  static constexpr domain accepts = domain::real;
  static constexpr std::array otherwise{-1.0, 1.0};
  static constexpr auto value(auto x, auto low, auto high) { return clamp::value(x, low, high); }
  template <class T>
  static constexpr cotangents<3> pull(operand<T> g, operand<T> x, operand<T> low, operand<T> high, operand<T>) {
    const auto zero = literal_like(g, 0);
    const auto inside = emit_on<logical_and>({}, emit_on<greater>({}, x, low), emit_on<less>({}, x, high));
    const auto by_x = emit_on<where>({}, inside, g, zero);
    if (is_literal(low) && is_literal(high)) return grads(by_x, nothing, nothing);
    // If low is above high, the result is high.
    const auto above = emit_on<logical_or>({}, emit_on<greater_equal>({}, x, high), emit_on<greater>({}, low, high));
    const auto below = emit_on<logical_and>({}, emit_on<less_equal>({}, x, low), emit_on<logical_not>({}, above));
    return grads(by_x, emit_on<where>({}, below, g, zero), emit_on<where>({}, above, g, zero));
  }
};

/// x + 3 clamped to 0 and 6, divided by 6.   Saves: x.   Error: 1 ulp of max(out, 1/2). The derivative at -3 and 3 is 0.
struct hardsigmoid : elementwise<1> {
  static constexpr std::string_view name = "hardsigmoid";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return lane::at_most(lane::at_least(x + lane::all<V>(3), lane::all<V>(0)), lane::all<V>(6)) / lane::all<V>(6);
  }
  static constexpr auto pull(auto g, auto x, auto) {
    const auto inside = emit_on<less>({}, emit_on<abs>({}, x), literal_like(x, 3));
    return grads(emit_on<where>({}, inside, g / 6, literal_like(g, 0)));
  }
};

/// x hardsigmoid(x).   Saves: x.   Error: 2 ulp of |x|. The derivative is 0 for x <= -3 and 1 for x >= 3. hardswish(-inf) is -0.
struct hardswish : elementwise<1> {
  static constexpr std::string_view name = "hardswish";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) { return lane::at_least(x, lane::all<decltype(x)>(-3)) * hardsigmoid::value(x); }
  static constexpr auto pull(auto g, auto x, auto) {
    const auto zero = literal_like(x, 0), three = literal_like(x, 3);
    const auto slope = emit_on<where>({}, emit_on<greater_equal>({}, x, three), literal_like(x, 1), x / 3 + 0.5);
    return grads(g * emit_on<where>({}, emit_on<less_equal>({}, x, -three), zero, slope));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

namespace functions {

/// elu with the slopes that keep the mean 0 and the variance 1.
struct selu {
  static constexpr std::string_view name = "selu";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    const auto y = cast_to<decltype(detail::accepted<op::elu, T>())>(x);
    return 1.0507009873554804934193349852946 * emit_on<op::elu>({}, y, literal_like(y, 1.6732632423543772848170429916717));
  }
};

}  // namespace functions

namespace detail {

/// The call of an op whose last operands default to Op::otherwise.
template <class Op>
struct call_with_defaults : call<Op> {
  using call<Op>::operator();
  template <class X>
  constexpr auto operator()(X&& x) const {
    return with(std::make_index_sequence<Op::arity - 1>{}, std::forward<X>(x));
  }

 private:
  template <class X, std::size_t... I>
  constexpr auto with(std::index_sequence<I...>, X&& x) const {
    return call<Op>::operator()(std::forward<X>(x), beside<std::remove_cvref_t<X>>(Op::otherwise[I])...);
  }
  // If x is a float, the parameter is a float too.
  template <class X>
  static constexpr auto beside(double parameter) {
    if constexpr (std::is_floating_point_v<X>) return static_cast<X>(parameter);
    else return parameter;
  }
};

}  // namespace detail

/// silu(x), silu(x, beta)
inline constexpr detail::call_with_defaults<op::silu> silu{};
inline constexpr call<op::mish> mish{};
/// elu(x), elu(x, alpha); alpha is 1 by default
inline constexpr detail::call_with_defaults<op::elu> elu{};
/// celu(x), celu(x, alpha); alpha is 1 by default
inline constexpr detail::call_with_defaults<op::celu> celu{};
/// leaky_relu(x), leaky_relu(x, slope); slope is 0.01 by default
inline constexpr detail::call_with_defaults<op::leaky_relu> leaky_relu{};
/// hardtanh(x), hardtanh(x, low, high); the bounds are -1 and 1 by default
inline constexpr detail::call_with_defaults<op::hardtanh> hardtanh{};
inline constexpr call<op::hardsigmoid> hardsigmoid{};
inline constexpr call<op::hardswish> hardswish{};

/// x clamped to 0 and 6; no gradient at 0 and at 6.   Saves: x.   Error: exact.
template <class X>
constexpr auto relu6(X&& x) {
  return hardtanh(std::forward<X>(x), 0, 6);
}
/// 1.0507 elu(x, 1.6733): keeps the mean 0 and the variance 1.   Saves: x, out.   Error: 3.5 ulp.
template <class X>
constexpr auto selu(X&& x) {
  return apply_function(functions::selu{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
