// ebb/complex.hpp — complex numbers as pairs of arrays: operators, functions, products, systems, transforms. ebb.hpp leaves it out.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "functional.hpp"

#include "complex/complex.hpp"
#include "complex/fft.hpp"
#include "complex/rules.hpp"
