// ebb/kernel/thin.hpp — products with few columns. The order of sums forbids lanes along a row, so rows are computed side by side.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "tile.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

namespace simd {

/// Lane q (of 16 bytes) from p + q * stride.
template <class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> load_lanes(const T* p, std::ptrdiff_t stride) {
  if constexpr (Bytes == 16) return load_bytes<T, 16>(p);
  else {
    const auto low = load_lanes<T, Bytes / 2>(p, stride);
    const auto high = load_lanes<T, Bytes / 2>(p + static_cast<std::ptrdiff_t>(Bytes / 32) * stride, stride);
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { return __builtin_shufflevector(low, high, I...); }
    (std::make_integer_sequence<int, static_cast<int>(Bytes / sizeof(T))>{});
  }
}

}  // namespace simd

namespace kernel::tile {

// Small squares of a matrix, transposed: as many rows as a register has elements, and x[i] is column p + i. Lanes are loaded into their
// places. With eight-byte elements, 64-byte registers take two lanes at a time: half the loads.
template <class T>
inline constexpr bool lane_pairs = simd::register_bytes == 64 && sizeof(T) == 8;
template <class T>
inline constexpr int square = simd::per_lane<T> * (lane_pairs<T> ? 2 : 1);

template <class T>
EBB_INLINE void load_square(simd::vector<T> (&x)[static_cast<std::size_t>(square<T>)], const T* p, std::ptrdiff_t row) {
  constexpr int e = simd::per_lane<T>;
  if constexpr (lane_pairs<T>) {
    // Lanes 0 and 1 of x[2 * i + j] belong to row 4 * i + j, lanes 2 and 3 to the row two below.
    const auto pair = [=](const T* q) EBB_LAMBDA { return simd::join_halves<T>(q, q + 2 * row); };
    x[0] = pair(p), x[1] = pair(p + row), x[2] = pair(p + 4 * row), x[3] = pair(p + 5 * row);
    simd::transpose_in_lanes<1, T>(x);
    const simd::vector<T> y[] = {simd::unzip_lanes<false, T>(x[0], x[2]), simd::unzip_lanes<false, T>(x[1], x[3]),
                                 simd::unzip_lanes<true, T>(x[0], x[2]), simd::unzip_lanes<true, T>(x[1], x[3])};
    x[0] = y[0], x[1] = y[1], x[2] = y[2], x[3] = y[3];
  } else {
    [&]<int... E>(std::integer_sequence<int, E...>) EBB_LAMBDA { ((x[E] = simd::load_lanes(p + E * row, e * row)), ...); }
    (std::make_integer_sequence<int, e>{});
    simd::transpose_in_lanes<simd::log2_of(e), T>(x);
  }
}

/// Rows of a from `top` on, as many as a register has elements, times N columns of b. Elements of a row of c are adjacent; if those
/// of a column are, columns are c_col apart.
template <int N, class T>
inline void thin_rows(std::ptrdiff_t k, const T* top, std::ptrdiff_t row, const matrix<T>& b, T* c, std::ptrdiff_t c_row,
                      std::ptrdiff_t c_col) {
  constexpr int e = square<T>;
  using V = simd::vector<T>;
  V acc[N] = {};
  [&]<int... E, int... J>(std::integer_sequence<int, E...>, std::integer_sequence<int, J...>) EBB_LAMBDA {
    const auto add = [&](V column, std::ptrdiff_t p) EBB_LAMBDA { ((acc[J] = link<T>(column, simd::all(*b.at(p, J)), acc[J])), ...); };
    // Columns p to p + e - 1; those before `from` are done already.
    const auto group = [&](std::ptrdiff_t p, std::ptrdiff_t from) EBB_LAMBDA {
      V x[e];
      load_square<T>(x, top + p, row);
      ((p + E >= from ? add(x[E], p + E) : void()), ...);
    };
    std::ptrdiff_t p = 0;
    for (; p + e <= k; p += e) group(p, p);
    if (p < k) group(k - e, p);
    if (c_row == 1) (simd::store(c + J * c_col, acc[J]), ...);
    else
      for (int r = 0; r < simd::count_of<T>; ++r) ((c[r * c_row + J] = acc[J][r]), ...);
  }(std::make_integer_sequence<int, e>{}, std::make_integer_sequence<int, N>{});
}

/// c(i, j) = sum over p of a(i, p) * b(p, j), for up to three columns of b. Elements of a row of a are adjacent.
inline constexpr int thin_columns = 3;
/// Whether the transposed product of m rows is computed so, if elements of a column of its right operand are adjacent.
template <class T>
constexpr bool has_thin_rows(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n) {
  return m == 1 || (m <= thin_columns && n >= simd::count_of<T> && k >= square<T>);
}

template <int N, class T>
inline void thin(std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, const matrix<T>& b, T* c, std::ptrdiff_t c_row,
                 std::ptrdiff_t c_col = 1) {
  constexpr int n = simd::count_of<T>;
  if (m < n || k < square<T>) {
    for (std::ptrdiff_t i = 0; i < m; ++i)
      for (std::ptrdiff_t j = 0; j < N; ++j) {
        simd::vector<T> acc = {};
        for (std::ptrdiff_t p = 0; p < k; ++p) acc = link<T>(simd::all(*a.at(i, p)), simd::all(*b.at(p, j)), acc);
        c[i * c_row + j * c_col] = acc[0];
      }
    return;
  }
  for (std::ptrdiff_t i = 0; i < m; i += n) {
    const std::ptrdiff_t first = std::min(i, m - n);  // some rows may be computed twice
    thin_rows<N>(k, a.at(first, 0), a.row, b, c + first * c_row, c_row, c_col);
  }
}
/// The same for 1 <= columns <= thin_columns of b.
template <class T>
inline void thin(std::ptrdiff_t columns, std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, const matrix<T>& b, T* c,
                 std::ptrdiff_t c_row, std::ptrdiff_t c_col = 1) {
  if (columns == 1) return thin<1>(m, k, a, b, c, c_row, c_col);
  if (columns == 2) return thin<2>(m, k, a, b, c, c_row, c_col);
  thin<3>(m, k, a, b, c, c_row, c_col);
}

/// c(i, j) = sum over p of a(i, p) * b(p, j), for up to three columns of b, where elements of a column of a are adjacent: columns of c are
/// rows of tiles.
template <class T>
inline void thin_of_columns(std::ptrdiff_t columns, std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, const matrix<T>& b, T* c,
                            std::ptrdiff_t c_row) {
  constexpr std::ptrdiff_t most = 1024 / static_cast<std::ptrdiff_t>(sizeof(T));
  alignas(64) T sums[thin_columns * most];
  for (std::ptrdiff_t i = 0; i < m; i += most) {
    const std::ptrdiff_t rows = std::min(most, m - i);
    block(columns, k, b.transposed(), a.at(i, 0), a.col, sums, most, rows, false);
    for (std::ptrdiff_t r = 0; r < rows; ++r)
      for (std::ptrdiff_t j = 0; j < columns; ++j) c[(i + r) * c_row + j] = sums[j * most + r];
  }
}

/// A product with few rows or columns, by the kernels for these. False: it has none.
template <class T>
inline bool multiply_thin(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, const matrix<T>& a, const matrix<T>& b, T* c,
                          std::ptrdiff_t c_row) {
  if (n == 1 && a.row == 1 && c_row == 1) block(1, k, matrix<T>{b.data, 0, b.row}, a.data, a.col, c, 1, m, false);
  else if (n <= thin_columns && m >= simd::count_of<T>) {
    if (a.col == 1) thin(n, m, k, a, b, c, c_row);
    else thin_of_columns(n, m, k, a, b, c, c_row);
  } else if (has_thin_rows<T>(m, k, n) && b.row == 1) thin(m, n, k, b.transposed(), a.transposed(), c, 1, c_row);
  else return false;
  return true;
}

}  // namespace kernel::tile
}  // namespace ebb::inline EBB_ABI
