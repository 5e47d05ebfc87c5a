// ebb/base/repeat.hpp — an unrolled loop with a constant number of turns: each turn gets its number as a template argument.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The number of turns in one fold: clang allows at most 256.
inline constexpr int most_in_fold = 64;

/// The turns First, First + 1, ... More turns than a fold takes are split in halves: then neither folds nor calls nest deeply.
template <int First, int Count>
EBB_INLINE constexpr void repeat_from(auto&& f) {
  if constexpr (Count <= most_in_fold)
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      (f.template operator()<First + I>(), ...);
    }(std::make_integer_sequence<int, Count>{});
  else {
    constexpr int half = (Count + 2 * most_in_fold - 1) / (2 * most_in_fold) * most_in_fold;
    repeat_from<First, half>(f);
    repeat_from<First + half, Count - half>(f);
  }
}

}  // namespace detail

/// The numbers 0, 1, ... for a fold over the items First, First + 1, ... of Count: at most as many as a fold takes.
template <int First, int Count>
using numbers_of_fold =
    std::make_integer_sequence<int, (Count - First < detail::most_in_fold ? Count - First > 0 ? Count - First : 0 : detail::most_in_fold)>;

/// The numbers that folds go over, at most Room.
template <int Room>
struct number_list {
  int count = 0, number[Room + 1] = {};

  constexpr void push(int i) { number[count++] = i; }
};

/// f.operator()<0>(), f.operator()<1>(), ... At -O2 g++ does not unroll small loops and keeps their arrays in memory; it unrolls this.
template <int Count>
EBB_INLINE constexpr void repeat(auto&& f) {
  // Most loops have few turns; these need no helper function. A kernel has dozens of loops, and each helper would be compiled.
  if constexpr (Count > 3) {
    detail::repeat_from<0, Count>(f);
  } else {
    if constexpr (Count > 0) f.template operator()<0>();
    if constexpr (Count > 1) f.template operator()<1>();
    if constexpr (Count > 2) f.template operator()<2>();
  }
}

/// f(0), f(1), ...: written out if there are few turns, so that what f reads from constant tables is constant; else a loop, since the
/// compile time of more code is worth nothing there. f is an EBB_LAMBDA.
template <int Count, int Few = 3>
EBB_INLINE constexpr void each_turn(auto&& f) {
  if constexpr (Count <= Few) repeat<Count>([&]<int I>() EBB_LAMBDA { f(I); });
  else
    for (int i = 0; i < Count; ++i) f(i);
}

/// repeat for functions called by an EBB_FLATTEN function: see EBB_PART.
template <int Count, int First = 0>
EBB_PART constexpr void repeat_part(auto&& f) {
  if constexpr (Count <= detail::most_in_fold)
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_PART_LAMBDA {
      (f.template operator()<First + I>(), ...);
    }(std::make_integer_sequence<int, Count>{});
  else {
    constexpr int half = Count / 2;
    repeat_part<half, First>(f);
    repeat_part<Count - half, First + half>(f);
  }
}

}  // namespace ebb::inline EBB_ABI
