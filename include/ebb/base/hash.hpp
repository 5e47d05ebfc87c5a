// ebb/base/hash.hpp — hashes that are the same at compile time, at run time and on every machine.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <cstdint>
#include <string_view>

namespace ebb::inline EBB_ABI {

/// 64-bit FNV-1a (Fowler, Noll, Vo).
constexpr std::uint64_t hash_text(std::string_view s, std::uint64_t h = 14695981039346656037u) {
  for (char c : s) h = (h ^ static_cast<std::uint8_t>(c)) * 1099511628211u;
  return h;
}

}  // namespace ebb::inline EBB_ABI
