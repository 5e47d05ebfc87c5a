// ebb/exec/own_cells.hpp — computes an equation of kind own on erased cells, by the op's reference.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "symbol_values.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The value of equation k of g, from the values of the equations before it. See [note: kernels of their own].
constexpr cell_array cells_of_own(const graph& g, int k, const vec<cell_array>& values, const std::size_t* symbols) {
  const equation& e = g.eq[k];
  extent_list given[max_rank + 2];
  const cell* cells[max_rank + 2] = {};
  for (int j = 0; j < e.count; ++j) {
    given[j] = extents_at(g.shape_of(g.operand(k, j)), symbols);
    cells[j] = values[g.operand(k, j)].data();
  }
  const extent_list out = extents_at(g.shape_of(k), symbols);
  cell_array r(static_cast<int>(out.volume()), 0);
  e.op->reference({given, out, e.attr}, cells, r.data());
  return r;
}

}  // namespace ebb::inline EBB_ABI::detail
