// ebb/kernel/contract.hpp — the matrix product.
// SPDX-License-Identifier: BSL-1.0
//
// The order of every sum is fixed, see [note: order of a product]. That of bfloat16 is another one, see contract_bf16.hpp. That of large
// products is the library's with LAPACK, see [note: large matrices by LAPACK].
//
// Method: c is cut into tiles that stay in registers for the whole of k (tile.hpp). Small operands are read where they are. b is packed
// into panels if its rows are not adjacent in memory, are far apart or do not fit into L2; k, m, n are cut into blocks as in
// K. Goto, R. van de Geijn, Anatomy of high-performance matrix multiplication (2008).
#pragma once

#include "../tensor/storage.hpp"
#include "contract_bf16.hpp"
#include "fours.hpp"
#include "lapack.hpp"
#include "matvec.hpp"
#include "product.hpp"
#include "row_products.hpp"
#include "thin.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::kernel {

namespace tile {

template <class T>
inline void multiply(const product& shape, const blocking& cut, const matrix<T>& a, const matrix<T>& b, T* c, T* scratch) {
  const std::ptrdiff_t m = shape.m, k = shape.k, n = shape.n, ldc = shape.ldc;
  if (shape.lanes) return row_products(m, k, a, n, b.transposed(), c, ldc);
  if (multiply_thin(m, k, n, a, b, c, ldc)) return;
  multiply_tiles(shape, cut, a, b, c, scratch);
}

/// An operand of a product as it is multiplied: `data` has rows of so many elements, or columns if it is transposed.
template <class T>
EBB_INLINE matrix<T> operand(const T* data, std::ptrdiff_t ld, bool transposed) {
  return {data, transposed ? 1 : ld, transposed ? ld : 1};
}

/// The narrow operands as compact matrices of float.
struct widened {
  product shape;
  std::ptrdiff_t a_rows, a_cols, b_rows, b_cols;

  constexpr explicit widened(const product& p)
      : shape(product::compact(p.m, p.k, p.n, p.transpose_a, p.transpose_b)),
        a_rows(p.transpose_a ? p.k : p.m), a_cols(shape.lda), b_rows(p.transpose_b ? p.n : p.k), b_cols(shape.ldb) {
    shape.lanes = p.lanes;
  }
};

}  // namespace tile

namespace lapack {

/// As kernel::contract, without scratch.
template <class T>
inline void contract(const product& p, const T* a, const T* b, T* c) {
  using of = calls<T>;
  for (std::ptrdiff_t i = 0; i < p.batch; ++i)
    of::gemm(of::by_rows, of::transposed(p.transpose_a), of::transposed(p.transpose_b), number(p.m), number(p.n), number(p.k), T(1),
             a + i * p.stride_a, number(p.lda), b + i * p.stride_b, number(p.ldb), T(0), c + i * p.stride_c, number(p.ldc));
}
constexpr bool is_large(const product& p) {
  constexpr std::ptrdiff_t most = std::numeric_limits<int>::max();
  return large::is(std::min({p.m, p.k, p.n, large::most}), large::product) && std::max({p.m, p.k, p.n, p.lda, p.ldb, p.ldc}) <= most;
}

}  // namespace lapack

/// The bytes of scratch of contract<T>, 64-byte aligned; 0 for none.
template <element T>
constexpr std::size_t contract_scratch_bytes(const product& p) {
  if constexpr (std::same_as<T, bfloat16>) {
    return contract_bf16_scratch_bytes(p);
  } else if constexpr (half_width<T>) {
    const std::ptrdiff_t copies = p.m * p.k + p.k * p.n + p.m * p.n;
    return static_cast<std::size_t>(copies + 48) * sizeof(float) + contract_scratch_bytes<float>(tile::widened(p).shape);
  } else {
    const product one = tile::shares_left(p) ? tile::turned(p) : tile::of_all_rows(p);
    return one.lanes ? 0 : static_cast<std::size_t>(tile::cut<T>(one).packed()) * sizeof(T);
  }
}

/// c = op(a) * op(b), see product. c overlaps neither operand.   Dtype: all but bool.   Error: k / 2 ulp of sum |a| |b|.
template <element T>
EBB_TEMPLATE void contract(const product& p, const T* a, const T* b, T* c, void* scratch) {
  if constexpr (std::same_as<T, bfloat16>) {
    contract_bf16(p, a, b, c, scratch);
  } else if constexpr (half_width<T>) {
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
    if (fours::serves<T>(p)) return fours::multiply(p, a, b, c);
    if (tile::shares_left(p)) return contract(tile::turned(p), b, a, c, scratch);
    if (tile::is_one_product(p)) return contract(tile::merged(p), a, b, c, scratch);
    if constexpr (lapack::has<T>)
      if (lapack::is_large(p)) return lapack::contract(p, a, b, c);
    const tile::blocking cut = tile::cut<T>(p);
    for (std::ptrdiff_t i = 0; i < p.batch; ++i) {
      const matrix<T> left = tile::operand(a + i * p.stride_a, p.lda, p.transpose_a);
      const matrix<T> right = tile::operand(b + i * p.stride_b, p.ldb, p.transpose_b);
      tile::multiply(p, cut, left, right, c + i * p.stride_c, static_cast<T*>(scratch));
    }
  }
}

EBB_ONCE_FOR_ALL(void contract<float>(const product&, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(void contract<double>(const product&, const double*, const double*, double*, void*))
EBB_ONCE_FOR_ALL(void contract<bfloat16>(const product&, const bfloat16*, const bfloat16*, bfloat16*, void*))
EBB_ONCE_FOR_ALL(void contract<float16>(const product&, const float16*, const float16*, float16*, void*))

namespace tile {

/// Whether the product is computed tile by tile, all of k at once: then it can be added to another array as its tiles are written.
template <class T>
constexpr bool adds_in_tiles(const product& p) {
  if (p.lanes || p.n <= thin_columns || (p.m == 1 && p.transpose_b) || fours::serves<T>(p) || cut<T>(p).k < p.k) return false;
  if constexpr (lapack::has<T>) return !lapack::is_large(p);
  else return true;
}
}  // namespace tile

/// The bytes of scratch of contract_onto<T>, 64-byte aligned.
template <std::floating_point T>
constexpr std::size_t contract_onto_scratch_bytes(const product& p) {
  const product rows = tile::of_all_rows(p);
  const std::size_t own = contract_scratch_bytes<T>(p);
  return tile::adds_in_tiles<T>(rows) ? own : detail::padded_bytes(own) + static_cast<std::size_t>(rows.m * rows.n) * sizeof(T);
}

/// c = onto + op(a) * op(b): the product is summed as by contract, then added. c may be onto, and overlaps neither operand; both are
/// compact, matrix after matrix.
template <std::floating_point T>
EBB_TEMPLATE void contract_onto(const product& each, const T* onto, const T* a, const T* b, T* c, void* scratch) {
  const product p = tile::of_all_rows(each);
  const bool in_tiles = tile::adds_in_tiles<T>(p);
  const tile::blocking cut = tile::cut<T>(p);
  product one = p;
  one.batch = 1;
  T* const sums = reinterpret_cast<T*>(static_cast<char*>(scratch) + detail::padded_bytes(contract_scratch_bytes<T>(each)));
  for (std::ptrdiff_t i = 0; i < p.batch; ++i, onto += p.m * p.n, c += p.m * p.n) {
    const T *const left = a + i * p.stride_a, *const right = b + i * p.stride_b;
    if (in_tiles) {
      tile::multiply_tiles(p, cut, tile::operand(left, p.lda, p.transpose_a), tile::operand(right, p.ldb, p.transpose_b), c,
                           static_cast<T*>(scratch), onto);
      continue;
    }
    contract(one, left, right, sums, scratch);
    constexpr std::ptrdiff_t n = simd::count_of<T>;
    std::ptrdiff_t j = 0;
    for (; j + n <= p.m * p.n; j += n) simd::store(c + j, simd::load(onto + j) + simd::load(sums + j));
    for (; j < p.m * p.n; ++j) c[j] = onto[j] + sums[j];
  }
}

constexpr product of_one_matrix(product p) {
  p.batch = 1;
  return p;
}
/// The bytes of scratch of contract_sum<T>, 64-byte aligned.
template <std::floating_point T>
constexpr std::size_t contract_sum_scratch_bytes(const product& p) { return contract_onto_scratch_bytes<T>(of_one_matrix(p)); }

/// c += op(a) * op(b), one matrix of the batch after the other. The matrices of c are compact. If their stride is 0, they are one.
template <std::floating_point T>
inline void contract_sum(const product& p, const T* a, const T* b, T* c, void* scratch) {
  const product one = of_one_matrix(p);
  for (std::ptrdiff_t i = 0; i < p.batch; ++i, a += p.stride_a, b += p.stride_b, c += p.stride_c) contract_onto(one, c, a, b, c, scratch);
}

EBB_ONCE_FOR_ALL(void contract_onto<float>(const product&, const float*, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(void contract_onto<double>(const product&, const double*, const double*, const double*, double*, void*))

}  // namespace ebb::inline EBB_ABI::kernel
