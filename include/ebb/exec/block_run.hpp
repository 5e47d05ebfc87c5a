// ebb/exec/block_run.hpp — fills blocks of memory with one value or with indices, and reduces them in the fixed order.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/nest.hpp"
#include "../tensor/reduction_tree.hpp"

#include <cstring>
#include <type_traits>

namespace ebb::inline EBB_ABI::detail {

/// Fills n elements of `size` bytes with the element at `from`.
EBB_ONCE void fill(char* to, const char* from, std::size_t size, std::size_t n) {
  const auto as = [&]<class U>(U x) {
    std::memcpy(&x, from, sizeof x);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof x, &x, sizeof x);
  };
  switch (size) {
    case 1: return as(std::uint8_t{});
    case 2: return as(std::uint16_t{});
    case 4: return as(std::uint32_t{});
    default: return as(std::uint64_t{});
  }
}
EBB_ONCE void fill(char* to, cell x, std::size_t size, std::size_t n) {
  char bytes[sizeof x];
  std::memcpy(bytes, &x, sizeof x);  // the low bytes first: little endian
  fill(to, bytes, size, n);
}

/// to[i] = first + i * step
EBB_ONCE void fill_indices(char* to, dtype type, std::size_t first, std::size_t step, std::size_t n) {
  with_dtype(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < n; ++i, first += step) {
      T x;
      if constexpr (std::is_arithmetic_v<T>) x = static_cast<T>(static_cast<std::int64_t>(first));
      else x = static_cast<T>(static_cast<float>(static_cast<std::int64_t>(first)));
      std::memcpy(to + i * sizeof(T), &x, sizeof x);
    }
  });
}

/// The accumulators of one reduction along the last loops: the rest of a leaf, and the digits of the cascade.
struct block_run {
  char* rest = nullptr;
  std::size_t row = 0;  // bytes of 32 lanes

  static constexpr std::size_t bytes(std::size_t size) { return (1 + cascade_depth) * logical_lanes * size; }
  char* digit(int d) const { return rest + static_cast<std::size_t>(d + 1) * row; }

  void clear(const nest_reduce& r) const { fill(rest, r.identity, size_of(r.type), logical_lanes); }
  EBB_ONCE void add_digit(const nest_reduce& r, int d) const {
    const void* const newer[] = {rest};
    r.block(newer, digit(d), logical_lanes);
    std::memcpy(rest, digit(d), row);
  }
  EBB_ONCE void end_leaf(const nest_reduce& r, std::size_t leaves) const {
    int d = 0;
    for (; leaves >> d & 1; ++d) add_digit(r, d);
    std::memcpy(digit(d), rest, row);
    clear(r);
  }
  EBB_ONCE void end(const nest_reduce& r, std::size_t leaves, char* to) const {
    for (int d = 0; leaves >> d != 0; ++d)
      if (leaves >> d & 1) add_digit(r, d);
    for (std::size_t half = logical_lanes / 2; half > 0; half /= 2) {
      const void* const newer[] = {rest + half * size_of(r.type)};
      r.block(newer, rest, half);
    }
    std::memcpy(to, rest, size_of(r.type));
  }
};

}  // namespace ebb::inline EBB_ABI::detail
