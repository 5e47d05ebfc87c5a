// ebb/special/gamma.hpp — the gamma function, and functions of its logarithm: tgamma, lbeta, beta, lchoose, mvlgamma.
// SPDX-License-Identifier: BSL-1.0
//
// 1 / gamma(y) is a polynomial on [0.75, 1.75]; x below 8 is reduced to that by factors in twice the precision. From 8 on, gamma(x) is
// x^(x - 1/2) e^-x times a polynomial of 1 / x, with the exponent in twice the precision. Negative x use the reflection formula.
// lbeta subtracts Stirling's formulas term by term, because the difference of their sums would cancel.
// Source: A. DiDonato, A. Morris, Algorithm 708 (1992), for lbeta. The coefficients are ebb's own, by interpolation at Chebyshev nodes.
// The bounds hold with fma; without it errors are twice as large.
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "elementary.hpp"

#include "../num/error_function.hpp"
#include "../num/gamma.hpp"
#include "../num/power.hpp"
#include "../op/gamma.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct gamma_itself;

template <>
struct gamma_itself<float> {
  static constexpr float inverse[] = {0x1p+0f, 0x1.2788bap-1f, -0x1.4fcecp-1f, -0x1.57d576p-5f, 0x1.54c1eap-3f, -0x1.5b0dc8p-5f,
                                      -0x1.0572dep-7f, 0x1.2f8a7ep-8f};
  static constexpr float stirling[] = {0x1.40d932p+1f, 0x1.abcc3cp-3f, 0x1.1d4b92p-7f, -0x1.bcd10ep-8f, 0x1.210982p-15f};
  static constexpr float greatest = 45;  // at and beyond this, gamma(x) overflows and gamma(-x) underflows
};
template <>
struct gamma_itself<double> {
  static constexpr double inverse[] = {0x1p+0, 0x1.2788cfc6fb619p-1, -0x1.4fcf4026afa2fp-1, -0x1.5815e8fa26d8fp-5, 0x1.5512320b4415dp-3,
                                       -0x1.59af103c40308p-5, -0x1.3b4af2845f1fcp-7, 0x1.d919c5329f0c1p-8, -0x1.31711349ceff2p-10,
                                       -0x1.c3650a3dd20c6p-13, 0x1.0c8ac28ff09dep-13, -0x1.51d0e4c50a68p-16, -0x1.50463e4a0a13ep-20,
                                       0x1.325d80192a928p-20, -0x1.d4d48212c3f97p-23, 0x1.208ea75d25b65p-26};
  static constexpr double stirling[] = {0x1.40d931ff62706p+1, 0x1.abcc42a9d8887p-3, 0x1.1d32d71cc17bbp-7, -0x1.b87930763301cp-8,
                                        -0x1.2d911b3a317c7p-11, 0x1.01904d06c3436p-9, 0x1.7771eb54d1353p-13, -0x1.9107576eafab6p-10,
                                        0x1.3a81ac73d8db1p-13, 0x1.56ff521d37ac8p-10};
  static constexpr double greatest = 190;
};

/// gamma(x) for 3/4 <= x < 8, and x gamma(x) for x < 3/4. A larger x counts as 8.
template <class V>
EBB_INLINE constexpr V gamma_near(V x) {
  using T = element_of<V>;
  V one = all<V>(1), zero = all<V>(0);
  auto small = x < all<V>(T(0.75));
  V y = at_most(select(small, x + one, x), all<V>(8)), edge = all<V>(T(1.75));
  twofold<V> factors{one, zero};
  for (int i = 0; i < 7; ++i) {
    auto above = y >= edge;
    y = select(above, y - one, y);
    factors = product(factors, twofold<V>{select(above, y, one), zero});
  }
  V inverse = horner(at_most(y, edge) - one, gamma_itself<T>::inverse), top = factors.high / inverse;
  // The correction has the remainder of the quotient, and the low part of the factors.
  return top + (fma(-top, inverse, factors.high) + factors.low) / inverse;
}

/// log of x^(x - 1/2) e^-x for 8 <= x.
template <class V>
EBB_INLINE constexpr twofold<V> stirling_exponent(V x) {
  V power = x - all<V>(element_of<V>(0.5));
  twofold<V> l = twofold_log(x), p = product(power, l.high), sum = quick_sum(p.high, -x);
  return {sum.high, sum.low + fma(power, l.low, p.low)};
}

/// The series in 1 / x of Stirling's formula for log gamma(x), for 8 <= x.
template <class V>
EBB_INLINE constexpr V stirling_rest(V x) {
  V inverse = all<V>(1) / x;
  return inverse * horner(inverse * inverse, gamma<element_of<V>>::far);
}

}  // namespace detail

/// The gamma function: infinite at 0, with its sign; NaN at negative integers and -infinity.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V tgamma(V x) {
  using T = element_of<V>;
  using C = detail::gamma_itself<T>;
  V a = abs(x), one = all<V>(1), zero = all<V>(0), eight = all<V>(8), bounded = at_most(a, all<V>(C::greatest));
  auto negative = x < zero, far = a >= eight;
  auto small = a < all<V>(T(0.75)), tiny = a < all<V>(std::numeric_limits<T>::epsilon() / 8);
  V usual = select(tiny, one, a), near = detail::gamma_near(at_most(usual, eight)), large = at_least(bounded, eight);
  twofold<V> exponent = detail::stirling_exponent(large);
  V rest = horner(one / large, C::stirling);
  // gamma(x) = -pi / (x sin(pi x) gamma(-x))
  V sine = detail::turn<V>(at_most(a, all<V>(std::numeric_limits<T>::max()))).sine, pi = all<V>(-detail::pi<T>::high);
  V reflected = pi / select(sine == zero, one, sine);
  twofold<V> signed_exponent{select(negative, -exponent.high, exponent.high), select(negative, -exponent.low, exponent.low)};
  V scaled = detail::exp_twofold(signed_exponent).times({select(negative, reflected / (large * rest), rest), zero});
  V close = select(negative, reflected / select(small, near, usual * near), select(small, near / usual, near));
  V value = select(far, scaled, select(tiny && a > zero, one / select(a == zero, one, x), close));
  V infinity = all<V>(std::numeric_limits<T>::infinity()), nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  value = select(a == zero, copysign(infinity, x), value);
  value = select(negative && (sine == zero || a == infinity), nan, value);
  return select(x == infinity, infinity, value);
}

/// log(gamma(a) gamma(b) / gamma(a + b)) for positive a and b: infinite if one is 0, -infinity if one is infinite, NaN if one is negative.
/// Error: 8 ulp of the largest of 1, the result, lgamma(a), lgamma(b) and, for a and b below 8, lgamma(a + b).
template <class V>
EBB_INLINE constexpr V lbeta(V a, V b) {
  using T = element_of<V>;
  V largest = all<V>(std::numeric_limits<T>::max() / 4), eight = all<V>(8), half = all<V>(T(0.5)), zero = all<V>(0);
  V low = minimum(a, b), high = maximum(a, b);
  // Operands are bounded where another formula gives the result.
  V m = at_most(at_least(low, all<V>(std::numeric_limits<T>::min())), largest), n = at_most(at_least(high, m), largest), sum = m + n;
  V f = at_least(n, eight), e = at_least(m, eight), s = at_least(sum, eight), ratio = m / f;
  V direct = lgamma(m) + lgamma(at_most(n, eight)) - lgamma(at_most(sum, all<V>(16)));
  V change = -(f - half) * log1p(ratio), rest = detail::stirling_rest(f) - detail::stirling_rest(s);
  V mixed = lgamma(m) + (change - m * (log(s) - all<V>(1)) + rest);
  V root = fma(log(s), -half, all<V>(T(0.918938533204672741780L)));
  V both = (-(e - half) * log1p(f / e) + root) + (change + (rest + detail::stirling_rest(e)));
  V value = select(high < eight, direct, select(low < eight, mixed, both));
  V infinity = all<V>(std::numeric_limits<T>::infinity()), nan = all<V>(std::numeric_limits<T>::quiet_NaN());
  value = select(high > largest, -infinity, value);
  value = select(low == zero, select(high == infinity, nan, infinity), value);
  return select(low >= zero, value, nan);
}

/// digamma(a) - digamma(a + b) for positive a and b.   Error: 4 ulp of the larger of the result and 1 / a^2;
/// for a < 2, of the larger of the result and 1 / a + |log(a + b)|.
template <class V>
EBB_INLINE constexpr V digamma_difference(V a, V b) {
  using T = element_of<V>;
  using C = detail::digamma<T>;
  V two = all<V>(2), half = all<V>(T(0.5)), m = at_least(a, two), s = m + b;
  const auto tail = [](V x) EBB_LAMBDA {
    V square = all<V>(1) / (x * x);
    return square * detail::quotient(square, C::far_over, C::far_under);
  };
  V ratio = b / m, far = -(log1p(ratio) + half * (ratio / s)) - (tail(m) - tail(at_least(s, two)));
  return select(a < two, digamma(at_most(a, two)) - digamma(at_most(a, two) + b), far);
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// The gamma function: infinite at 0, NaN at negative integers; inf from 171.63 (float: 35.05) on.   Saves: x, out.   Error: 4 ulp.
/// Source: as special/gamma.hpp.
struct tgamma : transcendental {
  static constexpr std::string_view name = "tgamma";
  static constexpr auto value(auto x) { return lane::tgamma(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * (out * emit_on<digamma>({}, x))); }
};

/// digamma(a) - digamma(a + b), for positive a and b. Differentiable three times.   Saves: a, b.
/// Error: 4 ulp of the larger of out and 1 / a^2; for a < 2, of the larger of out and 1 / a + |log(a + b)|.
struct digamma_gap : elementwise<2> {
  static constexpr std::string_view name = "digamma_gap";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto a, auto b) { return lane::digamma_difference(a, b); }
  static constexpr auto pull(auto g, auto a, auto b, auto) {
    const auto of_sum = emit_on<trigamma>({}, a + b);
    return grads(g * (emit_on<trigamma>({}, a) - of_sum), -g * of_sum);
  }
};

/// log(gamma(a) gamma(b) / gamma(a + b)), the logarithm of the beta function.   Saves: a, b.   Domain: a, b >= 0; else NaN.
/// Error: 8 ulp of the largest of 1, out, lgamma(a), lgamma(b) and, for a and b below 8, lgamma(a + b).   Source: as special/gamma.hpp.
struct lbeta : elementwise<2> {
  static constexpr std::string_view name = "lbeta";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto a, auto b) { return lane::lbeta(a, b); }
  static constexpr auto pull(auto g, auto a, auto b, auto) {
    return grads(g * emit_on<digamma_gap>({}, a, b), g * emit_on<digamma_gap>({}, b, a));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

namespace functions {

struct beta {
  static constexpr std::string_view name = "beta";
  static constexpr auto apply(auto a, auto b) {
    return broadcast_on<op::exp>(broadcast_on<op::lbeta>(a, b));
  }
};

struct lchoose {
  static constexpr std::string_view name = "lchoose";
  template <class N, class K>
  static constexpr auto apply(N n, K k) {
    const auto above = broadcast_on<op::add>(broadcast_on<op::sub>(n, k), 1);
    const auto bins = broadcast_on<op::lbeta>(above, broadcast_on<op::add>(k, 1));
    return -broadcast_on<op::add>(broadcast_on<op::log1p>(n), bins);
  }
};

template <int P>
struct mvlgamma {
  static constexpr std::string_view name = "mvlgamma";
  template <class T>
  static constexpr auto apply(operand<T> a) {
    const auto x = cast_to<decltype(detail::accepted<op::lgamma, T>())>(a);
    auto sum = emit_on<op::lgamma>({}, x);
    for (int j = 1; j < P; ++j) sum = sum + emit_on<op::lgamma>({}, x - 0.5 * j);
    if constexpr (P > 1) sum = sum + P * (P - 1) * 0.286182471462350043535536837838186472;  // log(pi) / 4
    return sum;
  }
};

}  // namespace functions

inline constexpr call<op::tgamma> tgamma{};
inline constexpr call<op::lbeta> lbeta{};
/// beta(a, b) = e^lbeta(a, b). Fields as op::lbeta.   Error: that of lbeta times |lbeta|, and 1 ulp.
inline constexpr call<functions::beta> beta{};
/// lchoose(n, k): the logarithm of the number of ways to choose k of n, also between integers, for 0 <= k <= n.   Saves: n, k.
/// Error: that of lbeta(n - k + 1, k + 1), and 3 ulp of log(n + 1).
inline constexpr call<functions::lchoose> lchoose{};

/// The logarithm of the gamma function of P dimensions: P (P - 1) / 4 log(pi), and the sum of lgamma(a - j / 2) for j from 0 to P - 1.
/// Saves: a.   Error: that of the sum of lgamma.   Domain: a > (P - 1) / 2; below, the logarithms are those of the magnitudes.
template <int P, class X>
constexpr auto mvlgamma(X&& a) {
  static_assert(P >= 1 && P <= 32, "[ebb E0451] mvlgamma<p>: p is from 1 to 32");
  return apply_function(functions::mvlgamma<(P >= 1 && P <= 32) ? P : 1>{}, std::forward<X>(a));
}

}  // namespace ebb::inline EBB_ABI
