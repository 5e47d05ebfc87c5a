// ebb/tensor/triangle_order.hpp — the fixed order of operations in triangular solutions, Cholesky factors and products with triangles.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a triangular solution]
// T is n x n; one of its triangles is read. If op(T) is lower triangular, k = 0 ... n - 1, else k = n - 1 ... 0:
//   x(k) = b(k) / t(k, k), or b(k) if the diagonal is taken to be 1
//   for all i still to come: b(i) becomes fma(t(i, k), -x(k), b(i))
// A 0 on the diagonal gives infinities and NaN and no error, as in LAPACK and PyTorch.
//
// [note: order of a Cholesky factor]
// A = L L^T; the lower triangle of A is read. Element (i, j), i >= j, is a chain s = fma(-l(i, k), l(j, k), s) in rising k < j, from
// a(i, j); then l(j, j) = sqrt(s), and l(i, j) = s / l(j, j). If s(j, j) is not positive or is NaN, the leading minor of order j + 1 is not
// positive after rounding, and A has no factor.
//
// [note: order of a product with a triangle]
// Each element is the part of a chain that the triangle has, see [note: order of a product]: rising p, from the diagonal on, or up to it.
// Products of vectors are chains too. A diagonal that is taken to be 1 has its link, fma(1, x, s).
//
// Blocking and the width of registers do not change these orders; if the target has no fma (lane::fused), a link of a chain is a product
// and a sum. bfloat16 and float16 are computed as float and rounded once, at the end.
// Source: G. Golub, C. Van Loan, Matrix Computations, sections 3.1 and 4.2.
#pragma once

#include "../num/logarithm.hpp"
#include "strided.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ebb::inline EBB_ABI {

/// attr 1 of a linear system: 0, or `triangular` with the triangle that is read and whether its diagonal is taken to be 1. nan_bit: a
/// singular matrix has a solution of NaNs instead of an error. checked_bit: a triangle with a 0 on its diagonal is an error.
inline constexpr std::int64_t triangular = 1, upper_triangle = 2, unit_diagonal_bit = 4, nan_bit = 8, checked_bit = 16;

/// attr 0 of kind::triangle. Of a product with a triangle: whether that is transposed, and whether it is on the right. from_product: it is
/// the triangle of a product, a b^T, or a^T b with triangle_right.
inline constexpr std::int64_t triangle_transposed = 1, triangle_right = 2, from_product = 4;

/// The links of the chains of a product with a triangle, for the reference. `one_t`, `one_x`: one matrix serves all of a batch.
struct triangle_chains {
  bool right, transposed, unit, upper, one_t, one_x;
  std::size_t rows, columns;

  constexpr triangle_chains(const move_call& c, int rank_of_t, int rank_of_x)
      : right(c.attr[0] & triangle_right), transposed(c.attr[0] & triangle_transposed), unit(c.attr[1] & unit_diagonal_bit),
        upper(((c.attr[1] & upper_triangle) != 0) != transposed), one_t(rank_of_t == 2), one_x(rank_of_x == 2),
        rows(c.out.e[c.out.rank - 2]), columns(c.out.e[c.out.rank - 1]) {}
  /// f(element of t, element of x, whether that of t is taken to be 1) for each link of the chain of element e, in their order.
  constexpr void each_link(std::size_t e, auto&& f) const {
    const std::size_t j = e % columns, i = e / columns % rows, matrix = e / columns / rows;
    const std::size_t n = right ? columns : rows, own = right ? j : i;
    const std::size_t of_t = one_t ? 0 : matrix * n * n, of_x = one_x ? 0 : matrix * rows * columns;
    const bool begins = upper != right;  // the chain begins at the diagonal, or ends there
    for (std::size_t p = begins ? own : 0; p < (begins ? n : own + 1); ++p)
      f(of_t + (right == transposed ? own * n + p : p * n + own), of_x + (right ? i * n + p : p * columns + j), unit && p == own);
  }
};

/// attr 0 of kind::factor. attr 1 of a Cholesky factor: whether a factor that does not exist is NaN instead of an error. own: the op has
/// its own arithmetic, see matrix_call; attr 1 is for the op.
enum class factor_kind : std::int64_t { cholesky, log_determinant, own };

/// One matrix for an op that has its own arithmetic. `compute(call)` reads a, row-major, and fills out; both are apart. It returns -1,
/// or a number for the op's `complaint(number)`. scratch: `scratch(rows, columns)` elements. T is float or double: narrow floats are
/// widened before and rounded once after. `compute` serves constant expressions too, so that there is one order of operations.
template <class T>
struct matrix_call {
  std::ptrdiff_t rows = 0, columns = 0;
  std::int64_t flags = 0;
  const T* a = nullptr;
  T *out = nullptr, *scratch = nullptr;
};

/// The first row of a triangle with a 0 on its diagonal, or -1; -1 also if the flags do not ask for it.
template <class T>
constexpr std::ptrdiff_t zero_on_diagonal(std::ptrdiff_t n, const T* t, std::int64_t flags) {
  if ((flags & checked_bit) != 0 && (flags & unit_diagonal_bit) == 0)
    for (std::ptrdiff_t k = 0; k < n; ++k)
      if (t[k * (n + 1)] == T(0)) return k;
  return -1;
}

/// The reference. t: n x n, b: n x m, becomes x. False if the flags ask for an error at a 0 on the diagonal, and there is one.
template <class T>
constexpr bool solve_triangle_in_order(const T* t, T* b, int n, int m, bool transposed, std::int64_t flags) {
  if (zero_on_diagonal(n, t, flags) >= 0) return false;
  const bool rising = ((flags & upper_triangle) != 0) == transposed;
  const auto at = [&](int i, int k) { return transposed ? t[k * n + i] : t[i * n + k]; };
  for (int step = 0; step < n; ++step) {
    const int k = rising ? step : n - 1 - step;
    for (int j = 0; j < m; ++j) {
      if (!(flags & unit_diagonal_bit)) b[k * m + j] = b[k * m + j] / at(k, k);
      for (int i = rising ? k + 1 : 0; i < (rising ? n : k); ++i) b[i * m + j] = lane::fma(at(i, k), -b[k * m + j], b[i * m + j]);
    }
  }
  return true;
}

/// The reference. a: n x n, becomes l with zeros above the diagonal. Returns the order of the minor that is not positive, or 0.
template <class T>
constexpr int factor_in_order(T* a, int n) {
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      T s = a[i * n + j];
      for (int k = 0; k < j; ++k) s = lane::fma(-a[i * n + k], a[j * n + k], s);
      if (i == j && !(s > 0)) return j + 1;
      a[i * n + j] = i == j ? lane::sqrt(s) : s / a[j * n + j];
      if (i != j) a[j * n + i] = T(0);
    }
  return 0;
}

template <class T>
struct sign_and_log {
  T sign, log;
};
/// Sign and log of a determinant, from the pivots of an elimination; odd: its number of exchanges is odd. Logs are added in rising order.
template <class T>
constexpr sign_and_log<T> sign_and_log_of(std::ptrdiff_t n, bool singular, bool odd, auto pivot) {
  if (singular) return {T(0), -std::numeric_limits<T>::infinity()};
  sign_and_log<T> r{odd ? T(-1) : T(1), T(0)};
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    const T p = pivot(k);
    if (p < 0) r.sign = -r.sign;
    r.log = r.log + lane::log(p < 0 ? -p : p);
  }
  if (r.log != r.log) r.sign = r.log;
  return r;
}

}  // namespace ebb::inline EBB_ABI
