// ebb/stats/implicit.hpp — the implicit derivative of gamma numbers by their shape.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../special/incomplete.hpp"

namespace ebb::inline EBB_ABI::lane {

/// The derivative of log z by a, where P = gammainc(a, z) is fixed and l = log z. P and its derivatives are divided by z dP/dz as series or
/// fractions, so nothing underflows. For a > 1e6 the cube root of z / a is used: it is nearly normal.
template <class V>
EBB_INLINE constexpr V gamma_log_slope(V a, V l) {
  using T = element_of<V>;
  using detail::dual, detail::constant, detail::select_dual;
  V zero = all<V>(0), one = all<V>(1), nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  auto regular = a > zero && a <= all<V>(std::numeric_limits<T>::max()) && l < all<V>(std::numeric_limits<T>::max());
  auto large = a > all<V>(detail::largest_parameter<T>);
  V b = select(regular && !large, a, one), k = select(regular && !large, l, zero), y = exp(k);
  auto below = y < b + one;
  dual<V> parameter{b, one}, unit = constant(one);
  // z dP/dz is a times x^a e^-x / gamma(a + 1), whose logarithm has this derivative by a.
  V slope_of_log = k - digamma(b + one);
  dual<V> over = constant(select(below, y, zero)), term = unit, sum = unit;
  auto done = b != b;
  for (int i = 1; i < detail::most_steps; ++i) {
    dual<V> following = term * (over / (parameter + constant(all<V>(static_cast<T>(i))))), total = sum + following;
    auto settled = detail::is_settled(sum, following);
    term = select_dual<V>(done, term, following);
    sum = select_dual<V>(done, sum, total);
    done = done || settled;
    if (detail::in_no_lane<V>(!done)) break;
  }
  dual<V> far = constant(select(below, b * all<V>(4) + all<V>(100), y)), start = far + unit - parameter;
  dual<V> fraction = detail::continued_fraction(start, [&](int i) EBB_LAMBDA {
    dual<V> n = constant(all<V>(static_cast<T>(i)));
    struct { dual<V> a, b; } step{n * (parameter - n), start + n + n};
    return step;
  });
  dual<V> upper = parameter / fraction, part = select_dual<V>(below, sum, upper);
  V usual = (slope_of_log * part.value + part.slope) / select(below, -b, b);
  // w = 1 - 1 / (9 a) + x / (3 sqrt a), where x does not depend on a.
  V c = select(large && regular, a, one), ninth = one / (all<V>(9) * c);
  V excess = exp((select(large && regular, l, zero) - log(c)) / all<V>(3)) - one;
  V cube = (one + (all<V>(3) / (excess + one)) * (ninth - (excess + ninth) * all<V>(T(0.5)))) / c;
  return select(regular, select(large, cube, usual), nan);
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// The derivative of l = log z by a, where z is a gamma number of shape a: see [note: samples with derivatives]. Not differentiable.
/// Saves: nothing.   Error: 64 ulp for a <= 50; beyond, 4 a ulp, in the larger of 1 and 1 / a; beyond a = 1e6, 1e-9 of 1 / a.
struct gamma_log_slope : looping<2> {
  static constexpr std::string_view name = "gamma_log_slope";
  static constexpr auto value(auto a, auto l) { return lane::gamma_log_slope(a, l); }
};

/// by_shape(a, l) is l, the logarithm of a gamma number of shape a, with its derivative by a.   Saves: a, l.   Error: exact.
struct by_shape : elementwise<2> {
  static constexpr std::string_view name = "by_shape";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto, auto l) { return l; }
  static constexpr auto pull(auto g, auto a, auto l, auto) { return grads(g * emit_on<gamma_log_slope>({}, a, l), nothing); }
};

}  // namespace ebb::inline EBB_ABI::op
