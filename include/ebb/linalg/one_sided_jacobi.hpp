// ebb/linalg/one_sided_jacobi.hpp — singular values and vectors of small matrices.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "eigen.hpp"

#include <cstddef>
#include <limits>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of a one-sided Jacobi method]
/// The columns x of A, or of A^T if A is wide, are rotated in pairs p < q, row by row, until they are orthogonal. A rotation is left out if
/// |x(p) x(q)| <= m u |x(p)| |x(q)|, where u is epsilon and m the length of x. The method ends after a sweep without rotations, or after 60
/// sweeps; sweeps of small rotations do not end it, since columns that are rounding errors need them. Values are lengths of columns, sorted
/// in falling order, equal ones in the order of their columns. A column whose value is at most m u times the largest one is a rounding
/// error: it is orthogonalized twice against the columns before it. If nothing of it is left, the unit vector of which those columns have
/// the least part takes its place.
/// Source: G. Golub, C. Van Loan, Matrix Computations, section 8.6.3; J. Demmel, K. Veselic (1992).
template <class T>
struct one_sided_jacobi {
  std::ptrdiff_t m, n;   // n vectors of m elements, m >= n
  T *x, *v, *s, *order;  // x: n x m, each row a vector; v: n x n; s: n; order: n

  static constexpr T unit = std::numeric_limits<T>::epsilon();

  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    const std::ptrdiff_t n = rows < columns ? rows : columns;
    return rows * columns + n * n + 2 * n;
  }
  /// Reads the vectors of a matrix; false if it is not finite.
  constexpr bool take(const matrix_call<T>& c) {
    const bool tall = c.rows >= c.columns;
    m = tall ? c.rows : c.columns;
    n = tall ? c.columns : c.rows;
    x = c.scratch;
    v = x + m * n;
    s = v + n * n;
    order = s + n;
    for (std::ptrdiff_t j = 0; j < n; ++j)
      for (std::ptrdiff_t i = 0; i < m; ++i) x[j * m + i] = tall ? c.a[i * n + j] : c.a[j * m + i];
    for (std::ptrdiff_t i = 0; i < n * n; ++i) v[i] = T(i % (n + 1) == 0);
    return all_finite(m * n, x);
  }
  /// Makes the vectors orthogonal, and finds their lengths and their order.
  constexpr void run() {
    const T power = power_for(m * n, x), least = static_cast<T>(m) * unit;
    for (std::ptrdiff_t i = 0; i < m * n && power != 1; ++i) x[i] = x[i] * power;
    bool turned = true;
    for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
      turned = false;
      for (std::ptrdiff_t p = 0; p < n; ++p)
        for (std::ptrdiff_t q = p + 1; q < n; ++q) {
          T* const first = x + p * m;
          T* const second = x + q * m;
          const T product = dot(first, second), a = dot(first, first), b = dot(second, second);
          if (product == 0 || lane::abs(product) <= least * (lane::sqrt(a) * lane::sqrt(b))) continue;
          const auto r = rotation<T>::of(b - a, product);
          r.turn(m, first, second);
          r.turn(n, v + p * n, v + q * n);
          turned = true;
        }
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) s[j] = length(x + j * m) / power;
    jacobi<T>::sort(n, s, 1, order, true);
  }
  /// Scales vector number k, in falling order of the lengths, to length 1. Those before it have been scaled.
  constexpr void normalize(std::ptrdiff_t k) const {
    T* const own = at(k);
    T size = length(own);
    divide(own, size > 0 ? size : T(1));
    if (s[number(k)] > static_cast<T>(m) * unit * s[number(0)]) return;
    // It is a rounding error: rotations may not have made it orthogonal.
    if (size > 0) {
      orthogonalize(k);
      size = length(own);
    }
    if (!(size >= T(0.5))) {
      // Take the unit vector of which the vectors before have the least part.
      std::ptrdiff_t best = 0;
      T least = std::numeric_limits<T>::max();
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        T sum = T(0);
        for (std::ptrdiff_t j = 0; j < k; ++j) sum = lane::fma(at(j)[i], at(j)[i], sum);
        if (sum < least) {
          least = sum;
          best = i;
        }
      }
      for (std::ptrdiff_t i = 0; i < m; ++i) own[i] = T(i == best);
      orthogonalize(k);
      size = length(own);
    }
    divide(own, size);
  }
  constexpr std::ptrdiff_t number(std::ptrdiff_t k) const { return static_cast<std::ptrdiff_t>(order[k]); }
  constexpr T* at(std::ptrdiff_t k) const { return x + number(k) * m; }

 private:
  constexpr void divide(T* a, T by) const {
    for (std::ptrdiff_t i = 0; i < m; ++i) a[i] = a[i] / by;
  }
  constexpr void orthogonalize(std::ptrdiff_t k) const {
    for (int pass = 0; pass < 2; ++pass)
      for (std::ptrdiff_t j = 0; j < k; ++j) {
        const T part = dot(at(j), at(k));
        for (std::ptrdiff_t i = 0; i < m; ++i) at(k)[i] = lane::fma(-part, at(j)[i], at(k)[i]);
      }
  }
  constexpr T dot(const T* a, const T* b) const {
    T sum = T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i) sum = lane::fma(a[i], b[i], sum);
    return sum;
  }
  /// Elements are divided by the largest one before they are squared: so the squares of small columns do not vanish.
  constexpr T length(const T* a) const {
    T largest = T(0), sum = T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i)
      if (const T size = lane::abs(a[i]); size > largest) largest = size;
    if (largest == 0) return T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i) sum = lane::fma(a[i] / largest, a[i] / largest, sum);
    return largest * lane::sqrt(sum);
  }
};

}  // namespace ebb::inline EBB_ABI::detail
