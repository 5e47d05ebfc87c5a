// ebb/op/product_cost.hpp — the cost of a product of arrays, by which the order of several products is chosen.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/shape.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace ebb::inline EBB_ABI::detail {

/// [note: cost of a product]
/// The axes of arrays have letters; a set of letters is a bit for each. A product of two arrays costs the product of the extents of all
/// their letters, twice that if it contracts one, as opt_einsum counts. einsum chooses among all trees of products, multi_dot among those
/// of neighbours.
struct product_cost {
  static constexpr int most_letters = 64;

  /// The product of the extents of the letters, -1 if one is unknown.
  static constexpr double volume(std::uint64_t letters, const std::int64_t* extent) {
    double r = 1;
    for (; letters != 0; letters &= letters - 1) {
      const std::int64_t e = extent[std::countr_zero(letters)];
      if (e < 0) return -1;
      r *= static_cast<double>(e);
    }
    return r;
  }
  /// Of the product of two parts with these letters, which has the letters `after`. Infinite if it has too many axes: a product that
  /// contracts has two axes beside its batch.
  static constexpr double price(std::uint64_t left, std::uint64_t right, std::uint64_t after, const std::int64_t* extent) {
    const std::uint64_t both = left | right, inner = both & ~after;
    const int most = inner ? max_rank - 2 : max_rank;
    if (std::popcount(after) > max_rank || std::popcount(left & right & after) > most) return std::numeric_limits<double>::infinity();
    return (inner ? 2 : 1) * volume(both, extent);
  }
};

}  // namespace ebb::inline EBB_ABI::detail
