// ebb/plan/quotients.hpp — the number of divisions of a loop that become products: see [note: quotients by one number].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/target.hpp"
#include "../graph/graph.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::detail {

/// How many of the first divisions in `members` by numbers that a row repeats are computed as corrected products, the members being those
/// of one loop; is_repeated(k): whether k is such a number. A processor divides beside other instructions, so a loop takes the time of its
/// divisions or that of all else, whichever is longer. A corrected product is ten instructions; with enough others a division costs
/// nothing. If both take the same time, half of the divisions are exchanged.
constexpr int quotients_to_exchange(const graph& g, const vec<int>& members, auto&& is_repeated) {
  constexpr int quotient = 10, heavy = 16;
  const auto time_of = [&](int k) {
    return g.op(k).result == dtype::f64 ? target_has::division.doubles : target_has::division.floats;
  };
  int divisions = 0, work = 0;
  for (int k : members) {
    const op_info& op = g.op(k);
    if (op.kernels.divided) divisions += time_of(k);
    else if (op.what == kind::elementwise || op.what == kind::reduce) work += op.heavy && op.what == kind::elementwise ? heavy : 1;
  }
  int best = 0, least = std::max(divisions, work), exchanged = 0;
  least -= least / 8;  // an exchange has to save an eighth
  for (int k : members) {
    if (!g.op(k).kernels.divided || time_of(k) == 0 || !is_repeated(g.operand(k, 1))) continue;
    divisions -= time_of(k);
    work += quotient;
    ++exchanged;
    if (const int now = std::max(divisions, work); now < least) least = now, best = exchanged;
  }
  return best;
}

}  // namespace ebb::inline EBB_ABI::detail
