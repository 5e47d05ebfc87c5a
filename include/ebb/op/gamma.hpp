// ebb/op/gamma.hpp — the logarithm of the gamma function, digamma and its derivatives.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "exponential.hpp"

#include "../num/gamma.hpp"

namespace ebb::inline EBB_ABI::op {

/// The third derivative of digamma. Not differentiable.   Saves: nothing.   Error: 8 ulp for x > 0, 12 ulp for x < 0.
struct pentagamma : transcendental {
  static constexpr std::string_view name = "pentagamma";
  static constexpr auto value(auto x) { return lane::pentagamma(x); }
};

/// The second derivative of digamma. Differentiable once.   Saves: x.   Error: 8 ulp; for x < 0, of the larger of the result and 1.
struct tetragamma : transcendental {
  static constexpr std::string_view name = "tetragamma";
  static constexpr auto value(auto x) { return lane::tetragamma(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<pentagamma>({}, x)); }
};

/// The derivative of digamma; inf at 0 and the negative integers. Differentiable twice.   Saves: x.   Error: 8 ulp.
struct trigamma : transcendental {
  static constexpr std::string_view name = "trigamma";
  static constexpr auto value(auto x) { return lane::trigamma(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<tetragamma>({}, x)); }
};

/// The derivative of lgamma; -inf at 0, inf at -0, NaN at negative integers. Differentiable three times.
/// Saves: x.   Error: 4 ulp for x > 0; for x < 0, 8 ulp of the larger of the result and 1.   Source: as num/gamma.hpp.
struct digamma : transcendental {
  static constexpr std::string_view name = "digamma";
  static constexpr auto value(auto x) { return lane::digamma(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<trigamma>({}, x)); }
};

/// log |gamma(x)|; inf at 0, the negative integers and both infinities. Differentiable four times.
/// Saves: x.   Error: 4 ulp for x > 0; for x < 0, 8 ulp of the larger of 1 and lgamma(1 - x).   Source: as digamma.
struct lgamma : transcendental {
  static constexpr std::string_view name = "lgamma";
  static constexpr auto value(auto x) { return lane::lgamma(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<digamma>({}, x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::lgamma> lgamma{};
inline constexpr call<op::digamma> digamma{};

/// The Order-th derivative of digamma, for orders from 0 to 3.   Saves: x.   Error: that of digamma, 8 ulp from order 1 on.
template <int Order, class X>
constexpr auto polygamma(X&& x) {
  static_assert(Order >= 0 && Order <= 3, "[ebb E0270] polygamma<n>: n is from 0, which is digamma, to 3");
  using op_of = std::tuple<op::digamma, op::trigamma, op::tetragamma, op::pentagamma>;
  return call<std::tuple_element_t<(Order >= 0 && Order <= 3 ? Order : 0), op_of>>{}(std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
