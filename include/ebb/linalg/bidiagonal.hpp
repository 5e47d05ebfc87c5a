// ebb/linalg/bidiagonal.hpp — singular values and vectors of larger matrices, from a bidiagonal form.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/solve.hpp"
#include "bidiagonal_values.hpp"
#include "reflection.hpp"
#include "rotations.hpp"

#include <cstddef>
#include <limits>
#include <type_traits>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of a bidiagonal form]
/// The matrix, m x n with m >= n, is multiplied by the power of 2 that brings its largest element into [1, 2). For each j, a reflection of
/// column j from the left makes it zero below the diagonal, and one of row j from the right makes it zero after the element f(j) beside
/// the diagonal: see [note: order of reflections in lanes]. The products of reflections are computed from the last one to the first one.
/// Values are those of [note: order of bidiagonal values]. Vectors are those of QR steps with implicit shifts: an f of at most epsilon
/// times the norm of the form counts as 0. In a part without such an f, a d of at most the same size becomes 0, and the step has no shift;
/// else the shift is the smaller singular value of the last 2 x 2 elements. A rotation without a length is none.
/// Source: J. Demmel, W. Kahan, Accurate singular values of bidiagonal matrices (1990).
template <class T>
struct bidiagonal {
  std::ptrdiff_t m = 0, n = 0;
  T *x = nullptr, *q = nullptr;  // m x n; m x n: at first the matrix and room, then n vectors of m elements, and n of n elements
  T *p = nullptr, *d = nullptr, *f = nullptr, *rest = nullptr;  // n x n; n; n; scratch of 2 m + 8 n elements

  static constexpr T unit = std::numeric_limits<T>::epsilon();

  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t m, std::ptrdiff_t n) {
    return 2 * m * n + n * n + 2 * n + 2 * m + 8 * n;
  }
  constexpr bidiagonal() = default;
  constexpr bidiagonal(std::ptrdiff_t rows, std::ptrdiff_t columns, T* from)
      : m(rows), n(columns), x(from), q(x + m * n), p(q + m * n), d(p + n * n), f(d + n), rest(f + n) {}

  /// Makes x bidiagonal: d and f. Its columns and rows become the reflections.
  constexpr void reduce() const {
    T *const tau_left = p, *const tau_right = tau_left + n, *const column = rest, *const products = column + m, *const sums = products + m;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const std::ptrdiff_t rows = m - j, after = n - j - 1;
      T *const corner = x + j * (n + 1), *const right = corner + 1, *const below = right + n;
      for (std::ptrdiff_t i = 0; i < rows; ++i) column[i] = corner[i * n];
      tau_left[j] = reflection<T>::of(rows, column, d[j], least);
      for (std::ptrdiff_t i = 0; i < rows; ++i) corner[i * n] = column[i];
      f[j] = tau_right[j] = T(0);
      if (after == 0) continue;
      reflection<T>::add_rows(rows, after, column, right, n, sums);
      reflection<T>::scale(after, sums, tau_left[j]);
      for (std::ptrdiff_t i = 0; i < after; ++i) right[i] = right[i] - sums[i];
      tau_right[j] = reflection<T>::of(after, right, f[j], least);
      // The rows below have not been reflected from the left: both reflections of them are one pass.
      reflection<T>::times(rows - 1, after, below, n, right, products);
      const T sum = reflection<T>::dot(after, sums, right);
      for (std::ptrdiff_t i = 0; i + 1 < rows; ++i) products[i] = tau_right[j] * lane::fma(-column[i + 1], sum, products[i]);
      reflection<T>::template subtract<true>(rows - 1, after, below, n, column + 1, sums, products, right);
    }
  }
  /// Replaces the reflections by their products: x has n rows of m elements, q n rows of n elements. p has the factors tau.
  constexpr void form() const {
    T *const tau_left = rest, *const tau_right = rest + n, *const sums = tau_right + n, *const column = sums + n;
    for (std::ptrdiff_t i = 0; i < 2 * n; ++i) rest[i] = p[i];
    for (std::ptrdiff_t i = 0; i < m * n; ++i) q[i] = T(0);
    for (std::ptrdiff_t i = 0; i < n * n; ++i) p[i] = T(0);
    for (std::ptrdiff_t j = n - 1; j >= 0; --j) {
      const std::ptrdiff_t at = j * (n + 1), after = n - j - 1;
      q[at] = p[at] = T(1);
      for (std::ptrdiff_t i = 0; i < m - j; ++i) column[i] = x[at + i * n];
      reflection<T>::apply(m - j, after + 1, tau_left[j], column, q + at, n, sums);
      if (after > 0) reflection<T>::apply(after, after, tau_right[j], x + at + 1, p + at + n + 1, n, sums);
    }
    turn(x, q, m);
    turn(q, p, n);
  }
  /// Rotates the vectors, so that d has the singular values in any order. False if it does not converge.
  constexpr bool rotate() const {
    const bool converged = each_coupled_part(n, d, f, [&](std::ptrdiff_t first, std::ptrdiff_t last, T negligible) {
      bool is_singular = false;
      for (std::ptrdiff_t i = first; i <= last; ++i)
        if (lane::abs(d[i]) <= negligible) {
          d[i] = T(0);
          is_singular = true;
        }
      const angles a{rest, rest + n, rest + 2 * n, rest + 3 * n};
      if (is_singular) step_without_shift(first, last, a);
      else step_with_shift(first, last, a);
      rotations<T>{a.right_c, a.right_s}.turn(last - first + 1, n, q + first * n);
      rotations<T>{a.left_c, a.left_s}.turn(last - first + 1, m, x + first * m);
    });
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      if (!(d[k] < 0)) continue;
      d[k] = -d[k];
      for (std::ptrdiff_t i = 0; i < n; ++i) q[k * n + i] = -q[k * n + i];
    }
    return converged;
  }

 private:
  static constexpr T least = least_square<T>;

  struct angles {
    T *right_c, *right_s, *left_c, *left_s;
  };
  using angle = detail::angle<T>;
  static constexpr T larger(T a, T b) { return a > b ? a : b; }

  constexpr void step_with_shift(std::ptrdiff_t first, std::ptrdiff_t last, const angles& a) const {
    const T shift = smaller_value(d[last - 1], f[last - 1], d[last]), own = d[first];
    T g = (lane::abs(own) - shift) * ((own < 0 ? T(-1) : T(1)) + shift / own), h = f[first];
    for (std::ptrdiff_t i = first, k = 0; i < last; ++i, ++k) {
      const angle right = angle::of(g, h);
      a.right_c[k] = right.c;
      a.right_s[k] = right.s;
      if (i > first) f[i - 1] = right.size;
      g = lane::fma(right.c, d[i], right.s * f[i]);
      f[i] = lane::fma(right.c, f[i], -(right.s * d[i]));
      h = right.s * d[i + 1];
      d[i + 1] = right.c * d[i + 1];
      const angle left = angle::of(g, h);
      a.left_c[k] = left.c;
      a.left_s[k] = left.s;
      d[i] = left.size;
      g = lane::fma(left.c, f[i], left.s * d[i + 1]);
      d[i + 1] = lane::fma(left.c, d[i + 1], -(left.s * f[i]));
      if (i + 1 == last) break;
      h = left.s * f[i + 1];
      f[i + 1] = left.c * f[i + 1];
    }
    f[last - 1] = g;
  }
  constexpr void step_without_shift(std::ptrdiff_t first, std::ptrdiff_t last, const angles& a) const {
    T c = T(1), old_c = T(1), old_s = T(0);
    for (std::ptrdiff_t i = first, k = 0; i < last; ++i, ++k) {
      const angle right = angle::of(d[i] * c, f[i]);
      a.right_c[k] = c = right.c;
      a.right_s[k] = right.s;
      if (i > first) f[i - 1] = old_s * right.size;
      const angle left = angle::of(old_c * right.size, d[i + 1] * right.s);
      a.left_c[k] = old_c = left.c;
      a.left_s[k] = old_s = left.s;
      d[i] = left.size;
    }
    const T h = d[last] * c;
    d[last] = h * old_c;
    f[last - 1] = h * old_s;
  }
  /// The smaller singular value of the matrix (a, b; 0, c).
  static constexpr T smaller_value(T a, T b, T c) {
    const T x = lane::abs(a), y = lane::abs(b), z = lane::abs(c), least_d = x < z ? x : z, largest_d = larger(x, z);
    if (least_d == 0) return T(0);
    const T sum = 1 + least_d / largest_d, difference = (largest_d - least_d) / largest_d;
    if (y < largest_d) {
      const T square = (y / largest_d) * (y / largest_d);
      return 2 * least_d / (lane::sqrt(lane::fma(sum, sum, square)) + lane::sqrt(lane::fma(difference, difference, square)));
    }
    const T part = largest_d / y, s = sum * part, t = difference * part;
    return 2 * (least_d / (lane::sqrt(lane::fma(s, s, T(1))) + lane::sqrt(lane::fma(t, t, T(1))))) * part;
  }
  /// to: the transpose of rows x n.
  constexpr void turn(T* to, const T* from, std::ptrdiff_t rows) const {
    if (!__builtin_is_constant_evaluated()) return kernel::elimination::turn(to, rows, from, n, rows, n);
    for (std::ptrdiff_t i = 0; i < rows; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) to[j * rows + i] = from[i * n + j];
  }
};

}  // namespace ebb::inline EBB_ABI::detail
