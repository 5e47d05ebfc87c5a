// ebb/io.hpp — files: one array in NumPy's format.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
// Left out, because few programs need them: io/safetensors.hpp and io/npz.hpp, and what these include.
#pragma once

#include "io/file.hpp"
#include "io/npy.hpp"
