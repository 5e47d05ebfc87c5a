// ebb/random.hpp — random arrays: the same numbers on every machine.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "random/philox.hpp"
#include "random/quantile.hpp"
#include "random/random.hpp"
#include "random/initial.hpp"
