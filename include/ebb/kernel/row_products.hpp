// ebb/kernel/row_products.hpp — products of each row of a matrix with each row of another one, summed in lanes.
// SPDX-License-Identifier: BSL-1.0
//
// See [note: order of a product]. A matrix that all rows of a map share, times the vector of each row, is such a product.
#pragma once

#include "matvec.hpp"
#include "thin.hpp"

#include <algorithm>
#include <cstring>

namespace ebb::inline EBB_ABI::kernel::tile {

/// The sum of at<L>(), at<L + Step>(), at<L + 2 Step>()... in the order of the logical reduction tree, depth first. Lanes from K on have no
/// elements. They are left out: they would change signs of zeros alone, which the sum with 0 at the end decides.
template <int K, class T, int L = 0, int Step = 1>
EBB_INLINE simd::vector<T> sum_columns(auto&& at) {
  if constexpr (Step >= K) return at.template operator()<L>();
  else {
    const simd::vector<T> x = sum_columns<K, T, L, 2 * Step>(at), y = sum_columns<K, T, L + Step, 2 * Step>(at);
    return add<T>(x, y);
  }
}

/// The first k <= K elements of as many rows as a register has elements: x[p] is column p, or zeros. Rows up to `end` may be read.
template <int K, class T>
EBB_INLINE void load_columns(simd::vector<T> (&x)[K], std::ptrdiff_t k, const T* top, std::ptrdiff_t row, const T* end) {
  constexpr int n = simd::count_of<T>, e = square<T>;
  if (end - top < (n - 1) * row + K) {
    T copy[K * n] = {};
    for (int r = 0; r < n; ++r)
      for (std::ptrdiff_t p = 0; p < k; ++p) copy[p * n + r] = top[r * row + p];
    for (int p = 0; p < K; ++p) x[p] = simd::load(copy + p * n);
    return;
  }
  for (int p = 0; p < K; p += e) {
    simd::vector<T> some[e];
    load_square<T>(some, top + p, row);
    for (int i = 0; i < e; ++i) x[p + i] = p + i < k ? some[i] : simd::vector<T>{};
  }
}

/// Row r of c has x[0][r], x[1][r]... : `count` of them.
template <class T>
EBB_INLINE void store_columns(simd::vector<T> (&x)[static_cast<std::size_t>(simd::per_lane<T>)], T* c, std::ptrdiff_t c_row,
                              std::ptrdiff_t count) {
  constexpr int n = simd::count_of<T>, e = simd::per_lane<T>;
  simd::transpose_in_lanes<simd::log2_of(e), T>(x);  // lane q of x[i] is row q * e + i
  for (int i = 0; i < e; ++i) {
    T some[n];
    simd::store(some, x[i]);
    for (int q = 0; q < n / e; ++q) {
      T* const to = c + (q * e + i) * c_row;
      if (count == e) std::memcpy(to, some + q * e, e * sizeof(T));
      else
        for (std::ptrdiff_t j = 0; j < count; ++j) to[j] = some[q * e + j];
    }
  }
}

/// c(i, j) = sum over p < k of a(i, p) * b(j, p) for k <= K, a power of two. There are as many rows of a as a register has elements. Lanes
/// run along the rows: nothing is added across a register.
template <int K, class T>
void short_row_products(std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, std::ptrdiff_t n, const matrix<T>& b, T* c,
                        std::ptrdiff_t c_row) {
  using V = simd::vector<T>;
  constexpr int count = simd::count_of<T>, e = simd::per_lane<T>, most = 16 * e;
  const T* const end = a.at(m - 1, k);
  for (std::ptrdiff_t j0 = 0; j0 < n; j0 += most) {
    const std::ptrdiff_t columns = std::min<std::ptrdiff_t>(most, n - j0);
    T right[most * K] = {};
    for (std::ptrdiff_t j = 0; j < columns; ++j)
      for (std::ptrdiff_t p = 0; p < k; ++p) right[j * K + p] = *b.at(j0 + j, p);
    for (std::ptrdiff_t i = 0; i < m; i += count) {
      const std::ptrdiff_t first = std::min(i, m - count);  // some rows may be computed twice
      V x[K];
      load_columns(x, k, a.at(first, 0), a.row, end);
      for (std::ptrdiff_t j = 0; j < columns; j += e) {
        V sums[e];
        [&]<int... J>(std::integer_sequence<int, J...>) EBB_LAMBDA {
          const auto sum = [&](const T* with) EBB_LAMBDA {
            return add<T>(sum_columns<K, T>([&]<int P>() EBB_LAMBDA { return link<T>(x[P], simd::all(with[P]), V{}); }), V{});
          };
          ((sums[J] = sum(right + (j + J) * K)), ...);
        }(std::make_integer_sequence<int, e>{});
        store_columns<T>(sums, c + first * c_row + j0 + j, c_row, std::min<std::ptrdiff_t>(e, columns - j));
      }
    }
  }
}

/// c(i, j) = sum over p of a(i, p) * b(j, p), in lanes.
template <class T>
void row_products(std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, std::ptrdiff_t n, const matrix<T>& b, T* c,
                  std::ptrdiff_t c_row) {
  constexpr int count = simd::count_of<T>;
  if (n == 1) return multiply_in_lanes(m, k, a, b.data, b.col, c, c_row);
  if (m == 1 || a.col != 1 || b.col != 1 || std::max(m, n) < count) {
    for (std::ptrdiff_t i = 0; i < m; ++i) multiply_in_lanes(n, k, b, a.at(i, 0), a.col, c + i * c_row, 1);
    return;
  }
  if (m >= count && k > 0 && k <= 16)
    return k <= 4   ? short_row_products<4>(m, k, a, n, b, c, c_row)
           : k <= 8 ? short_row_products<8>(m, k, a, n, b, c, c_row)
                    : short_row_products<16>(m, k, a, n, b, c, c_row);
  if (n < count) {
    for (std::ptrdiff_t i = 0; i < m; i += count) {
      const std::ptrdiff_t first = std::min(i, m - count);
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        const simd::vector<T> sums = multiply_rows(k, a.at(first, 0), a.row, b.at(j, 0));
        for (int r = 0; r < count; ++r) c[(first + r) * c_row + j] = sums[r];
      }
    }
    return;
  }
  // Some rows of a stay in the first-level cache while those of b pass.
  const std::ptrdiff_t bytes = std::max<std::ptrdiff_t>(k, 1) * static_cast<std::ptrdiff_t>(sizeof(T));
  const std::ptrdiff_t block = std::max<std::ptrdiff_t>(12 * 1024 / bytes, 1);
  for (std::ptrdiff_t i0 = 0; i0 < m; i0 += block)
    for (std::ptrdiff_t j = 0; j < n; j += count) {
      const std::ptrdiff_t first = std::min(j, n - count);
      for (std::ptrdiff_t i = i0; i < std::min(i0 + block, m); ++i)
        simd::store(c + i * c_row + first, multiply_rows(k, b.at(first, 0), b.row, a.at(i, 0)));
    }
}

}  // namespace ebb::inline EBB_ABI::kernel::tile
