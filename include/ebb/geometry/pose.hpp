// ebb/geometry/pose.hpp — rigid motions, SE(3): exp, log, compose, inverse, act, adjoint, Jacobians.
// SPDX-License-Identifier: BSL-1.0
//
// A pose is seven numbers: the unit quaternion (w, x, y, z) of its rotation, then its translation. It maps a point p to R p + t.
// A twist is six numbers: the translational part, then the rotation vector, as in Sophus. Leading axes are batches, which are broadcast.
#pragma once

#include "rotation.hpp"

namespace ebb::inline EBB_ABI {

namespace geometry {

template <class T>
constexpr columns<T, 7> compose(const columns<T, 7>& a, const columns<T, 7>& b) {
  const auto q = part<0, 4>(a);
  return both(quaternion_product(q, part<0, 4>(b)), plus(rotate(q, part<4, 3>(b)), part<4, 3>(a)));
}
template <class T>
constexpr columns<T, 7> inverse_pose(const columns<T, 7>& a) {
  const auto q = conjugate(part<0, 4>(a));
  return both(q, scaled(rotate(q, part<4, 3>(a)), -1));
}

}  // namespace geometry

namespace geometry::functions {

struct se3_exp {
  static constexpr auto apply(auto x) {
    return by_columns<pose_row, twist_row>([](auto v) {
      const auto w = geometry::part<3, 3>(v);
      return geometry::both(geometry::quaternion_exp(w), geometry::left_jacobian(w, geometry::part<0, 3>(v)));
    }, x);
  }
};
struct se3_log {
  static constexpr auto apply(auto x) {
    return by_columns<twist_row, pose_row>([](auto v) {
      const auto w = geometry::quaternion_log(geometry::part<0, 4>(v));
      return geometry::both(geometry::inverse_left_jacobian(w, geometry::part<4, 3>(v)), w);
    }, x);
  }
};
struct se3_compose {
  static constexpr auto apply(auto a, auto b) {
    return by_columns<pose_row, pose_row, pose_row>([](auto x, auto y) { return geometry::compose(x, y); }, a, b);
  }
};
struct se3_inverse {
  static constexpr auto apply(auto a) {
    return by_columns<pose_row, pose_row>([](auto x) { return geometry::inverse_pose(x); }, a);
  }
};
struct se3_act {
  static constexpr auto apply(auto a, auto p) {
    return by_columns<space_row, pose_row, space_row>([](auto x, auto v) {
      return geometry::plus(geometry::rotate(geometry::part<0, 4>(x), v), geometry::part<4, 3>(x));
    }, a, p);
  }
};
struct se3_matrix {
  static constexpr auto apply(auto a) {
    return by_columns<matrix_row<4, 4>, pose_row>([]<class T>(const geometry::columns<T, 7>& x) {
      const auto m = geometry::quaternion_to_matrix(geometry::part<0, 4>(x));
      const auto zero = literal_like(x[0], 0), one = literal_like(x[0], 1);
      return geometry::columns<T, 16>{m[0], m[1], m[2], x[4], m[3], m[4], m[5], x[5], m[6], m[7], m[8], x[6], zero, zero, zero, one};
    }, a);
  }
};
struct se3_adjoint {
  static constexpr auto apply(auto a) {
    return by_columns<matrix_row<6, 6>, pose_row>([]<class T>(const geometry::columns<T, 7>& x) {
      const auto m = geometry::quaternion_to_matrix(geometry::part<0, 4>(x));
      geometry::columns<T, 36> r;
      for (std::size_t j = 0; j < 3; ++j) {
        // Column j of the matrix, and its cross product with the translation.
        const auto turned = geometry::cross(geometry::part<4, 3>(x), geometry::columns<T, 3>{m[j], m[3 + j], m[6 + j]});
        for (std::size_t i = 0; i < 3; ++i) {
          r[6 * i + j] = r[6 * (i + 3) + j + 3] = m[3 * i + j];
          r[6 * i + j + 3] = turned[i];
          r[6 * (i + 3) + j] = literal_like(x[0], 0);
        }
      }
      return r;
    }, a);
  }
};

/// [J(w), D; 0, J(w)]: J is that of rotations, D its derivative at w in the direction of the translational part.
/// Side: 1 for the left Jacobian, -1 for the right one.
template <int Side>
struct se3_jacobian {
  static constexpr std::string_view name = Side > 0 ? "se3_left_jacobian" : "se3_right_jacobian";
  static constexpr auto apply(auto x) {
    return by_columns<matrix_row<6, 6>, twist_row>([]<class T>(const geometry::columns<T, 6>& twist) {
      const auto p = geometry::part<0, 3>(twist), w = geometry::part<3, 3>(twist);
      const auto u = geometry::dot(w, w), d = geometry::dot(p, w);
      const auto c2 = geometry::c<2>(u), c3 = geometry::c<3>(u), c4 = geometry::c<4>(u);
      const auto turn = geometry::spun(w, geometry::c<1>(u), Side * c2, c3);
      // The derivatives of c_1, c_2 and c_3 along p are d (c_3 - c_2), d (2 c_4 - c_3) and d (3 c_5 - c_4).
      const auto along = geometry::spun(w, d * (c3 - c2), Side * d * (2 * c4 - c3), d * (3 * geometry::c<5>(u) - c4));
      const auto across = geometry::spun(p, literal_like(u, 0), Side * c2, literal_like(u, 0));
      geometry::columns<T, 36> r;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
          r[6 * i + j] = r[6 * (i + 3) + j + 3] = turn[3 * i + j];
          r[6 * i + j + 3] = along[3 * i + j] + across[3 * i + j] + c3 * (p[i] * w[j] + w[i] * p[j]);
          r[6 * (i + 3) + j] = literal_like(u, 0);
        }
      return r;
    }, x);
  }
};

}  // namespace geometry::functions

/// The pose of a twist: its rotation is exp of the rotation vector, its translation the left Jacobian times the translational part.
/// Smooth at 0.   Shape: [..., 6]: [..., 7].   Dtype: x's; integers give float; narrow floats are computed in float.
/// Saves: x, the c_k of its angle.   Error: 16 ulp of 1 and of the translational part, up to the angle pi.
/// Throws: if a call's last axis is not 6.   Source: [note: angles without roots], and that of rotation.hpp.
inline constexpr call<geometry::functions::se3_exp> se3_exp{};
/// The twist of a pose, with an angle of at most pi; at pi it is one of two, as for quaternion_log. Smooth at the identity. Differentiable
/// three times.   Shape: [..., 7]: [..., 6].   Saves: the pose, its angle's c_k.   Error: 16 ulp of 1, and 32 of the translation.
inline constexpr call<geometry::functions::se3_log> se3_log{};
/// The motion b, then a.   Shape: [..., 7], broadcast.   Dtype: promoted.   Saves: a, b.   Error: 16 ulp of 1 and of the translations.
/// Quaternions are not normalized: after thousands of products normalize them.
inline constexpr call<geometry::functions::se3_compose> se3_compose{};
/// The motion back.   Shape: [..., 7].   Saves: the pose.   Error: 12 ulp of the translation; the rotation is exact.
inline constexpr call<geometry::functions::se3_inverse> se3_inverse{};
/// se3_act(pose, point): the point, turned and moved.   Shape: pose [..., 7], point [..., 3], broadcast: [..., 3].   Saves: both.
/// Error: 12 ulp of the point and of the translation.
inline constexpr call<geometry::functions::se3_act> se3_act{};
/// The pose as a matrix, which multiplies (p, 1).   Shape: [..., 7]: [..., 4, 4].   Saves: the quaternion.   Error: 3 ulp of 1.
inline constexpr call<geometry::functions::se3_matrix> se3_matrix{};
/// The matrix that takes a twist x to the twist of pose exp(x) pose^-1.   Shape: [..., 7]: [..., 6, 6].   Saves: the pose, its matrix.
/// Error: 8 ulp of 1 and of the translation.
inline constexpr call<geometry::functions::se3_adjoint> se3_adjoint{};
/// The Jacobians of exp at the twist x: exp(x + e) = exp(J_left e) exp(x) = exp(x) exp(J_right e) for small e. Smooth at 0, and
/// differentiable twice.   Shape: [..., 6]: [..., 6, 6].   Dtype: x's; integers give float; narrow floats are computed in float.
/// Saves: x, the c_k of its angle.   Error: 16 ulp of 1 and of the translational part, up to the angle pi.
/// Throws: if a call's last axis is not 6.   Source: Barfoot, State Estimation for Robotics (2017), section 7.1.5.
inline constexpr call<geometry::functions::se3_jacobian<1>> se3_left_jacobian{};
inline constexpr call<geometry::functions::se3_jacobian<-1>> se3_right_jacobian{};

}  // namespace ebb::inline EBB_ABI
