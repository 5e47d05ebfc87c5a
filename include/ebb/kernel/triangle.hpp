// ebb/kernel/triangle.hpp — triangular systems, Cholesky factors, determinants.
// SPDX-License-Identifier: BSL-1.0
//
// The order of every sum is fixed: [note: order of a triangular solution], [note: order of a Cholesky factor]. As in solve.hpp, panels are
// computed one after another, and tiles of a product update the rest; solved rows have the opposite sign until the end.
#pragma once

#include "../base/repeat.hpp"
#include "../num/logarithm.hpp"
#include "../tensor/triangle_order.hpp"
#include "solve.hpp"
#include "transpose.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::kernel {

/// op(t)[n x n] x[n x m] = b[n x m], compact and row-major; one triangle of t is read. flags: see triangular.
struct triangular_system {
  std::ptrdiff_t n = 0, m = 0;
  bool transposed = false;
  std::int64_t flags = triangular;

  constexpr std::ptrdiff_t row() const { return (m + 15) / 16 * 16; }
  constexpr bool upper() const { return (flags & upper_triangle) != 0; }
  /// Whether x has its rows in rising order: row 0 comes first.
  constexpr bool rising() const { return upper() == transposed; }
  /// Whether rows are divided by the diagonal, which is not taken to be 1.
  constexpr bool divides() const { return (flags & unit_diagonal_bit) == 0; }
};

namespace elimination {

/// Replaces y by -x: the rows of a panel, then the panel's part of all later rows. t, y: in the order of the solution; rows of y are `row`
/// elements apart, which is negative if the last one comes first.
template <chain_end End, class T>
inline void solve_rows(std::ptrdiff_t n, const matrix<T>& t, T* y, std::ptrdiff_t row, std::ptrdiff_t columns) {
  for (std::ptrdiff_t k0 = 0; k0 < n; k0 += panel) {
    const std::ptrdiff_t k1 = std::min(k0 + panel, n);
    solve_panel<End>(k1 - k0, t.from(k0, k0), y + k0 * row, row, columns);
    tile::block(n - k1, k1 - k0, t.from(k1, k0), y + k0 * row, row, y + k1 * row, row, columns, true);
  }
}
template <class T>
inline void solve_rows(const triangular_system& s, const matrix<T>& as_it_lies, T* y) {
  const bool rising = s.rising(), divides = s.divides();
  const std::ptrdiff_t first = rising ? 0 : s.n - 1, step = rising ? 1 : -1, row = s.row();
  const matrix<T> t{as_it_lies.at(first, first), step * as_it_lies.row, step * as_it_lies.col};
  if (divides) solve_rows<chain_end{true, true}>(s.n, t, y + first * row, step * row, s.m);
  else solve_rows<chain_end{false, true}>(s.n, t, y + first * row, step * row, s.m);
}

/// Adds what columns `first` to `last` of t give to as many rows as a register has elements, from row i on: t(i, k) y(k) in rising k. Rows
/// lie as they are, each of them adjacent elements, or turned, so that columns are adjacent elements. `steps` is 1, or -1 if the elements
/// come in falling order; turned rows are then in the reverse order of lanes. last - first is a multiple of the lanes.
template <bool Turned, class T>
EBB_INLINE simd::vector<T> add_columns(const matrix<T>& t, std::ptrdiff_t i, std::ptrdiff_t first, std::ptrdiff_t last, const T* y,
                                       std::ptrdiff_t steps, simd::vector<T> acc) {
  constexpr int n = simd::count_of<T>;
  if constexpr (Turned)
    for (std::ptrdiff_t k = first; k < last; ++k) acc = simd::fma(simd::load(t.at(steps > 0 ? i : i + n - 1, k)), simd::all(y[k]), acc);
  else
    for (std::ptrdiff_t k = first; k < last; k += n) {
      simd::vector<T> x[static_cast<std::size_t>(n)];
      const T* const from = t.at(i, steps > 0 ? k : k + n - 1);
      repeat<n>([&]<int I>() EBB_LAMBDA { x[I] = simd::load(from + I * t.row); });
      simd::transpose<T>(x);
      if (steps > 0) repeat<n>([&]<int I>() EBB_LAMBDA { acc = simd::fma(x[I], simd::all(y[k + I]), acc); });
      else repeat<n>([&]<int I>() EBB_LAMBDA { acc = simd::fma(x[n - 1 - I], simd::all(y[k + I]), acc); });
    }
  return acc;
}

/// The end of the chain of row r, which has all columns before r: y[r] becomes -x.
template <class T>
EBB_INLINE void finish_row(const matrix<T>& t, std::ptrdiff_t r, T sum, bool divides, T* y) {
  y[r] = divides ? -(sum / *t.at(r, r)) : -sum;
}
/// Rows i to i + count of t, whose chains in y have the columns before i already: y becomes -x.
template <class T>
inline void finish_rows(const matrix<T>& t, std::ptrdiff_t i, std::ptrdiff_t count, bool divides, T* y) {
  for (std::ptrdiff_t r = i; r < i + count; ++r) {
    T sum = y[r];
    for (std::ptrdiff_t k = i; k < r; ++k) sum = lane::fma(*t.at(r, k), y[k], sum);
    finish_row(t, r, sum, divides, y);
  }
}
/// The same for a constant Count: unrolled, because a processor mispredicts the ends of such short loops.
template <int Count, class T>
[[gnu::noinline]] void finish_known_rows(const matrix<T>& t, std::ptrdiff_t i, bool divides, T* y) {
  repeat<Count>([&]<int R>() EBB_LAMBDA {
    T sum = y[i + R];
    repeat<R>([&]<int K>() EBB_LAMBDA { sum = lane::fma(*t.at(i + R, i + K), y[i + K], sum); });
    finish_row(t, i + R, sum, divides, y);
  });
}

/// y, in the order of the solution, becomes -x. Two registers of rows are in flight, because each fma of a chain waits for the one before.
template <bool Turned, class T>
inline void solve_in_registers(std::ptrdiff_t size, const matrix<T>& t, std::ptrdiff_t steps, bool divides, T* y) {
  using V = simd::vector<T>;
  constexpr int n = simd::count_of<T>;
  const auto in_order = [&](V x) EBB_LAMBDA {
    if constexpr (!Turned) return x;
    else
      return steps > 0 ? x : [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
        return __builtin_shufflevector(x, x, (n - 1 - I)...);
      }(std::make_integer_sequence<int, n>{});
  };
  std::ptrdiff_t i = 0;
  const auto add = [&](std::ptrdiff_t row, std::ptrdiff_t first, std::ptrdiff_t last, V acc) EBB_LAMBDA {
    return add_columns<Turned>(t, row, first, last, y, steps, acc);
  };
  for (; i + 2 * n <= size; i += 2 * n) {
    V low = in_order(simd::load(y + i)), high = in_order(simd::load(y + i + n));
    for (std::ptrdiff_t k = 0; k < i; k += n) low = add(i, k, k + n, low), high = add(i + n, k, k + n, high);
    simd::store(y + i, in_order(low));
    finish_known_rows<n>(t, i, divides, y);
    simd::store(y + i + n, in_order(add(i + n, i, i + n, high)));
    finish_known_rows<n>(t, i + n, divides, y);
  }
  for (; i + n <= size; i += n) {
    simd::store(y + i, in_order(add(i, 0, i, in_order(simd::load(y + i)))));
    finish_known_rows<n>(t, i, divides, y);
  }
  for (std::ptrdiff_t r = i; r < size; ++r)
    for (std::ptrdiff_t k = 0; k < i; ++k) y[r] = lane::fma(*t.at(r, k), y[k], y[r]);
  finish_rows(t, i, size - i, divides, y);
}

/// One right side. x may be b; y: n elements, which become -x.
template <class T>
inline void solve_vector(const triangular_system& s, const matrix<T>& as_it_lies, const T* b, T* x, T* y) {
  const bool rising = s.rising(), divides = s.divides();
  // In the order of the solution: row 0 is the last one if that comes first.
  const std::ptrdiff_t last = s.n - 1, step = rising ? 1 : -1, first = rising ? 0 : last;
  const matrix<T> t{as_it_lies.at(first, first), step * as_it_lies.row, step * as_it_lies.col};
  for (std::ptrdiff_t i = 0; i < s.n; ++i) y[i] = b[first + step * i];
  if (s.transposed) solve_in_registers<true>(s.n, t, step, divides, y);
  else solve_in_registers<false>(s.n, t, step, divides, y);
  for (std::ptrdiff_t i = 0; i < s.n; ++i) x[first + step * i] = -y[i];
}

/// Replaces the upper triangle of w by u, u^T u = a, and the lower one by -u^T. Returns the order of the minor that is not positive, or 0.
template <class T>
inline std::ptrdiff_t factor(const rows<T>& w) {
  for (std::ptrdiff_t k0 = 0; k0 < w.n; k0 += panel) {
    const std::ptrdiff_t k1 = std::min(k0 + panel, w.n);
    for (std::ptrdiff_t i = k0; i < k1; i += tile::height) {  // the triangle of a few rows, and their other columns
      const std::ptrdiff_t end = std::min<std::ptrdiff_t>(i + tile::height, k1);
      if (i > k0) w.add(i, i, end - i, w.n - i, k0, i - k0);
      for (std::ptrdiff_t k = i; k < end; ++k) {
        if (!(*w.at(k, k) > 0)) return k + 1;
        const T by = *w.at(k, k) = lane::sqrt(*w.at(k, k));
        for (std::ptrdiff_t j = k + 1; j < end; ++j) *w.at(j, k) = -(*w.at(k, j) /= by);
        for (std::ptrdiff_t r = k + 1; r < end; ++r)
          for (std::ptrdiff_t j = r; j < end; ++j) *w.at(r, j) = lane::fma(*w.at(r, k), *w.at(k, j), *w.at(r, j));
      }
      solve_panel<chain_end{true, false}>(end - i, matrix<T>{w.at(i, i), w.row, 1}, w.at(i, end), w.row, w.n - end);
      for (std::ptrdiff_t j = end; j < k1; ++j)
        for (std::ptrdiff_t k = i; k < end; ++k) *w.at(j, k) = -*w.at(k, j);
    }
    turn(w.at(k1, k0), w.row, w.at(k0, k1), w.row, k1 - k0, w.n - k1);
    for (std::ptrdiff_t j = k1; j < w.n; ++j)
      for (T *x = w.at(j, k0), *end = w.at(j, k1); x != end; ++x) *x = -*x;
    for (std::ptrdiff_t i = k1; i < w.n; i += panel) w.add(i, i, std::min(panel, w.n - i), w.n - i, k0, k1 - k0);
  }
  return 0;
}

}  // namespace elimination

namespace lapack {

/// As kernel::solve_triangle.
template <class T>
inline void solve_triangle(const triangular_system& s, const T* t, const T* b, T* x) {
  using of = calls<T>;
  const auto n = static_cast<int>(s.n), m = static_cast<int>(s.m);
  if (x != b) std::copy(b, b + s.n * s.m, x);
  of::trsm(of::by_rows, of::left, of::triangle(s.upper()), of::transposed(s.transposed), of::diagonal(!s.divides()), n, m,
           T(1), t, n, x, m);
}
/// As kernel::cholesky, in place. A row-major matrix is its transpose for LAPACK: so the lower triangle is the upper one there.
template <class T>
inline std::ptrdiff_t cholesky(std::ptrdiff_t n, T* l) {
  using of = calls<T>;
  const int order = of::potrf(of::by_columns, 'U', static_cast<int>(n), l, static_cast<int>(n));
  if (order > 0) return order;
  for (std::ptrdiff_t k = 0; k < n; ++k)  // OpenBLAS takes the root of a NaN
    if (!(l[k * (n + 1)] > 0)) return k + 1;
  return 0;
}

}  // namespace lapack

/// The bytes of scratch of solve_triangle<T>, 64-byte aligned: the right sides, and t if it has to be widened.
template <element T>
constexpr std::size_t triangle_scratch_bytes(const triangular_system& s) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  return static_cast<std::size_t>(s.n * s.row() + (half_width<T> ? s.n * s.n : 0)) * sizeof(wide);
}

/// Computes x, see triangular_system; x may be b.
/// Error: (t + d) x = b for a d with |d| <= n u |t|, column by column.   Source: Higham, Accuracy and Stability, theorem 8.5.
template <element T>
[[gnu::noinline]] void solve_triangle(const triangular_system& s, const T* t, const T* b, T* x, void* scratch) {
  if constexpr (lapack::has<T>)
    if (lapack::large::is(s.n, lapack::large::triangle) && s.m <= lapack::large::most) return lapack::solve_triangle(s, t, b, x);
  using wide = std::conditional_t<half_width<T>, float, T>;
  wide* const y = static_cast<wide*>(scratch);
  if constexpr (!half_width<T>)
    if (s.m == 1) {
      const matrix<T> as_it_lies{t, s.n, 1};
      return elimination::solve_vector(s, s.transposed ? as_it_lies.transposed() : as_it_lies, b, x, y);
    }
  const std::ptrdiff_t row = s.row();
  for (std::ptrdiff_t i = 0; i < s.n; ++i)
    for (std::ptrdiff_t j = 0; j < s.m; ++j) y[i * row + j] = static_cast<wide>(b[i * s.m + j]);
  const wide* from;
  if constexpr (half_width<T>) {
    wide* const wider = y + s.n * row;
    for (std::ptrdiff_t i = 0; i < s.n * s.n; ++i) wider[i] = static_cast<wide>(t[i]);
    from = wider;
  } else from = t;
  const matrix<wide> as_it_lies{from, s.n, 1};
  elimination::solve_rows(s, s.transposed ? as_it_lies.transposed() : as_it_lies, y);
  for (std::ptrdiff_t i = 0; i < s.n; ++i)
    for (std::ptrdiff_t j = 0; j < s.m; ++j) x[i * s.m + j] = static_cast<T>(-y[i * row + j]);
}

/// Computes l with l l^T = a, both n x n; l may be a. Returns the order of the minor that is not positive, or 0. If there is one, l is
/// unchanged, unless it is LAPACK's.
/// scratch: as for the solution with n x n and no right sides.
/// Error: l l^T = a + d with |d| <= (n + 1) u |l| |l^T|.   Source: Higham, theorem 10.3.
template <element T>
[[gnu::noinline]] std::ptrdiff_t cholesky(std::ptrdiff_t n, const T* a, T* l, void* scratch) {
  if constexpr (lapack::has<T>)
    if (lapack::large::is(n, lapack::large::cholesky)) {
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        if (l != a) std::copy(a + i * n, a + i * n + i + 1, l + i * n);
        std::fill(l + i * n + i + 1, l + (i + 1) * n, T(0));
      }
      if (lapack::all_finite(n * n, l)) return lapack::cholesky(n, l);
    }
  using wide = std::conditional_t<half_width<T>, float, T>;
  const elimination::rows<wide> w{static_cast<wide*>(scratch), n, 0, linear_system{n, 0}.row()};
  if constexpr (!half_width<T>) elimination::turn(w.data, w.row, a, n, n, n);
  else
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j <= i; ++j) *w.at(j, i) = static_cast<wide>(a[i * n + j]);
  if (const std::ptrdiff_t order = elimination::factor(w); order > 0) return order;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    for (std::ptrdiff_t j = 0; j < i; ++j) l[i * n + j] = static_cast<T>(-*w.at(i, j));
    l[i * n + i] = static_cast<T>(*w.at(i, i));
    for (std::ptrdiff_t j = i + 1; j < n; ++j) l[i * n + j] = T(0);
  }
  return 0;
}

/// The sign of a determinant and the logarithm of its magnitude, from the pivots of [note: order of a solution]: their logarithms are added
/// in rising order. A singular matrix has sign 0 and -inf.   scratch: as for cholesky.
template <element T>
[[gnu::noinline]] void log_determinant(std::ptrdiff_t n, const T* a, T* sign_and_log, void* scratch) {
  if constexpr (lapack::has<T>)
    if (lapack::large::is(n, lapack::large::elimination) && lapack::all_finite(n * n, a)) {
      T* const w = static_cast<T*>(scratch);
      int* const pivots = reinterpret_cast<int*>(w + n * n);
      std::copy(a, a + n * n, w);  // the transpose has the same determinant
      const bool singular = lapack::eliminate(n, w, pivots) >= 0;
      const auto r = sign_and_log_of<T>(n, singular, lapack::is_odd(n, pivots), [&](std::ptrdiff_t k) { return w[k * (n + 1)]; });
      sign_and_log[0] = r.sign;
      sign_and_log[1] = r.log;
      return;
    }
  using wide = std::conditional_t<half_width<T>, float, T>;
  bool odd = false;
  const elimination::rows<wide> w{static_cast<wide*>(scratch), n, 0, linear_system{n, 0}.row(), &odd};
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = 0; j < n; ++j) *w.at(i, j) = static_cast<wide>(a[i * n + j]);
  const bool singular = n < elimination::blocked ? eliminate_in_order(w.data, n, w.row, [&](auto...) { odd = !odd; }) >= 0
                                                 : elimination::eliminate(w) >= 0;
  const auto r = sign_and_log_of<wide>(n, singular, odd, [&](std::ptrdiff_t k) { return *w.at(k, k); });
  sign_and_log[0] = static_cast<T>(r.sign);
  sign_and_log[1] = static_cast<T>(r.log);
}

EBB_ONCE_FOR_ALL(void solve_triangle<float>(const triangular_system&, const float*, const float*, float*, void*))
EBB_ONCE_FOR_ALL(void solve_triangle<double>(const triangular_system&, const double*, const double*, double*, void*))
EBB_ONCE_FOR_ALL(std::ptrdiff_t cholesky<float>(std::ptrdiff_t, const float*, float*, void*))
EBB_ONCE_FOR_ALL(std::ptrdiff_t cholesky<double>(std::ptrdiff_t, const double*, double*, void*))
EBB_ONCE_FOR_ALL(void log_determinant<float>(std::ptrdiff_t, const float*, float*, void*))
EBB_ONCE_FOR_ALL(void log_determinant<double>(std::ptrdiff_t, const double*, double*, void*))

}  // namespace ebb::inline EBB_ABI::kernel
