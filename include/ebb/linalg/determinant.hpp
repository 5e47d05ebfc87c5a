// ebb/linalg/determinant.hpp — determinants, and functions of Cholesky factors: cholesky_inverse, mahalanobis.
// SPDX-License-Identifier: BSL-1.0
//
// slogdet, logdet, logdet_spd and cholesky_solve are in op/triangle.hpp: ebb.hpp has them.
#pragma once

#include "cofactors.hpp"
#include "products.hpp"

namespace ebb::inline EBB_ABI::op {

/// The determinant.
/// Saves: a. A backward pass computes its cofactors.
/// Error: up to 4 x 4 that of sums of products, else that of the product of the pivots of [note: order of a solution].
struct det : own_matrix {
  static constexpr std::string_view name = "det";
  static constexpr bool is_quick = true;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) { return batch_of_squares(s, in[0]); }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return n <= 4 ? 0 : n * n; }
  static constexpr std::ptrdiff_t scratch_for_each(std::ptrdiff_t n, std::ptrdiff_t) { return n <= 4 ? n * n : 0; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    using of = detail::expansion<T>;
    c.out[0] = c.rows <= 4 ? of::small(c.rows, c.a) : of::large(c.rows, c.a, c.scratch);
    return -1;
  }
  /// Determinants of small matrices, those of a batch side by side; false if they are not small.
  template <class T>
  static bool compute_each(std::ptrdiff_t batch, const matrix_call<T>& c) {
    using of = detail::expansion<T>;
    if (c.rows < 2 || c.rows > 4) return false;
    if (c.rows == 2) of::template each<2>(batch, c.a, c.out, c.scratch);
    else if (c.rows == 3) of::template each<3>(batch, c.a, c.out, c.scratch);
    else of::template each<4>(batch, c.a, c.out, c.scratch);
    return true;
  }
  static constexpr std::ptrdiff_t blocked = kernel::elimination::blocked;
  static constexpr std::ptrdiff_t blocked_scratch(std::ptrdiff_t n, std::ptrdiff_t) { return kernel::elimination::factored_room(n, n); }
  template <class T>
  static std::ptrdiff_t compute_blocked(const matrix_call<T>& c) {
    bool odd = false;
    const auto w = kernel::elimination::factored(c.rows, c.rows, c.a, c.scratch, &odd);
    if (!w.data) return detail::not_computed;
    T product = odd ? T(-1) : T(1);
    for (std::ptrdiff_t k = 0; k < c.rows; ++k) product = product * *w.at(k, k);
    c.out[0] = product;
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::elimination;
  template <class T>
  static constexpr std::ptrdiff_t large_scratch(std::ptrdiff_t n, std::ptrdiff_t) {
    return n * n + n;
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    int* const pivots = reinterpret_cast<int*>(c.scratch + n * n);
    for (std::ptrdiff_t k = 0; k < n * n; ++k) c.scratch[k] = c.a[k];  // the transpose has the same determinant
    const bool singular = kernel::lapack::eliminate(n, c.scratch, pivots) >= 0;
    T product = singular ? T(0) : kernel::lapack::is_odd(n, pivots) ? T(-1) : T(1);
    for (std::ptrdiff_t k = 0; k < n && !singular; ++k) product = product * c.scratch[k * (n + 1)];
    c.out[0] = product;
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto) {
    return grads(repeat(g, a, axis_run(a.rank() - 2, a.rank())) * of_matrices<cofactors>(a));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct det {
  static constexpr precision autocast = op::det::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::det>(a); }
};

struct cholesky_inverse {
  static constexpr precision autocast = op::solve_triangular::autocast;
  static constexpr auto apply(auto l) {
    using T = decltype(detail::accepted<op::solve_triangular, typename decltype(l)::value_type>());
    const auto t = cast_to<T>(l);
    if (t.is_refused()) return t;
    if (op::batch_of_squares(t.g->syms, t.extents()).is_refused()) return refuse<T>(*t.g, 180);
    const auto inverse = emit_on<op::solve_triangular>({0, triangular}, t, cast_to<T>(is_on_diagonal(t)));
    return product_of(inverse, inverse, left_transposed);
  }
};

struct mahalanobis {
  static constexpr precision autocast = op::solve_triangular::autocast;
  template <class X, class L>
  static constexpr auto apply(operand<X> x, operand<L> l) {
    using T = decltype(detail::accepted<op::solve_triangular, promoted<X, L>>());
    if (x.is_refused() || l.is_refused()) return refuse<T>(*x.g, x.is_refused() ? -x.id : -l.id);
    if (x.rank() < 1) return refuse<T>(*x.g, 181);
    // One factor serves all vectors, which are rows: y l^T = x. Else each factor has its own vector, a column: l y = x.
    const auto y = x.rank() > 1 && l.rank() == 2
                       ? solve_triangular<taken_transposed.flag | from_right.flag>::apply(cast_to<T>(l), cast_to<T>(x))
                       : column_of(solve_triangular<0>::apply(cast_to<T>(l), view_as(cast_to<T>(x), with_axis(x.extents(), x.rank(), 1))));
    return y.is_refused() ? y : sum_over(y * y, std::int64_t{1} << (y.rank() - 1));
  }

 private:
  template <class T>
  static constexpr operand<T> column_of(operand<T> y) {
    return y.is_refused() ? y : view_as(y, axes_between(y.extents(), 0, y.rank() - 1));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The determinant of each matrix in the last two axes; leading axes are batches. The determinant of a 0 x 0 matrix is 1. slogdet neither
/// overflows nor underflows.
/// Shape: a [..., n, n]: [...].   Dtype: integers give float; bf16 and f16 are computed in float.
/// Saves: a; a backward pass computes its cofactors. First and second derivatives are finite for singular matrices too.
/// Error: up to 4 x 4 that of sums of products; else that of elimination, see kernel/solve.hpp.
/// Throws: in a third backward pass, for a singular matrix of 4 x 4 or more, or of extents known only at the call.
inline constexpr call<functions::det> det{};
/// (l l^T)^-1, from a factor of cholesky.   Shape: l [..., n, n]: the same.   Dtype: as solve_triangular.
/// Saves: l, its inverse.   Error: that of solve_triangular, and of a product.
inline constexpr call<functions::cholesky_inverse> cholesky_inverse{};
/// x^T (l l^T)^-1 x, the squared length of a vector in units of the covariance that cholesky factored.
/// Shape: x [..., n], l [..., n, n]: [...]; leading axes are batches, which are broadcast.   Dtype: as solve_triangular.
/// Saves: l, the scaled vectors.   Error: that of solve_triangular, and of a sum.
inline constexpr call<functions::mahalanobis> mahalanobis{};

}  // namespace ebb::inline EBB_ABI
