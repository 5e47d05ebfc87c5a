// ebb/num/precision.hpp — what autocast does with an op's operands: a property of the op, never a list elsewhere.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <cstdint>

namespace ebb::inline EBB_ABI {

/// low: cast to the autocast dtype. full: cast to float. widest: cast to the widest among them. as_is: taken as they come.
enum class precision : std::uint8_t { as_is, low, full, widest };

}  // namespace ebb::inline EBB_ABI
