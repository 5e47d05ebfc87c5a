// ebb/linalg/tridiagonal.hpp — eigenvalues and eigenvectors of large symmetric matrices by the QL method.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../num/lane.hpp"

#include <cstddef>
#include <limits>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of large eigenproblems]
/// Reflections bring a symmetric matrix into tridiagonal form, the last row first. QL steps with implicit shifts find its eigenvalues,
/// place after place; each step is a sequence of rotations. An element e beside the diagonal counts as 0 if it is at most epsilon times the
/// largest |d| + |e| of a row so far. That is less work than the Jacobi method, but small eigenvalues have the absolute error of large
/// ones.
/// Source: H. Bowdler, R. Martin, C. Reinsch, J. Wilkinson, Handbook for Automatic Computation II (1971), tred2 and tql2.
template <class T>
struct tridiagonal {
  std::ptrdiff_t n;
  T *v, *d, *e;  // v: n x n, the matrix, then its vectors as rows; d: the eigenvalues; e: the elements beside the diagonal

  static constexpr T unit = std::numeric_limits<T>::epsilon();

  constexpr void run(bool with_vectors) const {
    reduce();
    if (with_vectors) accumulate();
    else
      for (std::ptrdiff_t i = 0; i < n; ++i) d[i] = at(i, i);
    for (std::ptrdiff_t i = 1; i < n; ++i) e[i - 1] = e[i];
    e[n - 1] = T(0);
    // Below the smallest normal number, rotations would lose digits.
    T shift = T(0), size = std::numeric_limits<T>::min() / unit;
    for (std::ptrdiff_t l = 0; l < n; ++l) {
      const T own = lane::abs(d[l]) + lane::abs(e[l]);
      if (own > size) size = own;
      std::ptrdiff_t m = l;
      while (lane::abs(e[m]) > unit * size) ++m;
      for (int step = 0; m > l && step < 60; ++step) {
        shift = shift + ql_step(l, m, with_vectors);
        if (lane::abs(e[l]) <= unit * size) break;
      }
      // Not converged: NaN, not a number that looks right.
      d[l] = m == l || lane::abs(e[l]) <= unit * size ? d[l] + shift : std::numeric_limits<T>::quiet_NaN();
      e[l] = T(0);
    }
  }

 private:
  /// Element (k, j): columns are contiguous.
  constexpr T& at(std::ptrdiff_t k, std::ptrdiff_t j) const { return v[j * n + k]; }
  /// The root of x^2 + y^2, without the squares of small numbers: graded matrices have numbers whose squares vanish.
  static constexpr T length(T x, T y) {
    const T a = lane::abs(x), b = lane::abs(y), large = a > b ? a : b;
    if (large == 0) return T(0);
    const T part = (a > b ? b : a) / large;
    return large * lane::sqrt(lane::fma(part, part, T(1)));
  }

  constexpr void reduce() const {
    for (std::ptrdiff_t j = 0; j < n; ++j) d[j] = at(n - 1, j);
    e[0] = T(0);
    for (std::ptrdiff_t i = n - 1; i > 0; --i) {
      T scale = T(0), h = T(0);
      for (std::ptrdiff_t k = 0; k < i; ++k) scale = scale + lane::abs(d[k]);
      if (scale == 0) {
        e[i] = d[i - 1];
        for (std::ptrdiff_t j = 0; j < i; ++j) {
          d[j] = at(i - 1, j);
          at(i, j) = at(j, i) = T(0);
        }
        d[i] = T(0);
        continue;
      }
      for (std::ptrdiff_t k = 0; k < i; ++k) {
        d[k] = d[k] / scale;
        h = lane::fma(d[k], d[k], h);
      }
      const T last = d[i - 1], root = last > 0 ? -lane::sqrt(h) : lane::sqrt(h);
      e[i] = scale * root;
      h = lane::fma(-last, root, h);
      d[i - 1] = last - root;
      for (std::ptrdiff_t j = 0; j < i; ++j) e[j] = T(0);
      for (std::ptrdiff_t j = 0; j < i; ++j) {
        const T f = at(j, i) = d[j];
        T g = lane::fma(at(j, j), f, e[j]);
        for (std::ptrdiff_t k = j + 1; k < i; ++k) {
          g = lane::fma(at(k, j), d[k], g);
          e[k] = lane::fma(at(k, j), f, e[k]);
        }
        e[j] = g;
      }
      T f = T(0);
      for (std::ptrdiff_t j = 0; j < i; ++j) {
        e[j] = e[j] / h;
        f = lane::fma(e[j], d[j], f);
      }
      const T half = f / (h + h);
      for (std::ptrdiff_t j = 0; j < i; ++j) e[j] = lane::fma(-half, d[j], e[j]);
      for (std::ptrdiff_t j = 0; j < i; ++j) {
        const T x = d[j], y = e[j];
        for (std::ptrdiff_t k = j; k < i; ++k) at(k, j) = at(k, j) - lane::fma(x, e[k], y * d[k]);
        d[j] = at(i - 1, j);
        at(i, j) = T(0);
      }
      d[i] = h;
    }
  }
  /// The product of the reflections, and the diagonal in d.
  constexpr void accumulate() const {
    for (std::ptrdiff_t i = 0; i < n - 1; ++i) {
      at(n - 1, i) = at(i, i);
      at(i, i) = T(1);
      const T h = d[i + 1];
      if (h != 0) {
        for (std::ptrdiff_t k = 0; k <= i; ++k) d[k] = at(k, i + 1) / h;
        for (std::ptrdiff_t j = 0; j <= i; ++j) {
          T g = T(0);
          for (std::ptrdiff_t k = 0; k <= i; ++k) g = lane::fma(at(k, i + 1), at(k, j), g);
          for (std::ptrdiff_t k = 0; k <= i; ++k) at(k, j) = lane::fma(-g, d[k], at(k, j));
        }
      }
      for (std::ptrdiff_t k = 0; k <= i; ++k) at(k, i + 1) = T(0);
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      d[j] = at(n - 1, j);
      at(n - 1, j) = T(0);
    }
    at(n - 1, n - 1) = T(1);
  }
  /// One step on rows [l, m]; the result is its shift.
  constexpr T ql_step(std::ptrdiff_t l, std::ptrdiff_t m, bool with_vectors) const {
    const T first = d[l], q = (d[l + 1] - first) / (2 * e[l]), r = q < 0 ? -length(q, T(1)) : length(q, T(1));
    d[l] = e[l] / (q + r);
    d[l + 1] = e[l] * (q + r);
    const T next = d[l + 1], shift = first - d[l], beside = e[l + 1];
    for (std::ptrdiff_t i = l + 2; i < n; ++i) d[i] = d[i] - shift;
    T p = d[m], c = T(1), c2 = c, c3 = c, s = T(0), s2 = s;
    for (std::ptrdiff_t i = m - 1; i >= l; --i) {
      c3 = c2;
      c2 = c;
      s2 = s;
      const T g = c * e[i], h = c * p, size = length(p, e[i]);
      e[i + 1] = s * size;
      s = size > 0 ? e[i] / size : T(0);
      c = size > 0 ? p / size : T(1);
      p = lane::fma(c, d[i], -(s * g));
      d[i + 1] = lane::fma(s, lane::fma(c, g, s * d[i]), h);
      if (!with_vectors) continue;
      T *const x = v + i * n, *const y = x + n;
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        const T old = y[k];
        y[k] = lane::fma(s, x[k], c * old);
        x[k] = lane::fma(c, x[k], -(s * old));
      }
    }
    p = -s * s2 * c3 * beside * e[l] / next;
    e[l] = s * p;
    d[l] = c * p;
    return shift;
  }
};

}  // namespace ebb::inline EBB_ABI::detail
