// ebb/special/bessel.hpp — modified Bessel functions of order 0 and 1: i0, i1, and i0e, i1e, scaled by e^-|x|.
// SPDX-License-Identifier: BSL-1.0
//
// With t = (x / 2)^2, I_n(x) is (x / 2)^n times the sum of t^k / (k! (n + k)!), whose terms are positive: that serves |x| <= 8. Beyond,
// sqrt(x) I_0(x) e^-x and x sqrt(x) (I_0(x) - I_1(x)) e^-x are polynomials of 16 / |x| - 1, and the recurrence gives the other orders.
// Source: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions (1964), 9.6 and 9.7. The coefficients are ebb's own, by
// interpolation at Chebyshev nodes. The bounds hold with fma; without it errors are twice as large.
#pragma once

#include "../num/error_function.hpp"
#include "../op/exponential.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct bessel_tail;

template <>
struct bessel_tail<float> {
  static constexpr float far[] = {0x1.9bd428p-2f, 0x1.b8796ap-9f, 0x1.1dab2ap-13f, 0x1.75d91ep-17f, 0x1.8c11eap-20f, 0x1.463d02p-22f,
                                  0x1.d49748p-24f, 0x1.20edeap-25f};
  static constexpr float gap[] = {0x1.a2b60ep-3f, 0x1.5c35bcp-8f, 0x1.881f6cp-12f, 0x1.78a61ap-15f, 0x1.13138ep-17f, 0x1.3a23e8p-19f,
                                  0x1.e97488p-21f, 0x1.f29ea4p-23f};
};
template <>
struct bessel_tail<double> {
  static constexpr double far[] = {0x1.9bd428ad249a5p-2, 0x1.b87969bb93bd2p-9, 0x1.1daa72b5e22b2p-13, 0x1.75e5ee6fabb85p-17,
                                   0x1.8e513a7ddffecp-20, 0x1.3f49af1ca6576p-22, 0x1.7d0f0727d6a9dp-24, 0x1.51cb3832a6046p-25,
                                   0x1.723509510cd4ap-26, 0x1.03fa571f405c2p-27, -0x1.cfe4f8bebe7e4p-28, -0x1.ceb2c3f3c2085p-27,
                                   -0x1.72b4495699537p-28, 0x1.09d8aa3fc68bp-27, 0x1.fcf3dd682ab36p-28, -0x1.0c5d8b2e86f47p-28,
                                   -0x1.9683a45b51615p-28, 0x1.2159f0c508719p-29, 0x1.ee943d682b9f4p-29, -0x1.3ab3b1c19a518p-30,
                                   -0x1.b5e3e7f99d058p-30, 0x1.1998ba2c8ef47p-31, 0x1.ec7656d43152ap-32, -0x1.4b4eae130efc2p-33,
                                   -0x1.03b4aa8a9e407p-34, 0x1.6e48b56608f9p-36};
  static constexpr double gap[] = {0x1.a2b60e5412e94p-3, 0x1.5c35b6780d405p-8, 0x1.88229dbdd315p-12, 0x1.78f357dffe32p-15,
                                   0x1.11f13436c1ec5p-17, 0x1.22f59e26b3f9cp-19, 0x1.c9653e393ef03p-21, 0x1.f5b749a9744a7p-22,
                                   0x1.0dc6713d6b01ep-22, 0x1.53b4a76036e6p-28, -0x1.d60819f201251p-23, -0x1.de4accdb1bd46p-23,
                                   0x1.168a1c6f0bc36p-25, 0x1.d769414ed4bdcp-23, 0x1.b8ff000199d5p-25, -0x1.8a182b4d98798p-23,
                                   -0x1.22aa9dfdd7c88p-24, 0x1.436c418a52e3ep-23, 0x1.cf8d661413928p-25, -0x1.e4fcc39545e3fp-24,
                                   -0x1.0d9f03d5991d6p-25, 0x1.27378848e4d61p-24, 0x1.babf0cd639a27p-27, -0x1.03c263286afd3p-25,
                                   -0x1.c80adea248bb4p-29, 0x1.1e1f12c3481a4p-27, 0x1.b8059172bb269p-32, -0x1.249c20ae7530dp-30};
};

/// 1 / (k! (n + k)!) for k = 0, 1, ..
template <int N, class T>
struct bessel_series {
  T terms[sizeof(T) == 4 ? 15 : 23];
  constexpr bessel_series() : terms{} {
    double term = 1;
    for (int i = 2; i <= N; ++i) term /= i;
    for (int k = 0; T & each : terms) {
      each = static_cast<T>(term);
      ++k;
      term /= k * (N + k);
    }
  }
};
template <int N, class T>
inline constexpr bessel_series<N, T> bessel_terms{};

/// e^-a I_n(a), for a = |x|. The ranges |x| <= 8 and |x| > 8 have their own formulas; a lane selects one.
template <class V>
struct scaled_bessel {
  using T = element_of<V>;
  V a, small, decay, inverse, tail0, gap;

  EBB_INLINE constexpr explicit scaled_bessel(V x) : a(abs(x)) {
    V eight = all<V>(8), one = all<V>(1), far = at_least(a, eight);
    small = at_most(a, eight);
    decay = exp(-small);
    inverse = one / far;
    V u = fma(inverse, all<V>(16), -one), root = sqrt(inverse);
    tail0 = root * horner(u, bessel_tail<T>::far);
    gap = root * inverse * horner(u, bessel_tail<T>::gap);
  }
  /// The sum for order N, without (a / 2)^N and without e^-a.
  template <int N>
  EBB_INLINE constexpr V series() const {
    return horner(half() * half(), bessel_terms<N, T>.terms);
  }
  EBB_INLINE constexpr V choose(V near, V far) const { return select(a > all<V>(8), far, near); }
  EBB_INLINE constexpr V half() const { return small * all<V>(T(0.5)); }
  EBB_INLINE constexpr V tail1() const { return tail0 - gap; }
  EBB_INLINE constexpr V tail2() const { return fma(all<V>(-2) * inverse, tail1(), tail0); }
  EBB_INLINE constexpr V order0() const { return choose(series<0>() * decay, tail0); }
  EBB_INLINE constexpr V order1() const { return choose(half() * series<1>() * decay, tail1()); }
  EBB_INLINE constexpr V order2() const { return choose(half() * half() * series<2>() * decay, tail2()); }
  EBB_INLINE constexpr V order3() const {
    return choose(half() * half() * half() * series<3>() * decay, fma(all<V>(-4) * inverse, tail2(), tail1()));
  }
  /// I_0 - I_1, scaled.
  EBB_INLINE constexpr V difference() const { return choose((series<0>() - half() * series<1>()) * decay, gap); }
  /// `near` for |x| <= 8, else e^a far: far is scaled, near is not.
  EBB_INLINE constexpr V unscaled(V near, V far) const {
    constexpr T greatest = sizeof(T) == 4 ? T(95) : T(720);
    V bounded = at_most(a, all<V>(greatest)), zero = all<V>(0);
    V grown = exp_twofold(twofold<V>{bounded, zero}).times({far, zero});
    V infinity = all<V>(std::numeric_limits<T>::infinity());
    return choose(near, select(a > bounded, infinity, grown));
  }
};

}  // namespace detail

/// e^-|x| I_0(x).   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V i0e(V x) {
  return detail::scaled_bessel<V>(x).order0();
}
/// e^-|x| I_1(x).   Error: 5 ulp.
template <class V>
EBB_INLINE constexpr V i1e(V x) {
  return copysign(detail::scaled_bessel<V>(x).order1(), x);
}
/// I_0(x).   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V i0(V x) {
  detail::scaled_bessel<V> b(x);
  return b.unscaled(b.template series<0>(), b.tail0);
}
/// I_1(x).   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V i1(V x) {
  detail::scaled_bessel<V> b(x);
  return copysign(b.unscaled(b.half() * b.template series<1>(), b.tail1()), x);
}
/// The derivative of I_1: (I_0 + I_2) / 2.   Error: 4 ulp.
template <class V>
EBB_INLINE constexpr V i1_slope(V x) {
  detail::scaled_bessel<V> b(x);
  V half = all<V>(element_of<V>(0.5)), near = fma(b.half() * b.half(), b.template series<2>(), b.template series<0>());
  return b.unscaled(near * half, (b.tail0 + b.tail2()) * half);
}
/// The second derivative of I_1: (3 I_1 + I_3) / 4.   Error: 5 ulp.
template <class V>
EBB_INLINE constexpr V i1_bend(V x) {
  detail::scaled_bessel<V> b(x);
  using T = element_of<V>;
  V quarter = all<V>(T(0.25)), three = all<V>(3), h = b.half();
  V near = h * fma(h * h, b.template series<3>(), three * b.template series<1>());
  V tail1 = b.tail1(), tail3 = fma(all<V>(-4) * b.inverse, b.tail2(), tail1);
  return copysign(b.unscaled(near * quarter, fma(three, tail1, tail3) * quarter), x);
}
/// The derivative of i0e, 0 at its kink x = 0.   Error: 8 ulp of i0e for |x| <= 8, else 5 ulp.
template <class V>
EBB_INLINE constexpr V i0e_slope(V x) {
  V zero = all<V>(0);
  return select(x == zero, zero, -copysign(detail::scaled_bessel<V>(x).difference(), x));
}
/// The second derivative of i0e.   Error: 8 ulp of i0e.
template <class V>
EBB_INLINE constexpr V i0e_bend(V x) {
  detail::scaled_bessel<V> b(x);
  return (all<V>(3) * b.difference() - b.order1() + b.order2()) * all<V>(element_of<V>(0.5));
}
/// The derivative of i1e.   Error: 8 ulp of i0e.
template <class V>
EBB_INLINE constexpr V i1e_slope(V x) {
  detail::scaled_bessel<V> b(x);
  return b.difference() - (b.order0() - b.order2()) * all<V>(element_of<V>(0.5));
}
/// The second derivative of i1e.   Error: 8 ulp of i0e.
template <class V>
EBB_INLINE constexpr V i1e_bend(V x) {
  detail::scaled_bessel<V> b(x);
  V quarter = all<V>(element_of<V>(0.25)), first = b.order1();
  return copysign(all<V>(1), x) * (fma(all<V>(3), first, b.order3()) * quarter - b.order2() - b.difference());
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// The second derivative of i1. Not differentiable.   Saves: nothing.   Error: 5 ulp.
struct i1_bend : transcendental {
  static constexpr std::string_view name = "i1_bend";
  static constexpr auto value(auto x) { return lane::i1_bend(x); }
};
/// The derivative of i1.   Saves: x.   Error: 4 ulp.
struct i1_slope : transcendental {
  static constexpr std::string_view name = "i1_slope";
  static constexpr auto value(auto x) { return lane::i1_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i1_bend>({}, x)); }
};
/// The modified Bessel function of order 1. Differentiable twice.   Saves: x.   Error: 4 ulp.   Source: as special/bessel.hpp.
struct i1 : transcendental {
  static constexpr std::string_view name = "i1";
  static constexpr auto value(auto x) { return lane::i1(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i1_slope>({}, x)); }
};
/// The modified Bessel function of order 0. Differentiable three times.   Saves: x.   Error: 4 ulp.   Source: as special/bessel.hpp.
struct i0 : transcendental {
  static constexpr std::string_view name = "i0";
  static constexpr auto value(auto x) { return lane::i0(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i1>({}, x)); }
};

/// The second derivative of i0e. Not differentiable.   Saves: nothing.   Error: 8 ulp of i0e.
struct i0e_bend : transcendental {
  static constexpr std::string_view name = "i0e_bend";
  static constexpr auto value(auto x) { return lane::i0e_bend(x); }
};
/// The derivative of i0e.   Saves: x.   Error: 8 ulp of i0e for |x| <= 8, else 5 ulp.
struct i0e_slope : transcendental {
  static constexpr std::string_view name = "i0e_slope";
  static constexpr auto value(auto x) { return lane::i0e_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i0e_bend>({}, x)); }
};
/// e^-|x| times i0(x). Differentiable twice; its derivative at 0, a kink, is 0.   Saves: x.   Error: 4 ulp.
struct i0e : transcendental {
  static constexpr std::string_view name = "i0e";
  static constexpr auto value(auto x) { return lane::i0e(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i0e_slope>({}, x)); }
};

/// The second derivative of i1e. Not differentiable.   Saves: nothing.   Error: 8 ulp of i0e.
struct i1e_bend : transcendental {
  static constexpr std::string_view name = "i1e_bend";
  static constexpr auto value(auto x) { return lane::i1e_bend(x); }
};
/// The derivative of i1e.   Saves: x.   Error: 8 ulp of i0e.
struct i1e_slope : transcendental {
  static constexpr std::string_view name = "i1e_slope";
  static constexpr auto value(auto x) { return lane::i1e_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i1e_bend>({}, x)); }
};
/// e^-|x| times i1(x). Differentiable twice; its derivative at 0 is 1/2.   Saves: x.   Error: 5 ulp.
struct i1e : transcendental {
  static constexpr std::string_view name = "i1e";
  static constexpr auto value(auto x) { return lane::i1e(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<i1e_slope>({}, x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::i0> i0{};
inline constexpr call<op::i1> i1{};
inline constexpr call<op::i0e> i0e{};
inline constexpr call<op::i1e> i1e{};

}  // namespace ebb::inline EBB_ABI
