// ebb/shapes/einsum_order.hpp — the order in which einsum multiplies three or more operands.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/product_cost.hpp"
#include "einsum_text.hpp"

#include <bit>
#include <cstdint>

namespace ebb::inline EBB_ABI::detail {

/// Which two parts make the product of a set of operands; a set is a bit for each operand.
///
/// [note: order of einsum]
/// If all extents are known while tracing, the cheapest tree of products is found over all sets of operands, outer products included, and
/// without products that have too many axes: see [note: cost of a product]. Of trees that cost the same, the one from left to right is
/// taken. It is also taken if an extent is known only at the call.
class einsum_order : product_cost {
 public:
  using product_cost::most_letters;  // einsum has 52 and at most eight axes of `...`

  /// letters: those of each operand, as bits. wanted: those of the result. extent: of each letter, negative if it is unknown.
  constexpr einsum_order(int count, const std::uint64_t* letters, std::uint64_t wanted, const std::int64_t* extent) {
    const unsigned all = (1u << count) - 1;
    std::uint64_t used[sets] = {}, kept[sets] = {};
    for (unsigned set = 1; set <= all; ++set) {
      first_[set] = static_cast<std::uint8_t>(set ^ std::bit_floor(set));
      used[set] = used[set & (set - 1)] | letters[std::countr_zero(set)];
    }
    if (count < 3 || volume(used[all], extent) < 0) return;
    for (unsigned set = 1; set <= all; ++set) kept[set] = used[set] & (wanted | used[all ^ set]);
    double best[sets] = {};
    for (unsigned set = 1; set <= all; ++set) {
      if (std::has_single_bit(set)) continue;
      const auto cost = [&](unsigned part) {
        return best[part] + best[set ^ part] + price(kept[part], kept[set ^ part], kept[set], extent);
      };
      best[set] = cost(first_[set]);
      for (unsigned part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        if (!(part & set & -set)) continue;  // each pair once: the first part has the first operand
        if (const double other = cost(part); other < best[set]) best[set] = other, first_[set] = static_cast<std::uint8_t>(part);
      }
    }
  }

  /// The part of a set that is the left factor.
  constexpr unsigned first_of(unsigned set) const { return first_[set]; }

 private:
  static constexpr unsigned sets = 1u << most_of_einsum;
  std::uint8_t first_[sets] = {};
};

}  // namespace ebb::inline EBB_ABI::detail
