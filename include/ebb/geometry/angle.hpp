// ebb/geometry/angle.hpp — sin(t)/t and relatives as functions of t^2, and the angle of a quaternion: smooth at the angle 0.
// SPDX-License-Identifier: BSL-1.0
//
// [note: angles without roots]
// A rotation vector w turns by its norm t, and the derivative of a norm at 0 does not exist. But rotations depend on w itself and on
// functions of t^2 = w . w alone, which are smooth everywhere. With u = t^2 they are the Stumpff functions
//   c_k(u) = 1/k! - u/(k+2)! + u^2/(k+4)! - ...      c_0 = cos t, c_1 = sin t / t, c_2 = (1 - cos t) / t^2, c_3 = (t - sin t) / t^3
// with c_k' = (k c_(k+2) - c_(k+1)) / 2: no derivative divides by u, none cancels at 0, and each is one op. Logarithms need
//   f_0(p, w) = atan2(sqrt p, w) / sqrt p
// and its derivatives f_k by p, for the quaternion (w, v) with p = v . v.
#pragma once

#include "../num/polynomial.hpp"
#include "../op/trigonometric.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

/// The coefficients of u^j of c_K.
template <int K, class T>
struct stumpff_series {
  static constexpr int count = sizeof(T) == 8 ? 14 : 9;
  T terms[count] = {};
  constexpr stumpff_series() {
    long double term = 1;
    for (int i = 2; i <= K; ++i) term /= i;
    for (int j = 0; j < count; ++j) {
      terms[j] = static_cast<T>(term);
      term /= -static_cast<long double>((2 * j + K + 1) * (2 * j + K + 2));
    }
  }
};
template <int K, class T>
inline constexpr stumpff_series<K, T> stumpff_terms{};

/// The coefficients of t^j of the derivative number K of atan(sqrt t) / sqrt t.
template <int K, class T>
struct angle_series {
  static constexpr int count = sizeof(T) == 8 ? 28 + 3 * K : 13 + 2 * K;
  T terms[count] = {};
  constexpr angle_series() {
    for (int j = 0; j < count; ++j) {
      long double term = (j + K) % 2 ? -1 : 1;
      for (int i = 1; i <= K; ++i) term *= j + i;
      terms[j] = static_cast<T>(term / (2 * (j + K) + 1));
    }
  }
};
template <int K, class T>
inline constexpr angle_series<K, T> angle_terms{};

constexpr double factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

}  // namespace detail

/// c_K(u), for u >= 0. K <= 2 and any u: 2 ulp of 1 for c_0, else 4 ulp, and an ulp of sqrt(u) in the argument of cos and sin.
/// Others use their series up to u = 10, beyond the angle pi, then c_k = (1 / (k-2)! - c_(k-2)) / u.   Error: 4 ulp for u <= 10, and 8 ulp
/// of 1 / ((k-2)! u) beyond.
template <int K, class V>
EBB_INLINE constexpr V stumpff(V u) {
  using T = element_of<V>;
  V one = all<V>(1), half = all<V>(T(0.5));
  if constexpr (K == 0) return cos(sqrt(u));
  else if constexpr (K == 1) {
    V t = sqrt(u);
    return select(u == all<V>(0), one, sin(t) / select(u == all<V>(0), one, t));
  } else if constexpr (K == 2) {
    V s = stumpff<1>(u * all<V>(T(0.25)));
    return half * (s * s);
  } else {
    V near = horner(at_most(u, all<V>(10)), detail::stumpff_terms<K, T>.terms), far = at_least(u, all<V>(10));
    V sum = stumpff<2 - K % 2>(far);
    for (int k = 4 - K % 2; k <= K; k += 2) sum = (all<V>(static_cast<T>(1 / detail::factorial(k - 2))) - sum) / far;
    return select(u > all<V>(10), sum, near);
  }
}

/// f_K(p, w), for p >= 0. Up to p = w^2 / 4 it is a series, else the angle divided by its sine. NaN for p = w = 0.
/// Error: 4 ulp for K = 0, 20 for K = 1, 150 for K = 2, 1,500 for K = 3.
template <int K, class V>
EBB_INLINE constexpr V angle_ratio(V p, V w) {
  using T = element_of<V>;
  V one = all<V>(1), half = all<V>(T(0.5)), n = p + w * w;
  auto small = p < all<V>(T(0.25)) * w * w && w > all<V>(0);
  V by = one / select(small, w, one), square = by * by, t = select(small, p, all<V>(0)) * square, scale = by;
  for (int k = 0; k < K; ++k) scale = scale * square;
  V near = horner(t, detail::angle_terms<K, T>.terms) * scale;
  V q = select(small, one, p), root = sqrt(q), ratio = w / n, far = atan2(root, w) / root;
  for (int k = 0; k < K; ++k) {
    far = (half * ratio - all<V>(static_cast<T>(k + 0.5)) * far) / q;
    ratio = -all<V>(static_cast<T>(k + 1)) * ratio / n;
  }
  return select(small, near, far);
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// c_K(u), for u >= 0; see [note: angles without roots]. Differentiable until K is 8 or more: c_3 three times.   Saves: u.
/// Error: 4 ulp for u <= 10; beyond 8 ulp of 1 / ((K-2)! u); c_0, c_1: 2 + sqrt(u) / 2 ulp of 1.
template <int K>
struct stumpff : transcendental {
  static constexpr std::string_view name = std::string_view("c_0c_1c_2c_3c_4c_5c_6c_7").substr(3 * K, 3);
  static constexpr auto value(auto u) { return lane::stumpff<K>(u); }
  static constexpr auto pull(auto g, auto u, auto) {
    const auto next = emit_on<stumpff<K + 1>>({}, u);
    if constexpr (K == 0) return grads(g * (-0.5 * next));
    else return grads(g * (0.5 * K * emit_on<stumpff<K + 2>>({}, u) - 0.5 * next));
  }
};
template <int K>
  requires(K == 8 || K == 9)
struct stumpff<K> : transcendental {
  static constexpr std::string_view name = K == 8 ? "c_8" : "c_9";
  static constexpr auto value(auto u) { return lane::stumpff<K>(u); }
};

/// f_K(p, w), for p >= 0; see [note: angles without roots]. f_0 is differentiable three times.   Saves: p, w.   Error: 4 ulp, by the
/// derivatives by p 20, 150 and 1,500.
template <int K>
struct angle_ratio : elementwise<2> {
  static constexpr std::string_view name = K == 0 ? "angle_ratio" : K == 1 ? "angle_slope" : "angle_bend";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto p, auto w) { return lane::angle_ratio<K>(p, w); }
  static constexpr auto pull(auto g, auto p, auto w, auto) {
    // By w it is (-1)^(K+1) K! / (p + w^2)^(K+1).
    const auto r = 1 / (p + w * w);
    const auto of_w = K == 0 ? -r : K == 1 ? r * r : -2 * (r * r * r);
    return grads(g * emit_on<angle_ratio<K + 1>>({}, p, w), g * of_w);
  }
};
template <>
struct angle_ratio<3> : elementwise<2> {
  static constexpr std::string_view name = "angle_third";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto p, auto w) { return lane::angle_ratio<3>(p, w); }
};

}  // namespace ebb::inline EBB_ABI::op
