// ebb/kernel/small_triangle.hpp — small triangular systems: a batch with one system in each lane, and single ones column by column.
// SPDX-License-Identifier: BSL-1.0
//
// Every element is the chain of [note: order of a triangular solution], so the bits do not depend on the method, on the batch, or on the
// place in it.
#pragma once

#include "small.hpp"
#include "thin.hpp"

#include <cstring>
#include <type_traits>

namespace ebb::inline EBB_ABI::kernel {

namespace small {

constexpr bool fits(const triangular_system& s) { return s.n <= most && s.m <= most; }
constexpr std::size_t scratch_bytes(const triangular_system& s) { return scratch_bytes(linear_system{s.n, s.m}); }

/// The rows of a triangle, or of right sides, in the order of the solution: row number i and column number k of it.
template <class T>
struct ordered {
  T* first;
  std::ptrdiff_t row, column;

  EBB_INLINE T* at(std::ptrdiff_t i, std::ptrdiff_t k) const { return first + i * row + k * column; }
  /// The last row becomes the first one, and so do columns unless they stay.
  constexpr ordered from_the_end(std::ptrdiff_t n, bool columns_stay = false) const {
    return {first + (n - 1) * (row + (columns_stay ? 0 : column)), -row, columns_stay ? column : -column};
  }
};

/// One right side, or as many as a register has lanes. N: the number of rows, or 0 if it is not a constant.
template <class V, int N>
EBB_INLINE void solve_column(std::ptrdiff_t rows, bool divides, auto element, auto load, auto store) {
  const std::ptrdiff_t n = N > 0 ? N : rows;
  V y[N > 0 ? N : most];  // the solution with the opposite sign
#pragma GCC unroll 4
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    V s = load(i);
#pragma GCC unroll 4
    for (std::ptrdiff_t k = 0; k < i; ++k)
      if constexpr (std::is_arithmetic_v<V>) s = lane::fma(element(i, k), y[k], s);
      else s = simd::fma(element(i, k), y[k], s);
    y[i] = divides ? -(s / element(i, i)) : -s;
    store(i, -y[i]);
  }
}
template <class V>
EBB_INLINE void solve_column(std::ptrdiff_t n, bool divides, auto element, auto load, auto store) {
  if (n == 4) solve_column<V, 4>(n, divides, element, load, store);
  else if (n == 3) solve_column<V, 3>(n, divides, element, load, store);
  else if (n == 2) solve_column<V, 2>(n, divides, element, load, store);
  else solve_column<V, 0>(n, divides, element, load, store);
}

/// One system. x may be b: a row is read before it is written, and never again.
template <class T>
inline void solve_triangle_columns(std::ptrdiff_t n, std::ptrdiff_t m, bool divides, const ordered<const T>& t, const ordered<const T>& b,
                                   const ordered<T>& x) {
  constexpr std::ptrdiff_t lanes = lanes_of<T>;
  if (m < 3) {
    for (std::ptrdiff_t j = 0; j < m; ++j)
      solve_column<T>(
          n, divides, [&](std::ptrdiff_t i, std::ptrdiff_t k) EBB_LAMBDA { return *t.at(i, k); },
          [&](std::ptrdiff_t i) EBB_LAMBDA { return *b.at(i, j); }, [&](std::ptrdiff_t i, T value) EBB_LAMBDA { *x.at(i, j) = value; });
    return;
  }
  const auto element = [&](std::ptrdiff_t i, std::ptrdiff_t k) EBB_LAMBDA { return simd::all(*t.at(i, k)); };
  for (std::ptrdiff_t j = 0; j < m; j += lanes) {
    const int count = static_cast<int>(std::min(lanes, m - j));
    if (count == lanes)
      solve_column<simd::vector<T>>(
          n, divides, element, [&](std::ptrdiff_t i) EBB_LAMBDA { return simd::load(b.at(i, j)); },
          [&](std::ptrdiff_t i, simd::vector<T> value) EBB_LAMBDA { simd::store(x.at(i, j), value); });
    else
      solve_column<simd::vector<T>>(
          n, divides, element, [&](std::ptrdiff_t i) EBB_LAMBDA { return simd::load_first(b.at(i, j), count); },
          [&](std::ptrdiff_t i, simd::vector<T> value) EBB_LAMBDA { simd::store_first(x.at(i, j), value, count); });
  }
}

/// spread and gather for four elements of each matrix, which are 16 bytes, as many matrices as there are lanes: a few shuffles.
template <class T>
inline constexpr bool has_fours = simd::per_lane<T> == 4;

template <class T>
inline void spread_fours([[maybe_unused]] T* to, [[maybe_unused]] const T* from) {
  if constexpr (has_fours<T>) {
    simd::vector<T> x[4];
    tile::load_square<T>(x, from, 4);
    for (int i = 0; i < 4; ++i) simd::store(to + i * lanes_of<T>, x[i]);
  }
}
template <class T>
inline void gather_fours([[maybe_unused]] T* to, [[maybe_unused]] const T* from) {
  if constexpr (has_fours<T>) {
    simd::vector<T> x[4] = {simd::load(from), simd::load(from + lanes_of<T>), simd::load(from + 2 * lanes_of<T>),
                            simd::load(from + 3 * lanes_of<T>)};
    simd::transpose_in_lanes<2, T>(x);  // lane q of number i belongs to matrix 4 q + i
    T held[4 * lanes_of<T>];
    for (int i = 0; i < 4; ++i) simd::store(held + i * lanes_of<T>, x[i]);
    for (std::ptrdiff_t k = 0; k < lanes_of<T>; ++k) std::memcpy(to + k * 4, held + k % 4 * lanes_of<T> + k / 4 * 4, 4 * sizeof(T));
  }
}

/// One system of four rows and one right side.
template <class T>
inline void solve_four(bool divides, const ordered<const T>& t, const ordered<const T>& b, const ordered<T>& x) {
  T y[4];
  solve_column<T, 4>(
      4, divides, [&](std::ptrdiff_t i, std::ptrdiff_t k) EBB_LAMBDA { return *t.at(i, k); },
      [&](std::ptrdiff_t i) EBB_LAMBDA { return *b.at(i, 0); }, [&](std::ptrdiff_t i, T value) EBB_LAMBDA { y[i] = value; });
  // They are stored together: who reads them together would wait until four stores reach the cache.
  const simd::vector<T, 4 * sizeof(T)> forwards{y[0], y[1], y[2], y[3]}, backwards{y[3], y[2], y[1], y[0]};
  if (x.row > 0) std::memcpy(x.first, &forwards, sizeof forwards);
  else std::memcpy(x.at(3, 0), &backwards, sizeof backwards);
}

}  // namespace small

/// One system of up to four rows, see solve_triangle.
template <class T>
inline void solve_triangle_known(const triangular_system& s, const T* t, const T* b, T* x) {
  const bool rising = s.rising(), divides = s.divides();
  const std::ptrdiff_t n = s.n, m = s.m;
  const small::ordered<const T> as_it_lies{t, s.transposed ? 1 : n, s.transposed ? n : 1}, right{b, m, 1};
  const small::ordered<T> to{x, m, 1};
  if (n == 4 && m == 1)
    return small::solve_four<T>(divides, rising ? as_it_lies : as_it_lies.from_the_end(n), rising ? right : right.from_the_end(n, true),
                                rising ? to : to.from_the_end(n, true));
  small::solve_triangle_columns<T>(n, m, divides, rising ? as_it_lies : as_it_lies.from_the_end(n),
                                   rising ? right : right.from_the_end(n, true), rising ? to : to.from_the_end(n, true));
}

/// Solves `batch` small systems, see solve_triangle.   scratch: small::scratch_bytes.
template <class T>
[[gnu::noinline]] void solve_triangles_small(const triangular_system& s, std::ptrdiff_t batch, const T* t, const T* b, T* x,
                                             void* scratch) {
  constexpr std::ptrdiff_t lanes = small::lanes_of<T>;
  const std::ptrdiff_t n = s.n, m = s.m, size = n * n, sides = n * m;
  const bool rising = s.rising(), divides = s.divides();
  const auto triangle = [&](auto* first, std::ptrdiff_t apart) {
    const small::ordered<std::remove_pointer_t<decltype(first)>> r{first, (s.transposed ? 1 : n) * apart, (s.transposed ? n : 1) * apart};
    return rising ? r : r.from_the_end(n);
  };
  const auto right = [&](auto* first, std::ptrdiff_t apart) {
    const small::ordered<std::remove_pointer_t<decltype(first)>> r{first, m * apart, apart};
    return rising ? r : r.from_the_end(n, true);
  };
  std::ptrdiff_t done = 0;
  for (; batch - done >= std::max<std::ptrdiff_t>(lanes / 2, 2); done += std::min(lanes, batch - done)) {
    const std::ptrdiff_t count = std::min(lanes, batch - done);
    T *const wt = static_cast<T*>(scratch), *const wb = wt + size * lanes;
    small::spread(wt, t + done * size, size, count);
    const bool fours = small::has_fours<T> && sides == 4 && count == lanes;
    if (fours) small::spread_fours(wb, b + done * sides);
    else small::spread(wb, b + done * sides, sides, count);
    const auto of_t = triangle(wt, lanes), of_b = right(wb, lanes);
    for (std::ptrdiff_t j = 0; j < m; ++j)
      small::solve_column<simd::vector<T>>(
          n, divides, [&](std::ptrdiff_t i, std::ptrdiff_t k) EBB_LAMBDA { return simd::load(of_t.at(i, k)); },
          [&](std::ptrdiff_t i) EBB_LAMBDA { return simd::load(of_b.at(i, j)); },
          [&](std::ptrdiff_t i, simd::vector<T> value) EBB_LAMBDA { simd::store(of_b.at(i, j), value); });
    if (fours) small::gather_fours(x + done * sides, wb);
    else small::gather(x + done * sides, wb, sides, count);
  }
  for (; done < batch; ++done)
    small::solve_triangle_columns<T>(n, m, divides, triangle(t + done * size, 1), right(b + done * sides, 1), right(x + done * sides, 1));
}

EBB_ONCE_FOR_ALL(void solve_triangles_small<float>(const triangular_system&, std::ptrdiff_t, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(void solve_triangles_small<double>(const triangular_system&, std::ptrdiff_t, const double*, const double*, double*, void*))

}  // namespace ebb::inline EBB_ABI::kernel
