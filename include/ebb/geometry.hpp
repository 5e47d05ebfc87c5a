// ebb/geometry.hpp — rotations and poses: quaternions, SO(3), SE(3), SO(2), SE(2), manifolds. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "functional.hpp"

#include "geometry/angle.hpp"
#include "geometry/columns.hpp"
#include "geometry/quaternion.hpp"
#include "geometry/rotation.hpp"
#include "geometry/pose.hpp"
#include "geometry/planar.hpp"
#include "geometry/manifold.hpp"
