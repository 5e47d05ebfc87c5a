// ebb/geometry/quaternion.hpp — quaternions (w, x, y, z): product, inverse, rotation of vectors, matrices, exp, log, Euler angles, slerp.
// SPDX-License-Identifier: BSL-1.0
//
// A quaternion is w + x i + y j + z k, with Hamilton's rule i j = k; Eigen's constructor has this order, SciPy's arrays have w last. Unit
// quaternions are rotations: q and -q are the same, product(a, b) turns by b first. Leading axes are batches, which are broadcast.
// Functions of rotations take unit quaternions and do not normalize them: quaternion_normalize does.
#pragma once

#include "angle.hpp"
#include "columns.hpp"

#include <string_view>

namespace ebb::inline EBB_ABI {

namespace geometry {

/// The order of Euler angles, as a template argument: three letters of x, y, z about axes that stay, or of X, Y, Z about axes that turn.
struct euler_order {
  char axis[3] = {};
  bool valid = false, turning = false;
  consteval euler_order(const char (&text)[4]) {
    int small = 0, large = 0;
    for (int i = 0; i < 3; ++i) {
      small += text[i] >= 'x' && text[i] <= 'z';
      large += text[i] >= 'X' && text[i] <= 'Z';
      axis[i] = static_cast<char>(text[i] >= 'x' ? text[i] - 'x' : text[i] - 'X');
    }
    turning = large == 3;
    valid = (small == 3 || large == 3) && axis[0] != axis[1] && axis[1] != axis[2];
  }
  template <std::size_t N>
    requires(N != 4)
  consteval euler_order(const char (&)[N]) {}
};

template <class T>
constexpr columns<T, 4> quaternion_product(const columns<T, 4>& a, const columns<T, 4>& b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}
template <class T>
constexpr columns<T, 4> conjugate(const columns<T, 4>& q) {
  return {q[0], -q[1], -q[2], -q[3]};
}
template <class T>
constexpr columns<T, 3> rotate(const columns<T, 4>& q, const columns<T, 3>& v) {
  const auto u = part<1, 3>(q), t = scaled(cross(u, v), 2);
  return plus(v, plus(scaled(t, q[0]), cross(u, t)));
}
template <class T>
constexpr columns<T, 4> quaternion_exp(const columns<T, 3>& w) {
  const auto u = 0.25 * dot(w, w);
  return both(columns<T, 1>{emit_on<op::stumpff<0>>({}, u)}, scaled(w, 0.5 * emit_on<op::stumpff<1>>({}, u)));
}
/// -1 for a negative w, else 1: a quaternion times this has w >= 0.
template <class T>
constexpr operand<T> sign_of_rotation(operand<T> w) {
  return emit_on<op::where>({}, emit_on<op::less>({}, w, literal_like(w, 0)), literal_like(w, -1), literal_like(w, 1));
}
/// Twice the angle, along the axis. A negative w and its vector change their signs: the angle is at most pi.
template <class T>
constexpr columns<T, 3> quaternion_log(const columns<T, 4>& q) {
  const auto sign = sign_of_rotation(q[0]);
  const auto v = part<1, 3>(q);
  return scaled(v, 2 * (sign * emit_on<op::angle_ratio<0>>({}, dot(v, v), sign * q[0])));
}
template <class T>
constexpr columns<T, 9> quaternion_to_matrix(const columns<T, 4>& q) {
  const auto x = 2 * q[1], y = 2 * q[2], z = 2 * q[3];
  const auto xx = x * q[1], yy = y * q[2], zz = z * q[3], xy = x * q[2], xz = x * q[3], yz = y * q[3];
  const auto wx = x * q[0], wy = y * q[0], wz = z * q[0];
  return {1 - (yy + zz), xy - wz, xz + wy, xy + wz, 1 - (xx + zz), yz - wx, xz - wy, yz + wx, 1 - (xx + yy)};
}
/// A multiple of the quaternion of a rotation matrix, of length 2 to 4: row i of 4 q q^T, for the largest |q_i|.
template <class T>
constexpr columns<T, 4> quaternion_of_matrix(const columns<T, 9>& m) {
  const auto d = 1 + m[0] + m[4] + m[8], i = 1 + m[0] - m[4] - m[8], j = 1 - m[0] + m[4] - m[8], k = 1 - m[0] - m[4] + m[8];
  const auto x = m[7] - m[5], y = m[2] - m[6], z = m[3] - m[1], xy = m[1] + m[3], xz = m[2] + m[6], yz = m[5] + m[7];
  const columns<T, 4> rows[] = {{d, x, y, z}, {x, i, xy, xz}, {y, xy, j, yz}, {z, xz, yz, k}};
  columns<T, 4> best = rows[0];
  auto size = d;
  for (std::size_t row = 1; row < 4; ++row) {
    const auto larger = emit_on<op::less>({}, size, rows[row][row]);
    size = emit_on<op::maximum>({}, size, rows[row][row]);
    for (std::size_t c = 0; c < 4; ++c) best[c] = emit_on<op::where>({}, larger, rows[row][c], best[c]);
  }
  return best;
}
template <class T>
constexpr auto size_of_quaternion(const columns<T, 4>& q) {
  return emit_on<op::sqrt>({}, q[0] * q[0] + dot(part<1, 3>(q), part<1, 3>(q)));
}
template <class T>
constexpr columns<T, 4> normalized(columns<T, 4> q) {
  const auto size = size_of_quaternion(q);
  for (auto& x : q) x = x / size;
  return q;
}
/// By angle about one of the axes of coordinates.
template <class T>
constexpr columns<T, 4> about_axis(int axis, operand<T> angle) {
  const auto half = 0.5 * angle, zero = literal_like(angle, 0);
  columns<T, 4> q{emit_on<op::cos>({}, half), zero, zero, zero};
  q[static_cast<std::size_t>(axis) + 1] = emit_on<op::sin>({}, half);
  return q;
}

}  // namespace geometry

namespace geometry::functions {

struct quaternion_product {
  static constexpr auto apply(auto a, auto b) {
    return by_columns<quaternion_row, quaternion_row, quaternion_row>([](auto x, auto y) {
      return geometry::quaternion_product(x, y);
    }, a, b);
  }
};
struct quaternion_conjugate {
  static constexpr auto apply(auto q) {
    return by_columns<quaternion_row, quaternion_row>([](auto x) { return geometry::conjugate(x); }, q);
  }
};
struct quaternion_inverse {
  static constexpr auto apply(auto q) {
    return by_columns<quaternion_row, quaternion_row>([](auto x) {
      const auto square = x[0] * x[0] + geometry::dot(geometry::part<1, 3>(x), geometry::part<1, 3>(x));
      auto r = geometry::conjugate(x);
      for (auto& e : r) e = e / square;
      return r;
    }, q);
  }
};
struct quaternion_normalize {
  static constexpr auto apply(auto q) {
    return by_columns<quaternion_row, quaternion_row>([](auto x) { return geometry::normalized(x); }, q);
  }
};
struct quaternion_rotate {
  static constexpr auto apply(auto q, auto v) {
    return by_columns<space_row, quaternion_row, space_row>([](auto x, auto y) { return geometry::rotate(x, y); }, q, v);
  }
};
struct quaternion_exp {
  static constexpr auto apply(auto w) {
    return by_columns<quaternion_row, space_row>([](auto x) { return geometry::quaternion_exp(x); }, w);
  }
};
struct quaternion_log {
  static constexpr auto apply(auto q) {
    return by_columns<space_row, quaternion_row>([](auto x) { return geometry::quaternion_log(x); }, q);
  }
};
struct quaternion_to_matrix {
  static constexpr auto apply(auto q) {
    return by_columns<rotation_row, quaternion_row>([](auto x) { return geometry::quaternion_to_matrix(x); }, q);
  }
};
struct quaternion_from_matrix {
  static constexpr auto apply(auto m) {
    return by_columns<quaternion_row, rotation_row>([](auto x) {
      const auto q = geometry::normalized(geometry::quaternion_of_matrix(x));
      return geometry::scaled(q, geometry::sign_of_rotation(q[0]));
    }, m);
  }
};
struct quaternion_from_axis_angle {
  static constexpr auto apply(auto axis, auto angle) {
    return by_columns<quaternion_row, space_row, scalar_row>([](auto x, auto t) {
      const auto about = geometry::about_axis(0, t[0]);
      return geometry::both(geometry::part<0, 1>(about), geometry::scaled(x, about[1]));
    }, axis, angle);
  }
};
template <geometry::euler_order Order>
struct quaternion_from_euler {
  static constexpr std::string_view name = "quaternion_from_euler";
  static constexpr auto apply(auto angles) {
    return by_columns<quaternion_row, space_row>([](auto x) {
      const auto a = geometry::about_axis(Order.axis[0], x[0]), b = geometry::about_axis(Order.axis[1], x[1]);
      const auto c = geometry::about_axis(Order.axis[2], x[2]);
      if (Order.turning) return geometry::quaternion_product(geometry::quaternion_product(a, b), c);
      return geometry::quaternion_product(c, geometry::quaternion_product(b, a));
    }, angles);
  }
};
struct slerp {
  static constexpr auto apply(auto a, auto b, auto t) {
    return by_columns<quaternion_row, quaternion_row, quaternion_row, scalar_row>([](auto x, auto y, auto s) {
      const auto way = geometry::quaternion_log(geometry::quaternion_product(geometry::conjugate(x), y));
      return geometry::quaternion_product(x, geometry::quaternion_exp(geometry::scaled(way, s[0])));
    }, a, b, t);
  }
};

}  // namespace geometry::functions

/// The product of quaternions.   Shape: [..., 4], broadcast.   Dtype: promoted; integers give float; narrow floats are computed in float.
/// Saves: a, b.   Error: 4 ulp of |a| |b|.   Throws: if a call's last axis is not 4.
inline constexpr call<geometry::functions::quaternion_product> quaternion_product{};
/// (w, -x, -y, -z): the inverse of a unit quaternion.   Shape: [..., 4].   Saves: nothing.   Error: exact.
inline constexpr call<geometry::functions::quaternion_conjugate> quaternion_conjugate{};
/// The conjugate divided by the square of the norm; NaN for a quaternion of zeros.   Shape: [..., 4].   Saves: q, the square.
/// Error: 4 ulp, without overflow of the square.
inline constexpr call<geometry::functions::quaternion_inverse> quaternion_inverse{};
/// q / |q|; NaN for a quaternion of zeros.   Shape: [..., 4].   Saves: q, |q|.   Error: 3 ulp, without overflow of the square.
inline constexpr call<geometry::functions::quaternion_normalize> quaternion_normalize{};
/// The vector v turned by the unit quaternion q: q v q^-1.   Shape: q [..., 4], v [..., 3], broadcast: [..., 3].   Saves: q, v, and
/// products of them.   Error: 12 ulp of |v|.   For other q the result is not |q|^2 times the turned vector.
inline constexpr call<geometry::functions::quaternion_rotate> quaternion_rotate{};
/// The unit quaternion of a rotation vector: its norm is the angle. Smooth at 0.   Shape: [..., 3]: [..., 4].   Saves: w, w . w.
/// Error: 4 ulp of 1 for angles up to 4, and a quarter ulp of the angle beyond.   Source: see [note: angles without roots].
inline constexpr call<geometry::functions::quaternion_exp> quaternion_exp{};
/// The rotation vector of a quaternion of any length but 0: its norm, the angle, is at most pi. Smooth at the angle 0.
/// At the angle pi, w = 0, there are two vectors: the result is that along (x, y, z), and derivatives are those of this branch.
/// Differentiable three times.   Shape: [..., 4]: [..., 3].   Saves: q.   Error: 8 ulp.   Source: as quaternion_exp.
inline constexpr call<geometry::functions::quaternion_log> quaternion_log{};
/// The rotation matrix of a unit quaternion.   Shape: [..., 4]: [..., 3, 3].   Saves: q.   Error: 3 ulp of 1.
inline constexpr call<geometry::functions::quaternion_to_matrix> quaternion_to_matrix{};
/// The unit quaternion of a rotation matrix, with w >= 0. Its largest element is found first: no difference cancels, at no angle.
/// Derivatives are right along rotations; another matrix is not made a rotation.   Shape: [..., 3, 3]: [..., 4].   Saves: the matrix.
/// Error: 8 ulp of 1.   Source: Shepperd, J. Guidance and Control 1 (1978).
inline constexpr call<geometry::functions::quaternion_from_matrix> quaternion_from_matrix{};
/// By `angle` about `axis`, a vector of length 1: quaternion_from_axis_angle(axis, angle). The angle may be a number.
/// Shape: axis [..., 3], angle [...], broadcast: [..., 4].   Saves: axis, angle.   Error: 2 ulp.
inline constexpr call<geometry::functions::quaternion_from_axis_angle> quaternion_from_axis_angle{};
/// Turns by three angles about axes of coordinates: quaternion_from_euler<"xyz">(angles). The first letter is the first turn. Small letters
/// are axes that stay, capital ones axes that turn along, as in SciPy's Rotation: "ZYX" is yaw, pitch and roll.
/// Shape: [..., 3]: [..., 4].   Saves: the angles, their sines and cosines.   Error: 8 ulp of 1.
template <geometry::euler_order Order, class X>
constexpr auto quaternion_from_euler(X&& angles) {
  static_assert(Order.valid, "[ebb E0497] quaternion_from_euler: the order has three letters of xyz or of XYZ, no two equal ones in a row");
  if constexpr (Order.valid) return apply_function(geometry::functions::quaternion_from_euler<Order>{}, std::forward<X>(angles));
  else return std::forward<X>(angles);
}
/// From a (t = 0) to b (t = 1) by the shorter way, at constant speed: a exp(t log(a^-1 b)). Smooth where a = b. If a and b are half a turn
/// apart, both ways are as long: it is the one along a^-1 b.   Shape: a, b [..., 4], t [...] or a number: [..., 4].
/// Saves: a, b, t, the way and its exponential.   Error: 24 ulp of 1. At t = 1 the result may be -b.
inline constexpr call<geometry::functions::slerp> slerp{};

}  // namespace ebb::inline EBB_ABI
