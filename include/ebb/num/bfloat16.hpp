// ebb/num/bfloat16.hpp — bfloat16: a storage type, converted with rounding to nearest even.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <bit>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// The upper half of a float. Conversion rounds to nearest even and keeps subnormals and NaN (quieted, with its sign). A double is
/// converted to float first, so it is rounded twice, as in PyTorch.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) bits = static_cast<std::uint16_t>((u >> 16) | 0x40u);
    else bits = static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

}  // namespace ebb::inline EBB_ABI
