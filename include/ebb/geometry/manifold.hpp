// ebb/geometry/manifold.hpp — manifolds for ebb::on_manifold: unit quaternions, rotation matrices, unit vectors, positive numbers.
// SPDX-License-Identifier: BSL-1.0
//
// See [note: manifolds] in train/manifold.hpp. Steps of rotations are rotation vectors in the rotated frame: x exp(d). A batch in the
// leading axes is a parameter too.
#pragma once

#include "rotation.hpp"

#include "../op/linear.hpp"
#include "../op/reduce.hpp"

namespace ebb::inline EBB_ABI {

/// Quaternions of length 1, [..., 4]. A step is (0, rotation vector). After each step |q| is 1 up to rounding, however many there are.
struct unit_quaternions {
  static constexpr auto pulled(auto q, auto g) {
    return pad<-1, 1, 0>(0.5 * slice<-1, 1>(quaternion_product(quaternion_conjugate(q), g)));
  }
  static constexpr auto retract(auto q, auto d) { return quaternion_normalize(quaternion_product(q, quaternion_exp(slice<-1, 1>(d)))); }
};

/// Rotation matrices, [..., 3, 3]. A step is a skew matrix. After each step columns are orthonormal up to rounding: one step of Newton's
/// method for the nearest orthogonal matrix removes what rounding has left.
struct rotation_matrices {
  static constexpr auto pulled(auto r, auto g) {
    const auto a = matmul(transpose(r), g);
    return a - transpose(a);
  }
  static constexpr auto retract(auto r, auto d) {
    const auto next = matmul(r, so3_exp(so3_vee(d)));
    return 1.5 * next - 0.5 * matmul(next, matmul(transpose(next), next));
  }
};

/// Vectors of length 1 along the last axis: a sphere. A step is a tangent, and the result is divided by its norm.
struct unit_vectors {
  static constexpr auto pulled(auto x, auto g) { return g - x * sum<-1>(x * g, keep_dims); }
  static constexpr auto retract(auto x, auto d) { return normalize(x + pulled(x, d)); }
};

/// Numbers above 0. A step is one of log x: x e^d, which is above 0 unless it underflows.
struct positive_numbers {
  static constexpr bool by_element = true;
  static constexpr auto pulled(auto x, auto g) { return x * g; }
  static constexpr auto retract(auto x, auto d) { return x * exp(d); }
};

}  // namespace ebb::inline EBB_ABI
