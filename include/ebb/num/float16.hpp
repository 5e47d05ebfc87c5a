// ebb/num/float16.hpp — IEEE binary16: a storage type, converted with rounding to nearest even.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <bit>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// Five bits of exponent, ten of fraction. Conversion rounds to nearest even, to infinity from 65520 on, and keeps subnormals and NaN
/// (quieted, with its sign). A double is converted to float first, so it is rounded twice, as in PyTorch.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;
  constexpr explicit float16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    std::uint32_t h;
    if (magnitude > 0x7f800000u) h = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    else if (magnitude >= 0x477ff000u) h = 0x7c00u;
    else if (magnitude >= 0x38800000u) h = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    else {
      const float scaled = std::bit_cast<float>(magnitude) + 0.5f;  // the addition rounds to a multiple of 2^-24
      h = std::bit_cast<std::uint32_t>(scaled) - 0x3f000000u;
    }
    bits = static_cast<std::uint16_t>(sign | h);
  }
  constexpr explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | (fraction ? 0x7fc00000u | (fraction << 13) : 0x7f800000u));
    if (exponent) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  friend constexpr bool operator==(float16 a, float16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

}  // namespace ebb::inline EBB_ABI
