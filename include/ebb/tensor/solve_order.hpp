// ebb/tensor/solve_order.hpp — the fixed order of operations in the solution of a linear system.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a solution]
// Gaussian elimination with partial pivoting on the rows of [A | B], A n x n. For k = 0 ... n - 1, where a tall A ends with its columns:
//   the pivot is the first of the largest |a(i, k)|, i >= k; a NaN is the pivot only if it is in row k already. The pivot's row and row k
//   are exchanged
//   for i > k:  l = -(a(i, k) / a(k, k));  every a(i, j), j > k, and b(i, j) becomes fma(l, that of row k, itself)
// Then for k = n - 1 ... 0: x(k) = b(k) / a(k, k), and for i < k every b(i) becomes fma(a(i, k), -x(k), b(i)).
// So each element is one chain, in rising k and then in falling k. Blocking and the width of registers do not change it; if the target
// has no fma (lane::fused), a link of the chain is a product and a sum. An inverse is the solution with B = 1.
// bfloat16 and float16 are computed as float and rounded once, at the end. If a pivot is 0, of either sign, there is no solution.
// Source: G. Golub, C. Van Loan, Matrix Computations, sections 3.1 and 3.4.
#pragma once

#include "../num/lane.hpp"

#include <cstddef>
#include <limits>

namespace ebb::inline EBB_ABI {

/// The elimination alone, in n rows of `width` elements: the quotients a(i, k) / a(k, k) stay below the diagonal. A column whose pivot
/// is 0 is left as it is. Returns the number of the first such pivot, or -1. Each exchange of rows calls exchanged(k, i).
template <class T>
constexpr std::ptrdiff_t eliminate_in_order(T* rows, std::ptrdiff_t n, std::ptrdiff_t width, auto exchanged) {
  const auto at = [&](std::ptrdiff_t i, std::ptrdiff_t j) -> T& { return rows[i * width + j]; };
  const auto size = [](T x) { return x < 0 ? -x : x; };
  std::ptrdiff_t zero = -1;
  for (std::ptrdiff_t k = 0; k < n && k < width; ++k) {
    std::ptrdiff_t pivot = k;
    for (std::ptrdiff_t i = k + 1; i < n; ++i)
      if (size(at(i, k)) > size(at(pivot, k))) pivot = i;
    if (at(pivot, k) == 0) {
      if (zero < 0) zero = k;
      continue;
    }
    if (pivot != k) exchanged(k, pivot);
    for (std::ptrdiff_t j = 0; j < width && pivot != k; ++j) {
      const T other = at(pivot, j);
      at(pivot, j) = at(k, j);
      at(k, j) = other;
    }
    for (std::ptrdiff_t i = k + 1; i < n; ++i) {
      const T l = at(i, k) = at(i, k) / at(k, k);
      for (std::ptrdiff_t j = k + 1; j < width; ++j) at(i, j) = lane::fma(-l, at(k, j), at(i, j));
    }
  }
  return zero;
}

/// The reference. rows: [A | B], n rows of n + m elements; B becomes X. Returns the number of the pivot that is 0, or -1. odd: flipped by
/// each exchange of rows.
template <class T>
constexpr int solve_in_order(T* rows, int n, int m, bool* odd = nullptr) {
  const int width = n + m;
  const auto at = [&](int i, int j) -> T& { return rows[i * width + j]; };
  const auto zero = eliminate_in_order(rows, n, width, [odd](std::ptrdiff_t, std::ptrdiff_t) {
    if (odd) *odd = !*odd;
  });
  if (zero >= 0) return static_cast<int>(zero);
  for (int k = n - 1; k >= 0; --k)
    for (int j = n; j < width; ++j) {
      at(k, j) = at(k, j) / at(k, k);
      for (int i = 0; i < k; ++i) at(i, j) = lane::fma(at(i, k), -at(k, j), at(i, j));
    }
  return -1;
}

/// As solve_in_order; a singular system has a solution of NaNs if `or_nan`, else the result is false.
template <class T>
constexpr bool solved_in_order(T* rows, int n, int m, bool or_nan) {
  if (solve_in_order(rows, n, m) < 0) return true;
  for (int i = 0; i < n * (n + m); ++i) rows[i] = std::numeric_limits<T>::quiet_NaN();
  return or_nan;
}

}  // namespace ebb::inline EBB_ABI
