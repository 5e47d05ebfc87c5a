// ebb/kernel/run_state.hpp — the accumulators of a reduction along the last axes; see [note: logical reduction tree].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "fold.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

/// The accumulators of a leaf that is not complete. The next step is added to `next`. Two accumulators are swapped after each step and so
/// stay in registers; more do not fit there and are indexed.
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

/// The complete leaves: `leaves` is their number, and its binary digits tell which elements of `digit` are in use. merge(older, newer)
/// works on lanes.
template <class T>
struct cascade {
  lanes<T> digit[cascade_depth][accumulators];

  /// Adds a leaf: it becomes a digit, merged with all digits that are carried over.
  [[gnu::noinline]] void add(leaf_lanes<T> leaf, std::size_t leaves, auto merge) {
    int d = 0;
    for (; leaves >> d & 1; ++d)
      for (int u = 0; u < accumulators; ++u) leaf.rest[u] = merge(digit[d][u], leaf.rest[u]);
    for (int u = 0; u < accumulators; ++u) digit[d][u] = leaf.rest[u];
  }
  /// The merged value of all leaves and of the incomplete one.
  [[gnu::noinline]] leaf_lanes<T> total(leaf_lanes<T> leaf, std::size_t leaves, auto merge) const {
    for (int d = 0; leaves >> d != 0; ++d)
      if (leaves >> d & 1)
        for (int u = 0; u < accumulators; ++u) leaf.rest[u] = merge(digit[d][u], leaf.rest[u]);
    return leaf;
  }
};

/// An op's function as an operator on lanes: a reduction merges accumulators by it.
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
