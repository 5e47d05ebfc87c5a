// ebb/dual.hpp — forward mode for ordinary C++: numbers and arrays with a tangent. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "dual/dual.hpp"
#include "dual/push.hpp"
#include "dual/number.hpp"
#include "dual/cmath.hpp"
