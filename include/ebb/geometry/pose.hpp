// ebb/geometry/pose.hpp — rigid motions, SE(3): exp, log, compose, inverse, act, adjoint.
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

}  // namespace ebb::inline EBB_ABI
