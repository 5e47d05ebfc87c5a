// ebb/op/gradient.hpp — functions that change gradients and not values, and masked: grad_scale, grad_reverse, straight_through.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compare.hpp"

namespace ebb::inline EBB_ABI::op {

/// x, with its gradient multiplied by k. k gets no gradient.   Saves: k.   Error: exact.
struct grad_scale : elementwise<2> {
  static constexpr std::string_view name = "grad_scale";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto) { return x; }
  static constexpr auto pull(auto g, auto, auto k, auto) { return grads(g * k, nothing); }
};

/// y, with the gradient of x: as if y were x.   Saves: nothing.   Error: exact.
struct straight_through : elementwise<2> {
  static constexpr std::string_view name = "straight_through";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto, auto y) { return y; }
  static constexpr auto pull(auto g, auto, auto, auto) { return grads(g, nothing); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::grad_scale> grad_scale{};

/// x, with its gradient negated.   Saves: nothing.   Error: exact.
template <class X>
constexpr auto grad_reverse(X&& x) {
  return grad_scale(std::forward<X>(x), -1);
}

/// f(x), differentiated as if it were x: to train through a step or a rounding.   straight_through(ebb::round, x)
/// Shape: that of x, broadcast with f's.   Saves: nothing.   Error: f's.
template <class F, class X>
constexpr auto straight_through(F f, const X& x) {
  return call<op::straight_through>{}(x, f(x));
}

/// f(x) where `valid` holds, else 0, with the gradient 0 where it does not hold: f never sees an operand that is not valid, only `safe`.
/// masked(x > 0, x, 1, ebb::log) is where(x > 0, log(where(x > 0, x, 1)), 0).   Saves, Error: those of f, and valid.
template <class M, class X, class Safe, class F>
constexpr auto masked(const M& valid, const X& x, const Safe& safe, F f) {
  return where(valid, f(where(valid, x, safe)), 0);
}

}  // namespace ebb::inline EBB_ABI
