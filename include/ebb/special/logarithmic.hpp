// ebb/special/logarithmic.hpp — logit, logcosh, logaddexp2 and logsubexp.
// SPDX-License-Identifier: BSL-1.0
//
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "../num/hyperbolic.hpp"
#include "../op/extremum.hpp"
#include "../op/logarithmic.hpp"

namespace ebb::inline EBB_ABI::lane {

/// log(x / (1 - x)): infinite at 0 and 1, NaN outside.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V logit(V x) {
  using T = element_of<V>;
  using B = bits_of<V>;
  // One logarithm: of x / (1 - x), or near 1/2 of 1 + (2 x - 1) / (1 - x), whose 1 is subtracted exactly.
  V zero = all<V>(0), one = all<V>(1), infinity = all<V>(std::numeric_limits<T>::infinity()), rest = one - x;
  auto near = x > all<V>(T(0.3)) && x < all<V>(T(0.7)), ends = x == zero || x == one;
  V quotient = select(near, x + x - one, x) / select(ends, one, rest), y = select(near, one + quotient, quotient);
  auto [m, k] = split(y);
  V power = from_bits<V>(to_bits(m) - to_bits(y) + all<B>(format<T>::one));
  V result = detail::log_of(select(near, fma(quotient, power, power - one), m - one), k);
  result = select(x == one, infinity, result);
  return select(x >= zero && x <= one, result, all<V>(std::numeric_limits<T>::quiet_NaN()));
}

/// log(cosh(x)), without overflow, and without cancellation near 0.   Error: 5 ulp.
template <class V>
EBB_INLINE constexpr V logcosh(V x) {
  using T = element_of<V>;
  V a = abs(x), one = all<V>(1), s = sinh(at_most(a, one) * all<V>(T(0.5)));
  auto near = a < one;
  V l = log1p_of_part(select(near, all<V>(2) * s * s, exp(all<V>(-2) * a)));
  return select(near, l, a + (l - all<V>(T(0.693147180559945309417L))));
}

/// log2(2^x + 2^y), without overflow.   Error: 3 ulp of the largest of |x|, |y| and |out|.
template <class V>
EBB_INLINE constexpr V logaddexp2(V x, V y) {
  using T = element_of<V>;
  V larger = maximum(x, y);
  twofold<V> d = detail::difference(minimum(x, y), larger);
  V e = exp2(d.high), ln2 = all<V>(T(0.693147180559945309417L));
  return fma(log1p_of_part(fma(e * ln2, d.low, e)), all<V>(T(1.44269504088896340736L)), larger);
}

/// 2^x / (2^x + 2^y), 1/2 for two equal infinities.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V share_of_exp2(V x, V y) {
  using T = element_of<V>;
  V one = all<V>(1), ln2 = all<V>(T(0.693147180559945309417L));
  twofold<V> d = detail::difference(x, y);
  // The share is e / (1 + e) or 1 / (1 + e), with e = 2^-|x - y|, whose exponent is in twice the precision.
  V rough = exp2(-abs(d.high)), e = fma(rough * ln2, -copysign(one, d.high) * d.low, rough);
  return select(d.high < all<V>(0), e, one) / (one + e);
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// 1 / (x (1 - x)), the derivative of logit.   Saves: x, out.   Error: 2 ulp.
struct logit_slope : transcendental {
  static constexpr std::string_view name = "logit_slope";
  static constexpr auto value(auto x) {
    auto one = lane::all<decltype(x)>(1);
    return one / (x * (one - x));
  }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * ((2 * x - 1) * out * out)); }
};

/// log(x / (1 - x)), the inverse of sigmoid.   Saves: x.   Error: 3 ulp.   Domain: 0 <= x <= 1, where it is -inf and inf; else NaN.
struct logit : transcendental {
  static constexpr std::string_view name = "logit";
  static constexpr auto value(auto x) { return lane::logit(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<logit_slope>({}, x)); }
};

/// log(cosh(x)), a smooth form of |x|; its derivative is tanh(x).   Saves: x.   Error: 5 ulp.
struct logcosh : transcendental {
  static constexpr std::string_view name = "logcosh";
  static constexpr auto value(auto x) { return lane::logcosh(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<tanh>({}, x)); }
};

/// 2^x / (2^x + 2^y): the share of x in logaddexp2.   Saves: x, y, out.   Error: 4 ulp.
struct share_of_exp2 : elementwise<2> {
  static constexpr std::string_view name = "share_of_exp2";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::share_of_exp2(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) {
    const auto slope = g * (0.69314718055994530942 * (out * emit_on<share_of_exp2>({}, y, x)));
    return grads(slope, -slope);
  }
};

/// log2(2^x + 2^y), without overflow. Equal infinities give what logaddexp gives.   Saves: x, y.
/// Error: 3 ulp of the largest of |x|, |y| and |out|.
struct logaddexp2 : elementwise<2> {
  static constexpr std::string_view name = "logaddexp2";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::logaddexp2(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) {
    return grads(g * emit_on<share_of_exp2>({}, x, y), g * emit_on<share_of_exp2>({}, y, x));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

namespace functions {

struct clamped_logit {
  static constexpr std::string_view name = "logit";
  template <class T>
  static constexpr auto apply(operand<T> x, auto eps) {
    using R = decltype(detail::accepted<op::logit, T>());
    const auto y = cast_to<R>(x);
    return emit_on<op::logit>({}, detail::broadcasting<op::clamp>::apply(y, in<R>(eps), 1 - in<R>(eps)));
  }

 private:
  /// As in_dtype, but a number remains a double: 1 - eps is rounded once.
  template <class R>
  static constexpr double in(number auto eps) {
    return static_cast<double>(eps);
  }
  template <class R, class N>
  static constexpr operand<R> in(operand<N> eps) {
    return cast_to<R>(eps);
  }
};

struct logsubexp {
  static constexpr std::string_view name = "logsubexp";
  template <class X, class Y>
  static constexpr auto apply(X x, Y y) {
    return broadcast_on<op::add>(x, broadcast_on<op::log1mexp>(broadcast_on<op::sub>(y, x)));
  }
};

}  // namespace functions

namespace detail {

struct logit_call : call<op::logit> {
  using call<op::logit>::operator();
  template <class X, number Eps>
  constexpr auto operator()(X&& x, Eps eps) const {
    return apply_function(functions::clamped_logit{}, std::forward<X>(x), eps);
  }
};

}  // namespace detail

/// logit(x); logit(x, eps) clamps x to [eps, 1 - eps] first: an x outside gets the gradient 0.   Fields as op::logit.
inline constexpr detail::logit_call logit{};
inline constexpr call<op::logcosh> logcosh{};
inline constexpr call<op::logaddexp2> logaddexp2{};
/// logsubexp(x, y) = log(e^x - e^y), for x >= y; -inf for finite x = y, NaN for x < y.   Saves: y - x.
/// Error: 1 ulp of the larger of |x| and |out|, and 4 ulp of log1mexp(y - x).
inline constexpr call<functions::logsubexp> logsubexp{};

}  // namespace ebb::inline EBB_ABI
