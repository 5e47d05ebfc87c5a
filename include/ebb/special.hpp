// ebb/special.hpp — special functions beyond those of ebb.hpp. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// ebb.hpp has what networks and simple statistics need: erf, erfc, ndtr, log_ndtr (op/normal.hpp) and lgamma, digamma (op/gamma.hpp).
// Here are functions that few programs call, each family in a header with its numeric code, so that others do not compile them.
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "special/elementary.hpp"
#include "special/logarithmic.hpp"
#include "special/activation.hpp"
#include "special/scaled_error.hpp"
#include "special/quantile.hpp"
#include "special/bessel.hpp"
#include "special/gamma.hpp"
#include "special/incomplete.hpp"
