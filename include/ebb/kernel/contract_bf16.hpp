// ebb/kernel/contract_bf16.hpp — the product of matrices of bfloat16, two neighbours of a row at a time.
// SPDX-License-Identifier: BSL-1.0
//
// The order of every sum is fixed, see [note: order of a bfloat16 product].
//
// All functions are templates of a type that can only be bfloat16: see [note: compiled where used].
//
// Method: factors are copied into pairs along k, 32 bits each, and multiplied tile by tile as matrices of floats. A link of a chain takes
// one pair of each factor. Sums are float and are rounded once, at the end.
#pragma once

#include "../tensor/bfloat16_order.hpp"
#include "fold.hpp"
#include "matvec.hpp"
#include "narrow.hpp"
#include "product.hpp"

#include <bit>
#include <concepts>
#include <utility>

namespace ebb::inline EBB_ABI::kernel {

namespace tile {

/// Two bfloat16, neighbours along k: the one of even number in the lower half, as in memory.
using bfloat16_pair = std::uint32_t;
static_assert(std::endian::native == std::endian::little);

template <>
struct sum_type<bfloat16_pair> { using type = float; };

template <>
EBB_INLINE simd::vector<float> link<bfloat16_pair>(simd::vector<bfloat16_pair> a, simd::vector<bfloat16_pair> b, simd::vector<float> acc) {
  return simd::dot_pairs(a, b, acc);
}

// x[n x k], or x[k x n], as pairs along k; ld is the distance between the rows of x.

/// Row i of x[n x k] as row i of `to`.
template <std::same_as<bfloat16> T>
void pair_rows(bfloat16_pair* to, std::ptrdiff_t n, std::ptrdiff_t k, const T* x, std::ptrdiff_t ld) {
  for (; n > 0; --n, x += ld) {
    if (k > 1) std::memcpy(to, x, static_cast<std::size_t>(k / 2) * sizeof *to);  // an empty row may have no address
    to += k / 2;
    if (k % 2) *to++ = x[k - 1].bits;
  }
}
/// Row i of x[n x k] as column i of `to`, whose rows are to_row apart.
template <std::same_as<bfloat16> T>
void pair_rows_transposed(bfloat16_pair* to, std::ptrdiff_t to_row, std::ptrdiff_t n, std::ptrdiff_t k, const T* x, std::ptrdiff_t ld) {
  constexpr std::ptrdiff_t pair_bytes = sizeof *to;
  transpose<pair_bytes>(reinterpret_cast<char*>(to), to_row * pair_bytes, reinterpret_cast<const char*>(x), ld * pair_bytes / 2,
                        static_cast<std::size_t>(n), static_cast<std::size_t>(k / 2));
  if (k % 2)
    for (std::ptrdiff_t i = 0; i < n; ++i) to[k / 2 * to_row + i] = x[i * ld + k - 1].bits;
}
/// A register of pairs of the rows at p and p + ld, with zeros if there is no second row. count: the number of columns if fewer than a
/// register holds.
EBB_INLINE simd::float_bits zip_rows(const bfloat16* p, std::ptrdiff_t ld, bool both, auto... count) {
  const auto even = __builtin_convertvector(simd::load_narrow(p, count...), simd::float_bits);
  return both ? even | __builtin_convertvector(simd::load_narrow(p + ld, count...), simd::float_bits) << 16 : even;
}
/// Column i of x[k x n] as column i of `to`.
template <std::same_as<bfloat16> T>
void pair_columns(bfloat16_pair* to, std::ptrdiff_t to_row, std::ptrdiff_t n, std::ptrdiff_t k, const T* x, std::ptrdiff_t ld) {
  for (; k > 0; k -= 2, to += to_row, x += 2 * ld) {
    std::ptrdiff_t i = 0;
    for (; i + lane_count <= n; i += lane_count) simd::store(to + i, zip_rows(x + i, ld, k > 1));
    const int rest = static_cast<int>(n - i);
    if (rest > 0) simd::store_first(to + i, zip_rows(x + i, ld, k > 1, rest), rest);
  }
}

/// c[1 x n] = a[1 x k] * b[k x n], Vectors registers at a time, for an a in pairs. b is read once: packing it into panels would cost more.
/// rest: the number of columns if fewer than a register holds.
template <int Vectors, std::same_as<bfloat16> T>
void row_tile(std::ptrdiff_t k, const bfloat16_pair* a, const T* b, std::ptrdiff_t ld, T* c, auto... rest) {
  [&]<int... J>(std::integer_sequence<int, J...>) EBB_LAMBDA {
    lanes<float> acc[] = {(static_cast<void>(J), lanes<float>::all(0))...};
    for (std::ptrdiff_t p = 0; p < k; p += 2, ++a, b += 2 * ld)
      ((acc[J].part[0] = link<bfloat16_pair>(simd::all(*a), zip_rows(b + J * lane_count, ld, p + 1 < k, rest...), acc[J].part[0])), ...);
    (lanes<T>::store_rounded(acc[J], c + J * lane_count, rest...), ...);
  }(std::make_integer_sequence<int, Vectors>{});
}
template <std::same_as<bfloat16> T>
void multiply_row(std::ptrdiff_t k, std::ptrdiff_t n, const bfloat16_pair* a, const T* b, std::ptrdiff_t ld, T* c) {
  constexpr int most = 4 * lane_count;
  std::ptrdiff_t j = 0;
  for (; j + most <= n; j += most) row_tile<4>(k, a, b + j, ld, c + j);
  for (; j + lane_count <= n; j += lane_count) row_tile<1>(k, a, b + j, ld, c + j);
  if (j < n) row_tile<1>(k, a, b + j, ld, c + j, static_cast<int>(n - j));
}

/// The lanes of the sum of a(p) * b(p), folded to one register.
template <std::same_as<bfloat16> T>
simd::vector<float> sum_pairs(std::ptrdiff_t k, const T* a, std::ptrdiff_t a_step, const T* b, std::ptrdiff_t b_step) {
  constexpr int registers = row_registers<float>;
  constexpr std::ptrdiff_t step = 2 * logical_lanes, most = 2 * lane_count;
  simd::vector<float> acc[registers] = {};
  const auto add = [&](const T* p, const T* q, std::ptrdiff_t count) EBB_LAMBDA {
    [&]<int... U>(std::integer_sequence<int, U...>) EBB_LAMBDA {
      ((acc[U] = link<bfloat16_pair>(simd::load_pairs(p + U * most, count - U * most), simd::load_pairs(q + U * most, count - U * most),
                                     acc[U])),
       ...);
    }(std::make_integer_sequence<int, registers>{});
  };
  std::ptrdiff_t p = 0;
  if (a_step == 1 && b_step == 1) {
    for (; p + step <= k; p += step) add(a + p, b + p, step);
    if (p < k) add(a + p, b + p, k - p);
  } else {
    for (; p < k; p += step) {
      T left[step], right[step];
      for (std::ptrdiff_t i = 0; i < step && p + i < k; ++i) left[i] = a[(p + i) * a_step], right[i] = b[(p + i) * b_step];
      add(left, right, step);
    }
  }
  return fold_registers<registers, float>(acc);
}
/// Column 0 of c = op(a) * op(b).
template <std::same_as<bfloat16> T>
void multiply_pairs_in_lanes(const product& p, const T* a, const T* b, T* c) {
  constexpr int n = lane_count;
  const auto sums = [&](std::ptrdiff_t i) {
    return sum_pairs(p.k, a + i * (p.transpose_a ? 1 : p.lda), p.transpose_a ? p.lda : 1, b, p.transpose_b ? 1 : p.ldb);
  };
  if (p.m < n || p.ldc != 1) {
    for (std::ptrdiff_t i = 0; i < p.m; ++i)
      c[i * p.ldc] = T(fold_halves(lanes<float>{{sums(i)}}, [](auto x, auto y) EBB_LAMBDA { return x + y; }) + 0.f);
    return;
  }
  for (std::ptrdiff_t i = 0; i < p.m; i += n) {
    const std::ptrdiff_t first = std::min(i, p.m - n);  // some rows may be computed twice
    simd::vector<float> x[n];
    for (int r = 0; r < n; ++r) x[r] = sums(first + row_at<float>(r));
    lanes<T>::store_rounded({{add<float>(fold_rows<float>([&]<int I>() EBB_LAMBDA { return x[I]; }), simd::vector<float>{})}}, c + first);
  }
}

/// How a product of bfloat16 runs. A batch that shares b is one product. One column is computed as one row; if elements are summed in
/// lanes, one row is computed as one column. Sizes are in pairs.
struct paired_product {
  product of;
  bool swapped;                       // c' = b' * a' in place of c = a * b
  std::ptrdiff_t pairs, width, k, m, n;  // all pairs of a row; columns of a panel of b; sizes of blocks

  constexpr explicit paired_product(const product& p)
      : of(of_all_rows(p)), swapped(of.lanes ? of.n > 1 : of.n == 1 && of.m > 1 && of.ldc == 1) {
    if (swapped)
      of = {of.n, of.k, of.m, !of.transpose_b, !of.transpose_a, of.ldb, of.lda, of.lanes ? 1 : of.m,
            of.batch, of.stride_b, of.stride_a, of.stride_c, of.lanes};
    pairs = (of.k + 1) / 2;
    width = (of.m == 1 ? widest<1> : vectors) * lane_count;
    // A block of a panel and a strip of a fit into L1, a block of a and the packed part of b into L2.
    const auto fitting = [this](std::ptrdiff_t all, std::ptrdiff_t step) {
      return std::max(all / std::max<std::ptrdiff_t>(pairs, 1) / step * step, step);
    };
    const std::ptrdiff_t cuts = pairs > 384 ? (pairs + 255) / 256 : 1;
    k = std::max<std::ptrdiff_t>((pairs + cuts - 1) / cuts, 1);
    m = std::min<std::ptrdiff_t>(fitting(64 * 1024, height), 8 * height);
    n = std::min(fitting(128 * 1024, width), (of.n + width - 1) / width * width);
  }
  constexpr bool is_row() const { return of.m == 1 && !of.transpose_b; }
  // In scratch: a, a block of sums, panels of b.
  constexpr std::ptrdiff_t sums_at() const { return (of.m * pairs + 15) / 16 * 16; }
  constexpr std::ptrdiff_t panels_at() const { return sums_at() + std::min(m, of.m) * width; }
  constexpr std::ptrdiff_t size() const { return of.lanes ? 0 : is_row() ? pairs : panels_at() + pairs * n; }
};

/// One matrix of the batch; a has been copied already.
template <std::same_as<bfloat16> T>
void multiply_pairs(const paired_product& p, const matrix<bfloat16_pair>& a, const T* b, T* c, float* sums, bfloat16_pair* panels) {
  const product& of = p.of;
  for (std::ptrdiff_t j0 = 0; j0 < of.n; j0 += p.n) {
    const std::ptrdiff_t j1 = std::min(j0 + p.n, of.n);
    for (std::ptrdiff_t j = j0; j < j1; j += p.width)
      (of.transpose_b ? pair_rows_transposed<T> : pair_columns<T>)(panels + (j - j0) * p.pairs, p.width, std::min(p.width, j1 - j), of.k,
                                                                   b + j * (of.transpose_b ? of.ldb : 1), of.ldb);
    for (std::ptrdiff_t i = 0; i < of.m; i += p.m)
      for (std::ptrdiff_t j = j0; j < j1; j += p.width) {
        const std::ptrdiff_t rows = std::min(p.m, of.m - i), columns = std::min(p.width, j1 - j);
        for (std::ptrdiff_t q = 0; q == 0 || q < p.pairs; q += p.k)
          block(rows, std::min(p.k, p.pairs - q), a.from(i, q), panels + (j - j0) * p.pairs + q * p.width, p.width, sums, p.width, columns,
                q > 0);
        convert_rows(c + i * of.ldc + j, of.ldc, sums, p.width, rows, columns);
      }
  }
}

}  // namespace tile

/// The bytes of scratch of contract_bf16, 64-byte aligned.
constexpr std::size_t contract_bf16_scratch_bytes(const product& p) {
  return static_cast<std::size_t>(tile::paired_product(tile::shares_left(p) ? tile::turned(p) : p).size()) * sizeof(tile::bfloat16_pair);
}

/// c = op(a) * op(b), see product. c overlaps neither operand.   Error: k / 2 ulp of float of sum |a| |b|, and 0.5 ulp.
template <std::same_as<bfloat16> T>
void contract_bf16(const product& shape, const T* a, const T* b, T* c, void* scratch) {
  if (tile::shares_left(shape)) return contract_bf16(tile::turned(shape), b, a, c, scratch);
  const tile::paired_product p(shape);
  const product& of = p.of;
  if (p.swapped) std::swap(a, b);
  auto* const left = static_cast<tile::bfloat16_pair*>(scratch);
  for (std::ptrdiff_t i = 0; i < of.batch; ++i, a += of.stride_a, b += of.stride_b, c += of.stride_c) {
    if (of.lanes) {
      for (std::ptrdiff_t j = 0; j < of.n; ++j)
        tile::multiply_pairs_in_lanes(of, a, b + j * (of.transpose_b ? of.ldb : 1), c + j * shape.ldc);
      continue;
    }
    const bool copied = i > 0 && of.stride_a == 0;
    if (!copied && of.transpose_a) tile::pair_columns(left, of.m, of.m, of.k, a, of.lda);
    if (!copied && !of.transpose_a) tile::pair_rows(left, of.m, of.k, a, of.lda);
    if (p.is_row()) {
      tile::multiply_row(of.k, of.n, left, b, of.ldb, c);
      continue;
    }
    const matrix<tile::bfloat16_pair> rows{left, of.transpose_a ? 1 : p.pairs, of.transpose_a ? of.m : 1};
    tile::multiply_pairs(p, rows, b, c, static_cast<float*>(scratch) + p.sums_at(), left + p.panels_at());
  }
}

}  // namespace ebb::inline EBB_ABI::kernel
