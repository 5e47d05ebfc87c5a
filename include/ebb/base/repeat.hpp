// ebb/base/repeat.hpp — a loop over a constant number of turns, written out: each turn knows its number at compile time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

/// As many turns as one fold takes: clang stops at 256.
inline constexpr int most_in_fold = 64;

/// The turns First, First + 1, ...: halves of more than a fold takes, so that neither folds nor calls nest deeply.
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

/// f.operator()<0>(), f.operator()<1>(), ... At -O2 g++ keeps small loops as loops, with their arrays in memory; this it cannot.
template <int Count>
EBB_INLINE constexpr void repeat(auto&& f) {
  // Few turns, as most are, do without a function of their own: a kernel repeats dozens of things, and each is compiled.
  if constexpr (Count > 3) {
    detail::repeat_from<0, Count>(f);
  } else {
    if constexpr (Count > 0) f.template operator()<0>();
    if constexpr (Count > 1) f.template operator()<1>();
    if constexpr (Count > 2) f.template operator()<2>();
  }
}

/// The same in what an EBB_FLATTEN function calls: see EBB_PART.
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
