// ebb/complex.hpp — complex numbers as pairs of arrays: operators, functions, products, systems. Optional: ebb.hpp leaves it out.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "complex/complex.hpp"
#include "complex/rules.hpp"
