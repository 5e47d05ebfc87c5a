// ebb/kernel/run_state.hpp — the accumulators of a reduction along the last axes; see [note: logical reduction tree].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "fold.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

/// The rest of a leaf. While steps are added one after the other, the next one belongs to `next`: two accumulators change places after
/// each step and so stay in registers, more would not fit there and are indexed.
template <class T>
struct leaf_lanes {
  static constexpr bool rotates = accumulators == 2;
  lanes<T> rest[accumulators];

  EBB_INLINE void begin(T identity) {
    repeat<accumulators>([&]<int U>() EBB_LAMBDA { rest[U] = lanes<T>::all(identity); });
  }
  EBB_INLINE lanes<T>* next(std::size_t u) { return &rest[rotates ? 0 : u]; }
  EBB_INLINE void turn() {
    if constexpr (rotates) {
      const lanes<T> x = rest[0];
      rest[0] = rest[1];
      rest[1] = x;
    }
  }
};

/// The whole leaves: `leaves` is how many there were, its binary digits say which of `digit` hold one. merge(older, newer) works on lanes.
template <class T>
struct cascade {
  lanes<T> digit[cascade_depth][accumulators];
  cascade() {}  // nothing: a tuple would write zeros into all of them

  /// One more leaf: it becomes a digit, together with all digits that are carried over.
  [[gnu::noinline]] void add(leaf_lanes<T> leaf, std::size_t leaves, auto merge) {
    int d = 0;
    for (; leaves >> d & 1; ++d)
      for (int u = 0; u < accumulators; ++u) leaf.rest[u] = merge(digit[d][u], leaf.rest[u]);
    for (int u = 0; u < accumulators; ++u) digit[d][u] = leaf.rest[u];
  }
  /// All of it, with the leaf that was not finished.
  [[gnu::noinline]] leaf_lanes<T> total(leaf_lanes<T> leaf, std::size_t leaves, auto merge) const {
    for (int d = 0; leaves >> d != 0; ++d)
      if (leaves >> d & 1)
        for (int u = 0; u < accumulators; ++u) leaf.rest[u] = merge(digit[d][u], leaf.rest[u]);
    return leaf;
  }
};

/// An op's function as an operator on lanes: how a reduction merges what it has gathered.
template <auto Function>
struct combiner {
  template <class V>
  EBB_PART V operator()(V a, V b) const {
    V r;
    Function(&a, &b, nullptr, &r);
    return r;
  }
};

}  // namespace ebb::inline EBB_ABI
