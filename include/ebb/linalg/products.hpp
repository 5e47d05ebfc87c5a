// ebb/linalg/products.hpp — products made of others: kron, khatri_rao, cross, triple, matrix_power, multi_dot.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chain_order.hpp"
#include "diagonal.hpp"

#include "../op/shape.hpp"
#include "../op/solve.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<423, Call> : Call {
  static_assert(Call::code != 423, "[ebb E0423] kron: an operand has fewer than two axes or more than six");
};

template <class Call>
struct refusal<445, Call> : Call {
  static_assert(Call::code != 445, "[ebb E0445] khatri_rao: the operands are matrices with the same number of columns");
};

template <class Call>
struct refusal<424, Call> : Call {
  static_assert(Call::code != 424, "[ebb E0424] cross, triple: the axis does not have three elements");
};

/// Inside rules: x with its elements moved along an axis of extent 3: element i is element (i + By) mod 3 of x.
template <int Axis, int By>
constexpr auto turned(auto x) {
  return functions::concat<Axis>::apply(functions::slice<Axis, By, 3, 1>::apply(x), functions::slice<Axis, 0, By, 1>::apply(x));
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The products of all pairs of rows of a and b, [..., n k, m], of elements at one place; or, if `all_columns`, of all pairs of elements,
/// [..., n k, m l].
template <class T>
constexpr operand<T> products_of_pairs(operand<T> a, operand<T> b, bool all_columns, int code) {
  graph& g = *a.g;
  if (a.is_refused() || b.is_refused()) return a.is_refused() ? a : b;
  const int p = a.rank(), q = b.rank(), most = max_rank - (all_columns ? 2 : 1);
  if (p < 2 || q < 2 || p > most || q > most) return refuse<T>(g, code);
  if (!all_columns && !g.syms.unify(a.extent(p - 1), b.extent(q - 1))) return refuse<T>(g, code);
  // a [..., n, 1, m] times b [..., 1, k, m], or a [..., n, 1, m, 1] times b [..., 1, k, 1, l].
  shape of_a = with_axis(a.extents(), p - 1, 1), of_b = with_axis(b.extents(), q - 2, 1);
  if (all_columns) of_a = with_axis(of_a, p + 1, 1), of_b = with_axis(of_b, q, 1);
  const operand<T> r = detail::broadcasting<op::mul>::apply(view_as(a, of_a), view_as(b, of_b));
  if (r.is_refused()) return r;
  const int last = r.rank(), rows = last - (all_columns ? 4 : 3);
  shape merged = axes_between(r.extents(), 0, rows);
  merged.push(volume_of(g.syms, axes_between(r.extents(), rows, rows + 2)));
  merged.push(volume_of(g.syms, axes_between(r.extents(), rows + 2, last)));
  return view_as(r, merged);
}

struct kron {
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted<A, B>;
    return products_of_pairs(cast_to<T>(a), cast_to<T>(b), true, 423);
  }
};

struct khatri_rao {
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted<A, B>;
    return products_of_pairs(cast_to<T>(a), cast_to<T>(b), false, 445);
  }
};

template <int Axis>
struct cross {
  static constexpr detail::spelled name{"cross", Axis};
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted<A, B>;
    graph& g = *a.g;
    if (a.is_refused() || b.is_refused()) return refuse<T>(g, a.is_refused() ? -a.id : -b.id);
    const int p = axis_of(Axis, a.rank()), q = axis_of(Axis, b.rank());
    if (!has_axis(p, a.rank()) || !has_axis(q, b.rank())) return refuse<T>(g, 103);
    if (!g.syms.unify(a.extent(p), 3) || !g.syms.unify(b.extent(q), 3)) return refuse<T>(g, 424);
    const auto x = known(cast_to<T>(a), p), y = known(cast_to<T>(b), q);
    using times = detail::broadcasting<op::mul>;
    const auto left = times::apply(turned<Axis, 1>(x), turned<Axis, 2>(y)), right = times::apply(turned<Axis, 2>(x), turned<Axis, 1>(y));
    return detail::broadcasting<op::sub>::apply(left, right);
  }

 private:
  /// x with its extent of 3 in its shape.
  template <class T>
  static constexpr operand<T> known(operand<T> x, int axis) {
    return view_as(x, with_extent(x.extents(), axis, 3));
  }
};

template <int Axis>
struct triple {
  template <class A, class B, class C>
  static constexpr auto apply(operand<A> a, operand<B> b, operand<C> c) {
    const auto area = cross<Axis>::apply(b, c);
    using T = promoted<A, typename decltype(area)::value_type>;
    graph& g = *a.g;
    if (a.is_refused() || area.is_refused()) return refuse<T>(g, a.is_refused() ? -a.id : -area.id);
    const int axis = axis_of(Axis, a.rank());
    if (!has_axis(axis, a.rank())) return refuse<T>(g, 103);
    if (!g.syms.unify(a.extent(axis), 3)) return refuse<T>(g, 424);
    const operand<T> product = detail::broadcasting<op::mul>::apply(view_as(a, with_extent(a.extents(), axis, 3)), area);
    return product.is_refused() ? product : sum_over(product, std::int64_t{1} << axis_of(Axis, product.rank()));
  }
};

template <int N>
struct matrix_power {
  static constexpr detail::spelled name{"matrix_power", N};
  static constexpr precision autocast = op::matmul::autocast;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    using T = std::conditional_t<(N < 0), decltype(detail::accepted<op::inverse, A>()), A>;
    if (a.is_refused()) return refuse<T>(*a.g, -a.id);
    if (op::batch_of_squares(a.g->syms, a.extents()).is_refused()) return refuse<T>(*a.g, 180);
    operand<T> x = cast_to<T>(a);
    if constexpr (N < 0) return power(inverse<false>::apply(x), -N);
    else if constexpr (N > 0) return power(x, N);
    else return cast_to<T>(is_on_diagonal(x));
  }

 private:
  template <class T>
  static constexpr operand<T> power(operand<T> x, int n) {
    if (n == 1) return x;
    const auto half = power(x, n / 2);
    const auto square = product_of(half, half, 0);
    return n % 2 ? product_of(square, x, 0) : square;
  }
};

struct multi_dot {
  static constexpr precision autocast = op::matmul::autocast;
  template <class... A>
  static constexpr auto apply(operand<A>... x) {
    using T = detail::promoted_of<op::mul, operand<A>...>;
    const operand<T> in[] = {cast_to<T>(x)...};
    for (const operand<T>& one : in)
      if (one.is_refused()) return one;
    return product<sizeof...(A)>(detail::chain_order<sizeof...(A)>(in), in, 0, sizeof...(A));
  }

 private:
  template <int N, class T>
  static constexpr operand<T> product(const detail::chain_order<N>& order, const operand<T>* x, int first, int end) {
    if (end - first == 1) return x[first];
    const int cut = order.cut_of(first, end);
    const operand<T> left = product<N>(order, x, first, cut), right = product<N>(order, x, cut, end);
    if (left.is_refused() || right.is_refused()) return left.is_refused() ? left : right;
    return matmul::apply(left, right);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {
template <int N>
inline constexpr bool is_cast_in_rules<functions::matrix_power<N>> = false;
template <>
inline constexpr bool is_cast_in_rules<functions::multi_dot> = false;
}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The Kronecker product of matrices: block (i, j) is x(i, j) y.
/// Shape: x [..., n, m], y [..., k, l]: [..., n k, m l]; leading axes are batches, which are broadcast.   Dtype: promoted.   Saves: x, y.
/// Error: that of a product of two numbers.
inline constexpr call<functions::kron> kron{};
/// The Khatri-Rao product of matrices: each column is the Kronecker product of the same columns of x and y.
/// Shape: x [..., n, m], y [..., k, m]: [..., n k, m]; leading axes are batches, which are broadcast.   Dtype: promoted.   Saves: x, y.
/// Error: that of a product of two numbers.
inline constexpr call<functions::khatri_rao> khatri_rao{};
/// The cross product along an axis with three elements, by default the last one.   cross(x, y), cross<0>(x, y)
/// Shape: broadcast.   Dtype: promoted.   Saves: x, y.   Error: that of a difference of two products.
/// Throws: if a call's axis does not have three elements.
template <int Axis = -1, class X, class Y>
constexpr auto cross(X&& x, Y&& y) {
  return apply_function(functions::cross<Axis>{}, std::forward<X>(x), std::forward<Y>(y));
}
/// The triple product a . (b x c) along an axis with three elements, by default the last one: the volume that the vectors span.
/// Shape: broadcast, without the axis.   Dtype: promoted.   Saves: a, b, c, b x c.   Error: that of sums of products of three numbers.
/// Throws: as cross.
template <int Axis = -1, class A, class B, class C>
constexpr auto triple(const A& a, const B& b, const C& c) {
  return apply_function(functions::triple<Axis>{}, a, b, c);
}
/// The N-th power of each matrix in the last two axes, by squaring; of its inverse if N is negative.   matrix_power<3>(x)
/// Shape: x's.   Dtype: x's; with a negative N, that of inverse.   Saves: x, and the powers on the way.   Error: that of the products.
/// Throws: with a negative N, for a singular matrix.
template <int N, class X>
constexpr auto matrix_power(X&& x) {
  return apply_function(functions::matrix_power<N>{}, std::forward<X>(x));
}
/// The product of two or more matrices; the first and the last factor may be vectors. It is computed in the cheapest order if all extents
/// are known while tracing, else from left to right: see [note: order of a chain of products]. Nested calls set an order.
/// Shape, Error: those of matmul.   Dtype: promoted.   Saves: the factors, and the products on the way.
template <class... X>
constexpr auto multi_dot(X&&... x) {
  static_assert(sizeof...(X) >= 2, "[ebb E0426] multi_dot: a product needs two factors");
  if constexpr (sizeof...(X) >= 2) return apply_function(functions::multi_dot{}, std::forward<X>(x)...);
  else return (std::forward<X>(x), ...);
}

}  // namespace ebb::inline EBB_ABI
