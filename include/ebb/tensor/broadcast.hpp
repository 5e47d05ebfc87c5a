// ebb/tensor/broadcast.hpp — the rules of broadcasting: the common shape of an elementwise operation's operands.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "shape.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

/// Axes are aligned from the last one. A missing leading axis and a static extent of 1 are repeated. A dyn extent never is: it must
/// equal the other one, which the call checks. Returns refused(102) if two static extents differ.
constexpr shape broadcast_shapes(symbols& s, const shape* in, int count) {
  shape r;
  for (int j = 0; j < count; ++j) r.rank = std::max(r.rank, in[j].rank);
  for (int axis = 0; axis < r.rank; ++axis) {
    int common = 1;
    for (int j = 0; j < count; ++j) {
      const int at = axis - (r.rank - in[j].rank);
      if (at < 0) continue;
      const int e = s.find(in[j].e[at]);
      if (e == 1) continue;
      if (common == 1) common = e;
      else if (!s.unify(common, e)) return refused(102);
    }
    r.e[axis] = common;
  }
  return s.find(r);
}

/// The axes of `to` along which `from` is repeated.
constexpr std::int64_t repeated_axes(const symbols& s, const shape& from, const shape& to) {
  std::int64_t mask = 0;
  const int missing = to.rank - from.rank;
  for (int axis = 0; axis < to.rank; ++axis)
    if (axis < missing || (s.find(from.e[axis - missing]) == 1 && s.find(to.e[axis]) != 1)) mask |= std::int64_t{1} << axis;
  return mask;
}

}  // namespace ebb::inline EBB_ABI
