// ebb/tensor/extents.hpp — extents as a type, each static or dynamic.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

/// Marks a dynamic extent: its value is known only at the call.
inline constexpr std::size_t dyn = static_cast<std::size_t>(-1);

template <std::size_t... E>
struct extents {
  static constexpr int rank = sizeof...(E);
  static constexpr bool is_static = ((E != dyn) && ...);
  static constexpr std::size_t dynamic_rank = (0 + ... + (E == dyn ? 1 : 0));
};

}  // namespace ebb::inline EBB_ABI
