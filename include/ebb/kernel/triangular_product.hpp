// ebb/kernel/triangular_product.hpp — products with a triangle of a square matrix, which leave out the work for the other triangle.
// SPDX-License-Identifier: BSL-1.0
//
// The order of every sum is fixed, see [note: order of a product with a triangle].
//
// Method: tiles as in contract.hpp, each with its own ends in k, so that the work for the other triangle is left out up to the tiles on the
// diagonal. Those have steps of their own. On the left, the triangle's rows are rows of a tile: a step leaves out those that have ended.
// On the right, its columns are lanes, and none can be left out. There the lanes outside of the triangle are multiplied as 0 * -0: to add
// -0 changes no number, not even -0. A matrix with more than 384 rows is cut into blocks; a block on the diagonal is such a product, the
// others are products of their own, whose chains the next block goes on with.
#pragma once

#include "../tensor/triangle_order.hpp"
#include "fours.hpp"
#include "product.hpp"
#include "triangle.hpp"
#include "triangle_tile.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel {

/// c = op(t) x with x and c n x m, or c = x op(t) with x and c m x n; t is n x n, and one triangle of it is read. All are compact and
/// row-major. flags: see triangular.
struct triangular_product {
  std::ptrdiff_t n = 0, m = 0;
  bool right = false, transposed = false;
  std::int64_t flags = triangular;

  /// Whether op(t) is upper triangular.
  constexpr bool upper() const { return ((flags & upper_triangle) != 0) != transposed; }
  constexpr bool unit() const { return (flags & unit_diagonal_bit) != 0; }
};

namespace trimmed {

/// The rows and columns of a block on the diagonal.
constexpr std::ptrdiff_t block_of(std::ptrdiff_t n) {
  const std::ptrdiff_t cuts = (n + 255) / 256;
  return n <= 384 ? n : (n + cuts - 1) / cuts;
}

/// Whether the columns of n rows of x are packed into panels, as for a product.
template <class T>
constexpr bool packs(std::ptrdiff_t n, std::ptrdiff_t m) { return tile::cut<T>(product::compact(n, n, m)).by_panels; }

/// One block on the diagonal, a, times n rows of m elements.
template <bool Upper, class T>
inline void multiply_left(std::ptrdiff_t n, std::ptrdiff_t m, const matrix<T>& a, bool unit, const T* x, T* c, bool more, T* scratch) {
  const auto columns = [&](const T* b, std::ptrdiff_t b_row, T* to, std::ptrdiff_t count) {
    tile::each_tile(n, [&]<int Rows>(std::ptrdiff_t i, std::integral_constant<int, Rows>) EBB_LAMBDA {
      if constexpr (Upper)
        strip_of_rows<Upper, Rows>(n - i - Rows, a.from(i, i), unit, b + i * b_row, b_row, to + i * m, m, count, more);
      else strip_of_rows<Upper, Rows>(i, a.from(i, 0), unit, b, b_row, to + i * m, m, count, more);
    });
  };
  if (!packs<T>(n, m)) return columns(x, m, c, m);
  constexpr std::ptrdiff_t w = tile::width<T>;
  for (std::ptrdiff_t j = 0; j < m; j += w) {
    const std::ptrdiff_t count = std::min(w, m - j);
    tile::pack(scratch, n, matrix<T>{x + j, m, 1}, count);
    columns(scratch, w, c + j, count);
  }
}

/// m rows of x, `row` elements apart, times one block of n columns on the diagonal, b.
template <bool Upper, class T>
inline void multiply_right(std::ptrdiff_t n, std::ptrdiff_t m, const T* x, std::ptrdiff_t row, const matrix<T>& b, bool unit, T* c,
                           bool more, T* scratch) {
  constexpr std::ptrdiff_t w = tile::width<T>;
  constexpr int lanes = simd::count_of<T>;
  const auto own = [&](std::ptrdiff_t j) { return static_cast<int>(std::min(w, n - j)); };
  for (std::ptrdiff_t j = 0; j < n; j += w) pack_columns<Upper>(scratch + j * n, n, b, unit, j, own(j));
  // A block of rows of x fits into L2, as in tile::cut.
  const std::ptrdiff_t height = std::max<std::ptrdiff_t>(256 * 1024 / static_cast<std::ptrdiff_t>(sizeof(T)) / n / 24 * 24, 48);
  for (std::ptrdiff_t i0 = 0; i0 < m; i0 += height)
    for (std::ptrdiff_t j = 0; j < n; j += w) {
      const int count = own(j);
      const T* const from = x + i0 * row + (Upper ? 0 : j);
      const std::ptrdiff_t full = Upper ? j : n - j - count;
      tile::each_tile(std::min(height, m - i0), [&]<int Rows>(std::ptrdiff_t i, std::integral_constant<int, Rows>) EBB_LAMBDA {
        const matrix<T> a{from + i * row, row, 1};
        T* const to = c + (i0 + i) * row + j;
        const T* const panel = scratch + j * n;
        if (count == w) return run_columns<Upper, Rows, 2, false>(full, count, a, panel, to, row, more, 0);
        if (count > lanes) return run_columns<Upper, Rows, 2, true>(full, count, a, panel, to, row, more, count - lanes);
        run_columns<Upper, Rows, 1, true>(full, count, a, panel, to, row, more, count);
      });
    }
}

/// The sums of as many rows of a as a register has elements, from row i on: each square on the diagonal is read whole, and its lanes
/// outside of the triangle are multiplied as in a panel. Turned: see elimination::add_columns.
template <bool Turned, bool Upper, class T>
EBB_INLINE vector<T> add_square(const matrix<T>& a, std::ptrdiff_t i, bool unit, const T* x, vector<T> acc) {
  constexpr int n = simd::count_of<T>;
  vector<T> columns[static_cast<std::size_t>(n)];
  repeat<n>([&]<int I>() EBB_LAMBDA { columns[I] = simd::load(Turned ? a.at(i, i + I) : a.at(i + I, i)); });
  if constexpr (!Turned) simd::transpose<T>(columns);
  repeat<n>([&]<int I>() EBB_LAMBDA {
    if (unit) columns[I][I] = T(1);
    const auto inside = masks<T>.template at<!Upper>(I);
    acc = simd::fma(or_minus_zero<T>(inside, columns[I]), only<T>(inside, simd::all(x[i + I])), acc);
  });
  return acc;
}

/// One column: c = a x. Elements of a row, or of a column if it is Turned, are adjacent. Two registers of rows are in flight, because each
/// fma of a chain waits for the one before.
template <bool Turned, bool Upper, class T>
inline void multiply_vector(std::ptrdiff_t size, const matrix<T>& a, bool unit, const T* x, T* c) {
  using V = vector<T>;
  constexpr int n = simd::count_of<T>;
  // Squares on the diagonal begin with row 0, or end with the last row: so whole registers of columns are left beside them.
  const std::ptrdiff_t odd = size % n, begin = Upper ? odd : 0, end = Upper ? size : size - odd;
  for (std::ptrdiff_t r = Upper ? 0 : end; r < (Upper ? odd : size); ++r) {
    T sum = 0;
    const auto diagonal = [&] { sum = lane::fma(unit ? T(1) : *a.at(r, r), x[r], sum); };
    if (Upper) diagonal();
    for (std::ptrdiff_t p = Upper ? r + 1 : 0; p < (Upper ? size : r); ++p) sum = lane::fma(*a.at(r, p), x[p], sum);
    if (!Upper) diagonal();
    c[r] = sum;
  }
  const auto add = [&](std::ptrdiff_t i, std::ptrdiff_t first, V acc) EBB_LAMBDA {
    return elimination::add_columns<Turned>(a, i, first, first + n, x, 1, acc);
  };
  std::ptrdiff_t i = begin;
  for (; i + 2 * n <= end; i += 2 * n) {
    V low = {}, high = {};
    if constexpr (Upper) {
      low = add(i, i + n, add_square<Turned, Upper>(a, i, unit, x, low));
      high = add_square<Turned, Upper>(a, i + n, unit, x, high);
    }
    for (std::ptrdiff_t k = Upper ? i + 2 * n : 0; k < (Upper ? end : i); k += n) low = add(i, k, low), high = add(i + n, k, high);
    if constexpr (!Upper) {
      low = add_square<Turned, Upper>(a, i, unit, x, low);
      high = add_square<Turned, Upper>(a, i + n, unit, x, add(i + n, i, high));
    }
    simd::store(c + i, low);
    simd::store(c + i + n, high);
  }
  if (i < end) {
    V acc = {};
    if constexpr (Upper) acc = add_square<Turned, Upper>(a, i, unit, x, acc);
    for (std::ptrdiff_t k = Upper ? i + n : 0; k < (Upper ? end : i); k += n) acc = add(i, k, acc);
    if constexpr (!Upper) acc = add_square<Turned, Upper>(a, i, unit, x, acc);
    simd::store(c + i, acc);
  }
}

/// Calls f(first, rows, product, from) for each block on the diagonal: `product` is that beside it, with `product.k` columns or rows of
/// op(t), from number `from` on; k may be 0.
constexpr void each_block(const triangular_product& s, auto f) {
  const std::ptrdiff_t size = block_of(s.n);
  for (std::ptrdiff_t i = 0; i < s.n; i += size) {
    const std::ptrdiff_t rows = std::min(size, s.n - i);
    const bool before = s.upper() == s.right;
    const std::ptrdiff_t k = before ? i : s.n - i - rows;
    product p{rows, k, s.m, s.transposed, false, s.n, s.m, s.m};
    if (s.right) p = {s.m, k, rows, false, s.transposed, s.n, s.n, s.n};
    f(i, rows, p, before ? std::ptrdiff_t{0} : i + rows);
  }
}

/// m rows of N elements times op(t): too few for lanes along a row.
template <bool Upper, int N, class T>
inline void multiply_short_rows(std::ptrdiff_t m, const T* x, const matrix<T>& t, bool unit, T* c) {
  T by[N * N];
  for (int i = 0; i < N * N; ++i) by[i] = unit && i % (N + 1) == 0 ? T(1) : *t.at(i / N, i % N);
  for (std::ptrdiff_t i = 0; i < m; ++i, x += N, c += N)
    repeat<N>([&]<int J>() EBB_LAMBDA {
      T sum = 0;
      repeat<N>([&]<int P>() EBB_LAMBDA {
        if constexpr (Upper ? P <= J : P >= J) sum = lane::fma(x[P], by[P * N + J], sum);
      });
      c[J] = sum;
    });
}

template <class T>
constexpr std::ptrdiff_t scratch_of(const triangular_product& s) {
  constexpr std::ptrdiff_t w = tile::width<T>;
  const std::ptrdiff_t size = block_of(s.n);
  std::ptrdiff_t most = s.right ? size * ((size + w - 1) / w * w) : packs<T>(size, s.m) ? size * w : 0;
  const auto see = [&](std::ptrdiff_t, std::ptrdiff_t, const product& p, std::ptrdiff_t) {
    most = std::max(most, tile::cut<T>(p).packed());
  };
  if (size < s.n) each_block(s, see);
  return most;
}

template <bool Upper, class T>
inline void multiply(const triangular_product& s, const matrix<T>& t, const T* x, T* c, T* scratch) {
  if (s.m == 1) {
    // A row on the right is a column on the left, of the transposed matrix.
    const matrix<T> a = s.right ? t.transposed() : t;
    const auto with = [&]<bool Turned>() {
      return s.right ? multiply_vector<Turned, !Upper>(s.n, a, s.unit(), x, c) : multiply_vector<Turned, Upper>(s.n, a, s.unit(), x, c);
    };
    return a.row == 1 ? with.template operator()<true>() : with.template operator()<false>();
  }
  if (s.right && s.n <= 3) {
    const auto rows_of = [&]<int N>() { multiply_short_rows<Upper, N>(s.m, x, t, s.unit(), c); };
    return s.n == 1 ? rows_of.template operator()<1>() : s.n == 2 ? rows_of.template operator()<2>() : rows_of.template operator()<3>();
  }
  const bool triangle_first = Upper != s.right;
  each_block(s, [&](std::ptrdiff_t i, std::ptrdiff_t rows, const product& p, std::ptrdiff_t from) {
    const auto triangle = [&](bool more) {
      if (s.right) multiply_right<Upper>(rows, s.m, x + i, s.n, t.from(i, i), s.unit(), c + i, more, scratch);
      else multiply_left<Upper>(rows, s.m, t.from(i, i), s.unit(), x + i * s.m, c + i * s.m, more, scratch);
    };
    const auto rest = [&](bool more) {
      const tile::blocking cut = tile::cut<T>(p);
      const T* const nothing = nullptr;
      if (s.right) tile::multiply_tiles(p, cut, matrix<T>{x + from, s.n, 1}, t.from(from, i), c + i, scratch, nothing, more);
      else tile::multiply_tiles(p, cut, t.from(i, from), matrix<T>{x + from * s.m, s.m, 1}, c + i * s.m, scratch, nothing, more);
    };
    if (triangle_first) triangle(false);
    if (p.k > 0) rest(triangle_first);
    if (!triangle_first) triangle(p.k > 0);
  });
}

}  // namespace trimmed

/// The bytes of scratch of multiply_triangle<T>, 64-byte aligned; 0 for none.
template <element T>
constexpr std::size_t multiply_triangle_scratch_bytes(const triangular_product& s) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  const std::ptrdiff_t widened = tile::widened_elements<T>(s.n * s.n, s.n * s.m, s.n * s.m);
  return static_cast<std::size_t>(widened + trimmed::scratch_of<wide>(s)) * sizeof(wide);
}

/// Computes c, see triangular_product. c overlaps neither operand.   Error: k / 2 ulp of sum |t| |x|, for chains of k.
template <element T>
[[gnu::noinline]] void multiply_triangle(const triangular_product& s, const T* t, const T* x, T* c, void* scratch) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  if constexpr (!half_width<T>)
    if (s.n == 4 && s.m == 4 && !s.unit() && fours::multiply_triangle(s.right, s.transposed, s.upper(), t, x, c)) return;
  tile::in_wide(t, s.n * s.n, x, s.n * s.m, c, s.n * s.m, static_cast<wide*>(scratch),
                [&](const wide* from, const wide* by, wide* to, wide* rest) {
    const matrix<wide> as_it_lies{from, s.n, 1}, of_t = s.transposed ? as_it_lies.transposed() : as_it_lies;
    if (s.upper()) trimmed::multiply<true>(s, of_t, by, to, rest);
    else trimmed::multiply<false>(s, of_t, by, to, rest);
  });
}

EBB_ONCE_FOR_ALL(void multiply_triangle<float>(const triangular_product&, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(void multiply_triangle<double>(const triangular_product&, const double*, const double*, double*, void*))

}  // namespace ebb::inline EBB_ABI::kernel
