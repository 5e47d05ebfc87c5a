// ebb/tensor/solve_order.hpp — the fixed order of operations in the solution of a linear system.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a solution]
// Gaussian elimination with partial pivoting on the rows of [A | B], A n x n. For k = 0 ... n - 1:
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

namespace ebb::inline EBB_ABI {

/// The reference. rows: [A | B], n rows of n + m elements; B becomes X. Returns the number of the pivot that is 0, or -1. odd: flipped by
/// each exchange of rows.
template <class T>
constexpr int solve_in_order(T* rows, int n, int m, bool* odd = nullptr) {
  const int width = n + m;
  const auto at = [&](int i, int j) -> T& { return rows[i * width + j]; };
  const auto size = [](T x) { return x < 0 ? -x : x; };
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (size(at(i, k)) > size(at(pivot, k))) pivot = i;
    if (at(pivot, k) == 0) return k;
    if (odd && pivot != k) *odd = !*odd;
    for (int j = 0; j < width && pivot != k; ++j) {
      const T other = at(pivot, j);
      at(pivot, j) = at(k, j);
      at(k, j) = other;
    }
    for (int i = k + 1; i < n; ++i) {
      const T l = -(at(i, k) / at(k, k));
      for (int j = k + 1; j < width; ++j) at(i, j) = lane::fma(l, at(k, j), at(i, j));
    }
  }
  for (int k = n - 1; k >= 0; --k)
    for (int j = n; j < width; ++j) {
      at(k, j) = at(k, j) / at(k, k);
      for (int i = 0; i < k; ++i) at(i, j) = lane::fma(at(i, k), -at(k, j), at(i, j));
    }
  return -1;
}

}  // namespace ebb::inline EBB_ABI
