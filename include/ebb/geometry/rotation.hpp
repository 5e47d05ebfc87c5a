// ebb/geometry/rotation.hpp — rotation matrices, SO(3): exp, log, hat, vee, and the Jacobians of exp with their inverses.
// SPDX-License-Identifier: BSL-1.0
//
// With W = so3_hat(w), the matrix of the cross product with w, and t = |w|:
//   exp(w) = I + c_1 W + c_2 W^2      J_left(w) = I + c_2 W + c_3 W^2      J_left(w)^-1 = I - W / 2 + d W^2
// exp(w + e) is exp(J_left(w) e) exp(w), and exp(w) exp(J_right(w) e), up to squares of e; J_right(w) = J_left(-w) = J_left(w)^T.
// Since W^2 = w w^T - t^2 I, each of them is a I + b W + c w w^T. The c_k are those of [note: angles without roots], and
//   d = (1 - c_1 / (2 c_2)) / t^2 = (c_3 - 2 c_4) / (2 c_2)
// without a difference that cancels. d has its poles at whole turns, where J_left is singular.
// Source: Chirikjian, Stochastic Models, Information Theory, and Lie Groups, volume 2 (2012).
#pragma once

#include "quaternion.hpp"

#include "../shapes/distance.hpp"

namespace ebb::inline EBB_ABI {

namespace geometry {

template <int K, class T>
constexpr operand<T> c(operand<T> u) {
  return emit_on<op::stumpff<K>>({}, u);
}
/// d, given u = t^2.
template <class T>
constexpr operand<T> inverse_of_jacobian(operand<T> u) {
  return (c<3>(u) - 2 * c<4>(u)) / (2 * c<2>(u));
}
/// a I + b W + c w w^T.
template <class T>
constexpr columns<T, 9> spun(const columns<T, 3>& w, operand<T> a, operand<T> b, operand<T> along) {
  const auto x = along * w[0], y = along * w[1], z = along * w[2];
  const auto xy = x * w[1], xz = x * w[2], yz = y * w[2], bx = b * w[0], by = b * w[1], bz = b * w[2];
  return {a + x * w[0], xy - bz, xz + by, xy + bz, a + y * w[1], yz - bx, xz - by, yz + bx, a + z * w[2]};
}
/// The same matrix times v.
template <class T>
constexpr columns<T, 3> spun(const columns<T, 3>& w, operand<T> a, operand<T> b, operand<T> along, const columns<T, 3>& v) {
  return plus(scaled(v, a), plus(scaled(cross(w, v), b), scaled(w, along * dot(w, v))));
}
template <class T>
constexpr columns<T, 3> left_jacobian(const columns<T, 3>& w, const columns<T, 3>& v) {
  const auto u = dot(w, w);
  return spun(w, c<1>(u), c<2>(u), c<3>(u), v);
}
template <class T>
constexpr columns<T, 3> inverse_left_jacobian(const columns<T, 3>& w, const columns<T, 3>& v) {
  const auto u = dot(w, w);
  return spun(w, c<1>(u) / (2 * c<2>(u)), literal_like(u, -0.5), inverse_of_jacobian(u), v);
}

}  // namespace geometry

namespace geometry::functions {

struct so3_exp {
  static constexpr auto apply(auto w) {
    return by_columns<rotation_row, space_row>([](auto x) {
      const auto u = geometry::dot(x, x);
      return geometry::spun(x, geometry::c<0>(u), geometry::c<1>(u), geometry::c<2>(u));
    }, w);
  }
};
struct so3_log {
  static constexpr auto apply(auto m) {
    return by_columns<space_row, rotation_row>([](auto x) {
      return geometry::quaternion_log(geometry::quaternion_of_matrix(x));
    }, m);
  }
};
struct so3_vee {
  static constexpr auto apply(auto m) {
    return by_columns<space_row, rotation_row>([]<class T>(const geometry::columns<T, 9>& x) {
      return geometry::columns<T, 3>{0.5 * (x[7] - x[5]), 0.5 * (x[2] - x[6]), 0.5 * (x[3] - x[1])};
    }, m);
  }
};
/// Side: 1 for the left Jacobian, -1 for the right one.
template <int Side>
struct so3_jacobian {
  static constexpr std::string_view name = Side > 0 ? "so3_left_jacobian" : "so3_right_jacobian";
  static constexpr auto apply(auto w) {
    return by_columns<rotation_row, space_row>([](auto x) {
      const auto u = geometry::dot(x, x);
      return geometry::spun(x, geometry::c<1>(u), Side * geometry::c<2>(u), geometry::c<3>(u));
    }, w);
  }
};
template <int Side>
struct so3_inverse_jacobian {
  static constexpr std::string_view name = Side > 0 ? "so3_left_jacobian_inverse" : "so3_right_jacobian_inverse";
  static constexpr auto apply(auto w) {
    return by_columns<rotation_row, space_row>([](auto x) {
      const auto u = geometry::dot(x, x), a = geometry::c<1>(u) / (2 * geometry::c<2>(u));
      return geometry::spun(x, a, literal_like(u, -0.5 * Side), geometry::inverse_of_jacobian(u));
    }, w);
  }
};

}  // namespace geometry::functions

/// The rotation matrix of a rotation vector: it turns by |w| about w. Smooth at 0.   Shape: [..., 3]: [..., 3, 3].   Saves: w, the c_k.
/// Dtype: w's; integers give float; narrow floats are computed in float.   Error: 8 ulp of 1 up to the angle pi.
/// Throws: if a call's last axis is not 3.
inline constexpr call<geometry::functions::so3_exp> so3_exp{};
/// The rotation vector of a rotation matrix, with a norm of at most pi. Smooth at the identity, and right up to pi. At pi there are two
/// vectors: it is one of them, and derivatives are those of this branch. Derivatives are right along rotations. Differentiable three times.
/// Shape: [..., 3, 3]: [..., 3].   Saves: the matrix.   Error: 16 ulp of 1.   Source: that of quaternion_from_matrix and quaternion_log.
inline constexpr call<geometry::functions::so3_log> so3_log{};
/// The matrix of the cross product with w, skew_matrix(w).   Shape: [..., 3]: [..., 3, 3].   Saves: nothing.   Error: exact.
inline constexpr call<functions::skew_matrix> so3_hat{};
/// The vector of a skew matrix, the inverse of so3_hat; of another matrix that of its skew part.   Shape: [..., 3, 3]: [..., 3].
/// Saves: nothing.   Error: 1 ulp.
inline constexpr call<geometry::functions::so3_vee> so3_vee{};
/// The Jacobians of exp at w: exp(w + e) = exp(J_left e) exp(w) = exp(w) exp(J_right e) for small e.   Shape: [..., 3]: [..., 3, 3].
/// Saves: w, the c_k.   Error: 8 ulp of 1 up to the angle pi. Differentiable three times.
inline constexpr call<geometry::functions::so3_jacobian<1>> so3_left_jacobian{};
inline constexpr call<geometry::functions::so3_jacobian<-1>> so3_right_jacobian{};
/// Their inverses, without solving: with log(exp(e) exp(w)) = w + J_left^-1 e. They grow without bound towards whole turns, |w| = 2 pi.
/// Shape, Saves: as the Jacobians.   Error: 16 ulp of 1 up to the angle pi.
inline constexpr call<geometry::functions::so3_inverse_jacobian<1>> so3_left_jacobian_inverse{};
inline constexpr call<geometry::functions::so3_inverse_jacobian<-1>> so3_right_jacobian_inverse{};

}  // namespace ebb::inline EBB_ABI
