// ebb/kernel/solve.hpp — systems of linear equations.
// SPDX-License-Identifier: BSL-1.0
//
// The order of every sum is fixed, see [note: order of a solution].
//
// Method: panels of columns are eliminated one after another, and the columns to the right of a panel are updated by tiles of a matrix
// product. Multipliers and solved rows are kept with the opposite sign, so that a link of a product is a link of the chain.
// With LAPACK large systems have another order: see [note: large matrices by LAPACK].
#pragma once

#include "../tensor/solve_order.hpp"
#include "lapack.hpp"
#include "narrow.hpp"
#include "solved_rows.hpp"
#include "tile.hpp"
#include "transpose.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel {

/// Solves op(a)[n x n] * x[n x m] = b[n x m], compact and row-major; op transposes or does nothing. b is nullptr: x is the inverse.
struct linear_system {
  std::ptrdiff_t n = 0, m = 0;
  bool transposed = false;

  /// The distance between the rows of [a | b] in scratch.
  constexpr std::ptrdiff_t row() const { return (n + m + 15) / 16 * 16; }
};

namespace elimination {

inline constexpr std::ptrdiff_t panel = 32;

/// [a | b] during elimination, n rows of n + m elements, and `below` rows more if a is tall: they have multipliers and no pivots.
template <class T>
struct rows {
  T* data;
  std::ptrdiff_t n, m, row;
  bool* odd = nullptr;  // changed by each exchange of rows
  T* from = nullptr;    // one element for each row, exchanged like rows
  std::ptrdiff_t below = 0;

  EBB_INLINE T* at(std::ptrdiff_t i, std::ptrdiff_t j) const { return data + i * row + j; }

  /// Adds the `depth` rows from `first` on to `count` rows of `columns` elements from (i, j) on. The factor of row r is element r of the
  /// row that it is added to.
  EBB_INLINE void add(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t count, std::ptrdiff_t columns, std::ptrdiff_t first,
                      std::ptrdiff_t depth) const {
    tile::block(count, depth, matrix<T>{at(i, first), row, 1}, at(first, j), row, at(i, j), row, columns, true);
  }
  /// The same with the rows `last`, `last` - 1 and so on.
  EBB_INLINE void add_backwards(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t count, std::ptrdiff_t columns, std::ptrdiff_t last,
                                std::ptrdiff_t depth) const {
    tile::block(count, depth, matrix<T>{at(i, last), row, -1}, at(last, j), -row, at(i, j), row, columns, true);
  }
};

/// Brings the pivot of column k into row k; false if it is 0.
template <class T>
inline bool pivot(const rows<T>& w, std::ptrdiff_t k) {
  std::ptrdiff_t best = k;
  T largest = lane::abs(*w.at(k, k));
  for (std::ptrdiff_t i = k + 1; i < w.n + w.below; ++i)
    if (const T size = lane::abs(*w.at(i, k)); size > largest) {
      largest = size;
      best = i;
    }
  if (best != k) {
    std::swap_ranges(w.at(k, 0), w.at(k, w.n + w.m), w.at(best, 0));
    if (w.odd) *w.odd = !*w.odd;
    if (w.from) std::swap(w.from[k], w.from[best]);
  }
  return largest != 0;
}

/// Replaces a by its factors, and b by the right side of the back substitution. Returns the number of the pivot that is 0, or -1.
template <class T>
inline std::ptrdiff_t eliminate(const rows<T>& w) {
  const std::ptrdiff_t all = w.n + w.below;
  for (std::ptrdiff_t k0 = 0; k0 < w.n; k0 += panel) {
    const std::ptrdiff_t k1 = std::min(k0 + panel, w.n), right = w.n + w.m - k1;
    for (std::ptrdiff_t k = k0; k < k1; ++k) {
      if (!pivot(w, k)) return k;
      const T by = *w.at(k, k);
      for (std::ptrdiff_t i = k + 1; i < all; ++i) *w.at(i, k) = -(*w.at(i, k) / by);
      w.add(k + 1, k + 1, all - k - 1, k1 - k - 1, k, 1);
    }
    solve_panel<chain_end{false, false}>(k1 - k0, matrix<T>{w.at(k0, k0), w.row, 1}, w.at(k0, k1), w.row, right);
    w.add(k1, k1, all - k1, right, k0, k1 - k0);
  }
  return -1;
}

/// From this number of rows on, the elimination above takes less time than eliminate_in_order, which has no registers and no panels.
inline constexpr std::ptrdiff_t blocked = 32;

/// Copies a matrix of m x n, factors the copy, and gives it; `data` is nullptr if a pivot is 0. scratch: factored_room(m, n).
template <class T>
inline rows<T> factored(std::ptrdiff_t m, std::ptrdiff_t n, const T* a, T* scratch, bool* odd, T* from = nullptr) {
  const std::ptrdiff_t k = std::min(m, n);
  const rows<T> w{scratch, k, n - k, linear_system{n, 0}.row(), odd, from, m - k};
  for (std::ptrdiff_t i = 0; i < m; ++i) std::copy(a + i * n, a + (i + 1) * n, w.at(i, 0));
  return eliminate(w) < 0 ? w : rows<T>{nullptr, k, 0, 0};
}
constexpr std::ptrdiff_t factored_room(std::ptrdiff_t m, std::ptrdiff_t n) { return m * linear_system{n, 0}.row(); }

/// Replaces b by -x.
template <class T>
inline void substitute(const rows<T>& w) {
  for (std::ptrdiff_t k1 = w.n; k1 > 0; k1 -= std::min(panel, k1)) {
    const std::ptrdiff_t k0 = std::max(k1 - panel, std::ptrdiff_t{0});
    const matrix<T> t{w.at(k1 - 1, k1 - 1), -w.row, -1};  // the last row comes first
    solve_panel<chain_end{true, true}>(k1 - k0, t, w.at(k1 - 1, w.n), -w.row, w.m);
    w.add_backwards(0, w.n, k0, w.m, k1 - 1, k1 - k0);
  }
}

/// Transposes a matrix by squares in registers: single elements of a column are far apart.
template <class T>
inline void turn(T* to, std::ptrdiff_t to_row, const T* from, std::ptrdiff_t from_row, std::ptrdiff_t count, std::ptrdiff_t columns) {
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
  transpose<sizeof(T)>(reinterpret_cast<char*>(to), to_row * bytes, reinterpret_cast<const char*>(from), from_row * bytes,
                       static_cast<std::size_t>(count), static_cast<std::size_t>(columns));
}

}  // namespace elimination

namespace lapack {

/// As kernel::solve, with the same scratch.
template <class T>
inline std::ptrdiff_t solve(const linear_system& s, const T* a, const T* b, T* x, T* scratch) {
  using of = calls<T>;
  const auto n = static_cast<int>(s.n), m = static_cast<int>(s.m);
  T *const w = scratch, *const y = w + s.n * s.n;
  int* const pivots = reinterpret_cast<int*>(w + s.n * s.row());
  if (s.transposed) std::copy(a, a + s.n * s.n, w);
  else elimination::turn(w, s.n, a, s.n, s.n, s.n);
  if (const std::ptrdiff_t k = eliminate(s.n, w, pivots); k >= 0) return k;
  if (!b) {
    of::getri(of::by_columns, n, w, n, pivots, y, n * 64);
    elimination::turn(x, s.n, w, s.n, s.n, s.n);
  } else if (m == 1) {
    if (x != b) std::copy(b, b + s.n, x);
    of::getrs(of::by_columns, 'N', n, 1, w, n, pivots, x, n);
  } else {
    elimination::turn(y, s.n, b, s.m, s.n, s.m);
    of::getrs(of::by_columns, 'N', n, m, w, n, pivots, y, n);
    elimination::turn(x, s.m, y, s.n, s.m, s.n);
  }
  return -1;
}

}  // namespace lapack

/// The bytes of scratch of solve<T>, 64-byte aligned.
template <element T>
constexpr std::size_t solve_scratch_bytes(const linear_system& s) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  return static_cast<std::size_t>(s.n * s.row() + lapack::pivots_of(s.n)) * sizeof(wide);
}

/// Computes x, see linear_system; x may be a or b. Returns the number of the pivot that is 0, or -1. If there is one, x is unchanged.
/// Error: (a + d) x = b for a d with |d| <= 3 n u |l| |u|, l and u the factors of a and u the unit roundoff.
/// Source: N. Higham, Accuracy and Stability of Numerical Algorithms, theorem 9.4.
template <element T>
[[gnu::noinline]] std::ptrdiff_t solve(const linear_system& s, const T* a, const T* b, T* x, void* scratch) {
  if constexpr (lapack::has<T>)
    if (lapack::large::is(s.n, b ? lapack::large::elimination : lapack::large::inverse) && s.m <= lapack::large::most &&
        lapack::all_finite(s.n * s.n, a))
      return lapack::solve(s, a, b, x, static_cast<T*>(scratch));
  using wide = std::conditional_t<half_width<T>, float, T>;
  const elimination::rows<wide> w{static_cast<wide*>(scratch), s.n, s.m, s.row()};
  for (std::ptrdiff_t i = 0; i < s.n; ++i) {
    for (std::ptrdiff_t j = 0; j < s.n; ++j) *w.at(i, j) = static_cast<wide>(s.transposed ? a[j * s.n + i] : a[i * s.n + j]);
    for (std::ptrdiff_t j = 0; j < s.m; ++j) *w.at(i, s.n + j) = b ? static_cast<wide>(b[i * s.m + j]) : wide(i == j);
  }
  if (const std::ptrdiff_t k = elimination::eliminate(w); k >= 0) return k;
  elimination::substitute(w);
  for (std::ptrdiff_t i = 0; i < s.n; ++i)
    for (std::ptrdiff_t j = 0; j < s.m; ++j) x[i * s.m + j] = static_cast<T>(-*w.at(i, s.n + j));
  return -1;
}

EBB_ONCE_FOR_ALL(std::ptrdiff_t solve<float>(const linear_system&, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(std::ptrdiff_t solve<double>(const linear_system&, const double*, const double*, double*, void*))

}  // namespace ebb::inline EBB_ABI::kernel
