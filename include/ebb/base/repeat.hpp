// ebb/base/repeat.hpp — a loop over a constant number of turns, written out: each turn knows its number at compile time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

/// f.operator()<0>(), f.operator()<1>(), ... At -O2 g++ keeps small loops as loops, with their arrays in memory; this it cannot.
template <int Count>
EBB_INLINE constexpr void repeat(auto&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    (f.template operator()<I>(), ...);
  }(std::make_integer_sequence<int, Count>{});
}

}  // namespace ebb::inline EBB_ABI
