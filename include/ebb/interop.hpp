// ebb/interop.hpp — arrays shared with other libraries of the process, Python's above all. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "interop/dlpack_abi.hpp"
#include "interop/dlpack.hpp"
