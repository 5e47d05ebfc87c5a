// ebb/kernel/solved_rows.hpp — a few rows of a triangular system with many right sides: tiles of a product, then a triangle in registers.
// SPDX-License-Identifier: BSL-1.0
//
// Each element is one chain in rising order of columns, see [note: order of a triangular solution]. The end of a chain is the quotient by
// the element of the diagonal, or the chain itself.
#pragma once

#include "../base/repeat.hpp"
#include "tile.hpp"

namespace ebb::inline EBB_ABI::kernel::elimination {

/// How a chain ends. `opposite` stores -x, so that the next rows need fma(t, -x, y) without a negation.
struct chain_end {
  bool divides = true, opposite = false;
};

/// Rows 0 to Rows of t. y already has the contributions of all earlier columns; one register holds each row.
template <int Rows, chain_end End, class T>
EBB_INLINE void finish_tile(const matrix<T>& t, T* y, std::ptrdiff_t row, auto load, auto store) {
  simd::vector<T> acc[Rows];
  repeat<Rows>([&]<int R>() EBB_LAMBDA { acc[R] = load(y + R * row); });
  repeat<Rows>([&]<int R>() EBB_LAMBDA {
    if constexpr (End.divides) acc[R] = acc[R] / simd::all(*t.at(R, R));
    if constexpr (End.opposite) acc[R] = -acc[R];
    store(y + R * row, acc[R]);
    repeat<Rows - 1 - R>([&]<int Q>() EBB_LAMBDA { acc[R + 1 + Q] = simd::fma(simd::all(*t.at(R + 1 + Q, R)), acc[R], acc[R + 1 + Q]); });
  });
}
template <int Rows, chain_end End, class T>
inline void finish_strip(const matrix<T>& t, T* y, std::ptrdiff_t row, std::ptrdiff_t columns) {
  constexpr int n = simd::count_of<T>;
  for (; columns >= n; columns -= n, y += n)
    finish_tile<Rows, End>(
        t, y, row, [](const T* p) EBB_LAMBDA { return simd::load(p); }, [](T* p, simd::vector<T> x) EBB_LAMBDA { simd::store(p, x); });
  if (const int rest = static_cast<int>(columns); rest > 0)
    finish_tile<Rows, End>(
        t, y, row, [rest](const T* p) EBB_LAMBDA { return simd::load_first(p, rest); },
        [rest](T* p, simd::vector<T> x) EBB_LAMBDA { simd::store_first(p, x, rest); });
}

/// Solves rows 0 to m of t for `columns` right sides in y: tiles add what the rows before give, and their triangle follows.
template <chain_end End, int Rows = tile::height, class T>
inline void solve_panel(std::ptrdiff_t m, const matrix<T>& t, T* y, std::ptrdiff_t row, std::ptrdiff_t columns, std::ptrdiff_t first = 0) {
  std::ptrdiff_t i = first;
  for (; i + Rows <= m; i += Rows) {
    if (i > 0) tile::block(Rows, i, t.from(i, 0), y, row, y + i * row, row, columns, true);
    finish_strip<Rows, End>(t.from(i, i), y + i * row, row, columns);
  }
  if constexpr (Rows > 1)
    if (i < m) solve_panel<End, (Rows > 2 ? 2 : 1)>(m, t, y, row, columns, i);
}

}  // namespace ebb::inline EBB_ABI::kernel::elimination
