// ebb/linalg/toeplitz.hpp — systems of linear equations whose matrices have constant diagonals.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "matrix.hpp"

#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<307, Call> : Call {
  static_assert(Call::code != 307, "[ebb E0307] toeplitz_solve: the last axes of the operands, at most seven each, have the same extent");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The base of ops whose operand is three vectors, [..., 3, n]: the first column of a Toeplitz matrix, its first row, whose first element
/// is not read, and a vector. attr 1: 1 if the matrix is read transposed.
struct of_toeplitz : own_matrix {
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    return s.find(without_axes(in[0], std::int64_t{1} << (in[0].rank - 2)));
  }
  template <class Op, class T>
  static constexpr operand<T> of(operand<T> column, operand<T> row, operand<T> x, std::int64_t is_transposed) {
    return of_matrices<Op>(operand<T>(functions::stack<-2>::apply(column, row, x)), is_transposed);
  }

 protected:
  template <class T>
  static constexpr operand<T> vector(operand<T> x, int k) {
    return one_of(x, x.rank() - 2, k);
  }
};

struct toeplitz_product;

/// Sums along the diagonals of the product x y^T. The operand is x above y, [..., 2, n]: row 0 of the result has the sums of the main
/// diagonal and of those below, x_{j+k} y_j; row 1 has 0 and the sums of those above, x_j y_{j+k}.
/// Saves: x, y.   Error: chains of fma in rising order.
struct diagonal_sums : own_matrix {
  static constexpr std::string_view name = "diagonal_sums";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) { return s.find(in[0]); }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t) { return 0; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns;
    const T *const first = c.a, *const second = c.a + n;
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      T below = T(0), above = T(0);
      for (std::ptrdiff_t j = 0; j + k < n; ++j) {
        below = lane::fma(first[j + k], second[j], below);
        above = lane::fma(first[j], second[j + k], above);
      }
      c.out[k] = below;
      c.out[n + k] = k > 0 ? above : T(0);
    }
    return -1;
  }
  template <class T>
  static constexpr operand<T> of(operand<T> first, operand<T> second) {
    return of_matrices<diagonal_sums>(operand<T>(functions::stack<-2>::apply(first, second)));
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> both, operand<T>) {
    const int axis = g.rank() - 2;
    const auto column = one_of(g, axis, 0), row = one_of(g, axis, 1);
    const auto product = [&](int k, bool is_transposed) {
      return of_toeplitz::of<toeplitz_product>(column, row, one_of(both, axis, k), is_transposed);
    };
    return grads(operand<T>(functions::stack<-2>::apply(product(1, false), product(0, true))));
  }
};

/// The product of a Toeplitz matrix and a vector.   Saves: the operand.   Error: chains of fma in rising order.
struct toeplitz_product : of_toeplitz {
  static constexpr std::string_view name = "toeplitz_product";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t) { return 0; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns;
    const T* const x = c.a + 2 * n;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      T sum = T(0);
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        const std::ptrdiff_t k = c.flags ? j - i : i - j;
        sum = lane::fma(k >= 0 ? c.a[k] : c.a[n - k], x[j], sum);
      }
      c.out[i] = sum;
    }
    return -1;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> all, operand<T> out) {
    const std::int64_t is_transposed = out.attribute(1);
    const auto x = vector(all, 2), of_x = of<toeplitz_product>(vector(all, 0), vector(all, 1), g, !is_transposed);
    const auto sums = is_transposed ? diagonal_sums::of(x, g) : diagonal_sums::of(g, x);
    return grads(operand<T>(functions::concat<-2>::apply(sums, view_as(of_x, with_axis(of_x.extents(), of_x.rank() - 1, 1)))));
  }
};

/// The solution of a Toeplitz system by Levinson's recursion.
/// [note: order of a Toeplitz solution]
/// f and b solve the system of the first k rows with the right sides (1, 0, ...) and (..., 0, 1). With the sums p = c_{k-i} f_i,
/// q = r_{i+1} b_i and s = c_{k-i} x_i, which are chains of fma in rising order, and d = 1 - p q, the step to k + 1 rows is
/// f_i = (f_i - p b_{i-1}) / d, b_i = (b_{i-1} - q f_i) / d, where f_i and b_{i-1} on the right are those of the step before, and
/// x_i = x_i + (y_k - s) b_i.
/// Saves: the operand, out.   Error: see the note.
struct toeplitz_solve : of_toeplitz {
  static constexpr std::string_view name = "toeplitz_solve";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t n) { return 2 * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns;
    const T main = c.a[0], *const column = c.flags ? c.a + n : c.a, *const row = c.flags ? c.a : c.a + n, *const y = c.a + 2 * n;
    T *const f = c.scratch, *const b = f + n, *const x = c.out;
    if (main == 0) return 1;
    f[0] = b[0] = 1 / main;
    x[0] = y[0] / main;
    for (std::ptrdiff_t k = 1; k < n; ++k) {
      T p = T(0), q = T(0), s = T(0);
      for (std::ptrdiff_t i = 0; i < k; ++i) {
        p = lane::fma(column[k - i], f[i], p);
        q = lane::fma(row[i + 1], b[i], q);
        s = lane::fma(column[k - i], x[i], s);
      }
      const T d = lane::fma(-p, q, T(1)), more = y[k] - s;
      if (d == 0) return k + 1;
      f[k] = x[k] = T(0);
      for (std::ptrdiff_t i = k; i >= 0; --i) {
        const T own = f[i], before = i > 0 ? b[i - 1] : T(0);
        f[i] = lane::fma(-p, before, own) / d;
        b[i] = lane::fma(-q, own, before) / d;
        x[i] = lane::fma(more, b[i], x[i]);
      }
    }
    return -1;
  }
  static std::string complaint(std::ptrdiff_t order) { return "has a leading minor of order " + std::to_string(order) + " that is 0"; }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> all, operand<T> out) {
    const std::int64_t is_transposed = out.attribute(1);
    const auto of_y = of<toeplitz_solve>(vector(all, 0), vector(all, 1), g, !is_transposed);
    const auto sums = is_transposed ? diagonal_sums::of(out, of_y) : diagonal_sums::of(of_y, out);
    return grads(operand<T>(functions::concat<-2>::apply(-sums, view_as(of_y, with_axis(of_y.extents(), of_y.rank() - 1, 1)))));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct toeplitz_solve {
  static constexpr precision autocast = op::toeplitz_solve::autocast;
  static constexpr auto apply(auto column, auto y) { return apply(column, column, y); }
  template <class A, class B, class C>
  static constexpr auto apply(operand<A> column, operand<B> row, operand<C> y) {
    using T = decltype(detail::accepted<op::toeplitz_solve, promoted<promoted<A, B>, C>>());
    graph& g = *y.g;
    const operand<T> given[] = {cast_to<T>(column), cast_to<T>(row), cast_to<T>(y)};
    shape in[3];
    for (int i = 0; i < 3; ++i) {
      if (given[i].is_refused()) return given[i];
      in[i] = given[i].extents();
      const int rank = in[i].rank;
      if (rank < 1 || rank == max_rank || !g.syms.unify(in[0].e[in[0].rank - 1], in[i].e[rank - 1])) return refuse<T>(g, 307);
    }
    const shape common = broadcast_shapes(g.syms, in, 3);
    if (common.is_refused()) return refuse<T>(g, common.code());
    const auto vector = [&](int i) { return operand<T>(detail::fit(given[i], common)); };
    return op::of_toeplitz::of<op::toeplitz_solve>(vector(0), vector(1), vector(2), 0);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// x with t x = y, where t is the Toeplitz matrix whose first column is c and whose first row is r. The first element of r is not read.
/// toeplitz_solve(c, y) has a symmetric matrix. Work is proportional to n^2, memory to n. No rows are exchanged: that is stable for
/// symmetric positive definite matrices. Else use solve(toeplitz(c, r), y).   toeplitz_solve(c, r, y)
/// Several right sides of one matrix are a batch of y.
/// Shape: all [..., n]: the same; leading axes are batches, which are broadcast.   Dtype: promoted; integers give float; bf16 and f16 are
/// computed in float.   Saves: the operands, out.   Error: see [note: order of a Toeplitz solution].
/// Throws: if a leading minor is 0; the error names the matrix and the order.
/// Source: G. Golub, C. Van Loan, Matrix Computations, section 4.7.
inline constexpr call<functions::toeplitz_solve> toeplitz_solve{};

}  // namespace ebb::inline EBB_ABI
