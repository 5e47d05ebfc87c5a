// ebb/kernel/small.hpp — small matrices: a batch with one matrix in each lane, and single ones whose columns are registers.
// SPDX-License-Identifier: BSL-1.0
//
// Tiles of a product (solve.hpp, triangle.hpp) do not pay below some 16 rows: most of a register is masked, and loads wait for masked
// stores. Every element is computed by the same chain as there, see [note: order of a solution] and [note: order of a Cholesky factor], so
// the bits do not depend on the method, on the batch, or on the place in it.
//
// All functions stop at a matrix without a solution, and the caller takes that one by the general method, which says what is wrong.
#pragma once

#include "../base/repeat.hpp"
#include "known.hpp"

#include <algorithm>
#include <cstring>

namespace ebb::inline EBB_ABI::kernel {

namespace small {

inline constexpr std::ptrdiff_t most = 16;
template <class T>
inline constexpr std::ptrdiff_t lanes_of = simd::count_of<T>;

constexpr bool fits(const linear_system& s) { return s.n <= most && s.m <= most; }
constexpr std::size_t scratch_bytes(const linear_system& s) {
  return static_cast<std::size_t>(s.n * (s.n + s.m)) * simd::register_bytes;
}

/// Element e of each of `count` matrices of `size` elements, in lane order: at to + e * lanes_of<T>. Lanes without a matrix are 0.
template <class T>
inline void spread(T* to, const T* from, std::ptrdiff_t size, std::ptrdiff_t count) {
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
  const auto row = [=](auto i) EBB_LAMBDA { return reinterpret_cast<const char*>(from + i * size); };  // a square is turned at once
  if (size == lanes_of<T> && count == size) return turn_square<T>(row, reinterpret_cast<char*>(to), size * bytes);
  if (count < lanes_of<T>) std::memset(to, 0, static_cast<std::size_t>(size) * simd::register_bytes);
  transpose<sizeof(T)>(reinterpret_cast<char*>(to), lanes_of<T> * bytes, reinterpret_cast<const char*>(from), size * bytes,
                       static_cast<std::size_t>(count), static_cast<std::size_t>(size));
}
/// x[e] is element e of as many matrices as there are lanes; matrices are whole registers.
template <int Size, class T>
EBB_INLINE void load_spread(simd::vector<T>* x, const T* from) {
  constexpr int n = simd::count_of<T>;
  repeat<Size / n>([&]<int B>() EBB_LAMBDA {
    simd::vector<T> part[static_cast<std::size_t>(n)];
    repeat<n>([&]<int I>() EBB_LAMBDA { part[I] = simd::load(from + I * Size + B * n); });
    simd::transpose<T>(part);
    repeat<n>([&]<int I>() EBB_LAMBDA { x[B * n + I] = part[I]; });
  });
}
/// The opposite of spread.
template <class T>
inline void gather(T* to, const T* from, std::ptrdiff_t size, std::ptrdiff_t count) {
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
  transpose<sizeof(T)>(reinterpret_cast<char*>(to), size * bytes, reinterpret_cast<const char*>(from), lanes_of<T> * bytes,
                       static_cast<std::size_t>(size), static_cast<std::size_t>(count));
}
/// Whether one of the first `count` lanes is not 0.
template <class T>
inline bool any_of(simd::vector<T> x, std::ptrdiff_t count) {
  T each[lanes_of<T>];
  simd::store(each, x);
  return std::any_of(each, each + count, [](T e) { return e != 0; });
}

/// A matrix of registers: row i and column j at data + i * row + j * column.
template <class T>
struct spread_matrix {
  T* data;
  std::ptrdiff_t row, column;

  EBB_INLINE T* at(std::ptrdiff_t i, std::ptrdiff_t j) const { return data + (i * row + j * column) * lanes_of<T>; }
  EBB_INLINE simd::vector<T> operator()(std::ptrdiff_t i, std::ptrdiff_t j) const { return simd::load(at(i, j)); }
};

/// Exchanges rows k and i from column `first` on where m is set.
template <class T>
inline void exchange(const spread_matrix<T>& a, simd::mask<T> m, std::ptrdiff_t k, std::ptrdiff_t i, std::ptrdiff_t first,
                     std::ptrdiff_t columns) {
  for (std::ptrdiff_t j = first; j < columns; ++j) {
    const auto x = a(k, j), y = a(i, j);
    simd::store(a.at(k, j), simd::select<T>(m, y, x));
    simd::store(a.at(i, j), simd::select<T>(m, x, y));
  }
}

/// The row of the pivot of column k of n rows, in each lane; `zero` becomes 1 where it is 0.
template <class T>
EBB_INLINE simd::vector<T> row_of_pivot(std::ptrdiff_t k, std::ptrdiff_t n, const spread_matrix<T>& a, simd::vector<T>& zero) {
  using V = simd::vector<T>;
  const auto number = [](std::ptrdiff_t i) EBB_LAMBDA { return simd::all(static_cast<T>(i)); };
  V largest = simd::abs<T>(a(k, k)), best = number(k);
  for (std::ptrdiff_t i = k + 1; i < n; ++i) {
    const V size = simd::abs<T>(a(i, k));
    const auto is_larger = simd::less<T>(largest, size);
    largest = simd::select<T>(is_larger, size, largest);
    best = simd::select<T>(is_larger, number(i), best);
  }
  zero = simd::select<T>(simd::equal<T>(largest, V{}), number(1), zero);
  return best;
}

/// Solves one system in each lane; b becomes -x. The result has a lane that is not 0 where a pivot was 0.
template <class T>
[[gnu::noinline]] simd::vector<T> solve_lanes(std::ptrdiff_t n, std::ptrdiff_t m, const spread_matrix<T>& a, const spread_matrix<T>& b) {
  using V = simd::vector<T>;
  V zero = {};
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    const V best = row_of_pivot<T>(k, n, a, zero);
    for (std::ptrdiff_t i = k + 1; i < n; ++i) {
      const auto here = simd::equal<T>(best, simd::all(static_cast<T>(i)));
      exchange(a, here, k, i, k, n);
      exchange(b, here, k, i, 0, m);
    }
    const V by = a(k, k);
    for (std::ptrdiff_t i = k + 1; i < n; ++i) {
      const V l = -(a(i, k) / by);
      for (std::ptrdiff_t j = k + 1; j < n; ++j) simd::store(a.at(i, j), simd::fma(l, a(k, j), a(i, j)));
      for (std::ptrdiff_t j = 0; j < m; ++j) simd::store(b.at(i, j), simd::fma(l, b(k, j), b(i, j)));
    }
  }
  for (std::ptrdiff_t k = n - 1; k >= 0; --k)
    for (std::ptrdiff_t j = 0; j < m; ++j) {
      const V x = -(b(k, j) / a(k, k));
      simd::store(b.at(k, j), x);
      for (std::ptrdiff_t i = 0; i < k; ++i) simd::store(b.at(i, j), simd::fma(a(i, k), x, b(i, j)));
    }
  return zero;
}

/// Replaces the m x n matrix in each lane by its triangular factors; `from`, a column, is exchanged like its rows. The result has a lane
/// that is not 0 where a pivot was 0.
template <class T>
[[gnu::noinline]] simd::vector<T> eliminate_lanes(std::ptrdiff_t m, std::ptrdiff_t n, const spread_matrix<T>& a,
                                                  const spread_matrix<T>& from) {
  using V = simd::vector<T>;
  V zero = {};
  for (std::ptrdiff_t k = 0; k < m && k < n; ++k) {
    const V best = row_of_pivot<T>(k, m, a, zero);
    for (std::ptrdiff_t i = k + 1; i < m; ++i) {
      const auto here = simd::equal<T>(best, simd::all(static_cast<T>(i)));
      exchange(a, here, k, i, 0, n);
      exchange(from, here, k, i, 0, 1);
    }
    const V by = a(k, k);
    for (std::ptrdiff_t i = k + 1; i < m; ++i) {
      const V l = a(i, k) / by;
      simd::store(a.at(i, k), l);
      for (std::ptrdiff_t j = k + 1; j < n; ++j) simd::store(a.at(i, j), simd::fma(-l, a(k, j), a(i, j)));
    }
  }
  return zero;
}

/// Replaces the lower triangle of the matrix in each lane by its factor, and the rest by 0. The result has a lane that is not 0 where there
/// is no factor.
template <class T>
[[gnu::noinline]] simd::vector<T> factor_lanes(std::ptrdiff_t n, const spread_matrix<T>& a) {
  using V = simd::vector<T>;
  V none = simd::all(T(1)), failed = {};
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    V by = {};
    for (std::ptrdiff_t i = j; i < n; ++i) {
      V s = a(i, j);
      for (std::ptrdiff_t k = 0; k < j; ++k) s = simd::fma(-a(i, k), a(j, k), s);
      if (i == j) {
        failed = simd::select<T>(simd::less<T>(V{}, s), failed, none);
        by = s = simd::sqrt(s);
      } else s = s / by;
      simd::store(a.at(i, j), s);
    }
    for (std::ptrdiff_t i = 0; i < j; ++i) simd::store(a.at(i, j), V{});
  }
  return failed;
}

/// The columns of one matrix in memory, each padded to whole registers.
template <class T>
struct columns {
  T* data;
  std::ptrdiff_t length;

  EBB_INLINE T* at(std::ptrdiff_t i, std::ptrdiff_t j) const { return data + j * length + i; }
};
constexpr std::ptrdiff_t padded(std::ptrdiff_t n, std::ptrdiff_t to) { return (n + to - 1) / to * to; }

/// Writes element (i, j) of a [rows x count], row-major, to (i, j) of the columns; the padding is 0.
template <class T>
inline void put_columns(const columns<T>& w, const T* a, std::ptrdiff_t rows, std::ptrdiff_t count) {
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
  if (rows < w.length) std::memset(w.data, 0, static_cast<std::size_t>(w.length * count * bytes));
  transpose<sizeof(T)>(reinterpret_cast<char*>(w.data), w.length * bytes, reinterpret_cast<const char*>(a), count * bytes,
                       static_cast<std::size_t>(rows), static_cast<std::size_t>(count));
}

/// Adds the part of column k, times the factor, to column `to`: in rows above k or below it.
template <bool Below, class T>
EBB_INLINE void add_column(T* to, const T* from, std::ptrdiff_t k, std::ptrdiff_t length, T factor, simd::vector<T> rows) {
  constexpr std::ptrdiff_t n = lanes_of<T>;
  for (std::ptrdiff_t r = Below ? k / n * n : 0; r < (Below ? length : k); r += n) {
    const auto old = simd::load(to + r), border = simd::all(static_cast<T>(k - r));
    const auto changed = Below ? simd::less<T>(border, rows) : simd::less<T>(rows, border);
    simd::store(to + r, simd::select<T>(changed, simd::fma(simd::load(from + r), simd::all(factor), old), old));
  }
}

/// One system, whose columns are registers. b follows a in w and becomes -x.
template <class T>
[[gnu::noinline]] bool solve_columns(std::ptrdiff_t n, std::ptrdiff_t m, const columns<T>& w) {
  const auto rows = simd::count_up<T>();
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    T* const column = w.at(0, k);
    std::ptrdiff_t best = k;
    T largest = lane::abs(column[k]);
    for (std::ptrdiff_t i = k + 1; i < n; ++i)
      if (const T size = lane::abs(column[i]); size > largest) {
        largest = size;
        best = i;
      }
    if (largest == 0) return false;
    if (best != k)
      for (std::ptrdiff_t j = k; j < n + m; ++j) std::swap(*w.at(k, j), *w.at(best, j));
    const T by = column[k];
    for (std::ptrdiff_t r = k / lanes_of<T> * lanes_of<T>; r < n; r += lanes_of<T>) {
      const auto old = simd::load(column + r);  // row k and those above it stay
      simd::store(column + r, simd::select<T>(simd::less<T>(simd::all(static_cast<T>(k - r)), rows), -(old / simd::all(by)), old));
    }
    for (std::ptrdiff_t j = k + 1; j < n + m; ++j) add_column<true>(w.at(0, j), column, k, n, *w.at(k, j), rows);
  }
  for (std::ptrdiff_t k = n - 1; k >= 0; --k)
    for (std::ptrdiff_t j = n; j < n + m; ++j) {
      const T x = *w.at(k, j) = -(*w.at(k, j) / *w.at(k, k));
      add_column<false>(w.at(0, j), w.at(0, k), k, n, x, rows);
    }
  return true;
}

/// One factor, whose columns are registers. Elements above its diagonal are undefined.
template <class T>
[[gnu::noinline]] bool factor_columns(std::ptrdiff_t n, const columns<T>& w) {
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    T* const column = w.at(0, k);
    if (!(column[k] > 0)) return false;
    const T by = lane::sqrt(column[k]);
    for (std::ptrdiff_t r = k / lanes_of<T> * lanes_of<T>; r < n; r += lanes_of<T>) {
      const auto quotient = simd::load(column + r) / simd::all(by);
      simd::store(column + r, quotient);
    }
    column[k] = by;
    for (std::ptrdiff_t j = k + 1; j < n; ++j) {
      T* const to = w.at(0, j);
      const auto factor = simd::all(-column[j]);
      for (std::ptrdiff_t r = j / lanes_of<T> * lanes_of<T>; r < n; r += lanes_of<T>)
        simd::store(to + r, simd::fma(simd::load(column + r), factor, simd::load(to + r)));
    }
  }
  return true;
}

/// Replaces m rows of n elements, which take `row` elements in whole registers, by their triangular factors. A column whose pivot is 0 is
/// left as it is. from: m elements, exchanged like rows.
template <class T>
[[gnu::noinline]] void eliminate_rows(std::ptrdiff_t m, std::ptrdiff_t n, T* w, std::ptrdiff_t row, T* from) {
  const auto columns = simd::count_up<T>();
  for (std::ptrdiff_t k = 0; k < m && k < n; ++k) {
    T* const pivot = w + k * row;
    std::ptrdiff_t best = k;
    T largest = lane::abs(pivot[k]);
    for (std::ptrdiff_t i = k + 1; i < m; ++i)
      if (const T size = lane::abs(w[i * row + k]); size > largest) {
        largest = size;
        best = i;
      }
    if (largest == 0) continue;
    if (best != k) {
      T* const other = w + best * row;
      for (std::ptrdiff_t j = 0; j < row; j += lanes_of<T>) {
        const auto x = simd::load(pivot + j), y = simd::load(other + j);
        simd::store(pivot + j, y);
        simd::store(other + j, x);
      }
      std::swap(from[k], from[best]);
    }
    const std::ptrdiff_t first = k / lanes_of<T> * lanes_of<T>;
    const auto here = simd::all(static_cast<T>(k - first));
    const auto is_k = simd::equal<T>(here, columns), is_later = simd::less<T>(here, columns);
    const T by = pivot[k];
    for (std::ptrdiff_t i = k + 1; i < m; ++i) {
      T* const to = w + i * row;
      const auto l = simd::all(to[k] / by), old = simd::load(to + first);
      const auto changed = simd::fma(-l, simd::load(pivot + first), old);
      simd::store(to + first, simd::select<T>(is_later, changed, simd::select<T>(is_k, l, old)));
      for (std::ptrdiff_t j = first + lanes_of<T>; j < row; j += lanes_of<T>)
        simd::store(to + j, simd::fma(-l, simd::load(pivot + j), simd::load(to + j)));
    }
  }
}

/// From this number of matrices on, lanes are faster: a partly filled register costs as much as a full one.
template <class T>
inline constexpr std::ptrdiff_t enough_to_expand = std::max<std::ptrdiff_t>(lanes_of<T> / 2, 2);
template <class T>
constexpr std::ptrdiff_t enough_to_solve(std::ptrdiff_t n) {
  return std::max<std::ptrdiff_t>(n > 4 && n <= 8 ? lanes_of<T> / 2 : lanes_of<T> * 3 / 4, 2);
}
template <class T>
constexpr std::ptrdiff_t enough_to_factor(std::ptrdiff_t n) {
  return std::max<std::ptrdiff_t>(n > 4 ? lanes_of<T> / 4 : lanes_of<T> * 3 / 4, 2);
}

}  // namespace small

/// Solves up to `batch` systems, see solve; b is nullptr for inverses. Returns how many have been solved: fewer if the next one is
/// singular.
template <class T>
[[gnu::noinline]] std::ptrdiff_t solve_small(const linear_system& s, std::ptrdiff_t batch, const T* a, const T* b, T* x, void* scratch) {
  constexpr std::ptrdiff_t lanes = small::lanes_of<T>;
  const std::ptrdiff_t n = s.n, m = s.m, size = n * n, sides = n * m;
  T* const wa = static_cast<T*>(scratch);
  const auto side = [&](std::ptrdiff_t i) { return b ? b + i * sides : b; };
  std::ptrdiff_t done = 0, last = batch;
  for (; batch - done >= small::enough_to_solve<T>(n); done += std::min(lanes, batch - done)) {
    const std::ptrdiff_t count = std::min(lanes, batch - done);
    T* const wb = wa + size * lanes;
    small::spread(wa, a + done * size, size, count);
    if (b) small::spread(wb, b + done * sides, sides, count);
    else
      for (std::ptrdiff_t e = 0; e < sides; ++e) simd::store(wb + e * lanes, simd::all(T(e / n == e % n)));
    const small::spread_matrix<T> by_rows{wa, n, 1}, by_columns{wa, 1, n};
    const auto zero = small::solve_lanes<T>(n, m, s.transposed ? by_columns : by_rows, {wb, m, 1});
    if (small::any_of<T>(zero, count)) {  // one by one it is found which
      last = done + count;
      break;
    }
    for (std::ptrdiff_t e = 0; e < sides; ++e) simd::store(wb + e * lanes, -simd::load(wb + e * lanes));
    small::gather(x + done * sides, wb, sides, count);
  }
  for (; done < last; ++done) {
    const T* const from = a + done * size;
    T* const to = x + done * sides;
    bool solved = true;
    if (n <= 4) solved = solve_known(s, from, side(done), to);
    else {
      const small::columns<T> w{wa, small::padded(n, lanes)}, right{w.at(0, n), w.length};
      if (s.transposed) {
        if (n < w.length) std::memset(wa, 0, static_cast<std::size_t>(w.length * n) * sizeof(T));
        for (std::ptrdiff_t j = 0; j < n; ++j) std::copy(from + j * n, from + (j + 1) * n, w.at(0, j));
      } else small::put_columns(w, from, n, n);
      if (b) small::put_columns(right, side(done), n, m);
      else {
        std::memset(right.data, 0, static_cast<std::size_t>(w.length * m) * sizeof(T));
        for (std::ptrdiff_t j = 0; j < m; ++j) *right.at(j, j) = T(1);
      }
      solved = small::solve_columns<T>(n, m, w);
      for (std::ptrdiff_t i = 0; i < n && solved; ++i)
        for (std::ptrdiff_t j = 0; j < m; ++j) to[i * m + j] = -*right.at(i, j);
    }
    if (!solved) return done;
  }
  return done;
}

/// Computes up to `batch` factors, see cholesky. Returns how many: fewer if the next one has none.
template <class T>
[[gnu::noinline]] std::ptrdiff_t cholesky_small(std::ptrdiff_t n, std::ptrdiff_t batch, const T* a, T* l, void* scratch) {
  constexpr std::ptrdiff_t lanes = small::lanes_of<T>;
  T* const w = static_cast<T*>(scratch);
  const std::ptrdiff_t size = n * n;
  std::ptrdiff_t done = 0, last = batch;
  for (; batch - done >= small::enough_to_factor<T>(n); done += std::min(lanes, batch - done)) {
    const std::ptrdiff_t count = std::min(lanes, batch - done);
    small::spread(w, a + done * size, size, count);
    if (small::any_of<T>(small::factor_lanes<T>(n, {w, n, 1}), count)) {
      last = done + count;
      break;
    }
    small::gather(l + done * size, w, size, count);
  }
  for (; done < last; ++done) {
    const T* const from = a + done * size;
    T* const to = l + done * size;
    bool found;
    if (n <= 4) found = factor_known(n, from, to);
    else {
      const small::columns<T> c{w, small::padded(n, lanes)};
      small::put_columns(c, from, n, n);
      found = small::factor_columns<T>(n, c);
      for (std::ptrdiff_t i = 0; i < n && found; ++i)
        for (std::ptrdiff_t j = 0; j < n; ++j) to[i * n + j] = j <= i ? *c.at(i, j) : T(0);
    }
    if (!found) return done;
  }
  return done;
}
EBB_ONCE_FOR_ALL(std::ptrdiff_t solve_small<float>(const linear_system&, std::ptrdiff_t, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(std::ptrdiff_t solve_small<double>(const linear_system&, std::ptrdiff_t, const double*, const double*, double*, void*))
EBB_ONCE_FOR_ALL(std::ptrdiff_t cholesky_small<float>(std::ptrdiff_t, std::ptrdiff_t, const float*, float*, void*))
EBB_ONCE_FOR_ALL(std::ptrdiff_t cholesky_small<double>(std::ptrdiff_t, std::ptrdiff_t, const double*, double*, void*))

}  // namespace ebb::inline EBB_ABI::kernel
