// ebb/linalg/band.hpp — systems of linear equations whose matrices have three diagonals.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "matrix.hpp"

#include "../op/recurrence.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<444, Call> : Call {
  static_assert(Call::code != 444, "[ebb E0444] tridiagonal_solve: no operand has an axis, or one has eight");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The solution of a tridiagonal system. The operand has four rows, [..., 4, n]: the diagonal below, whose first element is not read, the
/// diagonal, the one above, whose last element is not read, and the right side.
/// [note: order of a tridiagonal solution]
/// Elimination without exchanges of rows: p_i = fma(-below_i, c_{i-1}, d_i), c_i = above_i / p_i, y_i = fma(-below_i, y_{i-1}, b_i) / p_i,
/// then x_i = fma(-c_i, x_{i+1}, y_i) from the last row on. In a batch, eight systems run side by side, with the same bits.
/// Saves: the operand, out.   Error: see the note.
struct tridiagonal_solve : own_matrix {
  static constexpr std::string_view name = "tridiagonal_solve";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    return s.find(without_axes(in[0], std::int64_t{1} << (in[0].rank - 2)));
  }
  static constexpr std::ptrdiff_t several = 8;
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t n) { return several * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    return eliminated<1>(c);
  }
  template <class T>
  static bool compute_several(const matrix_call<T>& c) {
    return eliminated<several>(c) < 0;
  }
  static std::string complaint(std::ptrdiff_t row) {
    return "has the pivot 0 in row " + std::to_string(row) + ": no rows are exchanged here, ebb::solve does that";
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    const int last = out.rank() - 1;
    const auto row = [&](int k) { return one_of(a, last, k); };
    // The transposed matrix has the other diagonal above, moved by one place, and the same for the one below.
    const auto of_b = of(moved_by_one(row(2), false), row(1), moved_by_one(row(0), true), g);
    return grads(stacked(-(of_b * moved_by_one(out, false)), -(of_b * out), -(of_b * moved_by_one(out, true)), of_b));
  }
  template <class T>
  static constexpr operand<T> of(operand<T> below, operand<T> d, operand<T> above, operand<T> b) {
    return of_matrices<tridiagonal_solve>(stacked(below, d, above, b));
  }

 private:
  template <class T>
  static constexpr operand<T> stacked(operand<T> below, operand<T> d, operand<T> above, operand<T> b) {
    return functions::stack<-2>::apply(below, d, above, b);
  }
  /// Rows systems that follow one another. Returns the first row with a pivot of 0 in one of them, or -1.
  template <std::ptrdiff_t Rows, class T>
  static constexpr std::ptrdiff_t eliminated(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns;
    T of_c[Rows] = {}, of_y[Rows] = {};
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      bool fails = false;
      for (std::ptrdiff_t r = 0; r < Rows; ++r) {
        const T *const own = c.a + r * 4 * n + i, below = i > 0 ? own[0] : T(0);
        const T pivot = lane::fma(-below, of_c[r], own[n]);
        fails |= pivot == 0;
        of_c[r] = own[2 * n] / pivot;
        of_y[r] = lane::fma(-below, of_y[r], own[3 * n]) / pivot;
        c.scratch[i * Rows + r] = of_c[r];
        c.out[r * n + i] = of_y[r];
      }
      if (fails) return i;
    }
    for (std::ptrdiff_t i = n - 1; i-- > 0;)
      for (std::ptrdiff_t r = 0; r < Rows; ++r) {
        of_y[r] = lane::fma(-c.scratch[i * Rows + r], of_y[r], c.out[r * n + i]);
        c.out[r * n + i] = of_y[r];
      }
    return -1;
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct tridiagonal_solve {
  static constexpr precision autocast = op::tridiagonal_solve::autocast;
  template <class A, class B, class C, class D>
  static constexpr auto apply(operand<A> below, operand<B> d, operand<C> above, operand<D> b) {
    using T = decltype(detail::accepted<op::tridiagonal_solve, promoted<promoted<A, B>, promoted<C, D>>>());
    graph& g = *b.g;
    const operand<T> given[] = {cast_to<T>(below), cast_to<T>(d), cast_to<T>(above), cast_to<T>(b)};
    shape in[4];
    for (int i = 0; i < 4; ++i) {
      if (given[i].is_refused()) return given[i];
      in[i] = given[i].extents();
    }
    const shape common = broadcast_shapes(g.syms, in, 4);
    if (common.is_refused()) return refuse<T>(g, common.code());
    if (common.rank < 1 || common.rank == max_rank) return refuse<T>(g, 444);
    const auto row = [&](int i) { return operand<T>(detail::fit(given[i], common)); };
    return op::tridiagonal_solve::of(row(0), row(1), row(2), row(3));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// x with a x = b, where a has three diagonals: below_i x_{i-1} + d_i x_i + above_i x_{i+1} = b_i. The first element of below and the last
/// one of above are not read. Work and memory are proportional to n. No rows are exchanged: that is stable if |d_i| is at least |below_i| +
/// |above_i|, or if a is symmetric and positive definite. Else use solve.   tridiagonal_solve(below, d, above, b)
/// Several right sides of one matrix are a batch of b.
/// Shape: all [..., n], broadcast: the same.   Dtype: promoted; integers give float; bf16 and f16 are computed in float.
/// Saves: the operands, out. The gradient is that of the three diagonals; elements that are not read have 0.
/// Error: see [note: order of a tridiagonal solution].   Throws: for a pivot that is 0; the error names the matrix and the row.
/// Source: G. Golub, C. Van Loan, Matrix Computations, section 4.3.
inline constexpr call<functions::tridiagonal_solve> tridiagonal_solve{};

}  // namespace ebb::inline EBB_ABI
