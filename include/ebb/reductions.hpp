// ebb/reductions.hpp — more reductions: of some elements, with weights; differences and integrals. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "reductions/sums.hpp"
#include "reductions/differences.hpp"
#include "reductions/moments.hpp"
