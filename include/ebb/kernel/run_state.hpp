// ebb/kernel/run_state.hpp — the accumulators of a reduction along the last axes; see [note: logical reduction tree].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "fold.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

/// merge(older, newer) works on lanes. `leaves` is the number of whole leaves so far: its binary digits say which of `digit` hold one.
template <class T>
struct run_state {
  lanes<T> rest[accumulators];
  lanes<T> digit[cascade_depth][accumulators];
  run_state() {}  // nothing: a tuple would write zeros into all of them

  EBB_INLINE void begin(T identity) {
    for (lanes<T>& lane : rest) lane = lanes<T>::all(identity);
  }
  /// The last leaf is whole: it becomes a digit, together with all digits that are carried over.
  void end_leaf(std::size_t leaves, T identity, auto merge) {
    int d = 0;
    for (; leaves >> d & 1; ++d)
      for (int u = 0; u < accumulators; ++u) rest[u] = merge(digit[d][u], rest[u]);
    for (int u = 0; u < accumulators; ++u) digit[d][u] = rest[u];
    begin(identity);
  }
  EBB_INLINE T total(std::size_t leaves, auto merge) {
    for (int d = 0; leaves >> d != 0; ++d)
      if (leaves >> d & 1)
        for (int u = 0; u < accumulators; ++u) rest[u] = merge(digit[d][u], rest[u]);
    return combine(rest, merge);
  }
};

}  // namespace ebb::inline EBB_ABI
