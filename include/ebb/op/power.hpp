// ebb/op/power.hpp — powers and roots.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compare.hpp"
#include "exponential.hpp"

#include "../num/power.hpp"

namespace ebb::inline EBB_ABI {

/// Inside rules: x to a power that is known while tracing. Small integers and some halves need no pow.
template <class T>
constexpr operand<T> power_of(operand<T> x, double exponent);

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// Square root.   Saves: out.   Error: 0.5 ulp.   Domain: x >= 0.
struct sqrt : transcendental {
  static constexpr std::string_view name = "sqrt";
  static constexpr auto value(auto x) { return lane::sqrt(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g / (2 * out)); }
};

/// 1 / sqrt(x).   Saves: out.   Error: 1.5 ulp.   Domain: x >= 0; rsqrt(0) is inf.
struct rsqrt : transcendental {
  static constexpr std::string_view name = "rsqrt";
  static constexpr auto value(auto x) { return lane::all<decltype(x)>(1) / lane::sqrt(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(-0.5 * g * (out * out * out)); }
};

/// x to the y.   Dtype: promoted; bool is refused.   Saves: x, y, out.   Error: 1 ulp; integers wrap around.
/// Special values follow C's annex F: x^0 is 1 for every x, 1^y for every y. At y = 0 the gradient of x is 0; at x = 0 and y >= 0 that of
/// y is 0. An integer to a negative integer is 1 / x^-y rounded towards zero: 0, except for x = 1 and -1.
struct pow : elementwise<2> {
  static constexpr std::string_view name = "pow";
  static constexpr domain accepts = domain::signed_number;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::pow(x, y); }

  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> y, operand<T> out) {
    if (y.op().what == kind::literal) {
      const double exponent = static_cast<double>(detail::widened(from_cell<T>(static_cast<cell>(y.attribute(0)))));
      return grads(exponent == 0 ? literal_like(g, 0) : g * (exponent * power_of(x, exponent - 1)), literal_like(g, 0));
    }
    const auto zero = literal_like(g, 0);
    const auto by_x = g * (y * emit_on<pow>({}, x, y - 1)), by_y = g * (out * emit_on<log>({}, x));
    const auto flat = emit_on<logical_and>({}, emit_on<equal>({}, x, zero), emit_on<greater_equal>({}, y, zero));
    return grads(emit_on<where>({}, emit_on<equal>({}, y, zero), zero, by_x), emit_on<where>({}, flat, zero, by_y));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class T>
constexpr operand<T> power_of(operand<T> x, double exponent) {
  if (exponent == 0) return literal_like(x, 1);
  if (exponent == 1) return x;
  if (exponent == 2) return emit_on<op::square>({}, x);
  if (exponent == 3) return emit_on<op::square>({}, x) * x;
  if constexpr (real_element<T>) {
    if (exponent == -1) return emit_on<op::reciprocal>({}, x);
    if (exponent == 0.5) return emit_on<op::sqrt>({}, x);
    if (exponent == -0.5) return emit_on<op::rsqrt>({}, x);
  }
  return emit_on<op::pow>({}, x, literal_like(x, exponent));
}

namespace functions {

/// pow with a number as exponent: weak, and known while tracing.
struct power {
  static constexpr std::string_view name = "pow";
  template <class T, class N>
  static constexpr auto apply(operand<T> x, N exponent)
    requires number<N>
  {
    using R = promoted_weak<T, N>;
    if constexpr (std::is_same_v<R, bool>) return refuse<bool>(*x.g, 120);
    else return power_of(cast_to<R>(x), static_cast<double>(exponent));
  }
  /// Outside traced functions a number is an argument of the call.
  template <class T, class N>
  static constexpr auto apply(operand<T> x, operand<N> exponent) {
    using R = std::conditional_t<real_element<N> && !real_element<T>, float, promoted_weak<T, N>>;
    return detail::broadcasting<op::pow>::apply(cast_to<R>(x), cast_to<R>(exponent));
  }
};

}  // namespace functions

inline constexpr call<op::sqrt> sqrt{};
inline constexpr call<op::rsqrt> rsqrt{};

/// x to the y, arrays or numbers; a number as exponent is known while tracing.   Dtype: an integer to a float gives float.
/// Saves, Error: as op::pow; the exponents 2, 3, -1, 0.5 and -0.5 give products, quotients and roots.
template <class X, class Y>
constexpr auto pow(const X& x, const Y& y) {
  if constexpr (number<Y> && !number<X>) return apply_function(functions::power{}, x, y);
  else return apply_function(detail::broadcasting<op::pow>{}, x, y);
}

}  // namespace ebb::inline EBB_ABI
