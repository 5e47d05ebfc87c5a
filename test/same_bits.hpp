// test/same_bits.hpp — whether two arrays hold the same bits, for any element type.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>

namespace test {

inline bool same_bits(const auto& a, const auto& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0);
}

}  // namespace test
