// ebb/linalg/svd.hpp — singular values and vectors.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [u, s, vt] = svd(a);     // a = u diag(s) vt, s falling, the columns of u and the rows of vt orthonormal
//   const auto s = svdvals(a);          // the values alone: their gradient is safe where values are equal
#pragma once

#include "eigen.hpp"
#include "qr.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of singular values]
/// The one-sided Jacobi method: the columns x of A, or of A^T if A is wide, are rotated in pairs p < q, row by row, until they are
/// orthogonal. A rotation is left out if |x(p) x(q)| <= m u |x(p)| |x(q)|, where u is epsilon and m the length of x. The method ends after
/// a sweep without rotations, or after 60 sweeps; sweeps of small rotations do not end it, since columns that are rounding errors need
/// them. Values are lengths of columns, sorted in falling order, equal ones in the order of their columns. A column whose value is at most
/// m u times the largest one is a rounding error: it is orthogonalized twice against the columns before it. If nothing of it is left, the
/// unit vector of which those columns have the least part takes its place. The first of the largest components of each column of U is
/// positive. A matrix with a NaN or an infinity gives NaNs.
/// Large matrices are LAPACK's with the target ebb::lapack: then small values have the error of large ones.
/// Source: G. Golub, C. Van Loan, Matrix Computations, section 8.6.3; J. Demmel, K. Veselic (1992).
template <class T>
struct one_sided_jacobi {
  std::ptrdiff_t m, n;   // n vectors of m elements, m >= n
  T *x, *v, *s, *order;  // x: n x m, each row a vector; v: n x n; s: n; order: n

  static constexpr T unit = std::numeric_limits<T>::epsilon();

  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    const std::ptrdiff_t n = householder<T>::least(rows, columns);
    return rows * columns + n * n + 2 * n;
  }
  /// Reads the vectors of a matrix; false if it is not finite.
  constexpr bool take(const matrix_call<T>& c) {
    const bool tall = c.rows >= c.columns;
    m = tall ? c.rows : c.columns;
    n = tall ? c.columns : c.rows;
    x = c.scratch;
    v = x + m * n;
    s = v + n * n;
    order = s + n;
    for (std::ptrdiff_t j = 0; j < n; ++j)
      for (std::ptrdiff_t i = 0; i < m; ++i) x[j * m + i] = tall ? c.a[i * n + j] : c.a[j * m + i];
    for (std::ptrdiff_t i = 0; i < n * n; ++i) v[i] = T(i % (n + 1) == 0);
    return all_finite(m * n, x);
  }
  /// Makes the vectors orthogonal, and finds their lengths and their order.
  constexpr void run() {
    const T power = power_for(m * n, x), least = static_cast<T>(m) * unit;
    for (std::ptrdiff_t i = 0; i < m * n && power != 1; ++i) x[i] = x[i] * power;
    bool turned = true;
    for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
      turned = false;
      for (std::ptrdiff_t p = 0; p < n; ++p)
        for (std::ptrdiff_t q = p + 1; q < n; ++q) {
          T* const first = x + p * m;
          T* const second = x + q * m;
          const T product = dot(first, second), a = dot(first, first), b = dot(second, second);
          if (product == 0 || lane::abs(product) <= least * (lane::sqrt(a) * lane::sqrt(b))) continue;
          const auto r = rotation<T>::of(b - a, product);
          r.turn(m, first, second);
          r.turn(n, v + p * n, v + q * n);
          turned = true;
        }
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) s[j] = length(x + j * m) / power;
    jacobi<T>::sort(n, s, 1, order, true);
  }
  /// Scales vector number k, in falling order of the lengths, to length 1. Those before it have been scaled.
  constexpr void normalize(std::ptrdiff_t k) const {
    T* const own = at(k);
    T size = length(own);
    divide(own, size > 0 ? size : T(1));
    if (s[number(k)] > static_cast<T>(m) * unit * s[number(0)]) return;
    // It is a rounding error: rotations may not have made it orthogonal.
    if (size > 0) {
      orthogonalize(k);
      size = length(own);
    }
    if (!(size >= T(0.5))) {
      // Take the unit vector of which the vectors before have the least part.
      std::ptrdiff_t best = 0;
      T least = std::numeric_limits<T>::max();
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        T sum = T(0);
        for (std::ptrdiff_t j = 0; j < k; ++j) sum = lane::fma(at(j)[i], at(j)[i], sum);
        if (sum < least) {
          least = sum;
          best = i;
        }
      }
      for (std::ptrdiff_t i = 0; i < m; ++i) own[i] = T(i == best);
      orthogonalize(k);
      size = length(own);
    }
    divide(own, size);
  }
  constexpr std::ptrdiff_t number(std::ptrdiff_t k) const { return static_cast<std::ptrdiff_t>(order[k]); }
  constexpr T* at(std::ptrdiff_t k) const { return x + number(k) * m; }

 private:
  constexpr void divide(T* a, T by) const {
    for (std::ptrdiff_t i = 0; i < m; ++i) a[i] = a[i] / by;
  }
  constexpr void orthogonalize(std::ptrdiff_t k) const {
    for (int pass = 0; pass < 2; ++pass)
      for (std::ptrdiff_t j = 0; j < k; ++j) {
        const T part = dot(at(j), at(k));
        for (std::ptrdiff_t i = 0; i < m; ++i) at(k)[i] = lane::fma(-part, at(j)[i], at(k)[i]);
      }
  }
  constexpr T dot(const T* a, const T* b) const {
    T sum = T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i) sum = lane::fma(a[i], b[i], sum);
    return sum;
  }
  /// Elements are divided by the largest one before they are squared: so the squares of small columns do not vanish.
  constexpr T length(const T* a) const {
    T largest = T(0), sum = T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i)
      if (const T size = lane::abs(a[i]); size > largest) largest = size;
    if (largest == 0) return T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i) sum = lane::fma(a[i] / largest, a[i] / largest, sum);
    return largest * lane::sqrt(sum);
  }
};

/// Row k of the result: s(k), column k of U, column k of V.
template <class T>
constexpr void singular_triples(const matrix_call<T>& c) {
  one_sided_jacobi<T> j{};
  const bool finite = j.take(c), tall = c.rows >= c.columns;
  const std::ptrdiff_t row = 1 + c.rows + c.columns;
  if (!finite) return fill_with_nan(j.n * row, c.out);
  j.run();
  for (std::ptrdiff_t k = 0; k < j.n; ++k) {
    T *const to = c.out + k * row, *const u = to + 1, *const v = u + c.rows;
    j.normalize(k);
    to[0] = j.s[j.number(k)];
    for (std::ptrdiff_t i = 0; i < j.m; ++i) (tall ? u : v)[i] = j.at(k)[i];
    for (std::ptrdiff_t i = 0; i < j.n; ++i) (tall ? v : u)[i] = j.v[j.number(k) * j.n + i];
    if (points_down(c.rows, u, 1))
      for (std::ptrdiff_t i = 1; i < row; ++i) to[i] = -to[i];
  }
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The common part of ops on singular values.
struct singular : own_matrix {
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t m, std::ptrdiff_t n) { return detail::one_sided_jacobi<float>::scratch(m, n); }

 protected:
  static constexpr std::ptrdiff_t count(std::ptrdiff_t m, std::ptrdiff_t n) { return detail::householder<float>::least(m, n); }
  /// The elements of scratch of solve_by_lapack, with U^T in it.
  template <class T>
  static std::ptrdiff_t scratch_of_lapack(std::ptrdiff_t m, std::ptrdiff_t n, bool with_vectors) {
    const std::ptrdiff_t k = count(m, n);
    return m * n + k * m + k + 8 * k + work<T>(m, n, with_vectors);
  }
  /// Values s, columns of V in rows that are `apart`, and U^T, transposed and compact, at the beginning of scratch: k, m k. False if LAPACK
  /// does not find them. LAPACK reads the transpose, whose left vectors are V.
  template <class T>
  static bool solve_by_lapack(const matrix_call<T>& c, T* v, std::ptrdiff_t apart) {
    using of = kernel::lapack::calls<T>;
    const std::ptrdiff_t m = c.rows, n = c.columns, k = count(m, n);
    const std::ptrdiff_t extra = work<T>(m, n, v != nullptr);
    T *const s = c.scratch, *const u = s + k, *const a = u + k * m, *const rest = a + m * n;
    for (std::ptrdiff_t i = 0; i < m * n; ++i) a[i] = c.a[i];
    using kernel::lapack::number;
    return of::gesdd(of::by_columns, v ? 'S' : 'N', number(n), number(m), a, number(n), s, v, number(v ? apart : 1), u, number(k), rest,
                     number(extra), reinterpret_cast<int*>(rest + extra)) == 0;
  }
  template <class T>
  static std::ptrdiff_t work(std::ptrdiff_t m, std::ptrdiff_t n, bool with_vectors) {
    using of = kernel::lapack::calls<T>;
    using kernel::lapack::number;
    T elements = T(0), none = T(0);
    int integers = 0;
    of::gesdd(of::by_columns, with_vectors ? 'S' : 'N', number(n), number(m), &none, number(n), &none, &none, number(n), &none,
              number(count(m, n)), &elements, -1, &integers);
    // A float holds no exact number beyond 2^24.
    return static_cast<std::ptrdiff_t>(elements + elements * std::numeric_limits<T>::epsilon()) + 1;
  }
  static constexpr int rank_of(symbols& s, const shape& x) {
    return s.derive(extent_rule::least, s.find(x.e[x.rank - 2]), s.find(x.e[x.rank - 1]));
  }
};

/// Singular triples: row k is s(k), column k of U, column k of V. attr 1: the flag of rotations_ignored, or 0.
/// Saves: out.   Error: see [note: order of singular values].
/// Source: J. Townsend, Differentiating the singular value decomposition (2016).
struct svd : singular {
  static constexpr std::string_view name = "svd";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    if (in[0].rank < 2) return refused(420);
    const int last = in[0].rank - 1, m = s.find(in[0].e[last - 1]), n = s.find(in[0].e[last]);
    shape r = s.find(in[0]);
    r.e[last - 1] = rank_of(s, in[0]);
    r.e[last] = s.derive(extent_rule::sum, s.derive(extent_rule::sum, m, n), 1);
    return r;
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::singular_triples(c);
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::svd;
  template <class T>
  static std::ptrdiff_t large_scratch(std::ptrdiff_t m, std::ptrdiff_t n) {
    return scratch_of_lapack<T>(m, n, true);
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    const std::ptrdiff_t m = c.rows, n = c.columns, k = count(m, n), row = 1 + m + n;
    if (!solve_by_lapack(c, c.out + 1 + m, row)) return detail::not_computed;
    kernel::elimination::turn(c.out + 1, row, c.scratch + k, k, m, k);
    for (std::ptrdiff_t i = 0; i < k; ++i) {
      T* const to = c.out + i * row;
      to[0] = c.scratch[i];
      const bool down = detail::points_down(m, to + 1, 1);
      for (std::ptrdiff_t j = 1; j < row && down; ++j) to[j] = -to[j];
    }
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto out) {
    const int last = a.rank() - 1, m = a.extent(last - 1), n = a.extent(last);
    const auto s = one_of(out, last, 0), ut = left(out, a), vt = cut(out, last, stride::at_the_end, n);
    const auto of_s = one_of(g, last, 0), of_ut = left(g, a), of_vt = cut(g, last, stride::at_the_end, n);
    const int k = s.extent(last - 1);
    const bool ignores = out.attribute(1) != 0;
    // 1 / (s_j^2 - s_i^2), 0 on the diagonal.
    const auto of_rows = product_of(ut, of_ut, right_transposed), of_columns = product_of(vt, of_vt, right_transposed);
    const auto columns = repeat(s, of_rows, std::int64_t{1} << (last - 1)), rows = repeat(s, of_rows, std::int64_t{1} << last);
    auto left_out = is_on_diagonal(of_rows);
    if (ignores) left_out = emit_on<logical_or>({}, left_out, is_rounding_error(columns - rows, s));
    const auto inverse = inverse_or_zero((columns - rows) * (columns + rows), left_out);
    const auto inner = inverse * (of_rows - transposed_matrix(of_rows)) * columns +
                       rows * (inverse * (of_columns - transposed_matrix(of_columns))) + diagonal_of(of_s, of_rows);
    auto sum = product_of(product_of(ut, inner, left_transposed), vt, 0);
    const auto over = ignores ? inverse_or_zero(s, is_rounding_error(s, s)) : 1 / s;
    if (m != k) {
      const auto rest = times_rows(over, of_ut - product_of(transposed_matrix(of_rows), ut, 0));
      sum = sum + product_of(rest, vt, left_transposed);
    }
    if (n != k) {
      const auto rest = times_rows(over, of_vt - product_of(transposed_matrix(of_columns), vt, 0));
      sum = sum + product_of(ut, rest, left_transposed);
    }
    return grads(sum);
  }
  /// U^T out of a result, or of its gradient, for an operand with the shape of the matrix.
  template <class T, class A>
  static constexpr operand<T> left(operand<T> triples, operand<A> a) {
    const int last = a.rank() - 1, m = a.extent(last - 1);
    if (triples.is_refused()) return triples;
    const int both = a.g->syms.derive(extent_rule::sum, m, a.extent(last));
    return cut(cut(triples, last, stride::at_the_end, both), last, 0, m);
  }

 private:
  /// Whether the magnitudes of x are at most epsilon times the sum of the values s. x has the axes of s, and one more if it is a matrix.
  template <class T>
  static constexpr operand<bool> is_rounding_error(operand<T> x, operand<T> s) {
    const int axis = s.rank() - 1;
    constexpr auto unit = std::numeric_limits<detail::computed_in<T>>::epsilon();
    const auto least = repeat(unit * sum_over(s, std::int64_t{1} << axis), x, axis_run(axis, x.rank()));
    return emit_on<less_equal>({}, emit_on<abs>({}, x), least);
  }
};

/// Singular values.   Saves: a; a backward pass computes the vectors.   Error: see [note: order of singular values].
struct svdvals : singular {
  static constexpr std::string_view name = "svdvals";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    if (in[0].rank < 2) return refused(420);
    shape r = s.find(axes_between(in[0], 0, in[0].rank - 2));
    r.push(rank_of(s, in[0]));
    return r;
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::one_sided_jacobi<T> j{};
    const bool finite = j.take(c);
    if (finite) j.run();
    for (std::ptrdiff_t k = 0; k < j.n; ++k) c.out[k] = finite ? j.s[j.number(k)] : std::numeric_limits<T>::quiet_NaN();
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::svd;
  template <class T>
  static std::ptrdiff_t large_scratch(std::ptrdiff_t m, std::ptrdiff_t n) {
    return scratch_of_lapack<T>(m, n, false);
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    if (!solve_by_lapack<T>(c, nullptr, 1)) return detail::not_computed;
    for (std::ptrdiff_t k = 0; k < count(c.rows, c.columns); ++k) c.out[k] = c.scratch[k];
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto) {
    const auto triples = of_matrices<svd>(a);
    const int last = a.rank() - 1;
    const auto vt = cut(triples, last, stride::at_the_end, a.extent(last));
    return grads(product_of(times_rows(g, svd::left(triples, a)), vt, left_transposed));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <bool Ignores>
struct svd {
  static constexpr std::string_view name = "svd";
  static constexpr precision autocast = op::svd::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::svd>(a, Ignores); }
};
/// U, s or V^T out of the triples of a matrix with the shape of a.
template <int Which>
struct svd_part {
  static constexpr std::string_view name = "svd";
  template <class T, class A>
  static constexpr operand<T> apply(operand<T> triples, operand<A> a) {
    const int last = a.rank() - 1;
    if (triples.is_refused()) return triples;
    if constexpr (Which == 0) return transposed_matrix(op::svd::left(triples, a));
    else if constexpr (Which == 1) return one_of(triples, last, 0);
    else return cut(triples, last, stride::at_the_end, a.extent(last));
  }
};
struct svdvals {
  static constexpr precision autocast = op::svdvals::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::svdvals>(a); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// A tuple (U, s, V^T) with a = U diag(s) V^T, the thin factors: s is not negative and falls. The first of the largest components of each
/// column of U is positive.
///   svd(a, rotations_ignored)
/// If values are equal or 0, the gradient of a loss that depends on U or V is NaN or infinite, as in PyTorch. With the tag two kinds of
/// rotation have no gradient: between values that are equal up to rounding (epsilon times the sum of all values), and of vectors with the
/// value 0 into those that are not in U or V. That is right if the loss depends only on the space of equal values. It is wrong for
/// U f(s) V^T.
/// Shape: a [..., m, n]: [..., m, k], [..., k], [..., k, n], where k is the smaller of m and n; leading axes are batches.
/// Dtype: integers give float; bf16 and f16 are computed in float.   Saves: U, s, V.
/// Error: a few m n u times the largest value, and often of each value. The cost is about 8 sweeps of 8 m k^2 operations.
template <class A, class... Tag>
constexpr auto svd(const A& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(rotations_ignored.flag);
  static_assert(flags >= 0, "[ebb E0536] svd: after the matrix comes nothing, or the tag ebb::rotations_ignored");
  const auto triples = apply_function(functions::svd<(flags > 0)>{}, a);
  return std::tuple(apply_function(functions::svd_part<0>{}, triples, a), apply_function(functions::svd_part<1>{}, triples, a),
                    apply_function(functions::svd_part<2>{}, triples, a));
}
/// The singular values of each matrix in falling order. The gradient is finite where values are equal or 0: it is that of the vectors that
/// svd gives. A second derivative there is NaN.
/// Shape: a [..., m, n]: [..., k].   Dtype, Error: as svd.   Saves: a; a backward pass computes the vectors.
inline constexpr call<functions::svdvals> svdvals{};

}  // namespace ebb::inline EBB_ABI
