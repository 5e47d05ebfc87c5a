// ebb/exec/one_row.hpp — a small program of many rows as a program of one row, whose extents are all known.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one row]
// A call with one matrix, one point or one quaternion spends most of its time on what many rows need: the addresses of blocks, places in
// the workspace, extents that kernels read. So a small program on blocks of rows is compiled a second time, with 1 as the number of rows:
// temporaries are on the stack, and no kernel reads an extent. The plan is the same, so the steps, their order and the bits are.
#pragma once

#include "program.hpp"
#include "symbol_values.hpp"

#include "../plan/step.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI::detail {

/// P for calls in which the number of rows is 1. The symbol keeps its number and its value.
template <class P>
struct one_row : P {
  static constexpr auto shapes = [] {
    auto all = P::shapes;
    for (auto& s : all)
      for (int a = 0; a < s.rank; ++a)
        if (int& e = s.e[a]; e < 0 && oldest_symbol<P>(~e) == oldest_symbol<P>(~P::plan.row_symbol)) e = 1;
    return all;
  }();
  static constexpr const auto& shape_at(int number) { return shapes[static_cast<std::size_t>(number)]; }
  static constexpr auto plan = [] {
    auto p = P::plan;
    p.row_symbol = 0;
    return p;
  }();
};

/// Whether P runs on blocks of rows, and is so small that the second program pays: it has few steps, on few elements of a row.
template <class P>
consteval bool one_row_pays() {
  constexpr int most_steps = 8, most_computes = 48, most_elements = 64;  // as for one step, and an 8 x 8 matrix
  constexpr const auto& plan = P::plan;
  if (plan.row_symbol >= 0 || P::depth > 0 || plan.size.steps > most_steps || plan.size.computes > most_computes) return false;
  if (plan.size.bands > 0 || plan.size.copies > 0) return false;
  for (int s = 0; s < plan.size.steps; ++s)
    if (plan.steps[static_cast<std::size_t>(s)].what == kind::loop) return false;
  const int row = oldest_symbol<P>(~plan.row_symbol);
  for (int b = 0; b < plan.size.buffers; ++b) {
    const auto& s = P::shape_at(plan.buffers[static_cast<std::size_t>(b)].shape);
    int elements = 1;
    for (int a = 0; a < s.rank; ++a) {
      const int e = s.e[a];
      if (e < 0 && oldest_symbol<P>(~e) != row) return false;
      if (e >= 0) elements = elements * e <= most_elements ? elements * e : most_elements + 1;
    }
    if (elements > most_elements) return false;
  }
  return true;
}

template <class P>
inline constexpr bool has_one_row = one_row_pays<P>();

}  // namespace ebb::inline EBB_ABI::detail
