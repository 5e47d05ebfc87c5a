// ebb/kernel/product.hpp — the shape of a matrix product, how a large one is cut into tiles, and rows converted on the way in and out.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "convert.hpp"
#include "tile.hpp"

#include <algorithm>
#include <cstring>

namespace ebb::inline EBB_ABI::kernel {

/// c[m x n] = op(a)[m x k] * op(b)[k x n], `batch` times. Row-major; op transposes or does nothing. The leading dimension is the distance
/// between rows in memory. A stride is the distance between the matrices of a batch, 0 for a shared operand.
struct product {
  std::ptrdiff_t m = 0, k = 0, n = 0;
  bool transpose_a = false, transpose_b = false;
  std::ptrdiff_t lda = 0, ldb = 0, ldc = 0;
  std::ptrdiff_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  bool lanes = false;  // elements are summed in lanes, not as chains

  /// Compact operands.
  static constexpr product compact(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, bool ta = false, bool tb = false,
                                   std::ptrdiff_t batch = 1) {
    return {m, k, n, ta, tb, ta ? m : k, tb ? k : n, n, batch, m * k, k * n, m * n};
  }
};

namespace tile {

/// The blocks of one product. Sizes are in elements.
struct blocking {
  bool by_panels = false, pack_b = false, pack_a = false;  // one panel of b after the other; what is copied
  std::ptrdiff_t k = 1, m = 0, n = 0;

  constexpr std::ptrdiff_t packed_b() const { return pack_b ? (k * n + 15) / 16 * 16 : 0; }
  constexpr std::ptrdiff_t packed() const { return packed_b() + (pack_a ? k * m : 0); }
};
/// Whether a right operand whose rows are adjacent is read panel by panel: it does not fit into L1, and many rows of a meet it.
template <class T>
constexpr bool is_read_by_panels(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n) {
  return k * n > 24 * 1024 / static_cast<std::ptrdiff_t>(sizeof(T)) && m >= 4 * height && n > 1;
}
template <class T>
constexpr blocking cut(const product& p) {
  constexpr std::ptrdiff_t l2 = 256 * 1024 / sizeof(T), longest = 2048 / sizeof(T);
  blocking b{false, false, false, std::max<std::ptrdiff_t>(p.k, 1), p.m, p.n};
  b.by_panels = (p.transpose_b && p.m > 1 && p.n > 1) || is_read_by_panels<T>(p.m, p.k, p.n);
  if (!b.by_panels) return b;
  // Panels in L2 are read where they are. Of rows that are further apart, too many may share a set of L1.
  b.pack_b = p.transpose_b || p.k * p.n > l2 || p.ldb > longest;
  // A panel of b and a strip of a fit into L1, a block of a into L2, the packed part of b into L3.
  const std::ptrdiff_t cuts = (p.k + 255) / 256;
  if (p.k > 384) b.k = (p.k + cuts - 1) / cuts;
  b.m = std::max<std::ptrdiff_t>(l2 / b.k / height * height, height);
  b.n = std::min((p.n + width<T> - 1) / width<T> * width<T>, std::ptrdiff_t{2048});
  // So does the block of c, which is written panel by panel; but blocks of few rows read all panels of b more often.
  constexpr std::ptrdiff_t least = 64 / height * height;
  if (b.m > least) b.m = std::max(std::min(b.m, l2 / b.n / height * height), least);
  // A block of a is read once for each panel of b. Rows that are apart may share a few sets of the caches.
  b.pack_a = p.lda > (p.transpose_a ? p.m : p.k) && p.n >= 4 * width<T>;
  return b;
}

/// A copy of rows x cols elements of a, adjacent along the same axis.
template <class T>
inline matrix<T> compact_rows(T* to, std::ptrdiff_t rows, std::ptrdiff_t cols, const matrix<T>& a) {
  const bool across = a.col != 1;
  const std::ptrdiff_t count = across ? cols : rows, each = across ? rows : cols, step = across ? a.col : a.row;
  for (std::ptrdiff_t i = 0; i < count; ++i) std::memcpy(to + i * each, a.data + i * step, static_cast<std::size_t>(each) * sizeof(T));
  return {to, across ? 1 : each, across ? each : 1};
}

/// The product tile by tile, for any shape. onto: it is added to this matrix, which has the rows of c; k is one block then. more: as in
/// tile_ends.
template <class T>
inline void multiply_tiles(const product& shape, const blocking& cut, const matrix<T>& a, const matrix<T>& b, sum_of<T>* c, T* scratch,
                           const sum_of<T>* onto = nullptr, bool more = false) {
  const std::ptrdiff_t m = shape.m, k = shape.k, n = shape.n, ldc = shape.ldc;
  for (std::ptrdiff_t p = 0; p == 0 || p < k; p += cut.k) {
    const std::ptrdiff_t depth = std::min(cut.k, k - p);
    const tile_ends<T> ends{more || p > 0, onto};
    for (std::ptrdiff_t j0 = 0; j0 < n; j0 += cut.n) {
      const std::ptrdiff_t j1 = std::min(j0 + cut.n, n);
      if (!cut.by_panels) {
        block(m, depth, a.from(0, p), b.at(p, j0), b.row, c + j0, ldc, j1 - j0, ends.from(j0));
        continue;
      }
      for (std::ptrdiff_t j = j0; j < j1 && cut.pack_b; j += width<T>)
        pack(scratch + (j - j0) * depth, depth, b.from(p, j), std::min<std::ptrdiff_t>(width<T>, j1 - j));
      for (std::ptrdiff_t i = 0; i < m; i += cut.m) {
        const std::ptrdiff_t rows = std::min(cut.m, m - i);
        const matrix<T> left = cut.pack_a ? compact_rows(scratch + cut.packed_b(), rows, depth, a.from(i, p)) : a.from(i, p);
        for (std::ptrdiff_t j = j0; j < j1; j += width<T>)
          block(rows, depth, left, cut.pack_b ? scratch + (j - j0) * depth : b.at(p, j), cut.pack_b ? width<T> : b.row,
                c + i * ldc + j, ldc, std::min<std::ptrdiff_t>(width<T>, j1 - j), ends.from(i * ldc + j));
      }
    }
  }
}

/// A batch that shares b, as one product with more rows.
constexpr bool is_one_product(const product& p) {
  return p.batch > 1 && p.stride_b == 0 && !p.transpose_a && p.stride_a == p.m * p.lda && p.stride_c == p.m * p.ldc;
}
constexpr product merged(product p) {
  p.m *= p.batch;
  p.batch = 1;
  return p;
}
constexpr product of_all_rows(const product& p) { return is_one_product(p) ? merged(p) : p; }
/// A batch that shares a, and whose columns lie in memory as rows: these are one product with a transposed, as factors may trade places.
constexpr bool shares_left(const product& p) {
  return p.batch > 1 && p.stride_a == 0 && p.n == 1 && (p.transpose_b || p.ldb == 1) && p.ldc == 1;
}
/// That product of b and a.
constexpr product turned(const product& p) {
  product r{p.batch, p.k, p.m, false, !p.transpose_a, p.stride_b, p.lda, p.stride_c};
  r.lanes = p.lanes;
  return r;
}

/// Converts `count` rows of `cols` elements, to float or from float.
template <class To, class From>
inline void convert_rows(To* to, std::ptrdiff_t to_row, const From* from, std::ptrdiff_t from_row, std::ptrdiff_t count,
                         std::ptrdiff_t cols) {
  for (; count > 0; --count, to += to_row, from += from_row) {
    std::ptrdiff_t j = 0;
    const auto step = [&](auto... rest) EBB_LAMBDA {
      const lanes<From> x = lanes<From>::load(from + j, rest...);
      if constexpr (half_width<To>) lanes<To>::store_rounded(x, to + j, rest...);
      else convert<To>(x).store(to + j, rest...);
    };
    for (; j + lane_count <= cols; j += lane_count) step();
    if (j < cols) step(static_cast<int>(cols - j));
  }
}

/// The elements of scratch that in_wide takes for arrays of these sizes: none but for narrow elements.
template <class T>
constexpr std::ptrdiff_t widened_elements(std::ptrdiff_t of_a, std::ptrdiff_t of_b, std::ptrdiff_t of_c) {
  if constexpr (!half_width<T>) return 0;
  else return (of_a + 15) / 16 * 16 + (of_b + 15) / 16 * 16 + (of_c + 15) / 16 * 16;
}
/// f(a, b, c, scratch) for compact arrays of these sizes. Narrow ones are converted to float for f, and c is rounded once.
template <class T, class Wide>
EBB_INLINE void in_wide(const T* a, std::ptrdiff_t of_a, const T* b, std::ptrdiff_t of_b, T* c, std::ptrdiff_t of_c, Wide* scratch,
                        auto&& f) {
  if constexpr (!half_width<T>) f(a, b, c, scratch);
  else {
    Wide *const x = scratch, *const y = x + widened_elements<T>(of_a, 0, 0), *const to = y + widened_elements<T>(of_b, 0, 0);
    convert_rows(x, 0, a, 0, 1, of_a);
    convert_rows(y, 0, b, 0, 1, of_b);
    f(x, y, to, scratch + widened_elements<T>(of_a, of_b, of_c));
    convert_rows(c, 0, to, 0, 1, of_c);
  }
}

}  // namespace tile
}  // namespace ebb::inline EBB_ABI::kernel
