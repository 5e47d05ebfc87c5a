// ebb/stats.hpp — log densities and samples of probability distributions. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "stats/quantity.hpp"
#include "stats/support.hpp"
#include "stats/normal.hpp"
#include "stats/location.hpp"
#include "stats/positive.hpp"
#include "stats/discrete.hpp"
#include "stats/vector.hpp"
#include "stats/portable.hpp"
#include "stats/sample.hpp"
#include "stats/implicit.hpp"
#include "stats/draw.hpp"
