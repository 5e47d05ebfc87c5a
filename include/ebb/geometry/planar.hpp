// ebb/geometry/planar.hpp — rotations and rigid motions in the plane: SO(2) and SE(2).
// SPDX-License-Identifier: BSL-1.0
//
// A rotation is (cos, sin) of its angle. A pose is four numbers: its rotation, then its translation. A twist is three: the translational
// part, then the angle. Leading axes are batches, which are broadcast.
#pragma once

#include "angle.hpp"
#include "columns.hpp"

namespace ebb::inline EBB_ABI {

namespace geometry {

/// The product of complex numbers: a rotation times a vector, or times a rotation.
template <class T>
constexpr columns<T, 2> turned(const columns<T, 2>& r, const columns<T, 2>& v) {
  return {r[0] * v[0] - r[1] * v[1], r[1] * v[0] + r[0] * v[1]};
}

}  // namespace geometry

namespace geometry::functions {

struct so2_exp {
  static constexpr auto apply(auto angle) {
    return by_columns<plane_row, scalar_row>([]<class T>(const geometry::columns<T, 1>& t) {
      return geometry::columns<T, 2>{emit_on<op::cos>({}, t[0]), emit_on<op::sin>({}, t[0])};
    }, angle);
  }
};
struct so2_log {
  static constexpr auto apply(auto r) {
    return by_columns<scalar_row, plane_row>([]<class T>(const geometry::columns<T, 2>& x) {
      return geometry::columns<T, 1>{emit_on<op::atan2>({}, x[1], x[0])};
    }, r);
  }
};
struct so2_rotate {
  static constexpr auto apply(auto r, auto v) {
    return by_columns<plane_row, plane_row, plane_row>([](auto x, auto y) { return geometry::turned(x, y); }, r, v);
  }
};
struct se2_exp {
  static constexpr auto apply(auto twist) {
    return by_columns<planar_pose_row, planar_twist_row>([]<class T>(const geometry::columns<T, 3>& x) {
      const auto t = x[2], u = t * t;
      const geometry::columns<T, 2> turn{emit_on<op::cos>({}, t), emit_on<op::sin>({}, t)};
      const geometry::columns<T, 2> mean{emit_on<op::stumpff<1>>({}, u), t * emit_on<op::stumpff<2>>({}, u)};
      return geometry::both(turn, geometry::turned(mean, geometry::part<0, 2>(x)));
    }, twist);
  }
};
struct se2_log {
  static constexpr auto apply(auto pose) {
    return by_columns<planar_twist_row, planar_pose_row>([]<class T>(const geometry::columns<T, 4>& x) {
      // The inverse of the mean turn is (t / 2 cot(t / 2), -t / 2) with t / 2 cot(t / 2) = c_1 / (2 c_2).
      const auto t = emit_on<op::atan2>({}, x[1], x[0]), u = t * t;
      const geometry::columns<T, 2> back{emit_on<op::stumpff<1>>({}, u) / (2 * emit_on<op::stumpff<2>>({}, u)), -0.5 * t};
      return geometry::both(geometry::turned(back, geometry::part<2, 2>(x)), geometry::columns<T, 1>{t});
    }, pose);
  }
};
struct se2_compose {
  static constexpr auto apply(auto a, auto b) {
    return by_columns<planar_pose_row, planar_pose_row, planar_pose_row>([](auto x, auto y) {
      const auto r = geometry::part<0, 2>(x);
      const auto moved = geometry::plus(geometry::turned(r, geometry::part<2, 2>(y)), geometry::part<2, 2>(x));
      return geometry::both(geometry::turned(r, geometry::part<0, 2>(y)), moved);
    }, a, b);
  }
};
struct se2_inverse {
  static constexpr auto apply(auto a) {
    return by_columns<planar_pose_row, planar_pose_row>([]<class T>(const geometry::columns<T, 4>& x) {
      const geometry::columns<T, 2> r{x[0], -x[1]};
      return geometry::both(r, geometry::scaled(geometry::turned(r, geometry::part<2, 2>(x)), -1));
    }, a);
  }
};
struct se2_act {
  static constexpr auto apply(auto a, auto p) {
    return by_columns<plane_row, planar_pose_row, plane_row>([](auto x, auto v) {
      return geometry::plus(geometry::turned(geometry::part<0, 2>(x), v), geometry::part<2, 2>(x));
    }, a, p);
  }
};

}  // namespace geometry::functions

/// (cos, sin) of an angle.   Shape: [...]: [..., 2].   Dtype: the angle's; integers give float; narrow floats are computed in float.
/// Saves: the angle.   Error: 1 ulp.
inline constexpr call<geometry::functions::so2_exp> so2_exp{};
/// The angle of (cos, sin), of any length but 0, from -pi to pi.   Shape: [..., 2]: [...].   Saves: r.   Error: 2 ulp.
inline constexpr call<geometry::functions::so2_log> so2_log{};
/// The vector, or the rotation, v turned by r.   Shape: [..., 2], broadcast.   Saves: r, v.   Error: 2 ulp of |v|.
inline constexpr call<geometry::functions::so2_rotate> so2_rotate{};
/// The pose of a twist. Smooth at the angle 0.   Shape: [..., 3]: [..., 4].   Saves: the twist, c_1, c_2.
/// Error: 8 ulp of 1 and of the translational part, up to the angle pi.   Source: see [note: angles without roots].
inline constexpr call<geometry::functions::se2_exp> se2_exp{};
/// The twist of a pose, with an angle from -pi to pi. Smooth at the identity.   Shape: [..., 4]: [..., 3].   Saves: the pose, its angle.
/// Error: 16 ulp of 1 and of the translation.
inline constexpr call<geometry::functions::se2_log> se2_log{};
/// The motion b, then a.   Shape: [..., 4], broadcast.   Saves: a, b.   Error: 4 ulp of 1 and of the translations.
inline constexpr call<geometry::functions::se2_compose> se2_compose{};
/// The motion back.   Shape: [..., 4].   Saves: the pose.   Error: 2 ulp of the translation.
inline constexpr call<geometry::functions::se2_inverse> se2_inverse{};
/// se2_act(pose, point): the point, turned and moved.   Shape: pose [..., 4], point [..., 2], broadcast: [..., 2].   Saves: both.
/// Error: 4 ulp of the point and of the translation.
inline constexpr call<geometry::functions::se2_act> se2_act{};

}  // namespace ebb::inline EBB_ABI
