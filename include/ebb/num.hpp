// ebb/num.hpp — element types, and numeric functions written once for a number and for lanes.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "num/constant.hpp"
#include "num/exact.hpp"
#include "num/lane.hpp"
#include "num/polynomial.hpp"
#include "num/exponential.hpp"
#include "num/activation.hpp"
#include "num/bfloat16.hpp"
#include "num/float16.hpp"
#include "num/dtype.hpp"
#include "num/twofold.hpp"
#include "num/error_function.hpp"
#include "num/logarithm.hpp"
#include "num/trigonometric.hpp"
#include "num/gamma.hpp"
#include "num/normal.hpp"
#include "num/gelu.hpp"
#include "num/hyperbolic.hpp"
#include "num/inverse_hyperbolic.hpp"
#include "num/inverse_trigonometric.hpp"
#include "num/ldexp.hpp"
#include "num/logarithmic.hpp"
#include "num/power.hpp"
#include "num/precision.hpp"
#include "num/promote.hpp"
#include "num/quotient.hpp"
#include "num/remainder.hpp"
#include "num/tangent.hpp"
