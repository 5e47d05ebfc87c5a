// ebb/linalg/qr.hpp — factors with orthonormal columns, and least squares.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [q, r] = qr(a);          // a = q r, the columns of q orthonormal, r upper triangular
//   const auto [q, r] = qr(a, complete);  // q is square
//   const auto x = lstsq(a, b);         // the x with the least |a x - b|
#pragma once

#include "matrix.hpp"

#include "../op/linear.hpp"

#include <tuple>
#include <type_traits>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<431, Call> : Call {
  static_assert(Call::code != 431, "[ebb E0431] lstsq: the matrix has fewer rows than columns: multiply by its pinv");
};

/// Tag of qr: Q is square, and R has the shape of the matrix.
struct complete_tag {};
inline constexpr complete_tag complete{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// [note: order of a QR factor]
/// Householder reflections of the columns in rising order. A column from the diagonal on is s x, where s is its largest magnitude. With
/// beta = -sign(x0) sqrt(sum x^2), tau = (beta - x0) / beta, v = x / (x0 - beta) and v0 = 1, the reflection 1 - tau v v^T maps it to s beta
/// and zeros.
/// A column that is 0 below the diagonal stays as it is. Sums over rows are chains of fma in rising order. Q is the reflections applied to
/// the first columns of 1, the last one first. Rows of R and columns of Q are negated where R's diagonal is negative.
template <class T>
struct householder {
  std::ptrdiff_t rows, columns, count;
  T *w, *tau, *sums;  // rows x columns; count; columns

  constexpr householder(const matrix_call<T>& c)
      : rows(c.rows), columns(c.columns), count(least(c.rows, c.columns)), w(c.scratch), tau(w + rows * columns), sums(tau + count) {
    for (std::ptrdiff_t i = 0; i < rows * columns; ++i) w[i] = c.a[i];
  }
  static constexpr std::ptrdiff_t least(std::ptrdiff_t a, std::ptrdiff_t b) { return a < b ? a : b; }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    return rows * columns + least(rows, columns) + columns;
  }
  constexpr T& at(std::ptrdiff_t i, std::ptrdiff_t j) const { return w[i * columns + j]; }

  constexpr void reduce() const {
    for (std::ptrdiff_t j = 0; j < count; ++j) {
      tau[j] = reflect(j);
      apply(j, w, j + 1, columns);
    }
  }
  /// Applies reflection j to columns [first, last) of x, whose rows are `columns` elements apart.
  constexpr void apply(std::ptrdiff_t j, T* x, std::ptrdiff_t first, std::ptrdiff_t last) const {
    if (tau[j] == 0) return;
    for (std::ptrdiff_t c = first; c < last; ++c) sums[c] = x[j * columns + c];
    for (std::ptrdiff_t i = j + 1; i < rows; ++i)
      for (std::ptrdiff_t c = first; c < last; ++c) sums[c] = lane::fma(at(i, j), x[i * columns + c], sums[c]);
    for (std::ptrdiff_t c = first; c < last; ++c) {
      sums[c] = tau[j] * sums[c];
      x[j * columns + c] = x[j * columns + c] - sums[c];
    }
    for (std::ptrdiff_t i = j + 1; i < rows; ++i)
      for (std::ptrdiff_t c = first; c < last; ++c) x[i * columns + c] = lane::fma(-at(i, j), sums[c], x[i * columns + c]);
  }

 private:
  /// Replaces column j by beta and v; the result is tau.
  constexpr T reflect(std::ptrdiff_t j) const {
    T below = T(0);
    for (std::ptrdiff_t i = j + 1; i < rows; ++i)
      if (const T size = lane::abs(at(i, j)); below == below && !(size <= below)) below = size;
    if (below == 0) return T(0);
    const T first = at(j, j), s = lane::abs(first) > below ? lane::abs(first) : below;
    T sum = T(0);
    for (std::ptrdiff_t i = j; i < rows; ++i) {
      at(i, j) = at(i, j) / s;
      sum = lane::fma(at(i, j), at(i, j), sum);
    }
    const T length = lane::sqrt(sum), beta = first > 0 ? -length : length, part = at(j, j);
    for (std::ptrdiff_t i = j + 1; i < rows; ++i) at(i, j) = at(i, j) / (part - beta);
    at(j, j) = s * beta;
    return (beta - part) / beta;
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// Q above R, in rows of n elements: [..., m + k, n], where k is the smaller of m and n. attr 1: whether rank n is required.
/// Saves: out, and a if it is wide.   Source: Walter & Lehmann, Algorithmic differentiation of linear algebra functions (2012).
/// Error: see [note: order of a QR factor].
struct qr : own_matrix {
  static constexpr std::string_view name = "qr";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    if (in[0].rank < 2) return refused(420);
    const int last = in[0].rank - 1, m = s.find(in[0].e[last - 1]);
    return s.find(with_extent(in[0], last - 1, s.derive(extent_rule::sum, m, s.derive(extent_rule::least, m, s.find(in[0].e[last])))));
  }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t m, std::ptrdiff_t n) { return detail::householder<float>::scratch(m, n); }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const detail::householder<T> h(c);
    const std::ptrdiff_t m = h.rows, n = h.columns, k = h.count;
    h.reduce();
    if (c.flags)
      if (const std::ptrdiff_t column = dependent_column(c, h.w); column >= 0) return column;
    T *const q = c.out, *const r = q + m * n;
    for (std::ptrdiff_t i = 0; i < m; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) q[i * n + j] = T(i == j && j < k);
    for (std::ptrdiff_t j = k - 1; j >= 0; --j) h.apply(j, q, j, k);
    for (std::ptrdiff_t i = 0; i < k; ++i) {
      const bool turns = h.at(i, i) < 0;
      for (std::ptrdiff_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : turns ? -h.at(i, j) : h.at(i, j);
      for (std::ptrdiff_t j = 0; j < m && turns; ++j) q[j * n + i] = -q[j * n + i];
    }
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::qr;
  template <class T>
  static constexpr std::ptrdiff_t large_scratch(std::ptrdiff_t m, std::ptrdiff_t n) {
    return n * panel + detail::householder<T>::least(m, n);
  }
  /// The transpose, which is what LAPACK reads, has LQ factors: R and Q, row-major, where they belong.
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    using of = kernel::lapack::calls<T>;
    const std::ptrdiff_t m = c.rows, n = c.columns, k = detail::householder<T>::least(m, n);
    using kernel::lapack::number;
    T *const q = c.out, *const r = q + m * n, *const tau = c.scratch, *const work = tau + k;
    for (std::ptrdiff_t i = 0; i < m * n; ++i) q[i] = c.a[i];
    of::gelqf(of::by_columns, number(n), number(m), q, number(n), tau, work, number(n * panel));
    if (c.flags)
      if (const std::ptrdiff_t column = dependent_column(c, q); column >= 0) return column;
    for (std::ptrdiff_t i = 0; i < k; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : q[i * n + j];
    of::orglq(of::by_columns, number(k), number(m), number(k), q, number(n), tau, work, number(k * panel));
    T* const signs = tau;
    for (std::ptrdiff_t i = 0; i < k; ++i) {
      signs[i] = r[i * (n + 1)] < 0 ? T(-1) : T(1);
      for (std::ptrdiff_t j = i; j < n; ++j) r[i * n + j] = signs[i] * r[i * n + j];
    }
    for (std::ptrdiff_t i = 0; i < m; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) q[i * n + j] = j < k ? signs[j] * q[i * n + j] : T(0);
    return -1;
  }
  static std::string complaint(std::ptrdiff_t column) {
    return "is rank deficient: up to rounding, column " + std::to_string(column) + " is a combination of those before it";
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    symbols& s = a.g->syms;
    const int last = a.rank() - 1, m = a.extent(last - 1), n = a.extent(last), k = s.derive(extent_rule::least, m, n);
    const auto q = cut(cut(out, last - 1, 0, m), last, 0, k), u = cut(cut(out, last - 1, stride::at_the_end, k), last, 0, k);
    const auto of_r = cut(g, last - 1, stride::at_the_end, k), of_u = cut(of_r, last, 0, k);
    auto of_q = cut(cut(g, last - 1, 0, m), last, 0, k), rest = a;
    if (k != n) {
      // Columns of a from k on are Q times those of R: the rest of the rule concerns the first k columns.
      rest = right_of(a, a, k);
      of_q = of_q + product_of(rest, right_of(of_r, of_r, k), right_transposed);
    }
    const auto inner = product_of(u, of_u, right_transposed) - product_of(of_q, q, left_transposed);
    const auto mirror = triangle_of(inner, false, false) + transposed_matrix(triangle_of(inner, false, true));
    const auto turned = of_q + product_of(q, mirror, 0);
    const auto of_first = transposed_matrix(emit_on<solve>({0}, u, transposed_matrix(turned)));
    if (k == n) return grads(of_first);
    return grads(set_in(of_first, last, 0, n) + right_of(product_of(q, of_r, 0), a, k));
  }

 private:
  /// x with zeros in its first k columns.
  template <class T>
  static constexpr operand<T> right_of(operand<T> x, operand<T> like, int k) {
    if (x.is_refused()) return x;
    const int last = x.rank() - 1;
    const auto first = set_in(literal_like(cut(like, last, 0, k), 1), last, 0, like.extent(last));
    return emit_on<op::where>({}, emit_on<op::equal>({}, first, literal_like(first, 0)), x, literal_like(x, 0));
  }
  static constexpr std::ptrdiff_t panel = 64;  // columns that LAPACK reduces at once

  /// The first column whose element on R's diagonal is 0 up to rounding, or -1. A NaN does not count as 0. The rows of r are those of c.a.
  template <class T>
  static constexpr std::ptrdiff_t dependent_column(const matrix_call<T>& c, const T* r) {
    T largest = T(0);
    const std::ptrdiff_t count = c.rows < c.columns ? c.rows : c.columns, longer = c.rows < c.columns ? c.columns : c.rows;
    const auto size = [&](std::ptrdiff_t i) { return lane::abs(r[i * (c.columns + 1)]); };
    for (std::ptrdiff_t i = 0; i < count; ++i)
      if (size(i) > largest) largest = size(i);
    const T limit = static_cast<T>(longer) * std::numeric_limits<T>::epsilon() * largest;
    for (std::ptrdiff_t i = 0; i < count; ++i)
      if (size(i) <= limit) return i;
    return count < c.columns ? count : -1;
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct qr {
  static constexpr precision autocast = op::qr::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::qr>(a); }
  /// Q or R out of both, for an operand a with the shape of the matrix.
  template <class T, class A>
  static constexpr operand<T> part(operand<T> both, operand<A> a, bool is_q) {
    if (both.is_refused()) return both;
    const int last = a.rank() - 1, m = a.extent(last - 1), k = a.g->syms.derive(extent_rule::least, m, a.extent(last));
    return is_q ? cut(cut(both, last - 1, 0, m), last, 0, k) : cut(both, last - 1, stride::at_the_end, k);
  }
};
template <bool IsQ>
struct qr_part {
  static constexpr std::string_view name = "qr";
  static constexpr auto apply(auto both, auto a) { return qr::part(both, a, IsQ); }
};

/// The reduced factors of the matrix [a, 1], which is wide: Q is square there, and the first columns of R are those of a.
struct complete_qr {
  static constexpr std::string_view name = "qr";
  static constexpr precision autocast = op::qr::autocast;
  template <class A, class Index = std::int32_t>  // see [note: ops on a fixed dtype]
  static constexpr auto apply(operand<A> a) {
    using T = decltype(detail::accepted<op::qr, A>());
    if (a.is_refused() || a.rank() < 2) return refuse<T>(*a.g, a.is_refused() ? -a.id : 420);
    const auto x = cast_to<T>(a);
    graph& g = *a.g;
    const int last = a.rank() - 1, m = a.extent(last - 1), square = g.intern(with_extent(a.extents(), last, m));
    const auto one = emit_on<op::equal>({}, index_along<Index>(g, square, last - 1), index_along<Index>(g, square, last));
    return operand<T>(of_matrices<op::qr>(concat<-1>::apply(x, cast_to<T>(one))));
  }
};
template <bool IsQ>
struct complete_qr_part {
  static constexpr std::string_view name = "qr";
  template <class T, class A>
  static constexpr operand<T> apply(operand<T> both, operand<A> a) {
    if (both.is_refused()) return both;
    const int last = a.rank() - 1, m = a.extent(last - 1), n = a.extent(last);
    return IsQ ? cut(cut(both, last - 1, 0, m), last, 0, m) : cut(cut(both, last - 1, stride::at_the_end, m), last, 0, n);
  }
};

struct lstsq {
  static constexpr precision autocast = op::qr::autocast;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = decltype(detail::accepted<op::qr, promoted<A, B>>());
    const auto x = cast_to<T>(a);
    auto y = cast_to<T>(b);
    if (x.is_refused() || y.is_refused()) return x.is_refused() ? x : y;
    graph& g = *x.g;
    if (x.rank() < 2) return refuse<T>(g, 420);
    const int last = x.rank() - 1, m = x.extent(last - 1), n = x.extent(last);
    if (m >= 0 && m < n) return refuse<T>(g, 431);
    const bool vectors = y.rank() > 0 && right_sides::is_vector(g.syms, x.extents(), y.extents());
    if (y.rank() < 1 || !g.syms.unify(m, y.extent(y.rank() - (vectors ? 1 : 2)))) return refuse<T>(g, 181);
    if (vectors) y = view_as(y, with_axis(y.extents(), y.rank(), 1));
    const auto both = of_matrices<op::qr>(x, 1);
    const auto q = qr::part(both, x, true), r = cut(both, last - 1, stride::at_the_end, n);
    const auto found = solve_triangular<upper_triangle>::apply(r, matmul::apply(transposed_matrix(q), y));
    return vectors && !found.is_refused() ? view_as(found, axes_between(found.extents(), 0, found.rank() - 1)) : found;
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// A tuple (Q, R) with a = Q R, the reduced factors: Q has orthonormal columns, R is upper triangular and its diagonal is not negative.
/// They are unique if a has full rank.
/// Shape: a [..., m, n]: [..., m, k], [..., k, n], where k is the smaller of m and n; leading axes are batches.
/// Dtype: integers give float; bf16 and f16 are computed in float.   Saves: Q, R, and a if k < n.
/// Error: Q R = a + d with |d| <= 6 m n u |a|, column by column; Q^T Q = 1 up to 6 m n u.   Source: Higham, theorem 19.4.
/// Throws: in a backward pass, if the first k columns of a do not have full rank: then an element on R's diagonal is 0.
/// qr(a, complete): Q is [..., m, m] and R [..., m, n], with zeros below, as mode='complete' in PyTorch. These are the reduced factors of
/// [a, 1], without the columns of R that belong to 1. So all columns of Q are unique and have derivatives if the first m columns of [a, 1]
/// have full rank.
template <class A, class... Tag>
constexpr auto qr(const A& a, Tag...) {
  constexpr bool fits = sizeof...(Tag) < 2 && (std::is_same_v<Tag, complete_tag> && ...);
  static_assert(fits, "[ebb E0542] qr: after the matrix comes nothing, or the tag ebb::complete");
  if constexpr (sizeof...(Tag) > 0) {
    const auto both = apply_function(functions::complete_qr{}, a);
    return std::tuple(apply_function(functions::complete_qr_part<true>{}, both, a),
                      apply_function(functions::complete_qr_part<false>{}, both, a));
  } else {
    const auto both = apply_function(functions::qr{}, a);
    return std::tuple(apply_function(functions::qr_part<true>{}, both, a), apply_function(functions::qr_part<false>{}, both, a));
  }
}
/// The x with the least |a x - b|, for an a of full column rank, by QR.
/// Shape: a [..., m, n], m >= n, b [..., m, p] or [m]: [..., n, p] or [n]. Batches and vectors are as for solve.
/// Dtype: promoted, then as qr.   Saves: the factors, b, x.   Error: that of a backward stable solution.
/// Throws: if a matrix does not have full column rank up to rounding. The error names the matrix and its first column that depends on
/// earlier ones. The product with pinv(a) gives the solution of least length instead.
inline constexpr call<functions::lstsq> lstsq{};

}  // namespace ebb::inline EBB_ABI
