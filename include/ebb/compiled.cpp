// ebb/compiled.cpp — the library of the target ebb::compiled: all that is marked EBB_ONCE and EBB_COLD, see base/config.hpp.
// SPDX-License-Identifier: BSL-1.0
#include "ebb.hpp"
#include "explain.hpp"
#include "interop/dlpack.hpp"
#include "io/npz.hpp"
#include "io/safetensors.hpp"
#include "profile.hpp"
#include "svg.hpp"
