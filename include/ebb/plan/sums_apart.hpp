// ebb/plan/sums_apart.hpp — whether the sum of a loss is a loop of its own, so that other steps run on blocks of rows.
// SPDX-License-Identifier: BSL-1.0
//
// [note: sums apart]
// A loss is the sum of all rows, and a loop that adds them all cannot run on blocks of rows. So if arrays that it writes as well would then
// stay in the cache, such a sum is a loop of its own, and what it adds is written to memory: the value of a loss over points is read again,
// but their gradients are turned in the cache. make_plan compares both plans.
#pragma once

#include "fuse.hpp"
#include "step.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Whether a loop that adds all rows writes arrays as well.
EBB_COLD constexpr bool sums_beside_stores(const graph& g, const plan& p) {
  for (int k = 0; k < g.size(); ++k)
    if (reduces_all_rows(g, k) && p.group_of[k] >= 0)
      if (const int n = p.steps[p.group_of[k]].nest; n >= 0 && p.nests[n].stores.count > 0) return true;
  return false;
}
/// The elements that temporaries outside of blocks have for each row; extents that only the call knows count as 64.
EBB_COLD constexpr std::int64_t volume_outside_blocks(const graph& g, const plan& p) {
  std::int64_t all = 0;
  for (const plan_buffer& b : p.buffers) {
    const shape& s = g.shapes[b.shape];
    if (b.is != plan_buffer::role::temporary || b.rows == row_use::within) continue;
    std::int64_t n = 1, rows = 0;
    for (int a = 0; a < s.rank; ++a)
      if (const int e = g.syms.find(s.e[a]); e >= 0) n *= e;
      else if (rows++ > 0) n *= 64;
    if (rows > 0) all += n;
  }
  return all;
}

}  // namespace ebb::inline EBB_ABI::detail
