// ebb/op/triangle.hpp — Cholesky factors, triangular systems, and logarithms of determinants.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto l = cholesky(k);                              // k = l l^T
//   const auto alpha = cholesky_solve(y, l);                 // k alpha = y
//   solve_triangular(l, y, taken_transposed)                 // l^T x = y; also upper, unit_diagonal, from_right, in any order
// Equal factors are one equation: logdet_spd(k) next to cholesky(k) factors k once, for value and gradient.
#pragma once

#include "solve.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// The upper triangle of a square matrix as an operand of matmul; elements below the diagonal are not read.   matmul(upper(q), x)
/// All fields as lower. Without a matrix it is a tag of solve_triangular and others.
struct upper_tag : matrix_tag<upper_triangle> {
  template <class Q, class... Tag>
  constexpr auto operator()(Q&& q, Tag... tag) const;  // see triangular_product.hpp
};

/// Tags of triangular systems. upper: the upper triangle is read (default: the lower one). unit_diagonal: its diagonal is taken to be 1.
/// taken_transposed: it is transposed. from_right: x is on its left. error_if_singular: a 0 on its diagonal is an error.
inline constexpr upper_tag upper{};
inline constexpr matrix_tag<unit_diagonal_bit> unit_diagonal{};
inline constexpr matrix_tag<8> taken_transposed{};
inline constexpr matrix_tag<16> from_right{};
inline constexpr matrix_tag<64> error_if_singular{};

/// Inside rules: each matrix of x with zeros above its diagonal number k, or below it if `is_upper`. Number 1 is above the main diagonal.
template <class T>
constexpr operand<T> triangle_from(operand<T> x, bool is_upper, int k) {
  if (x.is_refused()) return x;
  const auto row = index_along<std::int32_t>(*x.g, x.shape_number(), x.rank() - 2);
  const auto column = index_along<std::int32_t>(*x.g, x.shape_number(), x.rank() - 1);
  const bool strict = k == (is_upper ? 1 : -1);
  const auto moved = k == 0 || strict ? row : row + k;
  const auto &small = is_upper ? moved : column, &large = is_upper ? column : moved;
  const auto inside = strict ? emit_on<op::less>({}, small, large) : emit_on<op::less_equal>({}, small, large);
  return emit_on<op::where>({}, inside, x, literal_like(x, 0));
}
/// Inside rules: the lower or upper triangle of each matrix of x, without the diagonal if `strict`, and zeros elsewhere.
template <class T>
constexpr operand<T> triangle_of(operand<T> x, bool is_upper, bool strict) {
  return triangle_from(x, is_upper, !strict ? 0 : is_upper ? 1 : -1);
}
/// Inside rules: for each element, whether it is at (i + down, i + right) of its matrix for some i.
template <class T>
constexpr operand<bool> is_on_diagonal(operand<T> x, int right = 0, int down = 0) {
  const auto row = index_along<std::int32_t>(*x.g, x.shape_number(), x.rank() - 2);
  const auto column = index_along<std::int32_t>(*x.g, x.shape_number(), x.rank() - 1);
  return emit_on<op::equal>({}, right ? row + right : row, down ? column + down : column);
}
/// Inside rules: x with its last two axes exchanged.
template <class T>
constexpr operand<T> transposed_matrix(operand<T> x) {
  if (x.is_refused()) return x;
  int axes[max_rank] = {};
  const int rank = x.rank();
  for (int i = 0; i < rank; ++i) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  return emit_on<op::permute>({pack_axes(axes, rank)}, x);
}
/// Inside rules: (x + x^T) / 2 for each matrix of x.
template <class T>
constexpr operand<T> symmetric_part(operand<T> x) {
  return 0.5 * (x + transposed_matrix(x));
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The matrix x with t x = b, where t is a triangle. attr 0: transposed. attr 1: see tensor/triangle_order.hpp. Batches are equal.
/// Saves: t, out. Only the triangle that is read gets a gradient, without the diagonal if that is taken to be 1.
/// Error: see kernel/triangle.hpp.
struct solve_triangular : system {
  static constexpr std::string_view name = "solve_triangular";
  static constexpr int arity = 2;
  static constexpr auto pull(auto g, auto t, auto, auto out) {
    const std::int64_t is_transposed = out.attribute(0), flags = out.attribute(1) & ~checked_bit;
    const auto of_b = emit_on<solve_triangular>({!is_transposed, flags}, t, g);
    const auto of_t = is_transposed ? product(out, of_b, right_transposed) : product(of_b, out, right_transposed);
    return grads(triangle_of(-of_t, (flags & upper_triangle) != 0, (flags & unit_diagonal_bit) != 0), of_b);
  }
};

/// Functions of single square matrices, with a result of the same shape unless they have a shape rule of their own.
struct of_matrix : op_base {
  static constexpr kind what = kind::factor;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::full;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) { return shape_of_squares(s, in[0]); }
};

/// The lower triangular l with l l^T = a, zeros above; the lower triangle of a is read. attr 1: see nan_if_not.
/// Saves: out. The gradient is symmetric: (l^-T f l^-1, and its transpose) / 2, f the lower triangle of l^T g with half its diagonal.
/// Error: see kernel/triangle.hpp.   Source: I. Murray, arXiv:1602.07527.
struct cholesky : of_matrix {
  static constexpr std::string_view name = "cholesky";
  static constexpr auto pull(auto g, auto, auto out) {
    const auto inner = product_of(out, triangle_of(g, false, false), left_transposed);
    const auto f = 0.5 * (triangle_of(inner, false, true) + triangle_of(inner, false, false));
    const auto left = [&](auto x) { return emit_on<solve_triangular>({1, triangular}, out, x); };
    const auto half = left(transposed_matrix(left(f)));
    return grads(symmetric_part(half));
  }
};

/// The sign of the determinant and the logarithm of its magnitude, side by side: [..., 2].
/// Saves: a, out. A backward pass computes the inverse of a. All elements of the gradient of a singular matrix are infinite.
/// Error: see kernel/triangle.hpp, and that of a sum of n logarithms.
struct slogdet : of_matrix {
  static constexpr std::string_view name = "slogdet";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    shape r = batch_of_squares(s, in[0]);
    if (!r.is_refused()) r.push(2);
    return r;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    const int rank = a.rank();
    const auto everywhere = [&](operand<T> each) { return repeat(each, a, axis_run(rank - 2, rank)); };
    const auto is_singular = emit_on<equal>({}, everywhere(part(out, 0)), literal_like(a, 0));
    const auto slope = emit_on<where>({}, is_singular, literal_like(a, std::numeric_limits<T>::infinity()),
                                      transposed_matrix(emit_on<inverse>({0, nan_bit}, a)));
    return grads(everywhere(part(g, 1)) * slope);
  }
  /// One of the two numbers, sign or logarithm, of each matrix.
  template <class T>
  static constexpr operand<T> part(operand<T> both, int which) {
    if (both.is_refused()) return both;
    const int last = both.rank() - 1;
    const auto one = slice_as(both, {last, which}, both.g->intern(with_extent(both.extents(), last, 1)));
    return view_as(one, axes_between(both.extents(), 0, last));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// attr 1 of an op that reads a triangle. A transposed matrix is read in place: as the other triangle of the original.
template <std::int64_t Flags>
constexpr std::int64_t triangle_read(bool is_transposed) {
  return triangular | ((Flags & (upper_triangle | unit_diagonal_bit)) ^ (is_transposed ? upper_triangle : 0));
}

template <std::int64_t Flags>
struct solve_triangular {
  static constexpr std::string_view name = "solve_triangular";
  static constexpr precision autocast = op::solve_triangular::autocast;
  template <class A, class B>
  static constexpr auto apply(operand<A> t, operand<B> b) {
    using T = decltype(detail::accepted<op::solve_triangular, promoted<A, B>>());
    auto x = cast_to<T>(t), y = cast_to<T>(b);
    constexpr bool right = Flags & 16;
    if constexpr (right) {
      if (!y.is_refused() && y.rank() < 2) return refuse<T>(*y.g, 181);
      y = transposed_matrix(y);
    }
    const auto r = right_sides::apply(x, y, [](const detail::factor<T>& m, operand<T> sides) {
      constexpr std::int64_t check = (Flags & error_if_singular.flag) != 0 ? checked_bit : 0;
      const bool turned = m.transposed != (((Flags & 8) != 0) != right);
      return emit_on<op::solve_triangular>({turned, check | triangle_read<Flags>(m.transposed)}, m.x, sides);
    });
    return right ? transposed_matrix(r) : r;
  }
};

template <bool OrNaN>
struct cholesky {
  static constexpr std::string_view name = "cholesky";
  static constexpr precision autocast = op::cholesky::autocast;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    return emit_on<op::cholesky>({static_cast<std::int64_t>(factor_kind::cholesky), OrNaN},
                                 cast_to<decltype(detail::accepted<op::cholesky, A>())>(a));
  }
};

template <bool Upper>
struct cholesky_solve {
  static constexpr std::string_view name = "cholesky_solve";
  static constexpr precision autocast = op::solve_triangular::autocast;
  static constexpr auto apply(auto b, auto l) {
    return solve_triangular<Upper ? upper_triangle : 8>::apply(l, solve_triangular<Upper ? upper_triangle | 8 : 0>::apply(l, b));
  }
};

template <bool OrNaN>
struct logdet_spd {
  static constexpr std::string_view name = "logdet_spd";
  static constexpr precision autocast = op::cholesky::autocast;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    const auto l = cholesky<OrNaN>::apply(a);
    if (l.is_refused()) return l;
    const int rank = l.rank();
    const auto diagonal = emit_on<op::where>({}, is_on_diagonal(l), l, literal_like(l, 0));
    const auto logs = emit_on<op::log>({}, sum_over(diagonal, std::int64_t{1} << (rank - 1)));
    return 2 * sum_over(logs, std::int64_t{1} << (rank - 2));
  }
};

struct slogdet {
  static constexpr precision autocast = op::slogdet::autocast;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    return emit_on<op::slogdet>({static_cast<std::int64_t>(factor_kind::log_determinant)},
                                cast_to<decltype(detail::accepted<op::slogdet, A>())>(a));
  }
};
template <int Which>
struct slogdet_part {
  static constexpr std::string_view name = "slogdet";
  static constexpr auto apply(auto both) { return op::slogdet::part(both, Which); }
};

struct logdet {
  static constexpr precision autocast = op::slogdet::autocast;
  static constexpr auto apply(auto a) {
    const auto both = slogdet::apply(a);
    const auto sign = op::slogdet::part(both, 0), size = op::slogdet::part(both, 1);
    using T = typename decltype(size)::value_type;
    return emit_on<op::where>({}, emit_on<op::less>({}, sign, literal_like(sign, 0)),
                              literal_like(size, std::numeric_limits<T>::quiet_NaN()), size);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The lower triangular l with l l^T = a, for each symmetric positive definite matrix in the last two axes; leading axes are batches. Only
/// the lower triangle of a is read; the gradient is symmetric.   cholesky(a, nan_if_not)
/// Shape: a [..., n, n]: the same.   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: out.
/// Error: see kernel/triangle.hpp.
/// Throws: if a matrix is not positive definite, naming it and its first leading minor that is not. With the tag its factor is NaN instead.
template <class A, class... Tag>
constexpr auto cholesky(A&& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(nan_if_not.flag);
  static_assert(flags >= 0,
                "[ebb E0286] cholesky, logdet_spd, banded_cholesky: after the matrix comes nothing, or the tag ebb::nan_if_not");
  return apply_function(functions::cholesky<(flags > 0)>{}, std::forward<A>(a));
}
/// x with t x = b, or x t = b, for triangular t.
///   solve_triangular(t, b)   solve_triangular(t, b, upper, unit_diagonal, taken_transposed, from_right, error_if_singular)
/// Shape: t [..., n, n], b as for solve; from_right: b [..., m, n]. With taken_transposed, `upper` still refers to t itself.
/// A 0 on the diagonal gives infinities and NaN, as in LAPACK.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float.   Saves: t, out.   Error: see kernel/triangle.hpp.
/// Throws: with the tag error_if_singular, for a 0 on a diagonal that is read, naming the matrix and the row.
template <class A, class B, class... Tag>
constexpr auto solve_triangular(A&& t, B&& b, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(upper.flag | unit_diagonal.flag | taken_transposed.flag |
                                                                from_right.flag | error_if_singular.flag);
  static_assert(flags >= 0, "[ebb E0287] solve_triangular: the tags are ebb::upper, unit_diagonal, taken_transposed, from_right, "
                            "error_if_singular");
  return apply_function(functions::solve_triangular<detail::or_none(flags)>{}, std::forward<A>(t), std::forward<B>(b));
}
/// x with l l^T x = b, for a factor l from cholesky; with the tag `upper`, l^T l x = b for an upper triangular l.
/// Shape, Dtype, Error: as solve_triangular.   Saves: l, both solutions.
template <class B, class L, class... Tag>
constexpr auto cholesky_solve(B&& b, L&& l, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(upper.flag);
  static_assert(flags >= 0, "[ebb E0288] cholesky_solve: after the operands comes nothing, or the tag ebb::upper");
  return apply_function(functions::cholesky_solve<(flags > 0)>{}, std::forward<B>(b), std::forward<L>(l));
}
/// log(det(a)) of positive definite matrices: twice the sum of logarithms of the diagonal of cholesky(a). Takes the same tag.
/// Shape: the batch's.   Dtype, Throws: as cholesky.   Saves: the factor.   Error: that of cholesky and of the sum.
template <class A, class... Tag>
constexpr auto logdet_spd(A&& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(nan_if_not.flag);
  static_assert(flags >= 0,
                "[ebb E0286] cholesky, logdet_spd, banded_cholesky: after the matrix comes nothing, or the tag ebb::nan_if_not");
  return apply_function(functions::logdet_spd<(flags > 0)>{}, std::forward<A>(a));
}
/// log(det(a)): NaN if the determinant is negative, -inf if it is 0.
/// Shape: the batch's.   Dtype: as inverse.   Saves: a, out; a backward pass computes the inverse of a.   Error: that of n logarithms.
/// The gradient of a singular matrix is infinite in all elements, and its second derivatives are NaN.
inline constexpr call<functions::logdet> logdet{};
/// The sign of the determinant and the logarithm of its magnitude, in a tuple; 0 and -inf for a singular matrix. The sign has no gradient.
/// Shape, Dtype, Saves, Error: as logdet.
template <class A>
constexpr auto slogdet(A&& a) {
  const auto both = apply_function(functions::slogdet{}, std::forward<A>(a));
  return std::tuple(apply_function(functions::slogdet_part<0>{}, both), apply_function(functions::slogdet_part<1>{}, both));
}

}  // namespace ebb::inline EBB_ABI
