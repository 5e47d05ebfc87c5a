// ebb/exec/band.hpp — runs several steps in turn on some rows of a matrix at a time: see [note: bands of rows].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/record.hpp"
#include "../base/repeat.hpp"
#include "../kernel/contract.hpp"
#include "../kernel/nest.hpp"
#include "../plan/band.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The number of rows of that many bytes in a band: they fill most of a first-level cache.
constexpr std::size_t rows_of_band(std::size_t row_bytes) {
  const std::size_t rows = banded_bytes / (row_bytes > 0 ? row_bytes : 1) / logical_lanes * logical_lanes;
  return rows > 0 ? rows : logical_lanes;
}

/// Step S of program P, which is a member of a band: a nest, or a product of a matrix or its transpose with a vector.
template <class P, int S>
class band_member {
  static constexpr plan_step s = P::plan.steps[static_cast<std::size_t>(S)];

  template <int Equation>
  static void multiply(const nest_call& c, std::size_t columns, std::size_t first, std::size_t count) {
    constexpr equation e = P::g.eq[static_cast<std::size_t>(Equation)];
    using T = type_of<e.op->result>;
    const T* const x = static_cast<const T*>(c.buffer[s.in[0]]) + first * columns;
    const T* const y = static_cast<const T*>(c.buffer[s.in[1]]);
    T* const out = static_cast<T*>(c.buffer[s.out]);
    const auto m = static_cast<std::ptrdiff_t>(count), k = static_cast<std::ptrdiff_t>(columns);
    // Calls the kernels directly: bands are short, and known extents leave no choice of kernel.
    constexpr int known = P::shape_at(P::plan.buffers[static_cast<std::size_t>(s.in[0])].shape).e[1];
    constexpr bool is_short = known > 0 && known <= kernel::tile::longest_known_row;
    if constexpr (e.attr[0] & left_transposed) {
      const kernel::matrix<T> row{y + first, 0, 1};
      if constexpr (is_short) kernel::tile::known_strip<known>(m, row, x, out, first > 0);
      else kernel::tile::strip<1>(m, row, x, k, out, 1, k, kernel::tile::tile_ends<T>{first > 0});
    } else if constexpr (e.attr[0] & in_lanes) {
      if constexpr (is_short) kernel::tile::multiply_known_rows<known>(m, x, y, out + first);
      else kernel::tile::multiply_in_lanes(m, k, kernel::matrix<T>{x, k, 1}, y, 1, out + first, 1, true);
    } else kernel::contract(kernel::product::compact(m, k, 1), x, y, out + first, nullptr);
  }

  template <int Nest>
  struct progress_of {
    using type = typename nest_kernel<P, Nest>::progress;
  };
  struct nothing {
    using type = nothing;
  };
  typename std::conditional_t<(s.nest >= 0), progress_of<s.nest>, nothing>::type progress_;

 public:
  void run(const nest_call& c, std::size_t columns, std::size_t first, std::size_t count, bool last) {
    if constexpr (s.nest >= 0) nest_kernel<P, s.nest>::run_rows(c, progress_, first, count, last);
    else multiply<s.equation>(c, columns, first, count);
  }
};

template <class P, int Band>
void run_band(const nest_call& c) {
  constexpr plan_band b = P::plan.bands[static_cast<std::size_t>(Band)];
  constexpr int e0 = P::shape_at(b.shape).e[0], e1 = P::shape_at(b.shape).e[1];
  constexpr dtype type = P::plan.buffers[static_cast<std::size_t>(P::plan.steps[static_cast<std::size_t>(b.first)].out)].type;
  const std::size_t rows = extent_value(e0, c.symbol), columns = extent_value(e1, c.symbol);
  const std::size_t height = rows_of_band(columns * size_of(type));
  [&]<int... I>(std::integer_sequence<int, I...>) {
    record<band_member<P, b.first + I>...> members;
    for (std::size_t first = 0, count = 0; first == 0 || first < rows; first += count) {
      count = rows - first < 2 * height ? rows - first : height;  // no short band at the end: its product would not fill the lanes
      (member<I>(members).run(c, columns, first, count, first + count == rows), ...);
      if (count == 0) break;
    }
  }(std::make_integer_sequence<int, b.count>{});
}

}  // namespace ebb::inline EBB_ABI::detail
