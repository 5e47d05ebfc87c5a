// ebb/special/quantile.hpp — the quantile function of the normal distribution, ndtri, and the inverse error functions, erfinv and erfcinv.
// SPDX-License-Identifier: BSL-1.0
//
// All three find the y with erf(y) = u and erfc(y) = s, where u = 1 - s. Each function computes u and s so that they are exact in its
// tails. With r = sqrt(-log s): for |u| <= 0.85, y = u (sqrt(pi) / 2 + u^2 q(0.7225 - u^2)); beyond, y = r - q(r). Each q is rational, and
// small. The derivatives have the factor e^(y^2). Computed from y, it would multiply the relative error of y by 2 y^2: so it is
// erfcx(y) / s.
// Source: M. J. Wichura, Algorithm AS 241 (1988), for the form; the coefficients are ebb's own, by rational interpolation.
// random/quantile.hpp has another form of ndtri, whose bits do not depend on the machine.
#pragma once

#include "scaled_error.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
inline constexpr T root_two = static_cast<T>(1.41421356237309504880168872420969808L);
template <class T>
inline constexpr T root_two_low = sizeof(T) == 4 ? T(0x1.9fcef4p-26) : T(-0x1.bdd3413b26456p-54);
template <class T>
inline constexpr T half_root_pi = static_cast<T>(0.886226925452758013649083741670572591L);
template <class T>
inline constexpr T root_half_pi = static_cast<T>(1.25331413731550025120788264240552263L);

template <class T>
struct inverse_error;

template <>
struct inverse_error<float> {
  static constexpr float near_over[] = {0x1.b936a4p-2f, 0x1.14c8bap+1f, 0x1.7d45a6p+1f, 0x1.0880a4p+0f, 0x1.f81ac2p-7f};
  static constexpr float near_under[] = {0x1.a1944ep+2f, 0x1.b0acb4p+3f, 0x1.3a64b4p+3f, 0x1.e18f7ap+0f};
  static constexpr float shoulder_over[] = {0x1.702958p-2f, 0x1.f71ee2p-2f, 0x1.9fb492p-3f, 0x1.a6c594p-6f, 0x1.921eb6p-11f,
                                            0x1.06ff9ep-20f};
  static constexpr float shoulder_under[] = {0x1.74883cp+0f, 0x1.98ab6ap-1f, 0x1.6f5e5cp-3f, 0x1.d7a06ap-7f, 0x1.239118p-12f};
};
template <>
struct inverse_error<double> {
  static constexpr double near_over[] = {0x1.b936a474a620bp-2, 0x1.3a1d5ecbb3f38p+2, 0x1.5eddeb55382d2p+4, 0x1.8696e8ab42d3ep+5,
                                         0x1.c763766435833p+5, 0x1.0ba4a8ad6c76p+5, 0x1.15f7dcb7239b2p+3, 0x1.6bc22a27ed7cfp-1,
                                         0x1.07cdf0842894ap-9};
  static constexpr double near_under[] = {0x1.9cb460ec3140bp+3, 0x1.0c66645e21196p+6, 0x1.69d8efbbd9717p+7, 0x1.0e932df729017p+8,
                                          0x1.be645da5813cp+7, 0x1.7ccea10407a43p+6, 0x1.212734c46c45dp+4, 0x1.0f13721aad2a6p+0};
  static constexpr double shoulder_over[] = {0x1.702958c8a9a9p-2, 0x1.f5a7216866e8dp-1, 0x1.19fef94a5db14p+0, 0x1.4cf83651f03cfp-1,
                                             0x1.ae29d7e4b236fp-3, 0x1.1db3a5edd58afp-5, 0x1.45cce2676e55ap-9, 0x1.b6b302330f814p-15,
                                             0x1.e1485b3b3e245p-25};
  static constexpr double shoulder_under[] = {0x1.682acb54822d2p+1, 0x1.b57c422c15032p+1, 0x1.2537d1372de69p+1, 0x1.cd48ea611e693p-1,
                                              0x1.a22797b24edp-3, 0x1.8e69aa2ed8d61p-6, 0x1.485732c6bcaf2p-10, 0x1.3285afab4dd8fp-16};
  static constexpr double tail_over[] = {0x1.c3d1df0960bfap-3, 0x1.1d5f791d6f582p-3, 0x1.15440cedc21eap-5, 0x1.051590f6923cfp-8,
                                         0x1.efefe5eaeee37p-13, 0x1.c4604177a61c3p-18, 0x1.5759944b7f2bp-24, 0x1.31f8ac60b8a3fp-32,
                                         0x1.7a80d92b124f6p-45};
  static constexpr double tail_under[] = {0x1.7c85c31ed953ep-1, 0x1.c810a54d7e30dp-3, 0x1.196ff1a345f23p-5, 0x1.7be5f444cdd7ep-9,
                                          0x1.13fcd6884a3bp-13, 0x1.8ee830590ae1cp-19, 0x1.e3be4393adc6ap-26, 0x1.497fb0113c713p-34};
};

/// The y with erf(|y|) = |u| and erfc(|y|) = s, and with the sign of u. For s = 0 it is any finite number, for a negative s NaN.
template <class V>
EBB_INLINE constexpr V inverse_error_of(V u, V s) {
  using T = element_of<V>;
  using C = inverse_error<T>;
  V zero = all<V>(0), first = all<V>(T(1.375)), second = all<V>(5);
  V square = u * u, rest = quotient(at_least(all<V>(T(0.7225)) - square, zero), C::near_over, C::near_under);
  V near = u * fma(square, rest, all<V>(half_root_pi<T>));
  V edge = all<V>(T(0.15)), r = sqrt(-log(select(s == zero, edge, at_most(s, edge)))), far;
  if constexpr (sizeof(T) == 4) far = r - quotient(at_most(r, all<V>(T(10.25))) - first, C::shoulder_over, C::shoulder_under);
  else {
    V shoulder = quotient(at_most(r, second) - first, C::shoulder_over, C::shoulder_under);
    V tail = quotient(at_most(at_least(r, second), all<V>(T(27.5))) - second, C::tail_over, C::tail_under);
    far = r - select(r > second, tail, shoulder);
  }
  return select(abs(u) <= all<V>(T(0.85)), near, copysign(far, u));
}

/// y; where s is 0, infinity with the sign of y.
template <class V>
EBB_INLINE constexpr V infinite_at_ends(V y, V s) {
  return select(s == all<V>(0), copysign(all<V>(std::numeric_limits<element_of<V>>::infinity()), y), y);
}

/// The distance of x from the nearer end of an interval from 0 to `end`.
template <class V>
EBB_INLINE constexpr V to_nearer_end(V x, element_of<V> end) {
  V other = all<V>(end) - x;
  return select(x < other, x, other);
}

/// factor * e^(y^2), where erfc(|y|) = s; infinite for s = 0.   Error: 7 ulp.
template <class V>
EBB_INLINE constexpr V inverse_density(V s, V y, element_of<V> factor) {
  V infinity = all<V>(std::numeric_limits<element_of<V>>::infinity());
  return select(s == all<V>(0), copysign(infinity, all<V>(factor)), all<V>(factor) * (erfcx(abs(y)) / s));
}

}  // namespace detail

/// The y with erf(y) = u.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V erfinv(V u) {
  V s = all<V>(1) - abs(u);
  return detail::infinite_at_ends(detail::inverse_error_of(u, s), s);
}
/// The y with erfc(y) = x.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V erfcinv(V x) {
  V s = detail::to_nearer_end(x, 2);
  return detail::infinite_at_ends(detail::inverse_error_of(all<V>(1) - x, s), s);
}
/// The y with ndtr(y) = p.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V ndtri(V p) {
  using T = element_of<V>;
  V q = detail::to_nearer_end(p, 1);
  V y = detail::inverse_error_of((p + p) - all<V>(1), q + q);
  return detail::infinite_at_ends(fma(y, all<V>(detail::root_two_low<T>), y * all<V>(detail::root_two<T>)), q);
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// The derivative of an inverse distribution function at x, with its result y as the second operand. Its own derivative by x is
/// factor * y * out^2: that includes the dependence of y on x, so y gets no gradient.   Saves: x, y, out.   Error: 7 ulp.
struct slope_of_inverse : elementwise<2> {
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto pulled(auto g, auto y, auto out, int factor) { return grads(g * (factor * y * out * out), nothing); }
};

/// The derivative of erfinv at x, where its result is y.
struct erfinv_slope : slope_of_inverse {
  static constexpr std::string_view name = "erfinv_slope";
  static constexpr auto value(auto x, auto y) {
    using V = decltype(x);
    return lane::detail::inverse_density(lane::all<V>(1) - lane::abs(x), y, lane::detail::half_root_pi<lane::element_of<V>>);
  }
  static constexpr auto pull(auto g, auto, auto y, auto out) { return pulled(g, y, out, 2); }
};

/// The inverse of erf.   Saves: x, out.   Error: 4 ulp.   Domain: -1 <= x <= 1, where it is infinite at both ends; else NaN.
struct erfinv : transcendental {
  static constexpr std::string_view name = "erfinv";
  static constexpr auto value(auto x) { return lane::erfinv(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * emit_on<erfinv_slope>({}, x, out)); }
};

/// The derivative of erfcinv at x, where its result is y.
struct erfcinv_slope : slope_of_inverse {
  static constexpr std::string_view name = "erfcinv_slope";
  static constexpr auto value(auto x, auto y) {
    return lane::detail::inverse_density(lane::detail::to_nearer_end(x, 2), y, -lane::detail::half_root_pi<lane::element_of<decltype(x)>>);
  }
  static constexpr auto pull(auto g, auto, auto y, auto out) { return pulled(g, y, out, 2); }
};

/// The inverse of erfc, which keeps its digits for tiny x.   Saves: x, out.   Error: 4 ulp.
/// Domain: 0 <= x <= 2, where it is inf and -inf; else NaN.
struct erfcinv : transcendental {
  static constexpr std::string_view name = "erfcinv";
  static constexpr auto value(auto x) { return lane::erfcinv(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * emit_on<erfcinv_slope>({}, x, out)); }
};

/// The derivative of ndtri at x, where its result is y.
struct ndtri_slope : slope_of_inverse {
  static constexpr std::string_view name = "ndtri_slope";
  static constexpr auto value(auto x, auto y) {
    using V = decltype(x);
    using T = lane::element_of<V>;
    V scaled = y * lane::all<V>(T(1) / lane::detail::root_two<T>);
    return lane::detail::inverse_density(lane::detail::to_nearer_end(x, 1), scaled, lane::detail::root_half_pi<T>);
  }
  static constexpr auto pull(auto g, auto, auto y, auto out) { return pulled(g, y, out, 1); }
};

/// The quantile function of the standard normal distribution, the inverse of ndtr.   Saves: x, out.   Error: 4 ulp.
/// Domain: 0 <= x <= 1, where it is -inf and inf; else NaN.   Source: as special/quantile.hpp.
struct ndtri : transcendental {
  static constexpr std::string_view name = "ndtri";
  static constexpr auto value(auto x) { return lane::ndtri(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * emit_on<ndtri_slope>({}, x, out)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::erfinv> erfinv{};
inline constexpr call<op::erfcinv> erfcinv{};
inline constexpr call<op::ndtri> ndtri{};

}  // namespace ebb::inline EBB_ABI
