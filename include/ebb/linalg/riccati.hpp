// ebb/linalg/riccati.hpp — algebraic Riccati equations: dare in discrete and care in continuous time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "eigen.hpp"

#include "../op/moments.hpp"
#include "../op/solve.hpp"
#include "../tensor/solve_order.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<446, Call> : Call {
  static_assert(Call::code != 446, "[ebb E0446] dare, care: the operands do not fit: a and q are n x n, b is n x m, r is m x m");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// [note: order of a Riccati equation]
/// The solution x of x = a^T x (1 + g x)^-1 a + h is the limit of h under doubling: with w = 1 + g h,
///   a becomes a w^-1 a, g becomes g + a w^-1 g a^T, h becomes h + a^T h w^-1 a, at the same time.
/// It ends when the largest change of h is at most u = epsilon times the largest element of h, and rows of |a| add up to 1/2 at most: then
/// 1 + g x gives a stable loop. Convergence is quadratic: ten steps are usual. After 60 steps, or when an element overflows, there is no
/// such solution. Products are chains of fma in rising order; g and h are replaced by (g + g^T) / 2. A NaN or an infinity gives NaNs.
/// Source: E. Chu, H. Fan, W. Lin, C. Wang, Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations (2004).
inline constexpr int most_doublings = 60;

/// Whether doubling has converged: `change` is small beside x, and the rows of |a| add up to 1/2 at most.
template <class T>
constexpr bool has_converged(std::ptrdiff_t n, const T* change, const T* x, const T* a) {
  T largest = T(0), moved = T(0);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    T row = T(0);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      row = row + lane::abs(a[i * n + j]);
      if (lane::abs(x[i * n + j]) > largest) largest = lane::abs(x[i * n + j]);
      if (lane::abs(change[i * n + j]) > moved) moved = lane::abs(change[i * n + j]);
    }
    if (!(row <= T(0.5))) return false;
  }
  return moved <= std::numeric_limits<T>::epsilon() * largest;
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The x with x = p x p^T + w, by doubling: see [note: order of a Riccati equation]. The operand is p above w, [..., 2 n, n].
/// Saves: p, out. The derivatives are such solutions too.   Error: see the note.
struct stein : of_several_squares {
  static constexpr std::string_view name = "stein";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t n) { return 3 * n * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns, size = n * n;
    T *const p = c.scratch, *const half = p + size, *const change = half + size;
    if (!detail::all_finite(2 * size, c.a)) return detail::fill_with_nan(size, c.out), -1;
    for (std::ptrdiff_t i = 0; i < size; ++i) p[i] = c.a[i], c.out[i] = c.a[size + i];
    for (int step = 0; step < detail::most_doublings; ++step) {
      detail::multiply_squares(n, p, false, c.out, false, half);
      detail::multiply_squares(n, half, false, p, true, change);
      for (std::ptrdiff_t i = 0; i < size; ++i) c.out[i] = c.out[i] + change[i];
      if (!detail::all_finite(size, c.out)) return 0;
      detail::multiply_squares(n, p, false, p, false, half);
      for (std::ptrdiff_t i = 0; i < size; ++i) p[i] = half[i];
      if (detail::has_converged(n, change, c.out, p)) return -1;
    }
    return 0;
  }
  static std::string complaint(std::ptrdiff_t) { return "has an eigenvalue of magnitude 1 or more"; }
  template <class T>
  static constexpr operand<T> of(operand<T> p, operand<T> w) {
    return of_matrices<stein>(above(p, w));
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> both, operand<T> out) {
    const auto p = part(both, 0), of_w = of(transposed_matrix(p), g);
    const auto left = product_of(product_of(of_w, p, 0), out, right_transposed);
    const auto right = product_of(product_of(of_w, p, left_transposed), out, 0);
    return grads(above(left + right, of_w));
  }
};

/// The x with x = a^T x (1 + g x)^-1 a + h for which (1 + g x)^-1 a is stable; g and h are symmetric. The operand is a above g above h,
/// [..., 3 n, n]. The gradient comes from the equation, not from the steps: with c = (1 + g x)^-1 a, a change of x is a solution of
/// dx = c^T dx c + dh + c^T x da + da^T x c - c^T x dg x c.
/// Saves: the operand, out. A backward pass solves for c and one equation x = c x c^T + w.
/// Error: see [note: order of a Riccati equation].
struct riccati : of_several_squares {
  static constexpr std::string_view name = "riccati";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t n) { return 7 * n * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns, size = n * n;
    T *const a = c.scratch, *const g = a + size, *const change = g + size, *const both = change + size, *const h = c.out;
    T* const half = both + 3 * size;
    if (!detail::all_finite(3 * size, c.a)) return detail::fill_with_nan(size, c.out), -1;
    for (std::ptrdiff_t i = 0; i < size; ++i) a[i] = c.a[i], g[i] = c.a[size + i], h[i] = c.a[2 * size + i];
    for (int step = 0; step < detail::most_doublings; ++step) {
      // both = [1 + g h | a, g] becomes [. | w^-1 a, w^-1 g].
      detail::multiply_squares(n, g, false, h, false, half);
      for (std::ptrdiff_t i = 0; i < n; ++i)
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          T* const row = both + i * 3 * n + j;
          row[0] = half[i * n + j] + T(i == j);
          row[n] = a[i * n + j];
          row[2 * n] = g[i * n + j];
        }
      if (solve_in_order(both, static_cast<int>(n), static_cast<int>(2 * n)) >= 0) return 0;
      const auto take = [&](std::ptrdiff_t part) {
        for (std::ptrdiff_t i = 0; i < n; ++i)
          for (std::ptrdiff_t j = 0; j < n; ++j) half[i * n + j] = both[(i * 3 + part) * n + j];
      };
      // The first part of both has room for a product now.
      const auto add_symmetric = [&](T* to) {
        for (std::ptrdiff_t i = 0; i < n; ++i)
          for (std::ptrdiff_t j = 0; j <= i; ++j) {
            const T more = (change[i * n + j] + change[j * n + i]) / 2;
            change[i * n + j] = change[j * n + i] = more;
            to[i * n + j] = to[j * n + i] = (to[i * n + j] + to[j * n + i]) / 2 + more;
          }
      };
      take(2);
      detail::multiply_squares(n, a, false, half, false, change);
      detail::multiply_squares(n, change, false, a, true, half);
      for (std::ptrdiff_t i = 0; i < size; ++i) change[i] = half[i];
      add_symmetric(g);
      take(1);
      detail::multiply_squares(n, h, false, half, false, change);
      for (std::ptrdiff_t i = 0; i < n; ++i)
        for (std::ptrdiff_t j = 0; j < n; ++j) both[i * n + j] = half[i * n + j];
      detail::multiply_squares(n, a, true, change, false, half);
      for (std::ptrdiff_t i = 0; i < size; ++i) change[i] = half[i];
      add_symmetric(h);
      detail::multiply_squares(n, a, false, both, false, half);
      for (std::ptrdiff_t i = 0; i < size; ++i) a[i] = half[i];
      if (!detail::all_finite(size, h) || !detail::all_finite(size, a) || !detail::all_finite(size, g)) return 0;
      if (detail::has_converged(n, change, h, a)) return -1;
    }
    return 0;
  }
  static std::string complaint(std::ptrdiff_t) { return "has no solution that makes the loop stable"; }
  template <class T>
  static constexpr operand<T> of(operand<T> a, operand<T> g, operand<T> h) {
    return of_matrices<riccati>(above(above(a, g), h));
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> all, operand<T> out) {
    const auto a = part(all, 0), inner = product_of(part(all, 1), out, 0);
    const auto c = emit_on<solve>({}, inner + cast_to<T>(is_on_diagonal(inner)), a);
    const auto s = stein::of(c, symmetric_part(g)), x = product_of(out, c, 0), of_a = product_of(x, s, 0);
    return grads(above(above(2 * of_a, -product_of(of_a, x, right_transposed)), s));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// The common part of dare and care.
template <bool IsDiscrete>
struct riccati {
  static constexpr std::string_view name = IsDiscrete ? "dare" : "care";
  static constexpr precision autocast = op::solve::autocast;
  template <class A, class B, class Q, class R>
  static constexpr auto apply(operand<A> a, operand<B> b, operand<Q> q, operand<R> r) {
    using T = decltype(detail::accepted<op::solve, promoted<promoted<A, B>, promoted<Q, R>>>());
    using Wide = detail::computed_in<T>;
    graph& g = *a.g;
    operand<Wide> x[] = {cast_to<Wide>(a), cast_to<Wide>(b), cast_to<Wide>(q), cast_to<Wide>(r)};
    shape batches[4], matrices[4];
    for (int i = 0; i < 4; ++i) {
      if (x[i].is_refused()) return operand<T>{&g, x[i].id};
      const int rank = x[i].rank();
      if (rank < 2) return refuse<T>(g, 446);
      batches[i] = axes_between(x[i].extents(), 0, rank - 2);
      matrices[i] = axes_between(x[i].extents(), rank - 2, rank);
    }
    const int n = matrices[0].e[1], m = matrices[3].e[1];
    const auto is = [&](int i, int rows, int columns) {
      return g.syms.unify(matrices[i].e[0], rows) && g.syms.unify(matrices[i].e[1], columns);
    };
    if (!is(0, n, n) || !is(1, n, m) || !is(2, n, n) || !is(3, m, m)) return refuse<T>(g, 446);
    const shape batch = broadcast_shapes(g.syms, batches, 4);
    if (batch.is_refused()) return refuse<T>(g, batch.code());
    for (int i = 0; i < 4; ++i) x[i] = detail::fit(x[i], g.syms.find(joined(batch, matrices[i])));
    const auto weight = symmetric_part(product_of(x[1], emit_on<op::solve>({}, symmetric_part(x[3]), transposed_matrix(x[1])), 0));
    return cast_to<T>(solution(x[0], weight, symmetric_part(x[2])));
  }

 private:
  template <class T>
  static constexpr operand<T> solution(operand<T> a, operand<T> g, operand<T> h) {
    if constexpr (IsDiscrete) return op::riccati::of(a, g, h);
    else {
      // Cayley's transform with a number s makes a discrete equation with the same x for every s, so s gets no gradient. s exceeds all
      // eigenvalues of a, so a - s is invertible.
      const auto size = [](operand<T> x) { return sum_over(emit_on<op::abs>({}, x), axis_run(x.rank() - 2, x.rank())); };
      const operand<T> s = emit_on<op::stop_gradient>({}, 2 * size(a) + emit_on<op::sqrt>({}, size(g) * size(h)));
      const auto identity = cast_to<T>(is_on_diagonal(a)), twice = repeat(operand<T>(s + s), a, axis_run(a.rank() - 2, a.rank()));
      const auto moved = a - identity_times(s, a);
      const auto solved = [](operand<T> left, operand<T> x) { return operand<T>(emit_on<op::solve>({}, left, x)); };
      const auto y = solved(moved, g), w = transposed_matrix(moved) + product_of(h, y, 0), t = transposed_matrix(w);
      const auto of_g = transposed_matrix(solved(t, transposed_matrix(y)));
      const auto of_h = transposed_matrix(solved(transposed_matrix(moved), transposed_matrix(solved(w, h))));
      return op::riccati::of(operand<T>(identity + twice * solved(t, identity)), operand<T>(twice * of_g), operand<T>(twice * of_h));
    }
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The stabilizing solution of the discrete algebraic Riccati equation x = a^T x a - a^T x b (r + b^T x b)^-1 b^T x a + q: the cost of the
/// linear-quadratic regulator, whose gain is solve(r + b^T x b, b^T x a).   dare(a, b, q, r)
/// The symmetric parts of q and r are taken; x is symmetric. The gradient comes from the equation, not from the steps of the method.
/// Shape: a [..., n, n], b [..., n, m], q [..., n, n], r [..., m, m]: [..., n, n]; leading axes are batches, which are broadcast.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float.   Saves: a, b r^-1 b^T, q, out.
/// Error: see [note: order of a Riccati equation]; the residual is a few n u of the terms of the equation.
/// Throws: if r is singular, or if no solution makes the loop stable; the error names the matrix.
/// Source: E. Chu, H. Fan, W. Lin, C. Wang, Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations (2004).
inline constexpr call<functions::riccati<true>> dare{};
/// The stabilizing solution of the continuous algebraic Riccati equation a^T x + x a - x b r^-1 b^T x + q = 0. The gain of the
/// linear-quadratic regulator is solve(r, b^T x).   care(a, b, q, r)
/// Computed by dare after Cayley's transform.   Shape, Dtype, Throws: as dare.   Saves: the solved systems, out.
/// Error: as dare, and that of three solutions.
inline constexpr call<functions::riccati<false>> care{};

}  // namespace ebb::inline EBB_ABI
