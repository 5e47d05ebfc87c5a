// ebb/special/elementary.hpp — cube roots, powers of ten, functions of pi x, and the next number: cbrt, exp10, sinpi, sinc, nextafter.
// SPDX-License-Identifier: BSL-1.0
//
// sinpi, cospi, tanpi and sinc subtract the nearest integer from x before the product with pi: that is exact, however large x is.
// The bounds hold with fma; without it errors are twice as large.   Source: the polynomials are ebb's own, by interpolation.
#pragma once

#include "../num/gamma.hpp"
#include "../num/logarithm.hpp"
#include "../op/compare.hpp"
#include "../op/exponential.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<450, Call> : Call {
  static_assert(Call::code != 450, "[ebb E0450] nextafter: bfloat16 and float16 are computed in float, whose next number rounds back");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct elementary;

template <>
struct elementary<float> {
  static constexpr float cube_root[] = {0x1.555556p-1f, 0x1.1c71c8p-1f};
  static constexpr float sinc_slope[] = {-0x1.a51a66p+1f, 0x1.9f9cb4p+1f, -0x1.24fea8p+0f, 0x1.ac66aap-3f, -0x1.800d8ep-6f,
                                         0x1.c0158ap-10f};
  static constexpr float sinc_bend[] = {-0x1.a51a66p+1f, 0x1.37b588p+3f, -0x1.6e3e56p+2f, 0x1.76dbp+0f, -0x1.b06c68p-3f,
                                        0x1.40b6a4p-6f, -0x1.3f27b2p-10f};
};
template <>
struct elementary<double> {
  static constexpr double cube_root[] = {0x1.5555555555555p-1, 0x1.1c71c71c71c72p-1, 0x1.f9add3c0ca458p-2, 0x1.cf8a021b64151p-2,
                                         0x1.b0a2f0e65d690p-2};
  static constexpr double sinc_slope[] = {-0x1.a51a6625307d3p+1, 0x1.9f9cb402bc46cp+1, -0x1.24feab558a48dp+0, 0x1.ac6805cf3508dp-3,
                                          -0x1.8061c54d774d6p-6, 0x1.d2eaa6f6d7533p-10, -0x1.99a005074a8f9p-14, 0x1.0fc954ee1062ap-18,
                                          -0x1.1a421b3ff365ap-23, 0x1.cb588aae597fp-29};
  static constexpr double sinc_bend[] = {-0x1.a51a6625307d3p+1, 0x1.37b587020d351p+3, -0x1.6e3e562aecdbp+2, 0x1.76db05154e691p+0,
                                         -0x1.b06dfdf727aa3p-3, 0x1.410152ca87ce3p-6, -0x1.4cd204a428984p-10, 0x1.fd99f2af5860fp-15,
                                         -0x1.2c020b1acf355p-19, 0x1.180ca0d2b2745p-24, -0x1.9dd93b37ae2a6p-30};
};

/// sin and cos of pi x for finite x, NaN at infinity.
template <class V>
struct turn {
  V sine, cosine;
  EBB_INLINE constexpr explicit turn(V x) {
    using T = element_of<V>;
    V zero = all<V>(0), near = rint(x), half = near * all<V>(T(0.5));
    half_turn<V> rest(x);
    auto odd = rint(half) != half;
    // Zeros of the sine have the sign of x; zeros of the cosine are positive.
    sine = select(near == x, copysign(rest.sine, x), select(odd, -rest.sine, rest.sine));
    cosine = select(odd, -rest.cosine, rest.cosine) + zero;
  }
};

}  // namespace detail

/// The cube root, also of negative numbers.   Error: 1 ulp.
template <class V>
EBB_INLINE constexpr V cbrt(V x) {
  using T = element_of<V>;
  using B = bits_of<V>;
  constexpr T inverse[] = {T(0x1.b272fbp+0), T(-0x1.304a83p+0), T(0x1.3e56b4p-1), T(-0x1.0ad13dp-3)};
  constexpr T turned[] = {1, T(-0.2331137), T(0.0268108)};  // 2^(-r / 3) for r = -1, 0, 1
  const auto times_power = [](V a, V n) EBB_LAMBDA {
    if constexpr (requires { V::scale(a, n); }) return V::scale(a, n);
    else return a * power_of_two(n);
  };
  if constexpr (scalar<V>)
    if (!(abs(x) > 0 && abs(x) <= std::numeric_limits<T>::max())) return x;
  auto [fraction, k] = split(x);
  V q = rint(k * all<V>(T(1) / 3)), r = fma(q, all<V>(-3), k);
  // |x| = m 2^(3 q), m = fraction 2^r with r from -1 to 1. w approximates 1 / cbrt m by so few digits that w^2 is exact.
  V m = times_power(fraction, r), rough = horner(fraction, inverse) * horner(r, turned);
  V w = from_bits<V>(to_bits(rough) & all<B>(~((bits_of<T>{2} << (format<T>::fraction_bits / 2)) - 1)));
  // With e = 1 - m w^3 the root is m w^2 (1 - e)^(-2/3). A rounding error of y = m w^2 is in e, too, so that a third of it is left.
  V y = m * (w * w), e = fma(-y, w, all<V>(1));
  y = fma(y * e, horner(e, detail::elementary<T>::cube_root), y);
  // For 0 and infinity k is infinite, and r NaN.
  return select(isnan(y), x, copysign(times_power(y, q), x));
}

/// 10 to the x.   Error: 1.5 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V exp10(V x) {
  using T = element_of<V>;
  using C = detail::exponential<T>;
  using B = detail::logarithm_base<T, 10>;
  constexpr T narrower = T(0.43429448190325182765L);
  V limited = at_most(at_least(x, all<V>(C::least * narrower)), all<V>(C::greatest * narrower)), one = all<V>(1);
  V n = rint(limited * all<V>(T(3.32192809488736234787L)));
  V r = fma(n, all<V>(-B::rest), fma(n, all<V>(-B::log_two), limited)) * all<V>(T(2.30258509299404568402L));
  return scale(fma(fma(horner(r, C::q), r, one), r, one), n);
}

/// sin(pi x), exactly 0 at integers; NaN at infinity.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V sinpi(V x) {
  return detail::turn<V>(x).sine;
}
/// cos(pi x), exactly 0 halfway between integers; NaN at infinity.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V cospi(V x) {
  return detail::turn<V>(x).cosine;
}
/// tan(pi x); infinite halfway between integers, NaN at infinity.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V tanpi(V x) {
  detail::turn<V> t(x);
  return t.sine / t.cosine;
}

/// sin(pi x) / (pi x): 1 at 0, 0 at infinity.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V sinc(V x) {
  using T = element_of<V>;
  V zero = all<V>(0), one = all<V>(1), infinity = all<V>(std::numeric_limits<T>::infinity()), a = abs(x);
  V inside = select(a == infinity || a == zero, one, a);
  V y = detail::turn<V>(inside).sine / (inside * all<V>(detail::pi<T>::high));
  // pi x may overflow: then x is an even integer.
  return select(a == zero, one, select(a == infinity, zero, y));
}
/// The derivative of sinc.   Error: 4 ulp for |x| < 1/2, else of 1 / x.
template <class V>
EBB_INLINE constexpr V sinc_slope(V x) {
  using T = element_of<V>;
  V half = all<V>(T(0.5)), a = abs(x), small = at_most(a, half), far = at_least(a, half);
  V near = small * horner(small * small, detail::elementary<T>::sinc_slope);
  V infinity = all<V>(std::numeric_limits<T>::infinity());
  V inside = select(a == infinity, half, far), rest = (detail::turn<V>(inside).cosine - sinc(inside)) / inside;
  V y = select(a < half, near, select(a == infinity, all<V>(0), rest));
  return select(x < all<V>(0), -y, y);
}
/// The second derivative of sinc.   Error: 4 ulp for |x| < 1/2, else of 10 / x.
template <class V>
EBB_INLINE constexpr V sinc_bend(V x) {
  using T = element_of<V>;
  V half = all<V>(T(0.5)), a = abs(x), small = at_most(a, half), far = at_least(a, half);
  V near = horner(small * small, detail::elementary<T>::sinc_bend), infinity = all<V>(std::numeric_limits<T>::infinity());
  V inside = select(a == infinity, half, far), pi = all<V>(detail::pi<T>::high);
  V rest = -(pi * detail::turn<V>(inside).sine + all<V>(2) * sinc_slope(inside)) / inside;
  return select(a < half, near, select(a == infinity, all<V>(0), rest));
}

/// The number next to x in the direction of y; y if both are equal.
template <class V>
EBB_INLINE constexpr V nextafter(V x, V y) {
  using T = element_of<V>;
  using B = bits_of<V>;
  V zero = all<V>(0), least = all<V>(std::numeric_limits<T>::denorm_min());
  // The bits of magnitudes, as integers, are in the order of the magnitudes.
  V away = from_bits<V>(to_bits(x) + all<B>(1)), back = from_bits<V>(to_bits(x) - all<B>(1));
  auto outward = (y > x && x > zero) || (y < x && x < zero);
  V next = select(x == zero, copysign(least, y), select(outward, away, back));
  return select(isnan(x), x, select(isnan(y) || x == y, y, next));
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// The cube root, also of negative numbers; its derivative at 0 is infinite.   Saves: out.   Error: 1 ulp.
struct cbrt : transcendental {
  static constexpr std::string_view name = "cbrt";
  static constexpr auto value(auto x) { return lane::cbrt(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g / (3 * (out * out))); }
};

/// 10 to the x.   Saves: out.   Error: 1.5 ulp.
struct exp10 : transcendental {
  static constexpr std::string_view name = "exp10";
  static constexpr auto value(auto x) { return lane::exp10(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (2.30258509299404568402 * out)); }
};

inline constexpr double pi = 3.14159265358979323846;
struct cospi;

/// sin(pi x), exactly 0 at integers, with the sign of x; NaN at infinity.   Saves: x.   Error: 2 ulp.
struct sinpi : transcendental {
  static constexpr std::string_view name = "sinpi";
  static constexpr auto value(auto x) { return lane::sinpi(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * (pi * emit_on<cospi>({}, x))); }
};
/// cos(pi x), exactly 0 halfway between integers; NaN at infinity.   Saves: x.   Error: 2 ulp.
struct cospi : transcendental {
  static constexpr std::string_view name = "cospi";
  static constexpr auto value(auto x) { return lane::cospi(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(-g * (pi * emit_on<sinpi>({}, x))); }
};
/// tan(pi x): inf at 1/2 and -inf at 3/2; NaN at infinity.   Saves: out.   Error: 3 ulp.
struct tanpi : transcendental {
  static constexpr std::string_view name = "tanpi";
  static constexpr auto value(auto x) { return lane::tanpi(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (pi * (1 + out * out))); }
};

/// The second derivative of sinc. Not differentiable.   Saves: nothing.   Error: 4 ulp for |x| < 1/2, else of 10 / x.
struct sinc_bend : transcendental {
  static constexpr std::string_view name = "sinc_bend";
  static constexpr auto value(auto x) { return lane::sinc_bend(x); }
};
/// The derivative of sinc.   Saves: x.   Error: 4 ulp for |x| < 1/2, else of 1 / x.
struct sinc_slope : transcendental {
  static constexpr std::string_view name = "sinc_slope";
  static constexpr auto value(auto x) { return lane::sinc_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sinc_bend>({}, x)); }
};
/// sin(pi x) / (pi x), NumPy's and PyTorch's sinc: 1 at 0, 0 at infinity (PyTorch: NaN). Differentiable twice.   Saves: x.   Error: 3 ulp.
/// PyTorch's derivatives cancel near 0.
struct sinc : transcendental {
  static constexpr std::string_view name = "sinc";
  static constexpr auto value(auto x) { return lane::sinc(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sinc_slope>({}, x)); }
};

/// The number next to x in the direction of y; y if both are equal. No gradient.   Dtype: narrow floats are refused.   Saves: nothing.
/// Error: exact.
struct nextafter : elementwise<2> {
  static constexpr std::string_view name = "nextafter";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto y) { return lane::nextafter(x, y); }
  static constexpr auto pull(auto, auto, auto, auto) { return grads(nothing, nothing); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

namespace functions {

struct nextafter {
  static constexpr std::string_view name = "nextafter";
  template <class X, class Y>
  static constexpr auto apply(X x, Y y) {
    const auto next = detail::broadcasting<op::nextafter>::apply(x, y);
    using T = typename decltype(next)::value_type;
    if constexpr (sizeof(T) == 2) return refuse<T>(*next.g, 450);
    else return next;
  }
};

}  // namespace functions

inline constexpr call<op::cbrt> cbrt{};
inline constexpr call<op::exp10> exp10{};
inline constexpr call<op::sinpi> sinpi{};
inline constexpr call<op::cospi> cospi{};
inline constexpr call<op::tanpi> tanpi{};
inline constexpr call<op::sinc> sinc{};
/// nextafter(x, y): the number next to x in the direction of y.   Fields as op::nextafter.
inline constexpr call<functions::nextafter> nextafter{};

}  // namespace ebb::inline EBB_ABI
