// ebb/linalg/bisection.hpp — values of a matrix by bisection, many at a time, from the number of values that are smaller.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/lanes.hpp"

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// The parts that bisections share. A group has a value in each lane. Smaller values are counted by pivots, as in Sturm sequences.
template <class T>
struct bisection {
  /// Pivots of less than this size count as negative.
  static constexpr T least_pivot = std::numeric_limits<T>::digits > 24 ? static_cast<T>(0x1p-900) : T(0x1p-80);

  /// Calls f<V, Groups>(k) until each of n values has been in a group; k is the number of the first one.
  static constexpr void each_groups(std::ptrdiff_t n, auto&& f) {
    std::ptrdiff_t k = 0;
    if (!__builtin_is_constant_evaluated()) {
      constexpr std::ptrdiff_t size = lane_count;
      if constexpr (target_has::registers == 32)
        for (; k + 2 * size < n; k += 4 * size) f.template operator()<lanes<T>, 4>(k);
      for (; k + size < n; k += 2 * size) f.template operator()<lanes<T>, 2>(k);
      for (; k < n; k += size) f.template operator()<lanes<T>, 1>(k);
      return;
    }
    for (; k < n; ++k) f.template operator()<T, 1>(k);
  }
  template <class V>
  static constexpr int values_of = lane::scalar<V> ? 1 : lane_count;
  /// 0, 1, ... in the lanes of a group.
  template <class V>
  static constexpr V lane_numbers() {
    if constexpr (lane::scalar<V>) return V(0);
    else return lane_index<T>();
  }
  /// square / pivot, without a division by 0.
  template <class V>
  static EBB_INLINE constexpr V quotient(T square, V pivot) {
    const V least = lane::all<V>(least_pivot), steepest = lane::all<V>(-square * (1 / least_pivot));
    if constexpr (lane::scalar<V>) return lane::abs(pivot) < least ? steepest : V(square) / pivot;
    else return lane::select(lane::abs(pivot) < least, steepest, lane::all<V>(square) / pivot);
  }
  template <class V>
  static EBB_INLINE constexpr V is_negative(V pivot) {
    return lane::select(pivot < lane::all<V>(least_pivot), lane::all<V>(1), lane::all<V>(0));
  }
  /// Halves the intervals so many times. count(x, numbers) finds how many values are below each x; `smaller` is the number that is looked
  /// for.
  template <class V, int Groups>
  static EBB_INLINE constexpr void halve(int steps, const V (&smaller)[Groups], V (&low)[Groups], V (&high)[Groups], auto&& count) {
    [&]<int... G>(std::integer_sequence<int, G...>) EBB_LAMBDA {
      V x[Groups], numbers[Groups];
      for (int step = 0; step < steps; ++step) {
        ((x[G] = lane::all<V>(T(0.5)) * (low[G] + high[G])), ...);
        count(x, numbers);
        const auto half = [&](int g) EBB_LAMBDA {
          const auto above = numbers[g] > smaller[g];
          high[g] = lane::select(above, x[g], high[g]);
          low[g] = lane::select(above, low[g], x[g]);
        };
        (half(G), ...);
      }
    }(std::make_integer_sequence<int, Groups>{});
  }
  /// Writes value k and those after it, of n.
  template <class V>
  static constexpr void put(V found, std::ptrdiff_t k, std::ptrdiff_t n, T* values) {
    if constexpr (lane::scalar<V>) values[k] = found;
    else if (const std::ptrdiff_t left = n - k; left >= lane_count) found.store(values + k);
    else if (left > 0) found.store(values + k, static_cast<int>(left));
  }
};

}  // namespace ebb::inline EBB_ABI::detail
