// ebb/stats/support.hpp — ops of which log densities are made: ends of supports, domains of parameters, and logarithms that do not cancel.
// SPDX-License-Identifier: BSL-1.0
//
// [note: logarithms of Poisson probabilities]
// log(m^k e^-m / gamma(k + 1)) is small where k is about m, while its three terms are about k log k: their sum would cancel. From k = 8 on
// it is Stirling's series, and k times log(1 + u) - u with u = (m - k) / k. Binomial, multinomial, gamma, beta and Dirichlet densities are
// sums of such logarithms, whose scale n drops out: none of them cancels for large counts.
// Source: C. Loader, "Fast and accurate computation of binomial probabilities", 2000.
#pragma once

#include "quantity.hpp"

#include "../special/gamma.hpp"

namespace ebb::inline EBB_ABI::lane {

/// log(1 + x^2), without overflow.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V log1p_sq(V x) {
  using T = element_of<V>;
  // From here on the 1 is less than half an ulp of x^2.
  V far = all<V>(static_cast<T>(sizeof(T) == 4 ? 0x1p+13 : 0x1p+27)), size = abs(x), near = at_most(size, far);
  auto large = size > far;
  V usual = log1p(near * near);
  if (detail::in_no_lane<V>(large)) return usual;
  V l = log(at_least(size, far));
  return select(large, l + l, usual);
}

/// For 0 < m < inf and -1 < k < inf: k log m - m below k = 8, from there on k (log(m / k) + 1) - m.
template <class V>
EBB_INLINE constexpr V poisson_terms(V k, V m) {
  using T = element_of<V>;
  V eight = all<V>(8), near = at_most(k, eight), far = at_least(k, eight), half = all<V>(T(0.5));
  auto below = k < eight;
  const auto usual = [=]() EBB_LAMBDA { return near * log(m) - m; };
  if (detail::in_no_lane<V>(!below)) return usual();
  V u = (m - far) / far, logarithm = select(abs(u) < half, log1p(at_least(u, -half)), log(m / far)), large = far * (logarithm - u);
  if (detail::in_no_lane<V>(below)) return large;
  return select(below, usual(), large);
}

/// lgamma(k + 1) below k = 8, from there on lgamma(k + 1) - k log k + k.
template <class V>
EBB_INLINE constexpr V poisson_rest(V k) {
  V eight = all<V>(8), one = all<V>(1), half = all<V>(element_of<V>(0.5)), far = at_least(k, eight);
  V series = detail::stirling_rest(far) + fma(log(far), half, all<V>(element_of<V>(0.918938533204672741780L)));
  return select(k >= eight, series, lgamma(at_most(k, eight) + one));
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// Whether x is outside of a support. NaN is not: it goes on into the formula.   Dtype: bool, no gradient.   Saves: nothing.
struct outside : elementwise<1> {
  template <class T>
  using result = bool;
  static constexpr domain accepts = domain::real;
};
/// The support 0 < x < inf.
struct is_not_positive : outside {
  static constexpr std::string_view name = "is_not_positive";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return x <= lane::all<V>(0) || x == lane::all<V>(infinity<lane::element_of<V>>);
  }
};
/// The support 0 <= x < inf.
struct is_negative : outside {
  static constexpr std::string_view name = "is_negative";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return x < lane::all<V>(0) || x == lane::all<V>(infinity<lane::element_of<V>>);
  }
};
/// The support 0 <= x <= 1.
struct is_not_in_unit : outside {
  static constexpr std::string_view name = "is_not_in_unit";
  static constexpr auto value(auto x) { return x < lane::all<decltype(x)>(0) || x > lane::all<decltype(x)>(1); }
};
/// The support 0, 1.
struct is_no_bit : outside {
  static constexpr std::string_view name = "is_no_bit";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return x != lane::all<V>(0) && x != lane::all<V>(1) && x == x;
  }
};
/// The support 0, 1, 2, ...
struct is_no_count : outside {
  static constexpr std::string_view name = "is_no_count";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return x < lane::all<V>(0) || lane::floor(x) < x || x == lane::all<V>(infinity<lane::element_of<V>>);
  }
};

/// x if it is in the domain of a parameter, else NaN.   Saves: nothing.   Error: exact.
struct parameter : elementwise<1> {
  static constexpr domain accepts = domain::real;
  static constexpr auto pull(auto g, auto, auto) { return grads(g); }
  static constexpr auto kept(auto x, auto in_domain) {
    using V = decltype(x);
    return lane::select(in_domain, x, lane::all<V>(std::numeric_limits<lane::element_of<V>>::quiet_NaN()));
  }
};
/// The domain 0 < x < inf.
struct if_positive : parameter {
  static constexpr std::string_view name = "if_positive";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return kept(x, x > lane::all<V>(0) && x < lane::all<V>(infinity<lane::element_of<V>>));
  }
};
/// The domain 0 <= x < inf.
struct if_not_negative : parameter {
  static constexpr std::string_view name = "if_not_negative";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return kept(x, x >= lane::all<V>(0) && x < lane::all<V>(infinity<lane::element_of<V>>));
  }
};
/// The domain 0 <= x <= 1.
struct if_probability : parameter {
  static constexpr std::string_view name = "if_probability";
  static constexpr auto value(auto x) { return kept(x, x >= lane::all<decltype(x)>(0) && x <= lane::all<decltype(x)>(1)); }
};

/// 2 x / (1 + x^2), the derivative of log1p_sq.   Saves: x, out.   Error: 3 ulp; a result below the least normal number may be 0.
struct log1p_sq_slope : elementwise<1> {
  static constexpr std::string_view name = "log1p_sq_slope";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) {
    using V = decltype(x);
    using T = lane::element_of<V>;
    V one = lane::all<V>(1), far = lane::all<V>(static_cast<T>(sizeof(T) == 4 ? 0x1p+13 : 0x1p+27)), size = lane::abs(x);
    V near = lane::at_most(size, far), slope = lane::select(size > far, (one + one) / size, (near + near) / (one + near * near));
    return lane::copysign(slope, x);
  }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * (2 / (1 + emit_on<square>({}, x)) - emit_on<square>({}, out))); }
};

/// log(1 + x^2), without overflow.   Saves: x.   Error: 3 ulp.
struct log1p_sq : transcendental {
  static constexpr std::string_view name = "log1p_sq";
  static constexpr auto value(auto x) { return lane::log1p_sq(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<log1p_sq_slope>({}, x)); }
};

/// The terms of log(m^k e^-m / gamma(k + 1)) that depend on m: k log m - m below k = 8, from there on k (log(m / k) + 1) - m. For k > -1
/// and m >= 0. At m = 0 it is 0 for k = 0, inf for k < 0 and -inf for k > 0; at m = inf it is -inf; outside NaN. Differentiable three
/// times by k: the derivative is that of k log m - m for any k, because the terms that k = 8 moves cancel in the sum with poisson_rest.
/// Saves: k, m.   Error: 4 ulp of the largest of 1, |m - k| and, for k < 8, m and |k log m|.
struct poisson_terms : elementwise<2> {
  static constexpr std::string_view name = "poisson_terms";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto k, auto m) {
    using V = decltype(k);
    using T = lane::element_of<V>;
    V zero = lane::all<V>(0), one = lane::all<V>(1), inf = lane::all<V>(infinity<T>);
    V nan = lane::all<V>(std::numeric_limits<T>::quiet_NaN());
    auto usable = k > -one && k < inf, regular = usable && m > zero && m < inf;
    if (lane::detail::in_no_lane<V>(!regular)) return lane::poisson_terms(k, m);
    V inside = lane::poisson_terms(lane::select(regular, k, one), lane::select(regular, m, one));
    V none = lane::select(k == zero, zero, lane::select(k > zero, -inf, inf));
    V end = lane::select(usable && m == zero, none, lane::select(usable && m == inf, -inf, nan));
    return lane::select(regular, inside, end);
  }
  static constexpr auto pull(auto g, auto k, auto m, auto) {
    // At k = m = 0 the quotient is 0, whatever the divisor is.
    const auto zero = literal_like(m, 0);
    const auto none = emit_on<logical_and>({}, emit_on<equal>({}, k, zero), emit_on<equal>({}, m, zero));
    const auto divisor = emit_on<where>({}, none, literal_like(m, 1), m);
    return grads(g * emit_on<log>({}, m), g * (k / divisor - 1));
  }
};

/// The rest of poisson_terms: lgamma(k + 1) below k = 8, from there on lgamma(k + 1) - k log k + k by Stirling's series. For k > -1. The
/// derivative is digamma(k + 1) for any k, see poisson_terms.   Saves: k.   Error: 5 ulp of the larger of 1 and out.
struct poisson_rest : transcendental {
  static constexpr std::string_view name = "poisson_rest";
  static constexpr auto value(auto k) { return lane::poisson_rest(k); }
  static constexpr auto pull(auto g, auto k, auto) { return grads(g * emit_on<digamma>({}, k + 1)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// log(m^k e^-m / gamma(k + 1)) of quantities, see [note: logarithms of Poisson probabilities]. An equation of its
/// own has what depends on k alone: it has the extents of k, and is computed once for a k of rank 0.
/// Error: 8 ulp of the largest of 1, |out|, |m - k| and, for k < 8, m and |k log m|.
template <class T>
constexpr quantity<T> log_poisson(quantity<T> k, quantity<T> m) {
  return emit_for<op::poisson_terms>(k, m) - emit_for<op::poisson_rest>(k);
}

}  // namespace ebb::inline EBB_ABI::functions
