// bench/ops/given.hpp — operands that are the same for ebb and for plain loops: indices, and numbers in rising order.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "table.hpp"

#include <array>
#include <cstdint>

namespace ops {

/// Numbers from 0 to 63 in no order.
inline const std::array<std::int64_t, elements>& places() {
  static const auto all = [] {
    std::array<std::int64_t, elements> r{};
    std::uint64_t z = 1;
    for (std::int64_t& e : r) e = static_cast<std::int64_t>((z = z * 6364136223846793005u + 1442695040888963407u) >> 58);
    return r;
  }();
  return all;
}

/// One of them, as plain loops need it.
inline std::size_t place(std::size_t i) { return static_cast<std::size_t>(places()[i]); }

/// 64 numbers from -1 to 1 in rising order, at unequal distances.
inline const std::array<float, 64>& edges() {
  static const auto all = [] {
    std::array<float, 64> r{};
    for (std::size_t i = 0; i < 64; ++i) {
      const double u = (static_cast<double>(i) - 31.5) / 31.5;
      r[i] = static_cast<float>(u * (0.5 + 0.5 * u * u));
    }
    return r;
  }();
  return all;
}

/// 6 labels from 1 to 31 for each of 8 texts.
inline const std::array<std::int64_t, 48>& labels() {
  static const auto all = [] {
    std::array<std::int64_t, 48> r{};
    for (std::size_t i = 0; i < 48; ++i) r[i] = places()[i] % 31 + 1;
    return r;
  }();
  return all;
}

}  // namespace ops
