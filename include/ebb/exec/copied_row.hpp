// ebb/exec/copied_row.hpp — steps that turn rows so that lanes run along them: one row is copied.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "buffers.hpp"

#include "../op/move.hpp"

#include <cstring>

namespace ebb::inline EBB_ABI::detail {

/// Whether step S permutes axes, and keeps those of static extents in their order: if all other axes have one element, the step is a copy.
/// So a program whose lanes run along rows pays little for turning a single one: see [note: components].
template <class P, int S>
inline constexpr bool turns_rows = [] {
  const equation& e = P::g.eq[static_cast<std::size_t>(P::plan.steps[static_cast<std::size_t>(S)].equation)];
  if (e.op->family != family_of<op::permute>) return false;
  const auto& s = P::shape_at(e.shape);
  int last = -1;
  bool rising = true;
  for (int i = 0; i < s.rank; ++i) {
    const int from = packed_axis(e.attr[0], i);
    if (const int extent = s.e[static_cast<std::size_t>(i)]; extent > 1 || extent == 0) {
      rising = rising && from > last;
      last = from;
    }
  }
  return rising;
}();

/// Copies the array of an equation that turns rows, if there is one row: false if there is another number of them.
template <class P, int Shape, dtype Type>
EBB_INLINE bool copy_one_row(void* to, const void* from, const std::size_t* symbol) {
  constexpr std::size_t bytes_of_row = [] {
    std::size_t n = size_of(Type);
    for (int a = 0; a < P::shape_at(Shape).rank; ++a)
      if (const int e = P::shape_at(Shape).e[a]; e >= 0) n *= static_cast<std::size_t>(e);
    return n;
  }();
  if (bytes_of_shape<P, Shape>(Type, symbol, axes_of<P, Shape>{}) != bytes_of_row) return false;
  std::memcpy(to, from, bytes_of_row);
  return true;
}

}  // namespace ebb::inline EBB_ABI::detail
