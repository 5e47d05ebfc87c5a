// ebb/op/exponential.hpp — exp, log and their relatives.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "arithmetic.hpp"

#include "../num/exponential.hpp"
#include "../num/logarithm.hpp"

namespace ebb::inline EBB_ABI::op {

/// Real functions of one operand that are worth saving.
struct transcendental : elementwise<1> {
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
};

/// e to the x.   Saves: out.   Error: 1.5 ulp.
struct exp : transcendental {
  static constexpr std::string_view name = "exp";
  static constexpr auto value(auto x) { return lane::exp(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * out); }
};

/// Natural logarithm.   Saves: x.   Error: 1.5 ulp.   Domain: x >= 0; log(0) is -inf.
struct log : transcendental {
  static constexpr std::string_view name = "log";
  static constexpr auto value(auto x) { return lane::log(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g / x); }
};

/// Hyperbolic tangent.   Saves: out.   Error: 2 ulp.
struct tanh : transcendental {
  static constexpr std::string_view name = "tanh";
  static constexpr auto value(auto x) { return lane::tanh(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (1 - out * out)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::exp> exp{};
inline constexpr call<op::log> log{};
inline constexpr call<op::tanh> tanh{};

}  // namespace ebb::inline EBB_ABI
