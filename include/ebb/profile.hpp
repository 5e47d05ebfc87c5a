// ebb/profile.hpp — a profiler: the time that regions, steps, hooks and captured chains take. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "profile/recorder.hpp"
#include "profile/machine.hpp"
#include "profile/table.hpp"
#include "profile/trace.hpp"
#include "profile/profile.hpp"
#include "profile/picture.hpp"
