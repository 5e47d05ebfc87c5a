// ebb/special/incomplete.hpp — the incomplete gamma and beta functions, regularized: gammainc, gammaincc, betainc.
// SPDX-License-Identifier: BSL-1.0
//
// They give the distribution functions of the gamma, Poisson, chi-squared, beta, binomial, F and t distributions. Below the mean they are
// the sum of a series, above it a continued fraction. Both are computed with their derivatives by a parameter: the loops run on numbers
// with one derivative. A lane that has converged stays as it is, so that its result does not depend on its neighbours.
// Source: W. Press et al., Numerical Recipes (2007), 6.2 and 6.4, for the fractions and Lentz's method; R. Moore, Algorithm AS 187 (1982),
// for derivatives by the parameter.
#pragma once

#include "gamma.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// A number and its derivative by one parameter.
template <class V>
struct dual {
  V value, slope;
  EBB_INLINE friend constexpr dual operator+(dual x, dual y) { return {x.value + y.value, x.slope + y.slope}; }
  EBB_INLINE friend constexpr dual operator-(dual x, dual y) { return {x.value - y.value, x.slope - y.slope}; }
  EBB_INLINE friend constexpr dual operator*(dual x, dual y) { return {x.value * y.value, fma(x.value, y.slope, x.slope * y.value)}; }
  EBB_INLINE friend constexpr dual operator/(dual x, dual y) {
    V quotient = x.value / y.value;
    return {quotient, (x.slope - quotient * y.slope) / y.value};
  }
};
template <class V>
EBB_INLINE constexpr dual<V> select_dual(mask_of<V> m, dual<V> x, dual<V> y) {
  return {lane::select(m, x.value, y.value), lane::select(m, x.slope, y.slope)};
}
template <class V>
EBB_INLINE constexpr dual<V> constant(V x) {
  return {x, all<V>(0)};
}

/// Parameters up to this have a result: the loops have enough steps for them.
template <class T>
inline constexpr T largest_parameter = T(1e6);
inline constexpr int most_steps = 20000;

/// Whether the last step, by `change`, left both the value and the derivative of y as they were.
template <class V>
EBB_INLINE constexpr mask_of<V> is_settled(dual<V> y, dual<V> change) {
  V unit = all<V>(std::numeric_limits<element_of<V>>::epsilon() / 2);
  return abs(change.value) <= unit * abs(y.value) && abs(change.slope) <= unit * (abs(y.slope) + abs(y.value));
}

/// A continued fraction b0 + a1 / (b1 + a2 / (b2 + ..)) by Lentz's method; next(i) sets the ith a and b.
template <class V>
EBB_INLINE constexpr dual<V> continued_fraction(dual<V> first, auto next) {
  dual<V> one = constant(all<V>(1)), result = first, c = first, d = constant(all<V>(0));
  auto done = !(first.value == first.value);
  for (int i = 1; i < most_steps; ++i) {
    auto [a, b] = next(i);
    d = one / (b + a * d);
    c = b + a / c;
    dual<V> factor = c * d, following = result * factor;
    auto settled = is_settled(result, following - result);
    result = select_dual<V>(done, result, following);
    done = done || settled || !(following.value == following.value);
    if (in_no_lane<V>(!done)) break;
  }
  return result;
}

/// log of x^a e^-x / gamma(a + 1), and its derivative by a, for a, x > 0.
template <class V>
EBB_INLINE constexpr dual<V> log_poisson(V a, V x) {
  using T = element_of<V>;
  V eight = all<V>(8), one = all<V>(1), near = at_most(a, eight), far = at_least(a, eight), log_x = log(x);
  V direct = near * log_x - x - lgamma(near + one);
  // From 8 on by Stirling's formula: a (log(1 + u) - u) with u = (x - a) / a.
  V u = (x - far) / far, half = all<V>(T(0.5));
  V logarithm = lane::select(abs(u) < half, log1p(at_least(u, -half)), log(x / far));
  V large = far * (logarithm - u) - (stirling_rest(far) + fma(log(far), half, all<V>(T(0.918938533204672741780L))));
  return {lane::select(a < eight, direct, large), log_x - lane::digamma(a + one)};
}

/// gammainc (or, if Upper, gammaincc) and its derivative by a.
template <bool Upper, class V>
EBB_INLINE constexpr dual<V> incomplete_gamma(V a, V x) {
  using T = element_of<V>;
  V zero = all<V>(0), one = all<V>(1), largest = all<V>(std::numeric_limits<T>::max());
  auto regular = a > zero && a <= all<V>(largest_parameter<T>) && x > zero && x <= largest;
  V b = lane::select(regular, a, one), y = lane::select(regular, x, one);
  auto below = y < b + one;
  dual<V> parameter{b, one};
  dual<V> logarithm = log_poisson(b, at_most(y, all<V>(T(1e8)))), unit = constant(one);
  V e = exp(logarithm.value);
  dual<V> scale{e, e * logarithm.slope};

  // In a lane that uses the fraction, the series has an argument that ends it at once, and conversely.
  dual<V> over = constant(lane::select(below, y, zero)), term = unit, sum = unit;
  auto done = b != b;
  for (int i = 1; i < most_steps; ++i) {
    dual<V> following = term * (over / (parameter + constant(all<V>(static_cast<T>(i))))), total = sum + following;
    auto settled = is_settled(sum, following);
    term = select_dual<V>(done, term, following);
    sum = select_dual<V>(done, sum, total);
    done = done || settled;
    if (in_no_lane<V>(!done)) break;
  }
  dual<V> far = constant(lane::select(below, b * all<V>(4) + all<V>(100), y)), start = far + unit - parameter;
  dual<V> fraction = continued_fraction(start, [&](int i) EBB_LAMBDA {
    dual<V> n = constant(all<V>(static_cast<T>(i)));
    struct { dual<V> a, b; } step{n * (parameter - n), start + n + n};
    return step;
  });
  dual<V> lower = scale * sum, upper = scale * parameter / fraction;
  dual<V> result = Upper ? select_dual<V>(below, unit - lower, upper) : select_dual<V>(below, lower, unit - upper);

  // At the ends: P(a, 0) = 0, P(a, inf) = 1, P(0, x) = 1.
  V nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  auto empty = x == zero && a > zero, full = (x > largest && a >= zero) || (a == zero && x > zero);
  V at_end = lane::select(empty, all<V>(Upper ? 1 : 0), lane::select(full, all<V>(Upper ? 0 : 1), nan));
  V slope_at_end = lane::select(empty || full, zero, nan);
  auto usable = regular || (empty && a <= largest) || full;
  return {lane::select(regular, result.value, lane::select(usable, at_end, nan)), lane::select(regular, result.slope, slope_at_end)};
}

/// x^a (1 - x)^b / (a beta(a, b)) / f, where f = 1 + .. is the continued fraction, and its derivative by the parameter whose slope is 1.
template <class V>
EBB_INLINE constexpr dual<V> beta_below(dual<V> a, dual<V> b, V x, V log_x, V log_rest, V lbeta_of_both, V lbeta_slope) {
  using T = element_of<V>;
  V e = exp(fma(a.value, log_x, fma(b.value, log_rest, -lbeta_of_both)));
  dual<V> scale{e, e * (a.slope * log_x + b.slope * log_rest - lbeta_slope)}, place = constant(x), one = constant(all<V>(1));
  dual<V> sum = a + b;
  dual<V> fraction = continued_fraction(one, [&](int i) EBB_LAMBDA {
    dual<V> m = constant(all<V>(static_cast<T>(i / 2))), even = a + m + m;
    struct { dual<V> a, b; } step{one, one};
    if (i % 2 == 0) step.a = m * (b - m) * place / ((even - one) * even);
    else step.a = constant(all<V>(-1)) * (a + m) * (sum + m) * place / (even * (even + one));
    return step;
  });
  return scale / (a * fraction);
}

/// betainc and its derivative by a.
template <class V>
EBB_INLINE constexpr dual<V> incomplete_beta(V a, V b, V x) {
  using T = element_of<V>;
  V zero = all<V>(0), one = all<V>(1), two = all<V>(2), nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  V largest = all<V>(largest_parameter<T>), half = all<V>(T(0.5));
  auto regular = a > zero && a <= largest && b > zero && b <= largest && x > zero && x < one;
  V p = lane::select(regular, a, one), q = lane::select(regular, b, one), y = lane::select(regular, x, half);
  V log_x = log(y), log_rest = log1p(-y), both = lbeta(p, q), slope = digamma_difference(p, q);
  auto mirrored = y > (p + one) / (p + q + two);
  dual<V> first{lane::select(mirrored, q, p), lane::select(mirrored, zero, one)};
  dual<V> second{lane::select(mirrored, p, q), lane::select(mirrored, one, zero)};
  dual<V> part = beta_below(first, second, lane::select(mirrored, one - y, y), lane::select(mirrored, log_rest, log_x),
                            lane::select(mirrored, log_x, log_rest), both, slope);
  dual<V> result = select_dual<V>(mirrored, constant(one) - part, part);
  auto inside = a > zero && b > zero, end = (x == zero || x == one) && inside && a <= largest && b <= largest;
  V value = lane::select(regular, result.value, lane::select(end, x, nan));
  return {value, lane::select(regular, result.slope, lane::select(end, zero, nan))};
}

}  // namespace detail

/// The regularized lower incomplete gamma function P(a, x).
template <class V>
EBB_INLINE constexpr V gammainc(V a, V x) {
  return detail::incomplete_gamma<false>(a, x).value;
}
/// The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), without cancellation where x > a + 1.
template <class V>
EBB_INLINE constexpr V gammaincc(V a, V x) {
  return detail::incomplete_gamma<true>(a, x).value;
}
/// The regularized incomplete beta function I_x(a, b).
template <class V>
EBB_INLINE constexpr V betainc(V a, V b, V x) {
  return detail::incomplete_beta(a, b, x).value;
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// An op of two or three real operands that is computed by a loop.
template <int Arity>
struct looping : elementwise<Arity> {
  static constexpr int steps = lane::detail::most_steps;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
};

/// x^(a - 1) e^-x / gamma(a), the derivative of gammainc by x.   Saves: a, x, out.   Error: as gammainc, relative.
struct gamma_density : looping<2> {
  static constexpr std::string_view name = "gamma_density";
  static constexpr auto value(auto a, auto x) {
    using V = decltype(x);
    using T = lane::element_of<V>;
    V zero = lane::all<V>(0), one = lane::all<V>(1), infinity = lane::all<V>(std::numeric_limits<T>::infinity());
    V nan = lane::all<V>(std::numeric_limits<T>::quiet_NaN());
    auto regular = a > zero && x > zero && x < infinity;
    V b = lane::select(regular, a, one), y = lane::select(regular, x, one);
    V inside = lane::exp(lane::detail::log_poisson(b, y).value) * (b / y);
    V at_zero = lane::select(a < one, infinity, lane::select(a == one, one, zero));
    return lane::select(regular, inside, lane::select(x == zero && a > zero, at_zero, lane::select(x == infinity && a > zero, zero, nan)));
  }
  static constexpr auto pull(auto g, auto a, auto x, auto out) {
    const auto by_x = g * (out * ((a - 1) / x - 1));
    return grads(g * (out * (emit_on<log>({}, x) - emit_on<digamma>({}, a))), by_x);
  }
};

/// The derivative of gammainc by a. Not differentiable.   Saves: nothing.   Error: as gammainc, of the larger of out and 1.
struct gammainc_by_a : looping<2> {
  static constexpr std::string_view name = "gammainc_by_a";
  static constexpr auto value(auto a, auto x) { return lane::detail::incomplete_gamma<false>(a, x).slope; }
};

/// The regularized lower incomplete gamma function P(a, x), the distribution function of the gamma distribution. Differentiable by x any
/// number of times, and once by a.   Saves: a, x.   Domain: a, x >= 0 and a <= 1e6; else NaN.   Source: as special/incomplete.hpp.
/// Error: 32 + 2 |log(out)| ulp for a <= 100, for larger a sqrt(a / 100) times that. For x > a + 1 it is in ulp of 1.
struct gammainc : looping<2> {
  static constexpr std::string_view name = "gammainc";
  static constexpr auto value(auto a, auto x) { return lane::gammainc(a, x); }
  static constexpr auto pull(auto g, auto a, auto x, auto) {
    return grads(g * emit_on<gammainc_by_a>({}, a, x), g * emit_on<gamma_density>({}, a, x));
  }
};

/// 1 - gammainc(a, x), without cancellation for x > a + 1. Fields as gammainc, but the error is in ulp of 1 for x < a + 1.
struct gammaincc : looping<2> {
  static constexpr std::string_view name = "gammaincc";
  static constexpr auto value(auto a, auto x) { return lane::gammaincc(a, x); }
  static constexpr auto pull(auto g, auto a, auto x, auto) {
    return grads(-g * emit_on<gammainc_by_a>({}, a, x), -g * emit_on<gamma_density>({}, a, x));
  }
};

/// x^(a - 1) (1 - x)^(b - 1) / beta(a, b), the derivative of betainc by x.   Saves: a, b, x, out.
/// Error: 64 ulp for a + b <= 50; beyond, 4 (a + b) ulp.
struct beta_density : looping<3> {
  static constexpr std::string_view name = "beta_density";
  static constexpr auto value(auto a, auto b, auto x) {
    using V = decltype(x);
    V one = lane::all<V>(1), zero = lane::all<V>(0);
    // A factor to the power 0 is 1, even at the ends.
    V left = lane::select(a == one, zero, (a - one) * lane::log(x)), right = lane::select(b == one, zero, (b - one) * lane::log1p(-x));
    return lane::exp(left + right - lane::lbeta(a, b));
  }
  static constexpr auto pull(auto g, auto a, auto b, auto x, auto out) {
    const auto by_a = emit_on<log>({}, x) - emit_on<digamma_gap>({}, a, b);
    const auto by_b = emit_on<log1p>({}, -x) - emit_on<digamma_gap>({}, b, a);
    return grads(g * (out * by_a), g * (out * by_b), g * (out * ((a - 1) / x - (b - 1) / (1 - x))));
  }
};

/// The derivative of betainc by a. Not differentiable.   Saves: nothing.   Error: as betainc, of the larger of out and 1.
struct betainc_by_a : looping<3> {
  static constexpr std::string_view name = "betainc_by_a";
  static constexpr auto value(auto a, auto b, auto x) { return lane::detail::incomplete_beta(a, b, x).slope; }
};

/// The regularized incomplete beta function I_x(a, b), the distribution function of the beta distribution. Differentiable by x any number
/// of times, and once by a and b, by which JAX does not differentiate.   Saves: a, b, x.   Domain: 0 < a, b <= 1e6, 0 <= x <= 1; else NaN.
/// Error: 64 ulp for a + b <= 50; beyond, 4 (a + b) ulp. For x > (a + 1) / (a + b + 2) it is in ulp of 1.
/// Source: as special/incomplete.hpp.
struct betainc : looping<3> {
  static constexpr std::string_view name = "betainc";
  static constexpr auto value(auto a, auto b, auto x) { return lane::betainc(a, b, x); }
  static constexpr auto pull(auto g, auto a, auto b, auto x, auto) {
    // I_x(a, b) = 1 - I_(1 - x)(b, a)
    const auto by_b = emit_on<betainc_by_a>({}, b, a, 1 - x);
    return grads(g * emit_on<betainc_by_a>({}, a, b, x), -g * by_b, g * emit_on<beta_density>({}, a, b, x));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// gammainc(a, x), with PyTorch's and JAX's order of operands.   Fields as op::gammainc.
inline constexpr call<op::gammainc> gammainc{};
/// gammaincc(a, x).   Fields as op::gammaincc.
inline constexpr call<op::gammaincc> gammaincc{};
/// betainc(a, b, x).   Fields as op::betainc.
inline constexpr call<op::betainc> betainc{};

}  // namespace ebb::inline EBB_ABI
