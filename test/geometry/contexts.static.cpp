// test/geometry/contexts.static.cpp — functions of geometry.hpp keep their operands' dtype in autocast contexts.
// SPDX-License-Identifier: BSL-1.0
// covers: planar.hpp pose.hpp quaternion.hpp rotation.hpp
#include <ebb/geometry.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::extents_in;
using enum test::context_class;

/// Whether functions of one array, or of several, with these extents keep its dtype.
template <class... In>
constexpr bool keep_dtype(auto... f) {
  return ((test::class_of<In...>(f) == own) && ...);
}
using vector = extents_in<3>;
using matrix = extents_in<3, 3>;
using quaternion = extents_in<4>;

using twist = extents_in<3>;
using plane = extents_in<2>;
using planar_pose = extents_in<4>;
static_assert(keep_dtype<extents_in<>>(ebb::so2_exp));
static_assert(keep_dtype<plane>(ebb::so2_log));
static_assert(keep_dtype<plane, plane>(ebb::so2_rotate));
static_assert(keep_dtype<twist>(ebb::se2_exp));
static_assert(keep_dtype<planar_pose>(ebb::se2_log, ebb::se2_inverse));
static_assert(keep_dtype<planar_pose, planar_pose>(ebb::se2_compose));
static_assert(keep_dtype<planar_pose, plane>(ebb::se2_act));

using pose = extents_in<7>;
static_assert(keep_dtype<extents_in<6>>(ebb::se3_exp, ebb::se3_left_jacobian, ebb::se3_right_jacobian));
static_assert(keep_dtype<pose>(ebb::se3_log, ebb::se3_inverse, ebb::se3_matrix, ebb::se3_adjoint));
static_assert(keep_dtype<pose, pose>(ebb::se3_compose));
static_assert(keep_dtype<pose, vector>(ebb::se3_act));

static_assert(keep_dtype<quaternion>(ebb::quaternion_conjugate, ebb::quaternion_inverse, ebb::quaternion_normalize, ebb::quaternion_log));
static_assert(keep_dtype<quaternion>(ebb::quaternion_to_matrix));
static_assert(keep_dtype<quaternion, quaternion>(ebb::quaternion_product));
static_assert(keep_dtype<quaternion, vector>(ebb::quaternion_rotate));
static_assert(keep_dtype<vector>(ebb::quaternion_exp, [](auto x) { return ebb::quaternion_from_euler<"xyz">(x); }));
static_assert(keep_dtype<matrix>(ebb::quaternion_from_matrix));
static_assert(keep_dtype<vector, extents_in<>>(ebb::quaternion_from_axis_angle));
static_assert(keep_dtype<quaternion, quaternion, extents_in<>>(ebb::slerp));

static_assert(keep_dtype<vector>(ebb::so3_exp, ebb::so3_hat, ebb::so3_left_jacobian, ebb::so3_right_jacobian));
static_assert(keep_dtype<vector>(ebb::so3_left_jacobian_inverse, ebb::so3_right_jacobian_inverse));
static_assert(keep_dtype<matrix>(ebb::so3_log, ebb::so3_vee));

}  // namespace
