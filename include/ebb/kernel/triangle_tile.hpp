// ebb/kernel/triangle_tile.hpp — a small part of a product with a triangle, kept in registers; and panels of a triangle laid out for it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "tile.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel::trimmed {

template <class T>
using vector = simd::vector<T>;

/// c[Rows x Vectors registers] = (more ? c : 0) + a b, where a ends, or begins if it is Upper, with a triangle of Rows columns, beside
/// `full` columns that have all rows. b and Masked: as in tile::run.
template <bool Upper, int Rows, int Vectors, bool Masked, class T>
inline void run_rows(std::ptrdiff_t full, const matrix<T>& a, bool unit, const T* b, std::ptrdiff_t b_row, T* c, std::ptrdiff_t c_row,
                     bool more, int last) {
  using V = vector<T>;
  constexpr int n = simd::count_of<T>;
  const auto load = [=]<int J>(const T* p, std::integral_constant<int, J>) EBB_LAMBDA {
    if constexpr (Masked && J == Vectors - 1) return simd::load_first(p + J * n, last);
    else return simd::load(p + J * n);
  };
  [&]<int... J, int... I>(std::integer_sequence<int, J...>, std::integer_sequence<int, I...>) EBB_LAMBDA {
    V acc[Rows * Vectors] = {};
    if (more) ((acc[I] = load(c + I / Vectors * c_row, std::integral_constant<int, I % Vectors>{})), ...);
    const T* p = a.data;
    const auto all_rows = [&]() EBB_LAMBDA {
      for (; full > 0; --full, p += a.col, b += b_row) {
        const V right[] = {load(b, std::integral_constant<int, J>{})...};
        ((acc[I] = tile::link<T>(simd::all(p[I / Vectors * a.row]), right[I % Vectors], acc[I])), ...);
      }
    };
    if constexpr (!Upper) all_rows();
    repeat<Rows>([&]<int Q>() EBB_LAMBDA {
      const V right[] = {load(b, std::integral_constant<int, J>{})...};
      const auto add = [&]<int K>(std::integral_constant<int, K>) EBB_LAMBDA {
        constexpr int row = K / Vectors;
        if constexpr (row == Q) acc[K] = tile::link<T>(simd::all(unit ? T(1) : p[row * a.row]), right[K % Vectors], acc[K]);
        else if constexpr (Upper ? row < Q : row > Q) acc[K] = tile::link<T>(simd::all(p[row * a.row]), right[K % Vectors], acc[K]);
      };
      (add(std::integral_constant<int, I>{}), ...);
      p += a.col, b += b_row;
    });
    if constexpr (Upper) all_rows();
    const auto store = [&]<int K>(std::integral_constant<int, K>) EBB_LAMBDA {
      T* const to = c + K / Vectors * c_row + K % Vectors * n;
      if constexpr (Masked && K % Vectors == Vectors - 1) simd::store_first(to, acc[K], last);
      else simd::store(to, acc[K]);
    };
    (store(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, Vectors>{}, std::make_integer_sequence<int, Rows * Vectors>{});
}

/// One row of tiles side by side for `columns` columns.
template <bool Upper, int Rows, class T>
inline void strip_of_rows(std::ptrdiff_t full, const matrix<T>& a, bool unit, const T* b, std::ptrdiff_t b_row, T* c, std::ptrdiff_t c_row,
                          std::ptrdiff_t columns, bool more) {
  constexpr int n = simd::count_of<T>, w = tile::width<T>;
  std::ptrdiff_t j = 0;
  for (; columns - j >= w; j += w) run_rows<Upper, Rows, 2, false>(full, a, unit, b + j, b_row, c + j, c_row, more, 0);
  const auto left = static_cast<int>(columns - j);
  if (left > n) run_rows<Upper, Rows, 2, true>(full, a, unit, b + j, b_row, c + j, c_row, more, left - n);
  else if (left > 0) run_rows<Upper, Rows, 1, true>(full, a, unit, b + j, b_row, c + j, c_row, more, left);
}

/// Ones in `n` lanes, between zeros: a register from here has ones in its first or in its last lanes.
template <class T>
struct lane_masks {
  static constexpr int n = simd::count_of<T>;
  simd::int_of<T> bits[static_cast<std::size_t>(3 * n)] = {};
  constexpr lane_masks() {
    for (int i = n; i < 2 * n; ++i) bits[i] = -1;
  }
  /// The lanes that step q of a triangle has: from q on, or up to q if it is not Upper.
  template <bool Upper>
  EBB_INLINE vector<simd::int_of<T>> at(std::ptrdiff_t q) const { return simd::load(bits + (Upper ? n - q : 2 * n - 1 - q)); }
};
template <class T>
inline constexpr lane_masks<T> masks{};

/// x in some lanes, 0 in the others. Of floats, not of integers: some processors take a cycle to pass one to the other.
template <class T>
EBB_INLINE vector<T> only(vector<simd::int_of<T>> lanes, vector<T> x) {
  return simd::from_xsimd<T>(simd::to_xsimd<T>(reinterpret_cast<vector<T>>(lanes)) & simd::to_xsimd<T>(x));
}
/// x in some lanes, -0 in the others.
template <class T>
EBB_INLINE vector<T> or_minus_zero(vector<simd::int_of<T>> lanes, vector<T> x) {
  return reinterpret_cast<vector<T>>((simd::as_int<T>(x) & lanes) | (simd::as_int<T>(simd::sign_bits<T>()) & ~lanes));
}

/// c[Rows x Vectors registers] = (more ? c : 0) + a b, where b is a panel that ends, or begins if it is not Upper, with a triangle of `own`
/// rows and columns, beside `full` rows that have all columns. The triangle has -0 in the other lanes. `last` elements of the last
/// register are stored, if Masked.
template <bool Upper, int Rows, int Vectors, bool Masked, class T>
inline void run_columns(std::ptrdiff_t full, int own, const matrix<T>& a, const T* b, T* c, std::ptrdiff_t c_row, bool more, int last) {
  using V = vector<T>;
  constexpr int n = simd::count_of<T>, w = tile::width<T>;
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    V acc[Rows * Vectors] = {};
    const auto load = [&]<int K>(std::integral_constant<int, K>) EBB_LAMBDA {
      const T* const from = c + K / Vectors * c_row + K % Vectors * n;
      if constexpr (Masked && K % Vectors == Vectors - 1) acc[K] = simd::load_first(from, last);
      else acc[K] = simd::load(from);
    };
    if (more) (load(std::integral_constant<int, I>{}), ...);
    const T* p = a.data;
    const auto all_lanes = [&]() EBB_LAMBDA {
      for (; full > 0; --full, p += a.col, b += w) {
        const V right[] = {simd::load(b), simd::load(b + (Vectors - 1) * n)};
        ((acc[I] = tile::link<T>(simd::all(p[I / Vectors * a.row]), right[I % Vectors], acc[I])), ...);
      }
    };
    if constexpr (Upper) all_lanes();
    // The part of the triangle that has its diagonal in register At.
    const auto part = [&]<int At>(std::integral_constant<int, At>, int count) EBB_LAMBDA {
      const auto step = [&](std::ptrdiff_t q) EBB_LAMBDA {
        const V right[] = {simd::load(b), simd::load(b + (Vectors - 1) * n)};
        const auto lanes = masks<T>.template at<Upper>(q);
        repeat<Rows>([&]<int R>() EBB_LAMBDA {
          // The register with all lanes first: so one register holds x, then some lanes of it, and sixteen suffice for the tile.
          constexpr int other = 1 - At, at = R * Vectors;
          V x = simd::all(p[R * a.row]);
          if constexpr (Vectors == 2 && (Upper ? other > At : other < At))
            acc[at + other] = tile::link<T>(x, right[other], acc[at + other]);
          x = only<T>(lanes, x);
          acc[at + At] = tile::link<T>(x, right[At], acc[at + At]);
        });
        p += a.col, b += w;
      };
      // Unrolled where their number is a constant, because a processor mispredicts the ends of such short loops.
      if constexpr (!Masked) repeat<n>([&]<int Q>() EBB_LAMBDA { step(Q); });
      else
        for (std::ptrdiff_t q = 0; q < count; ++q) step(q);
    };
    part(std::integral_constant<int, 0>{}, std::min(own, n));
    if constexpr (Vectors == 2) part(std::integral_constant<int, 1>{}, own - n);
    if constexpr (!Upper) all_lanes();
    const auto store = [&]<int K>(std::integral_constant<int, K>) EBB_LAMBDA {
      T* const to = c + K / Vectors * c_row + K % Vectors * n;
      if constexpr (Masked && K % Vectors == Vectors - 1) simd::store_first(to, acc[K], last);
      else simd::store(to, acc[K]);
    };
    (store(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, Rows * Vectors>{});
}

/// The panel of b's columns from j on, which are `own`: the rows of the triangle beside them, then, or before, the triangle.
template <bool Upper, class T>
inline void pack_columns(T* to, std::ptrdiff_t n, const matrix<T>& b, bool unit, std::ptrdiff_t j, int own) {
  constexpr int lanes = simd::count_of<T>, w = tile::width<T>;
  tile::pack(to, Upper ? j + own : n - j, Upper ? b.from(0, j) : b.from(j, j), own);
  // Only the register of a row that the diagonal crosses is read under its lanes.
  T* row = Upper ? to + j * w : to;
  for (int q = 0; q < own; ++q, row += w) {
    T* const at = row + q / lanes * lanes;
    simd::store(at, or_minus_zero<T>(masks<T>.template at<Upper>(q % lanes), simd::load(at)));
    if (unit) row[q] = T(1);
  }
}

}  // namespace ebb::inline EBB_ABI::kernel::trimmed
