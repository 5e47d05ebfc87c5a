// ebb/autograd/higher.hpp — a backward that is itself recorded.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "sum.hpp"

#include "../base/error.hpp"

namespace ebb::inline EBB_ABI::detail {

inline gradient recorded_sum(dtype, gradient, gradient) { raise("ebb::backward: create_graph"); }

}  // namespace ebb::inline EBB_ABI::detail
