// ebb/kernel/contract.hpp — the matrix product.
// SPDX-License-Identifier: BSL-1.0
//
// The order of every sum is fixed, see [note: order of a product].
//
// How it is done: c is cut into tiles that stay in registers for the whole of k (tile.hpp). Small operands are read where they are; b is
// packed into panels where its rows are not adjacent in memory or too many for the caches; then k, m, n are cut into blocks as in
// K. Goto, R. van de Geijn, Anatomy of high-performance matrix multiplication (2008).
#pragma once

#include "convert.hpp"
#include "matvec.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel {

/// c[m x n] = op(a)[m x k] * op(b)[k x n], `batch` times. Row-major; op transposes or does nothing. The leading dimension is the distance
/// between rows in memory. A stride is the distance between the matrices of a batch; 0 for an operand that all share.
struct product {
  std::ptrdiff_t m = 0, k = 0, n = 0;
  bool transpose_a = false, transpose_b = false;
  std::ptrdiff_t lda = 0, ldb = 0, ldc = 0;
  std::ptrdiff_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  bool more = false;  // the chains begin with what is in c; only where m > 1, n = 1 and a is transposed

  /// Compact operands.
  static constexpr product compact(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, bool ta = false, bool tb = false,
                                   std::ptrdiff_t batch = 1) {
    return {m, k, n, ta, tb, ta ? m : k, tb ? k : n, n, batch, m * k, k * n, m * n};
  }
};

namespace tile {

/// How one product is cut. The sizes are in elements.
struct blocking {
  bool pack_b = false;
  std::ptrdiff_t k = 1, m = 0, n = 0;

  constexpr std::ptrdiff_t packed() const { return pack_b ? k * n : 0; }
};
template <class T>
constexpr blocking cut(const product& p) {
  constexpr std::ptrdiff_t l1 = 24 * 1024 / sizeof(T), l2 = 256 * 1024 / sizeof(T);
  blocking b{false, std::max<std::ptrdiff_t>(p.k, 1), p.m, p.n};
  b.pack_b = p.m > 1 && p.n > 1 && (p.transpose_b || (p.k * p.n > l1 && p.m >= 4 * height));
  if (!b.pack_b) return b;
  // A panel of b and a strip of a fit into L1, a block of a into L2, the packed part of b into L3.
  const std::ptrdiff_t cuts = (p.k + 255) / 256;
  if (p.k > 384) b.k = (p.k + cuts - 1) / cuts;
  b.m = std::max<std::ptrdiff_t>(l2 / b.k / height * height, height);
  b.n = std::min((p.n + width<T> - 1) / width<T> * width<T>, std::ptrdiff_t{2048});
  return b;
}

/// Tile by tile, whatever the shape.
template <class T>
inline void multiply_tiles(const product& shape, const blocking& cut, const matrix<T>& a, const matrix<T>& b, sum_of<T>* c, T* scratch) {
  const std::ptrdiff_t m = shape.m, k = shape.k, n = shape.n, ldc = shape.ldc;
  for (std::ptrdiff_t p = 0; p == 0 || p < k; p += cut.k) {
    const std::ptrdiff_t depth = std::min(cut.k, k - p);
    for (std::ptrdiff_t j0 = 0; j0 < n; j0 += cut.n) {
      const std::ptrdiff_t j1 = std::min(j0 + cut.n, n);
      if (!cut.pack_b) {
        block(m, depth, a.from(0, p), b.at(p, j0), b.row, c + j0, ldc, j1 - j0, p > 0 || shape.more);
        continue;
      }
      for (std::ptrdiff_t j = j0; j < j1; j += width<T>)
        pack(scratch + (j - j0) * depth, depth, b.from(p, j), std::min<std::ptrdiff_t>(width<T>, j1 - j));
      for (std::ptrdiff_t i = 0; i < m; i += cut.m)
        for (std::ptrdiff_t j = j0; j < j1; j += width<T>)
          block(std::min(cut.m, m - i), depth, a.from(i, p), scratch + (j - j0) * depth, width<T>, c + i * ldc + j, ldc,
                std::min<std::ptrdiff_t>(width<T>, j1 - j), p > 0 || shape.more);
    }
  }
}

template <class T>
inline void multiply(const product& shape, const blocking& cut, const matrix<T>& a, const matrix<T>& b, T* c, T* scratch) {
  const std::ptrdiff_t m = shape.m, k = shape.k, n = shape.n, ldc = shape.ldc;
  if (m == 1 && n == 1) {
    *c = dot(k, a.data, a.col, b.data, b.row);
    return;
  }
  if (n <= thin_columns && a.col == 1 && m >= simd::count_of<T>)
    return n == 1 ? thin<1>(m, k, a, b, c, ldc) : n == 2 ? thin<2>(m, k, a, b, c, ldc) : thin<3>(m, k, a, b, c, ldc);
  if (m == 1 && b.row == 1) return thin<1>(n, k, b.transposed(), a.transposed(), c, 1);
  if (n == 1 && a.row == 1 && ldc == 1) return block(1, k, matrix<T>{b.data, 0, b.row}, a.data, a.col, c, 1, m, shape.more);
  multiply_tiles(shape, cut, a, b, c, scratch);
}

/// A batch that shares b is one product with more rows. Not for dot products, which have an order of their own.
constexpr bool is_one_product(const product& p) {
  return p.batch > 1 && p.stride_b == 0 && !p.transpose_a && p.stride_a == p.m * p.lda && p.stride_c == p.m * p.ldc && p.m * p.n != 1;
}
constexpr product merged(product p) {
  p.m *= p.batch;
  p.batch = 1;
  return p;
}

/// The narrow operands as float: compact matrices of their own.
struct widened {
  product shape;
  std::ptrdiff_t a_rows, a_cols, b_rows, b_cols;

  constexpr explicit widened(const product& p)
      : shape(product::compact(p.m, p.k, p.n, p.transpose_a, p.transpose_b)),
        a_rows(p.transpose_a ? p.k : p.m), a_cols(shape.lda), b_rows(p.transpose_b ? p.n : p.k), b_cols(shape.ldb) {}
};

/// `count` rows of `cols` elements, each converted.
template <class To, class From>
inline void convert_rows(To* to, std::ptrdiff_t to_row, const From* from, std::ptrdiff_t from_row, std::ptrdiff_t count,
                         std::ptrdiff_t cols) {
  for (; count > 0; --count, to += to_row, from += from_row) {
    std::ptrdiff_t j = 0;
    for (; j + lane_count <= cols; j += lane_count) convert<To>(lanes<From>::load(from + j)).store(to + j);
    const int rest = static_cast<int>(cols - j);
    if (rest > 0) convert<To>(lanes<From>::load(from + j, rest)).store(to + j, rest);
  }
}

}  // namespace tile

/// What contract<T> wants as scratch, 64-byte aligned; 0 if nothing.
template <element T>
constexpr std::size_t contract_scratch_bytes(const product& p) {
  if constexpr (half_width<T>) {
    const std::ptrdiff_t copies = p.m * p.k + p.k * p.n + p.m * p.n;
    return static_cast<std::size_t>(copies + 48) * sizeof(float) + contract_scratch_bytes<float>(tile::widened(p).shape);
  } else {
    return static_cast<std::size_t>(tile::cut<T>(tile::is_one_product(p) ? tile::merged(p) : p).packed()) * sizeof(T);
  }
}

/// c = op(a) * op(b), see product. c overlaps neither operand.   Dtype: all but bool.   Error: k / 2 ulp of sum |a| |b|.
template <element T>
inline void contract(const product& p, const T* a, const T* b, T* c, void* scratch) {
  if constexpr (half_width<T>) {
    const tile::widened w(p);
    const auto aligned = [](std::ptrdiff_t n) { return (n + 15) / 16 * 16; };
    float* const a32 = static_cast<float*>(scratch);
    float* const b32 = a32 + aligned(p.m * p.k);
    float* const c32 = b32 + aligned(p.k * p.n);
    float* const rest = c32 + aligned(p.m * p.n);
    for (std::ptrdiff_t i = 0; i < p.batch; ++i) {
      if (i == 0 || p.stride_a != 0) tile::convert_rows(a32, w.a_cols, a + i * p.stride_a, p.lda, w.a_rows, w.a_cols);
      if (i == 0 || p.stride_b != 0) tile::convert_rows(b32, w.b_cols, b + i * p.stride_b, p.ldb, w.b_rows, w.b_cols);
      contract<float>(w.shape, a32, b32, c32, rest);
      tile::convert_rows(c + i * p.stride_c, p.ldc, c32, p.n, p.m, p.n);
    }
  } else {
    if (tile::is_one_product(p)) return contract(tile::merged(p), a, b, c, scratch);
    const tile::blocking cut = tile::cut<T>(p);
    for (std::ptrdiff_t i = 0; i < p.batch; ++i) {
      const matrix<T> left{a + i * p.stride_a, p.transpose_a ? 1 : p.lda, p.transpose_a ? p.lda : 1};
      const matrix<T> right{b + i * p.stride_b, p.transpose_b ? 1 : p.ldb, p.transpose_b ? p.ldb : 1};
      tile::multiply(p, cut, left, right, c + i * p.stride_c, static_cast<T*>(scratch));
    }
  }
}

}  // namespace ebb::inline EBB_ABI::kernel
