// ebb/kernel/fold.hpp — many lanes into one value, in an order that is the same on every machine.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/reduction_tree.hpp"
#include "lanes.hpp"
#include "narrow.hpp"

#include <bit>
#include <utility>

namespace ebb::inline EBB_ABI {

// The order is that of [note: logical reduction tree]. A machine with L lanes keeps the 32 accumulators in 32 / L values; number u holds
// those from u * L on. Lane i is combined with lane i + 16, then i + 8, ...: whole values first, then lanes of the last value.
inline constexpr int accumulators = logical_lanes / lane_count;
static_assert(accumulators >= 1 && accumulators * lane_count == logical_lanes);

/// Lane i is lane i + Shift of x, for i < Shift; the other lanes are arbitrary. Shift is lane_count / 2, / 4, ... 1.
template <int Shift, class T>
EBB_INLINE lanes<T> lanes_from(lanes<T> x) {
  if constexpr (half_width<T>) return {lanes_from<Shift>(x.wide)};
  else if constexpr (std::same_as<T, bool>) return {simd::lanes_after<Shift>(x.mask)};
  else if constexpr (lanes<T>::parts == 2 && Shift == lane_count / 2) return {{x.part[1], x.part[1]}};
  else {
    x.part[0] = simd::shifted_down<Shift, T>(x.part[0]);
    return x;
  }
}

/// Combines lane i with lane i + lane_count / 2, then with + lane_count / 4, ... + 1, by f(lanes<T>, lanes<T>) -> lanes<T>.
using halvings = std::make_integer_sequence<int, std::countr_zero(static_cast<unsigned>(lane_count))>;
template <class T, class F, int... I>
EBB_INLINE T fold_halves(lanes<T> x, F f, std::integer_sequence<int, I...>) {
  ((x = f(x, lanes_from<(lane_count >> (I + 1))>(x))), ...);
  return x[0];
}
template <class T, class F>
EBB_INLINE T fold_halves(const lanes<T>& x, F f) {
  return fold_halves(x, f, halvings{});
}

/// The last part of a reduction: Count values of lanes, by default all accumulators, into one element, in the order above.
template <int Count = accumulators, class T, class F>
EBB_INLINE T combine(const lanes<T>* acc, F f) {
  if constexpr (Count == 1) return fold_halves(acc[0], f, halvings{});
  else if constexpr (Count == 2) return fold_halves(f(acc[0], acc[1]), f, halvings{});
  else
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      const lanes<T> half[] = {f(acc[I], acc[I + Count / 2])...};
      return combine<Count / 2>(half, f);
    }(std::make_integer_sequence<int, Count / 2>{});
}

}  // namespace ebb::inline EBB_ABI
