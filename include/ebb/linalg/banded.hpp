// ebb/linalg/banded.hpp — Cholesky factors of matrices with a band.
// SPDX-License-Identifier: BSL-1.0
//
// [note: bands]
// A lower band of r diagonals is an array [..., r, n]: row k has the k-th diagonal below the main one, element (i + k, i) at place i, as in
// scipy.linalg.cholesky_banded(lower=True). The last k places of row k lie outside of the matrix: they are not read, and are 0 in results.
// With L the factor of A, [.] for the part of a matrix in the band, and H symmetric with a band:
//   push(L, H) = D, the band matrix with [L D^T + D L^T] = H: the derivative of L along H
//   pull(L, G), the adjoint of H -> push(L, H): the derivative of sum(G * L) by A
//   turn(Q, D) = [(Q + Q^T) D], the adjoint of E -> [E D^T + D E^T], along Q
//   spread(W, D) = [W D^T + D W^T]
// The derivative of push(L, H) by L along E is -push(L, spread(E, D)), so the adjoint along G is -turn(pull(L, G), D). turn and spread are
// linear in both operands, and adjoint to each other. So derivatives of every order are made of these four.
#pragma once

#include "matrix.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<308, Call> : Call {
  static_assert(Call::code != 308, "[ebb E0308] banded_cholesky: the operand has two axes or more: the diagonals of a band are its rows");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// The functions of [note: bands] for one band of r diagonals of n places. Sums are chains of fma in rising order of columns, or in falling
/// order for pull. Results are whole bands, with 0 outside of the matrix.
template <class T>
struct band {
  std::ptrdiff_t r, n;

  constexpr std::ptrdiff_t at(std::ptrdiff_t i, std::ptrdiff_t j) const { return (i - j) * n + j; }
  /// The first row below the band in column j.
  constexpr std::ptrdiff_t end(std::ptrdiff_t j) const { return j + r < n ? j + r : n; }
  /// The first column of the band in row i.
  constexpr std::ptrdiff_t begin(std::ptrdiff_t i) const { return i < r ? 0 : i - r + 1; }
  constexpr void clear(T* x) const {
    for (std::ptrdiff_t k = 0; k < r * n; ++k) x[k] = T(0);
  }

  /// Returns the order of the leading minor that is not positive, or 0.
  constexpr std::ptrdiff_t factor(const T* a, T* l) const {
    clear(l);
    for (std::ptrdiff_t j = 0; j < n; ++j)
      for (std::ptrdiff_t i = j; i < end(j); ++i) {
        T s = a[at(i, j)];
        for (std::ptrdiff_t k = begin(i); k < j; ++k) s = lane::fma(-l[at(i, k)], l[at(j, k)], s);
        if (i == j && !(s > 0)) return j + 1;
        l[at(i, j)] = i == j ? lane::sqrt(s) : s / l[at(j, j)];
      }
    return 0;
  }
  constexpr void push(const T* l, const T* h, T* d) const {
    clear(d);
    for (std::ptrdiff_t j = 0; j < n; ++j)
      for (std::ptrdiff_t i = j; i < end(j); ++i) {
        T s = h[at(i, j)];
        for (std::ptrdiff_t k = begin(i); k < j; ++k)
          s = lane::fma(-d[at(i, k)], l[at(j, k)], lane::fma(-l[at(i, k)], d[at(j, k)], s));
        d[at(i, j)] = i == j ? s / (2 * l[at(j, j)]) : lane::fma(-l[at(i, j)], d[at(j, j)], s) / l[at(j, j)];
      }
  }
  /// push in the other direction. rest: r * n numbers, the part of the gradient of d that is still to come.
  constexpr void pull(const T* l, const T* g, T* to, T* rest) const {
    clear(to);
    for (std::ptrdiff_t k = 0; k < r * n; ++k) rest[k] = g[k];
    for (std::ptrdiff_t j = n - 1; j >= 0; --j)
      for (std::ptrdiff_t i = end(j) - 1; i >= j; --i) {
        T s = rest[at(i, j)] / l[at(j, j)];
        if (i == j) s = s / 2;
        else rest[at(j, j)] = lane::fma(-l[at(i, j)], s, rest[at(j, j)]);
        to[at(i, j)] = s;
        for (std::ptrdiff_t k = begin(i); k < j; ++k) {
          rest[at(i, k)] = lane::fma(-s, l[at(j, k)], rest[at(i, k)]);
          rest[at(j, k)] = lane::fma(-s, l[at(i, k)], rest[at(j, k)]);
        }
      }
  }
  constexpr void turn(const T* q, const T* d, T* to) const {
    clear(to);
    for (std::ptrdiff_t k = 0; k < n; ++k)
      for (std::ptrdiff_t i = k; i < end(k); ++i) {
        T s = T(0);
        for (std::ptrdiff_t j = begin(i) > k ? begin(i) : k; j < end(k); ++j) {
          const T by = i == j ? 2 * q[at(i, i)] : i > j ? q[at(i, j)] : q[at(j, i)];
          s = lane::fma(by, d[at(j, k)], s);
        }
        to[at(i, k)] = s;
      }
  }
  constexpr void spread(const T* w, const T* d, T* to) const {
    clear(to);
    for (std::ptrdiff_t j = 0; j < n; ++j)
      for (std::ptrdiff_t i = j; i < end(j); ++i) {
        T s = T(0);
        for (std::ptrdiff_t k = begin(i); k <= j; ++k) s = lane::fma(w[at(i, k)], d[at(j, k)], lane::fma(d[at(i, k)], w[at(j, k)], s));
        to[at(i, j)] = s;
      }
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// Functions of two bands, x above y, see [note: bands]. attr 1: which one. The result is a band.
/// Saves: the operand, out.   Error: that of chains of r terms.
struct of_bands : own_matrix {
  static constexpr std::string_view name = "of_bands";
  enum which : std::int64_t { push = 1, pull_back, turn, spread };
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const int rows = in[0].rank - 2;
    return s.find(with_extent(in[0], rows, s.derive(extent_rule::quotient, in[0].e[rows], 2)));
  }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t rows, std::ptrdiff_t n) { return rows / 2 * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const detail::band<T> b{c.rows / 2, c.columns};
    const T *const x = c.a, *const y = c.a + b.r * b.n;
    if (c.flags == push) b.push(x, y, c.out);
    else if (c.flags == pull_back) b.pull(x, y, c.out, c.scratch);
    else if (c.flags == turn) b.turn(x, y, c.out);
    else b.spread(x, y, c.out);
    return -1;
  }
  template <class T>
  static constexpr operand<T> of(which f, operand<T> x, operand<T> y) {
    const operand<T> r = of_matrices<of_bands>(functions::concat<-2>::apply(x, y), f);
    if (r.is_refused()) return r;
    x.g->syms.unify(r.extent(r.rank() - 2), x.extent(x.rank() - 2));  // half of twice the number of diagonals
    return r;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> both, operand<T> out) {
    const int rows = out.rank() - 2, r = out.extent(rows);
    const auto x = cut(both, rows, 0, r), y = cut(both, rows, stride::at_the_end, r);
    const auto above = [](auto a, auto b) { return grads(functions::concat<-2>::apply(a, b)); };
    const std::int64_t f = out.attribute(1);
    if (f == push) {
      const auto of_y = of(pull_back, x, g);
      return above(-of(turn, of_y, out), of_y);
    }
    if (f == pull_back) {
      const auto of_y = of(push, x, g);
      return above(-of(turn, out, of_y), of_y);
    }
    if (f == turn) return above(of(spread, g, y), of(turn, x, g));
    return above(of(turn, g, y), of(turn, g, x));
  }
};

/// The lower band of l with l l^T = a, from the lower band of a: see [note: bands]. attr 1: whether a factor that does not exist is NaN.
/// Saves: out.   Error: see [note: order of a Cholesky factor]: chains begin at the first column of the band.
struct banded_cholesky : own_matrix {
  static constexpr std::string_view name = "banded_cholesky";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    return in[0].rank < 2 ? refused(308) : s.find(in[0]);
  }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t) { return 0; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const detail::band<T> b{c.rows, c.columns};
    const std::ptrdiff_t order = b.factor(c.a, c.out);
    if (order > 0 && c.flags == 0) return order;
    for (std::ptrdiff_t k = 0; k < b.r * b.n && order > 0; ++k)
      c.out[k] = k / b.n + k % b.n < b.n ? std::numeric_limits<T>::quiet_NaN() : T(0);
    return -1;
  }
  static std::string complaint(std::ptrdiff_t order) {
    return "is not positive definite: its leading minor of order " + std::to_string(order) + " is not positive";
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T>, operand<T> out) {
    return grads(of_bands::of(of_bands::pull_back, out, g));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <bool OrNaN>
struct banded_cholesky {
  static constexpr std::string_view name = "banded_cholesky";
  static constexpr precision autocast = op::banded_cholesky::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::banded_cholesky>(a, OrNaN); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The Cholesky factor of a symmetric positive definite matrix with a band, l l^T = a: its lower band, from that of a. Work is proportional
/// to n r^2, memory to n r, in derivatives too.   banded_cholesky(a)   banded_cholesky(a, nan_if_not)
/// Row k of a is the k-th diagonal below the main one; its last k places are not read, and are 0 in the result: see [note: bands]. The
/// gradient is that of the elements of the lower band, each of which stands for both of its places in the matrix.
/// Shape: a [..., r, n]: the same.   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: out.
/// Error: see [note: order of a Cholesky factor].
/// Throws: if a matrix is not positive definite, naming it and its first leading minor that is not. With the tag its factor is NaN instead.
/// Source: G. Golub, C. Van Loan, Matrix Computations, section 4.3; I. Murray, arXiv:1602.07527, for the derivatives.
template <class A, class... Tag>
constexpr auto banded_cholesky(A&& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(nan_if_not.flag);
  static_assert(flags >= 0,
                "[ebb E0286] cholesky, logdet_spd, banded_cholesky: after the matrix comes nothing, or the tag ebb::nan_if_not");
  return apply_function(functions::banded_cholesky<(flags > 0)>{}, std::forward<A>(a));
}

}  // namespace ebb::inline EBB_ABI
