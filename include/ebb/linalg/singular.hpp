// ebb/linalg/singular.hpp — functions of singular values: pinv, matrix_rank, condition_number, matrix_norm.
// SPDX-License-Identifier: BSL-1.0
//
//   pinv(a), pinv<-20>(a)                                 values up to 2^-20 of the largest one count as 0
//   matrix_norm(a)   matrix_norm(a, spectral)             Frobenius by default; also nuclear, order<1>, order_inf
#pragma once

#include "svd.hpp"

#include "../op/moments.hpp"
#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI {

/// Tags of matrix_norm: `nuclear` is the sum of the singular values, `spectral` the largest one. Other tags: order<1> is the largest sum of
/// magnitudes in a column, order_inf the largest in a row.
struct nuclear_tag {};
struct spectral_tag {};
inline constexpr nuclear_tag nuclear{};
inline constexpr spectral_tag spectral{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// attr 1: the exponent e with which singular values up to 2^e times the largest one count as 0; if it is 0, values up to max(m, n) epsilon
/// times the largest one do.
struct of_rank : singular {
 protected:
  template <class T>
  static constexpr T least(const matrix_call<T>& c, T largest) {
    if (c.flags == 0) return static_cast<T>(c.rows > c.columns ? c.rows : c.columns) * std::numeric_limits<T>::epsilon() * largest;
    for (std::int64_t i = c.flags; i < 0; ++i) largest = largest / 2;
    return largest;
  }
};

/// The pseudoinverse.   Saves: a, out. The rule holds where the rank does not change.   Error: see [note: order of singular values].
/// Source: G. Golub, V. Pereyra, The differentiation of pseudo-inverses (1973).
struct pinv : of_rank {
  static constexpr std::string_view name = "pinv";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t m, std::ptrdiff_t n) { return singular::scratch(m, n) + count(m, n) * (m + n); }
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    if (in[0].rank < 2) return refused(420);
    const int last = in[0].rank - 1;
    return s.find(with_extent(with_extent(in[0], last, in[0].e[last - 1]), last - 1, in[0].e[last]));
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::singular_system<T> system(c);
    const std::ptrdiff_t m = c.rows, n = c.columns, size = system.count();
    if (!system.solve(true)) {
      detail::fill_with_nan(n * m, c.out);
      return -1;
    }
    // Columns of V, divided by their values, and of U, in rows.
    T *const right = c.scratch + singular::scratch(m, n), *const left = right + size * n;
    std::ptrdiff_t rank = 0;
    for (; rank < size; ++rank) {
      const T own = system.value(rank);
      if (own <= least(c, system.value(0))) break;
      const T *const x = system.long_vector(rank), *const y = system.short_vector(rank);
      for (std::ptrdiff_t i = 0; i < m; ++i) left[rank * m + i] = (m >= n ? x : y)[i];
      for (std::ptrdiff_t i = 0; i < n; ++i) right[rank * n + i] = (m >= n ? y : x)[i] / own;
    }
    if (!__builtin_is_constant_evaluated()) {
      kernel::tile::block(n, rank, kernel::matrix<T>{right, 1, n}, left, m, c.out, m, m, false);
      return -1;
    }
    for (std::ptrdiff_t i = 0; i < n * m; ++i) c.out[i] = T(0);
    for (std::ptrdiff_t k = 0; k < rank; ++k)
      for (std::ptrdiff_t i = 0; i < n; ++i)
        for (std::ptrdiff_t l = 0; l < m; ++l) c.out[i * m + l] = lane::fma(right[k * n + i], left[k * m + l], c.out[i * m + l]);
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto out) {
    const auto gt = transposed_matrix(g);
    const auto within = product_of(product_of(out, g, left_transposed), out, right_transposed);
    const auto left = product_of(gt, product_of(out, out, right_transposed), 0);
    const auto right = product_of(product_of(out, out, left_transposed), gt, 0);
    return grads(left - product_of(a, product_of(out, left, 0), 0) + right - product_of(product_of(right, out, 0), a, 0) - within);
  }
};

/// The number of singular values that count, as a float. No gradient.
struct matrix_rank : of_rank {
  static constexpr std::string_view name = "matrix_rank";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    return in[0].rank < 2 ? refused(420) : s.find(axes_between(in[0], 0, in[0].rank - 2));
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::singular_system<T> system(c);
    const bool finite = system.solve(false);
    c.out[0] = T(0);
    for (std::ptrdiff_t k = 0; k < system.count() && finite; ++k)
      if (system.value(k) > least(c, system.value(0))) c.out[0] = c.out[0] + 1;
    return -1;
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <int Exponent>
struct pinv {
  static constexpr std::string_view name = "pinv";
  static constexpr precision autocast = op::pinv::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::pinv>(a, Exponent); }
};
template <int Exponent>
struct matrix_rank {
  static constexpr std::string_view name = "matrix_rank";
  template <class A>
  static constexpr operand<std::int64_t> apply(operand<A> a) {
    using T = detail::computed_in<decltype(detail::accepted<op::matrix_rank, A>())>;
    return cast_to<std::int64_t>(of_matrices<op::matrix_rank>(cast_to<T>(a), Exponent));
  }
};
struct condition_number {
  static constexpr precision autocast = op::svdvals::autocast;
  static constexpr auto apply(auto a) {
    const auto s = of_matrices<op::svdvals>(a);
    using T = typename decltype(s)::value_type;
    if (s.is_refused()) return s;
    const auto last = select<-1, -1>::apply(s);
    return last.is_refused() ? operand<T>(last) : select<-1, 0>::apply(s) / last;
  }
};

template <class Tag>
struct matrix_norm {
  static constexpr bool known = false;
};
struct known_matrix_norm {
  static constexpr bool known = true;
  static constexpr std::string_view name = "matrix_norm";

 protected:
  /// A vector norm of Axis, then the largest along the axis that is left.
  template <int Axis>
  static constexpr auto largest_sum(auto a) {
    using R = decltype(norm<1, 0, false, -1>::apply(norm<1, 1, false, Axis>::apply(a)));
    if (!a.is_refused() && a.rank() < 2) return R{a.g, -420};
    return R(norm<1, 0, false, -1>::apply(norm<1, 1, false, Axis>::apply(a)));
  }
};
template <>
struct matrix_norm<void> : known_matrix_norm {
  static constexpr auto apply(auto a) {
    using R = decltype(norm<2, 1, false, -2, -1>::apply(a));
    if (!a.is_refused() && a.rank() < 2) return R{a.g, -420};
    return R(norm<2, 1, false, -2, -1>::apply(a));
  }
};
template <>
struct matrix_norm<order_tag<1, 1>> : known_matrix_norm {
  static constexpr auto apply(auto a) { return largest_sum<-2>(a); }
};
template <>
struct matrix_norm<order_tag<1, 0>> : known_matrix_norm {
  static constexpr auto apply(auto a) { return largest_sum<-1>(a); }
};
template <>
struct matrix_norm<nuclear_tag> : known_matrix_norm {
  static constexpr precision autocast = op::svdvals::autocast;
  static constexpr auto apply(auto a) {
    const auto s = of_matrices<op::svdvals>(a);
    return s.is_refused() ? s : sum_over(s, std::int64_t{1} << (s.rank() - 1));
  }
};
template <>
struct matrix_norm<spectral_tag> : known_matrix_norm {
  static constexpr precision autocast = op::svdvals::autocast;
  static constexpr auto apply(auto a) {
    const auto s = of_matrices<op::svdvals>(a);
    return s.is_refused() ? s : select<-1, 0>::apply(s);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {

template <class... Tag>
inline constexpr bool is_matrix_norm = false;
template <>
inline constexpr bool is_matrix_norm<> = true;
template <class Tag>
inline constexpr bool is_matrix_norm<Tag> = functions::matrix_norm<Tag>::known;

template <class... Tag>
struct only_tag {
  using type = void;
};
template <class Tag>
struct only_tag<Tag> {
  using type = std::conditional_t<is_matrix_norm<Tag>, Tag, void>;
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The pseudoinverse of each matrix: V diag(1 / s) U^T over the singular values above max(m, n) epsilon times the largest one, or above
/// 2^Exponent times it. pinv(a) b is the least squares solution of least length. The gradient is that for a constant rank.
/// Shape: a [..., m, n]: [..., n, m].   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: a, out.
/// Error: that of svd, divided by the smallest singular value that counts.
template <int Exponent = 0, class A>
constexpr auto pinv(A&& a) {
  static_assert(Exponent <= 0, "[ebb E0433] pinv, matrix_rank: the tolerance is 2^Exponent with a negative exponent, or 0 for the default");
  return apply_function(functions::pinv<(Exponent < 0 ? Exponent : 0)>{}, std::forward<A>(a));
}
/// The number of singular values above the tolerance of pinv, 0 for a matrix with a NaN. No gradient.
/// Shape: the batch's.   Dtype: int64, no gradient.   Saves: nothing.
/// Error: exact, unless a singular value is at the tolerance up to rounding.
template <int Exponent = 0, class A>
constexpr auto matrix_rank(A&& a) {
  static_assert(Exponent <= 0, "[ebb E0433] pinv, matrix_rank: the tolerance is 2^Exponent with a negative exponent, or 0 for the default");
  return apply_function(functions::matrix_rank<(Exponent < 0 ? Exponent : 0)>{}, std::forward<A>(a));
}
/// The largest singular value divided by the smallest one: infinite for a singular matrix, NaN for zeros.
/// Shape: the batch's.   Dtype, Saves, Error: as svdvals.   Throws: if a call's matrix has no elements.
inline constexpr call<functions::condition_number> condition_number{};
/// A norm of each matrix in the last two axes: Frobenius, or that of a tag.   matrix_norm(a, spectral)
/// Shape: the batch's.   Dtype, Saves, Error: as norm and svdvals.   Throws: for matrices without elements, except Frobenius and nuclear.
template <class A, class... Tag>
constexpr auto matrix_norm(A&& a, Tag...) {
  constexpr bool known = detail::is_matrix_norm<Tag...>;
  static_assert(known, "[ebb E0434] matrix_norm: after the matrix comes nothing, or one of ebb::nuclear, spectral, order<1>, order_inf");
  return apply_function(functions::matrix_norm<typename detail::only_tag<Tag...>::type>{}, std::forward<A>(a));
}

}  // namespace ebb::inline EBB_ABI
