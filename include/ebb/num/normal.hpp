// ebb/num/normal.hpp — the standard normal distribution: density, distribution function and its logarithm, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// As in error_function.hpp, with x^2 / 2 for x^2. ndtr(x) is erfc(-x / sqrt 2) / 2, but rounding x / sqrt 2 would cost x^2 units in the
// last place: hence separate polynomials.
// The logarithm and its derivatives use k(z) = phi(z) / Phi(-z) - z, the mean excess of a normal variable over z (phi: density, Phi:
// probability). k is smooth, positive and falls from 0.8 to 1/z: no difference of large numbers remains.
// The error bounds hold with fma; without it errors are up to twice as large.
#pragma once

#include "error_function.hpp"
#include "logarithm.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct normal;

template <>
struct normal<float> {
  static constexpr float greatest = 15.1f;  // from here on e^(-x^2 / 2) is 0, and so is its product with x^2
  static constexpr float huge = 0x1p+60f;    // from here on the low part of x^2 is rounded off
  static constexpr float root_high = 0x1.988454p-2f, root_low = -0x1.857936p-27f;  // 1 / sqrt(2 pi)
  static constexpr float inverse_root = 0x1.40d932p+1f;                            // sqrt(2 pi)
  static constexpr float center = 3.5f;
  static constexpr float near[] = {-0x1.105832p-4f, 0x1.46ce58p-7f, -0x1.36fe32p-10f, 0x1.dc102ap-14f,
                                   -0x1.010b86p-17f};
  static constexpr float tail_first = 0x1.7d241ap-1f;
  static constexpr float tail[] = {-0x1.219152p-1f, 0x1.42fecap-2f, -0x1.db57fap-4f, 0x1.1d2d76p-6f, 0x1.a8393cp-8f, -0x1.9fd522p-9f,
                                   -0x1.c253b6p-12f, 0x1.b70c2ap-12f, 0x1.2fea46p-15f};
};
template <>
struct normal<double> {
  static constexpr double greatest = 39;
  static constexpr double huge = 0x1p+500;
  static constexpr double root_high = 0x1.9884533d43651p-2, root_low = -0x1.cbc0d30ebfd15p-56;
  static constexpr double inverse_root = 0x1.40d931ff62706p+1;
  static constexpr double center = 3.5;
  static constexpr double near[] = {-0x1.1058377e2cedfp-4, 0x1.46d042976901p-7, -0x1.37403f6b93143p-10,
                                    0x1.e42b0d4b14d39p-14, -0x1.3ce8f9bacee1ep-17, 0x1.6589f17ce2693p-21, -0x1.621cc567a99f7p-25,
                                    0x1.380b151d37375p-29, -0x1.e69d43072e1f8p-34, 0x1.1eb48cc19cdecp-38};
  static constexpr double tail_first = 0x1.7d241a953a614p-1;
  static constexpr double tail[] = {-0x1.2191517fa27b9p-1, 0x1.42fec3680acc1p-2, -0x1.db5837f7f5352p-4, 0x1.1d35bdee10c3ep-6,
                                    0x1.a86cec7616761p-8, -0x1.a200796527c27p-9, -0x1.d2a140a03eeeap-12, 0x1.f3cfa8409051p-12,
                                    0x1.19284e6d6c094p-14, -0x1.3d0606d064c36p-14, -0x1.3b37bfe9fdce7p-16, 0x1.82051bec84a2fp-17,
                                    0x1.7b33215656dcdp-18, -0x1.361cde56cd804p-20, -0x1.8ced0b9753ce7p-20, -0x1.6933abb0d2575p-23,
                                    0x1.46b9f0a4ef623p-22, 0x1.54f93cb75574p-23, -0x1.f138fa3e66b8p-25, -0x1.d1a36c85c9a95p-25,
                                    0x1.6bc3a7d816444p-26};
};

template <class T>
struct excess;

template <>
struct excess<float> {
  static constexpr float center = 3;
  static constexpr float tail_first = 0x1.b2d6ecp+0f;
  static constexpr float tail[] = {-0x1.aede2cp-1f, 0x1.19376ap-6f, 0x1.7c4fap-3f, -0x1.a0fa36p-6f, -0x1.bf7d8ep-5f,
                                   0x1.ff118ap-8f, 0x1.2ca606p-6f, -0x1.487586p-10f, -0x1.91fa66p-8f, -0x1.8fb95p-14f, 0x1.b83dp-10f,
                                   0x1.2a3b9ap-14f, -0x1.0dd2e2p-12f};
};
template <>
struct excess<double> {
  static constexpr double center = 4;
  static constexpr double tail_first = 0x1.ce0b1e5a9c1bdp+0;
  static constexpr double tail[] = {-0x1.2ea4f4473593fp+0, 0x1.9b9a89c505e06p-2, 0x1.148dadc527e5dp-4,
                                    -0x1.1b15713345f9p-3, 0x1.1419b6ca27cfep-5, 0x1.03548cc8bb8c3p-5, -0x1.54cb6db6485f7p-6,
                                    -0x1.262a0ac7423acp-8, 0x1.04e1277fe4c5bp-7, -0x1.87bbb9147a3cfp-12, -0x1.45d146f3e2c58p-9,
                                    0x1.37e039d2642c5p-11, 0x1.5ce840b3cd366p-11, -0x1.2f58365a271e9p-12, -0x1.3b39090d7e16ap-13,
                                    0x1.b7ee6cea77db3p-14, 0x1.accf22d3eee7ap-16, -0x1.09fe6ff406406p-15, -0x1.796d48ded6b63p-20,
                                    0x1.1046f3ad75b5p-17, -0x1.3a4b6c25a9457p-20, -0x1.c5db8c31faa4cp-20, 0x1.3a658296b3e4fp-21,
                                    0x1.129dab85e090bp-22, -0x1.346613c263a5p-23, -0x1.63fbbf52fc9cbp-26, 0x1.1370f36941593p-26};
};

/// Phi(x) for |x| <= 1: 1/2 + x (1 / sqrt(2 pi) + x^2 p(x^2)).
template <class V>
EBB_INLINE constexpr V near_half(V x) {
  using T = element_of<V>;
  using C = normal<T>;
  V square = x * x, rest = horner(square, C::near), root = all<V>(C::root_high);
  V slope = fma(square, rest, root), slope_low = fma(square, rest, root - slope) + all<V>(C::root_low);
  twofold<V> p = product(x, slope), sum = quick_sum(all<V>(T(0.5)), p.high);
  return sum.high + (sum.low + fma(x, slope_low, p.low));
}

/// For z = |x|: h = z + k is phi(z) / Phi(-z).
template <class V>
struct mills {
  using T = element_of<V>;
  using C = normal<T>;
  V z, k, h;
  EBB_INLINE constexpr explicit mills(V x) : z(at_most(abs(x), all<V>(std::numeric_limits<T>::max()))) {
    twofold<V> s = over_half_line<excess<T>>(z);
    k = s.high + s.low;
    h = abs(x) + k;
  }
  /// phi(z)
  EBB_INLINE constexpr V density() const {
    return gaussian<2>(at_most(z, all<V>(C::greatest))).times({all<V>(C::root_high), all<V>(C::root_low)});
  }
  /// Phi(-x) for -1 < x.
  EBB_INLINE constexpr V tail(V x) const {
    V one = all<V>(1);
    return choose<V>(z < one, [&]() EBB_LAMBDA { return near_half(-copysign(at_most(z, one), x)); },
                     [&]() EBB_LAMBDA { return density() / h; });
  }
  /// phi(z) / Phi(z)
  EBB_INLINE constexpr V other_side() const { return density() / (all<V>(1) - tail(z)); }
};

}  // namespace detail

/// The density of the standard normal distribution, e^(-x^2 / 2) / sqrt(2 pi).   Error: 1.5 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V normal_density(V x) {
  using C = detail::normal<element_of<V>>;
  return detail::gaussian<2>(at_most(abs(x), all<V>(C::greatest))).times({all<V>(C::root_high), all<V>(C::root_low)});
}

/// The distribution function: the probability of x or less.   Error: 3 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V ndtr(V x) {
  using T = element_of<V>;
  using C = detail::normal<T>;
  V a = at_most(abs(x), all<V>(C::greatest)), one = all<V>(1);
  const auto near = [&]() EBB_LAMBDA {
    if constexpr (scalar<V>) return detail::near_half(x);  // |x| < 1 here
    else return detail::near_half(copysign(at_most(a, one), x));
  };
  return choose<V>(a < one, near, [&]() EBB_LAMBDA {
    V far = detail::gaussian<2>(a).times(detail::over_half_line<C>(a));
    return select(x < all<V>(0), far, one - far);
  });
}

/// log(ndtr(x)), finite as long as -x^2 / 2 is.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V log_ndtr(V x) {
  using T = element_of<V>;
  using C = detail::normal<T>;
  detail::mills<V> m(x);
  auto right = x > all<V>(T(-0.5));
  // On the right log(1 - Phi(-x)), on the left log(phi) - log(h).
  V y = log1p(select(right, -m.tail(x), fma(m.h, all<V>(C::inverse_root), all<V>(-1))));
  twofold<V> square = product(m.z, m.z * all<V>(T(0.5)));
  V low = select(m.z < all<V>(C::huge), square.low, all<V>(0));
  return select(right, y, -(square.high + (y + low)));
}

/// phi(x) / Phi(x), the derivative of log_ndtr.   Error: 3 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V inverse_mills(V x) {
  detail::mills<V> m(x);
  return choose<V>(x > all<V>(0), [&]() EBB_LAMBDA { return m.other_side(); }, [&]() EBB_LAMBDA { return m.h; });
}

/// x + phi(x) / Phi(x), without cancellation for negative x.   Error: 3 ulp.
template <class V>
EBB_INLINE constexpr V mean_excess(V x) {
  detail::mills<V> m(x);
  return choose<V>(x > all<V>(0), [&]() EBB_LAMBDA { return m.z + m.other_side(); }, [&]() EBB_LAMBDA { return m.k; });
}

}  // namespace ebb::inline EBB_ABI::lane
