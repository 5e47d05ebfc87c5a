// ebb/kernel/triangle_of_product.hpp — one triangle of a matrix product, without the tiles that lie in the other one.
// SPDX-License-Identifier: BSL-1.0
//
// Elements are those of the product, see [note: order of a product], and zeros outside of the triangle. Method: that of contract.hpp, with
// packed panels; each panel is multiplied with the rows that the triangle has beside it.
#pragma once

#include "../tensor/triangle_order.hpp"
#include "contract.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel {

/// c[n x n] = the triangle of a b^T, with a and b n x k, or of a^T b, with a and b k x n, if `of_columns`. All are compact and row-major.
/// flags: see triangular; a diagonal that is taken to be 1 is outside of the triangle.
struct triangle_of_product {
  std::ptrdiff_t n = 0, k = 0;
  bool of_columns = false;
  std::int64_t flags = triangular;

  constexpr bool upper() const { return (flags & upper_triangle) != 0; }
  constexpr product full() const { return product::compact(n, k, n, of_columns, !of_columns); }
  /// Whether it is computed as the whole product: of so few columns no tile can be left out.
  template <class T>
  constexpr bool is_whole() const { return n <= tile::width<T>; }
};

namespace tile {

/// The blocks of such a product: b is always packed.
template <class T>
constexpr blocking cut(const triangle_of_product& s) {
  product p = s.full();
  p.m = std::max<std::ptrdiff_t>(p.m, 2);  // of larger ones all blocks are those of the product
  p.n = std::max<std::ptrdiff_t>(p.n, 2);
  p.transpose_b = true;
  return cut<T>(p);
}

/// The product, in which elements outside of the triangle are arbitrary.
template <class T>
inline void multiply_triangle(const triangle_of_product& s, const T* x, const T* y, T* c, T* scratch) {
  const blocking cut = tile::cut<T>(s);
  const matrix<T> a{x, s.of_columns ? 1 : s.k, s.of_columns ? s.n : 1}, b{y, s.of_columns ? s.n : 1, s.of_columns ? 1 : s.k};
  constexpr std::ptrdiff_t w = width<T>;
  for (std::ptrdiff_t p = 0; p == 0 || p < s.k; p += cut.k) {
    const std::ptrdiff_t depth = std::min(cut.k, s.k - p);
    for (std::ptrdiff_t j0 = 0; j0 < s.n; j0 += cut.n) {
      const std::ptrdiff_t j1 = std::min(j0 + cut.n, s.n);
      for (std::ptrdiff_t j = j0; j < j1; j += w) pack(scratch + (j - j0) * depth, depth, b.from(p, j), std::min(w, j1 - j));
      for (std::ptrdiff_t i0 = 0; i0 < s.n; i0 += cut.m)
        for (std::ptrdiff_t j = j0; j < j1; j += w) {
          const std::ptrdiff_t columns = std::min(w, j1 - j), end = std::min(i0 + cut.m, s.n);
          const std::ptrdiff_t first = s.upper() ? i0 : std::max(i0, j), last = s.upper() ? std::min(end, j + columns) : end;
          if (first < last)
            block(last - first, depth, a.from(first, p), scratch + (j - j0) * depth, w, c + first * s.n + j, s.n, columns, p > 0);
        }
    }
  }
}

}  // namespace tile

/// The bytes of scratch of multiply_to_triangle<T>, 64-byte aligned.
template <element T>
constexpr std::size_t multiply_to_triangle_scratch_bytes(const triangle_of_product& s) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  const std::size_t own = static_cast<std::size_t>(tile::widened_elements<T>(s.n * s.k, s.n * s.k, s.n * s.n)) * sizeof(wide);
  if (s.is_whole<wide>()) return own + contract_scratch_bytes<wide>(s.full());
  return own + static_cast<std::size_t>(tile::cut<wide>(s).packed()) * sizeof(wide);
}

/// Computes c, see triangle_of_product. c overlaps neither operand.   Error: k / 2 ulp of sum |a| |b|.
template <element T>
[[gnu::noinline]] void multiply_to_triangle(const triangle_of_product& s, const T* a, const T* b, T* c, void* scratch) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  tile::in_wide(a, s.n * s.k, b, s.n * s.k, c, s.n * s.n, static_cast<wide*>(scratch),
                [&](const wide* x, const wide* y, wide* to, wide* rest) {
    if constexpr (half_width<T>) std::fill(to, to + s.n * s.n, wide(0));  // all of it is rounded
    if (s.is_whole<wide>()) contract(s.full(), x, y, to, rest);
    else tile::multiply_triangle(s, x, y, to, rest);
  });
  const std::ptrdiff_t strict = (s.flags & unit_diagonal_bit) != 0 ? 1 : 0;
  for (std::ptrdiff_t i = 0; i < s.n; ++i)
    if (s.upper()) std::fill(c + i * s.n, c + i * s.n + i + strict, T(0));
    else std::fill(c + i * s.n + i + 1 - strict, c + (i + 1) * s.n, T(0));
}

}  // namespace ebb::inline EBB_ABI::kernel
