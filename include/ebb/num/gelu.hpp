// ebb/num/gelu.hpp — x Phi(x), its approximation by tanh, and the first two derivatives of both, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// x Phi(x) = max(x, 0) - |x| Phi(-|x|), and the same with sigmoid(2u) for Phi: one formula for both signs that loses no digits in the
// tails. The derivatives follow from it. In the tails e^(..) stays a mantissa and an exponent until all factors are multiplied in: a
// subnormal result is then rounded once. Arguments are bounded where the tail is 0: 0 * infinity never occurs, and the results at infinity
// are the limits. The error bounds hold with fma; without it errors are up to twice as large.
#pragma once

#include "normal.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// max(x, 0); a zero has the sign of x.
template <class V>
EBB_INLINE constexpr V positive_part(V x) {
  return select(x > all<V>(0), x, copysign(all<V>(0), x));
}
/// d for x < 0, 1 - d for x > 0; NaN for NaN.
template <class V>
EBB_INLINE constexpr V on_its_side(V x, V d) {
  return select(x < all<V>(0), d, all<V>(1) - d);
}

template <class T>
struct gelu_tanh;

/// 2u = x (slope + cubic x^2), slope = 2 sqrt(2 / pi), cubic = 0.044715 slope.
template <>
struct gelu_tanh<float> {
  static constexpr float greatest = 11.25f;  // from here on e^-2u is 0, and so are its products
  static constexpr twofold<float> slope{0x1.988454p+0f, -0x1.857936p-25f}, cubic{0x1.2444f2p-4f, 0x1.49b16ap-29f};
};
template <>
struct gelu_tanh<double> {
  static constexpr double greatest = 22;
  static constexpr twofold<double> slope{0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54}, cubic{0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c7p-61};
};

template <class V>
EBB_INLINE constexpr twofold<V> all_of(twofold<element_of<V>> x) {
  return {all<V>(x.high), all<V>(x.low)};
}

/// For a = |x|, bounded: power is e^-2u as mantissa 2^exponent, e is the same as one number, rise is the first derivative of 2u.
template <class V>
struct soft_step {
  using T = element_of<V>;
  using C = gelu_tanh<T>;
  V a, square, e, rise;
  scaled<V> power;
  EBB_INLINE constexpr explicit soft_step(V x) : a(at_most(abs(x), all<V>(C::greatest))), square(a * a) {
    twofold<V> slope = all_of<V>(C::slope), cubic = product(product(a, a), all_of<V>(C::cubic));
    twofold<V> sum = quick_sum(at_least(slope.high, cubic.high), at_most(slope.high, cubic.high));
    twofold<V> u = product(twofold<V>{-sum.high, -(sum.low + (slope.low + cubic.low))}, twofold<V>{a, all<V>(0)});
    power = exp_twofold(u);
    e = scale(power.mantissa.high, power.exponent);
    rise = fma(all<V>(3 * C::cubic.high), square, slope.high);
  }
  /// e^-2u y
  EBB_INLINE constexpr V times(V y) const { return power.times({y, all<V>(0)}); }
};

}  // namespace detail

/// x Phi(x), the Gaussian error linear unit; -0 at -infinity.   Error: 3 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gelu(V x) {
  using C = detail::normal<element_of<V>>;
  V a = at_most(abs(x), all<V>(C::greatest)), one = all<V>(1);
  V below = choose<V>(a < one, [&]() EBB_LAMBDA { return a * detail::near_half(-at_most(a, one)); }, [&]() EBB_LAMBDA {
    twofold<V> s = detail::over_half_line<C>(a), by_a = product(a, s.high);
    return detail::gaussian<2>(a).times({by_a.high, fma(a, s.low, by_a.low)});
  });
  return detail::positive_part(x) - below;
}

/// Phi(x) + x phi(x), the derivative of gelu.   Error: 3 ulp of the larger term, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gelu_slope(V x) {
  using C = detail::normal<element_of<V>>;
  V a = at_most(abs(x), all<V>(C::greatest)), one = all<V>(1), by_root = a * all<V>(C::root_high);
  auto e = detail::gaussian<2>(a);
  const auto near = [&]() EBB_LAMBDA { return detail::near_half(-at_most(a, one)) - e.times({by_root, all<V>(0)}); };
  return detail::on_its_side(x, choose<V>(a < one, near, [&]() EBB_LAMBDA {
    twofold<V> s = detail::over_half_line<C>(a), difference = quick_sum(-by_root, s.high);
    return e.times({difference.high, difference.low + s.low});
  }));
}

/// phi(x) (2 - x^2), the second derivative of gelu.   Error: 3 ulp of the larger term, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gelu_bend(V x) {
  using C = detail::normal<element_of<V>>;
  V a = at_most(abs(x), all<V>(C::greatest));
  return detail::gaussian<2>(a).times({fma(-a, a, all<V>(2)) * all<V>(C::root_high), all<V>(0)});
}

/// x sigmoid(2u) for u = sqrt(2 / pi) (x + 0.044715 x^3); -0 at -infinity.   Error: 3 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gelu_tanh(V x) {
  detail::soft_step<V> step(x);
  return detail::positive_part(x) - step.times(step.a / (all<V>(1) + step.e));
}

/// s + 2 x s (1 - s) u' for s = sigmoid(2u), the derivative of gelu_tanh.   Error: 5 ulp of the larger term, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gelu_tanh_slope(V x) {
  detail::soft_step<V> step(x);
  V one = all<V>(1), rest = one / (one + step.e);
  return detail::on_its_side(x, step.times(rest * fma(-step.a * step.rise, rest, one)));
}

/// The second derivative of gelu_tanh.   Error: 7 ulp of the largest term, gradual underflow included.
template <class V>
EBB_INLINE constexpr V gelu_tanh_bend(V x) {
  using T = element_of<V>;
  detail::soft_step<V> step(x);
  V one = all<V>(1), rest = one / (one + step.e), odd = (one - step.e) * rest;
  // With r = (2u)': 2 r + x r' - |x| r^2 (1 - 2s).
  V bend = fma(all<V>(6 * detail::gelu_tanh<T>::cubic.high), step.square, step.rise + step.rise);
  V y = fma(-step.a * step.rise, step.rise * odd, bend);
  return step.times(rest * rest * y);
}

}  // namespace ebb::inline EBB_ABI::lane
