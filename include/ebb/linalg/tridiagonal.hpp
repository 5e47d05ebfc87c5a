// ebb/linalg/tridiagonal.hpp — eigenvalues and eigenvectors of larger symmetric matrices, from a tridiagonal form.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/solve.hpp"
#include "bisection.hpp"
#include "reflection.hpp"
#include "rotations.hpp"

#include <cstddef>
#include <limits>
#include <type_traits>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of large eigenproblems]
/// The matrix is multiplied by the power of 2 that brings its largest element into [1, 2). Reflections bring it into tridiagonal form, the
/// first row first: see [note: order of reflections in lanes]. With z = tau A v and w = z - tau (z v) / 2 v, the rest A becomes
/// A - v w^T - w v^T. If each e beside the diagonal is at most epsilon / 8 times the norm, the values are the elements d of the diagonal.
/// Else each value is bisected by itself, between bounds of all: the number of values below x is that of negative pivots of the form minus
/// x. So the steps of all values are the same arithmetic, and fill lanes; there are as many as T has digits and two more.
/// Vectors are those of QR steps with Wilkinson's shift; an e of at most epsilon times the norm counts as 0. That is less work than the
/// Jacobi method, but small eigenvalues have the absolute error of large ones.
/// Source: G. Golub, C. Van Loan, Matrix Computations, sections 8.3 and 8.4.1.
template <class T>
struct tridiagonal {
  std::ptrdiff_t n;
  T *a, *v;         // n x n each: the matrix, then its vectors as rows; room
  T *d, *e, *rest;  // n, n; scratch of 3 n elements

  static constexpr T unit = std::numeric_limits<T>::epsilon();

  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n) { return 2 * n * n + 5 * n; }
  constexpr tridiagonal(std::ptrdiff_t rows, T* from)
      : n(rows), a(from), v(a + n * n), d(v + n * n), e(d + n), rest(e + n) {}

  /// The form of a: d and e. Row j of a becomes reflection j; the factors tau are at the beginning of rest.
  constexpr void reduce() const {
    T *const tau = rest, *const w = tau + n;
    for (std::ptrdiff_t j = 0; j + 1 < n; ++j) {
      const std::ptrdiff_t after = n - j - 1;
      T *const corner = a + j * (n + 1), *const own = corner + 1, *const below = own + n;
      d[j] = *corner;
      tau[j] = reflection<T>::of(after, own, e[j], least_square<T>);
      if (tau[j] == 0) continue;
      reflection<T>::times(after, after, below, n, own, w);
      reflection<T>::scale(after, w, tau[j]);
      const T part = tau[j] * reflection<T>::dot(after, w, own) / 2;
      for (std::ptrdiff_t i = 0; i < after; ++i) w[i] = lane::fma(-part, own[i], w[i]);
      reflection<T>::template subtract<true>(after, after, below, n, own, w, w, own);
    }
    d[n - 1] = a[n * n - 1];
    e[n - 1] = T(0);
  }
  /// Replaces a by vectors as rows, and d by their values in any order. False if it does not converge.
  constexpr bool find_vectors() const {
    form();
    return each_coupled_part(n, d, e, [&](std::ptrdiff_t first, std::ptrdiff_t last, T) {
      qr_step(first, last, rest, rest + n);
      rotations<T>{rest, rest + n}.turn(last - first + 1, n, a + first * n);
    });
  }
  /// The values of d and e in rising order.
  constexpr void bisect(T* values) const {
    T norm = T(0), beside = T(0), bound = T(0);
    T* const squares = rest + 2 * n;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const T own = lane::abs(d[i]), after = lane::abs(e[i]), before = i > 0 ? lane::abs(e[i - 1]) : T(0);
      norm = larger(norm, own);
      beside = larger(beside, after);
      bound = larger(bound, own + (before + after));
      squares[i] = e[i] * e[i];
    }
    if (beside <= unit / 8 * norm) return sort(values);
    bound = bound * (1 + 8 * unit);
    bisection<T>::each_groups(n, [&]<class V, int Groups>(std::ptrdiff_t k) { bisect<V, Groups>(k, bound, values); });
  }

 private:
  static constexpr T larger(T x, T y) { return x > y ? x : y; }

  /// The product of the reflections, transposed, in a.
  constexpr void form() const {
    T *const tau = rest, *const sums = tau + n;
    for (std::ptrdiff_t i = 0; i < n * n; ++i) v[i] = T(0);
    v[n * n - 1] = T(1);
    for (std::ptrdiff_t j = n - 2; j >= 0; --j) {
      v[j * (n + 1)] = T(1);
      reflection<T>::apply(n - j - 1, n - j - 1, tau[j], a + j * (n + 1) + 1, v + (j + 1) * (n + 1), n, sums);
    }
    if (!__builtin_is_constant_evaluated()) return kernel::elimination::turn(a, n, v, n, n, n);
    for (std::ptrdiff_t i = 0; i < n * n; ++i) a[i % n * n + i / n] = v[i];
  }
  /// One step on rows [first, last]; the cosines and sines of its rotations.
  constexpr void qr_step(std::ptrdiff_t first, std::ptrdiff_t last, T* c, T* s) const {
    const T half = (d[last - 1] - d[last]) / 2, beside = e[last - 1], size = lane::sqrt(lane::fma(half, half, beside * beside));
    const T shift = d[last] - beside * (beside / (half + (half < 0 ? -size : size)));
    T x = d[first] - shift, z = e[first];
    for (std::ptrdiff_t i = first, k = 0; i < last; ++i, ++k) {
      const auto r = angle<T>::of(x, z);
      c[k] = r.c;
      s[k] = r.s;
      if (i > first) e[i - 1] = r.size;
      const T own = d[i], off = e[i], next = d[i + 1];
      const T w = lane::fma(r.c, own, r.s * off), y = lane::fma(r.c, off, r.s * next);
      d[i] = lane::fma(r.c, w, r.s * y);
      e[i] = lane::fma(r.c, y, -(r.s * w));
      d[i + 1] = lane::fma(r.c, lane::fma(r.c, next, -(r.s * off)), -(r.s * lane::fma(r.c, off, -(r.s * own))));
      if (i + 1 == last) break;
      x = e[i];
      z = r.s * e[i + 1];
      e[i + 1] = r.c * e[i + 1];
    }
  }
  constexpr void sort(T* values) const {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      std::ptrdiff_t at = i;
      for (; at > 0 && values[at - 1] > d[i]; --at) values[at] = values[at - 1];
      values[at] = d[i];
    }
  }
  /// numbers: how many values are below x.
  template <class V, int Groups>
  constexpr void count(const V (&x)[Groups], V (&numbers)[Groups]) const {
    const T* const squares = rest + 2 * n;
    [&]<int... G>(std::integer_sequence<int, G...>) EBB_LAMBDA {
      V part_of_last[] = {(x[G] - x[G])...}, sum[] = {(x[G] - x[G])...};
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        const V own = lane::all<V>(d[i]);
        const auto next = [&](int g) EBB_LAMBDA {
          const V pivot = (own - x[g]) - part_of_last[g];
          sum[g] = sum[g] + bisection<T>::is_negative(pivot);
          part_of_last[g] = bisection<T>::quotient(squares[i], pivot);
        };
        (next(G), ...);
      }
      ((numbers[G] = sum[G]), ...);
    }(std::make_integer_sequence<int, Groups>{});
  }
  /// Values k, k + 1, ...: one for each lane of each group.
  template <class V, int Groups>
  constexpr void bisect(std::ptrdiff_t k, T bound, T* values) const {
    constexpr int size = bisection<T>::template values_of<V>;
    [&]<int... G>(std::integer_sequence<int, G...>) EBB_LAMBDA {
      const V most = lane::all<V>(bound);
      const V smaller[] = {(lane::all<V>(static_cast<T>(k + G * size)) + bisection<T>::template lane_numbers<V>())...};
      V low[] = {((smaller[G] - smaller[G]) - most)...}, high[] = {(low[G] + (most + most))...};
      bisection<T>::halve(std::numeric_limits<T>::digits + 2, smaller, low, high,
                          [&](const V(&at)[Groups], V(&found)[Groups]) EBB_LAMBDA { count<V, Groups>(at, found); });
      (bisection<T>::put(lane::all<V>(T(0.5)) * (low[G] + high[G]), k + G * size, n, values), ...);
    }(std::make_integer_sequence<int, Groups>{});
  }
};

}  // namespace ebb::inline EBB_ABI::detail
