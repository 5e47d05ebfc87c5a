// ebb/op/gelu.hpp — the Gaussian error linear unit and its approximation by tanh.
// SPDX-License-Identifier: BSL-1.0
//
// Each derivative is an op, not a formula of other ops: phi(x) times x or 2 - x^2 would be 0 * infinity at infinity, and lose digits.
#pragma once

#include "normal.hpp"

#include "../num/gelu.hpp"

namespace ebb::inline EBB_ABI::op {

/// The second derivative of gelu.   Saves: x.   Error: 3 ulp of the larger term of 2 - x^2.
struct gelu_bend : transcendental {
  static constexpr std::string_view name = "gelu_bend";
  static constexpr auto value(auto x) { return lane::gelu_bend(x); }
  static constexpr auto pull(auto g, auto x, auto) {
    const auto b = bounded(x);
    return grads(g * (emit_on<normal_density>({}, x) * b * (b * b - 4)));
  }
};

/// The first derivative of gelu.   Saves: x.   Error: 3 ulp of its larger term.
struct gelu_slope : transcendental {
  static constexpr std::string_view name = "gelu_slope";
  static constexpr auto value(auto x) { return lane::gelu_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<gelu_bend>({}, x)); }
};

/// x ndtr(x): -0 at -infinity, with derivatives 0; at infinity the derivatives are 1 and 0 (PyTorch: NaN).   Saves: x.   Error: 3 ulp.
/// Source: D. Hendrycks, K. Gimpel, Gaussian error linear units (2016).
struct gelu : transcendental {
  static constexpr std::string_view name = "gelu";
  static constexpr auto value(auto x) { return lane::gelu(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<gelu_slope>({}, x)); }
};

/// The second derivative of gelu_tanh. Not differentiable.   Saves: nothing.   Error: 7 ulp of its largest term.
struct gelu_tanh_bend : transcendental {
  static constexpr std::string_view name = "gelu_tanh_bend";
  static constexpr auto value(auto x) { return lane::gelu_tanh_bend(x); }
};

/// The first derivative of gelu_tanh.   Saves: x.   Error: 5 ulp of its larger term.
struct gelu_tanh_slope : transcendental {
  static constexpr std::string_view name = "gelu_tanh_slope";
  static constexpr auto value(auto x) { return lane::gelu_tanh_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<gelu_tanh_bend>({}, x)); }
};

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, PyTorch's gelu(approximate='tanh'); at infinity as gelu. Differentiable twice.
/// Saves: x.   Error: 3 ulp.   Source: as gelu.
struct gelu_tanh : transcendental {
  static constexpr std::string_view name = "gelu_tanh";
  static constexpr auto value(auto x) { return lane::gelu_tanh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<gelu_tanh_slope>({}, x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::gelu> gelu{};
inline constexpr call<op::gelu_tanh> gelu_tanh{};

}  // namespace ebb::inline EBB_ABI
