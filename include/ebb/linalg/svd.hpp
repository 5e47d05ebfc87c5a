// ebb/linalg/svd.hpp — singular values and vectors.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [u, s, vt] = svd(a);     // a = u diag(s) vt, s falling, the columns of u and the rows of vt orthonormal
//   const auto s = svdvals(a);          // the values alone: their gradient is safe where values are equal
#pragma once

#include "bidiagonal.hpp"
#include "one_sided_jacobi.hpp"
#include "qr.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::detail {

/// The longest shorter side of a matrix whose singular values are those of Jacobi's method.
inline constexpr std::ptrdiff_t most_columns_of_jacobi = 6;

/// [note: order of singular values]
/// A matrix of up to 6 rows or columns takes Jacobi's method, see [note: order of a one-sided Jacobi method]: each value has its own
/// digits. Larger ones take [note: order of a bidiagonal form]: the error is that of the largest value. Both have A, or A^T if A is wide.
/// The first of the largest components of each column of U is positive. A matrix with a NaN or an infinity gives NaNs.
/// Large matrices are LAPACK's with the target ebb::lapack.
template <class T>
class singular_system {
  const matrix_call<T>& call_;
  std::ptrdiff_t n_, m_;  // the shorter side and the longer one
  one_sided_jacobi<T> jacobi_{};
  bidiagonal<T> form_{};
  T *s_ = nullptr, *order_ = nullptr;

  constexpr bool by_jacobi() const { return n_ <= most_columns_of_jacobi; }
  constexpr std::ptrdiff_t number(std::ptrdiff_t k) const { return static_cast<std::ptrdiff_t>(order_[k]); }

 public:
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    const std::ptrdiff_t n = householder<T>::least(rows, columns), m = rows + columns - n;
    return n <= most_columns_of_jacobi ? one_sided_jacobi<T>::scratch(rows, columns) : bidiagonal<T>::scratch(m, n) + 2 * n;
  }
  constexpr explicit singular_system(const matrix_call<T>& c)
      : call_(c), n_(householder<T>::least(c.rows, c.columns)), m_(c.rows + c.columns - n_) {}

  /// The lengths of vectors, and their number.
  constexpr std::ptrdiff_t longer() const { return m_; }
  constexpr std::ptrdiff_t count() const { return n_; }

  /// False if the matrix is not finite.
  constexpr bool solve(bool with_vectors) {
    if (!by_jacobi()) return reduce(with_vectors);
    if (!jacobi_.take(call_)) return false;
    jacobi_.run();
    return true;
  }
  /// Value number k in falling order.
  constexpr T value(std::ptrdiff_t k) const { return by_jacobi() ? jacobi_.s[jacobi_.number(k)] : s_[k]; }
  /// Its vector of as many elements as the longer side. Those before it have been asked for.
  constexpr const T* long_vector(std::ptrdiff_t k) const {
    if (!by_jacobi()) return form_.x + number(k) * m_;
    jacobi_.normalize(k);
    return jacobi_.at(k);
  }
  constexpr const T* short_vector(std::ptrdiff_t k) const {
    return by_jacobi() ? jacobi_.v + jacobi_.number(k) * n_ : form_.q + number(k) * n_;
  }

 private:
  constexpr bool reduce(bool with_vectors) {
    const std::ptrdiff_t m = m_, n = n_;
    form_ = bidiagonal<T>(m, n, call_.scratch);
    s_ = form_.rest + 2 * m + 8 * n;
    order_ = s_ + n;
    if (!all_finite(m * n, call_.a)) return false;
    const T power = power_to_one(m * n, call_.a);
    if (call_.rows >= call_.columns)
      for (std::ptrdiff_t i = 0; i < m * n; ++i) form_.x[i] = power * call_.a[i];
    else
      for (std::ptrdiff_t i = 0; i < m; ++i)
        for (std::ptrdiff_t j = 0; j < n; ++j) form_.x[i * n + j] = power * call_.a[j * m + i];
    form_.reduce();
    // The factors of reflections are at the beginning of p.
    bidiagonal_values<T>{n, form_.rest, form_.rest + n}.run(form_.d, form_.f, s_);
    for (std::ptrdiff_t k = 0; k < n; ++k) s_[k] = s_[k] / power;
    if (!with_vectors) return true;
    form_.form();
    const bool converged = form_.rotate();
    jacobi<T>::sort(n, form_.d, 1, order_, true);
    return converged;
  }
};

/// Row k of the result: s(k), column k of U, column k of V.
template <class T>
constexpr void singular_triples(const matrix_call<T>& c) {
  singular_system<T> system(c);
  const bool tall = c.rows >= c.columns;
  const std::ptrdiff_t row = 1 + c.rows + c.columns, count = system.count();
  if (!system.solve(true)) return fill_with_nan(count * row, c.out);
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    T *const to = c.out + k * row, *const u = to + 1, *const v = u + c.rows;
    const T *const long_one = system.long_vector(k), *const short_one = system.short_vector(k);
    to[0] = system.value(k);
    for (std::ptrdiff_t i = 0; i < system.longer(); ++i) (tall ? u : v)[i] = long_one[i];
    for (std::ptrdiff_t i = 0; i < count; ++i) (tall ? v : u)[i] = short_one[i];
    if (points_down(c.rows, u, 1))
      for (std::ptrdiff_t i = 1; i < row; ++i) to[i] = -to[i];
  }
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The common part of ops on singular values.
struct singular : own_matrix {
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t m, std::ptrdiff_t n) { return detail::singular_system<float>::scratch(m, n); }

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
    detail::singular_system<T> system(c);
    const bool finite = system.solve(false);
    for (std::ptrdiff_t k = 0; k < system.count(); ++k) c.out[k] = finite ? system.value(k) : std::numeric_limits<T>::quiet_NaN();
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
/// Error: a few m n u times the largest value; up to 6 rows or columns often of each value.
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
