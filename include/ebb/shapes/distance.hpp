// ebb/shapes/distance.hpp — distances and angles between vectors: cdist, pairwise_distance, cosine_similarity, normalize; and skew_matrix.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/extremum.hpp"
#include "../op/moments.hpp"
#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<399, Call> : Call {
  static_assert(Call::code != 399,
                "[ebb E0399] cdist takes matrices whose rows are vectors of one length; skew_matrix takes vectors of three elements");
};

namespace functions {

template <int P>
struct cdist {
  static constexpr precision autocast = precision::full;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted_to_real<promoted<A, B>>;
    const auto x = cast_to<T>(a), y = cast_to<T>(b);
    if (x.is_refused() || y.is_refused()) return x.is_refused() ? x : y;
    const int n = x.rank(), m = y.rank();
    if (n < 2 || m < 2 || n == max_rank || m == max_rank || !x.g->syms.unify(x.extent(n - 1), y.extent(m - 1))) return refuse<T>(*x.g, 399);
    const auto rows = view_as(x, with_axis(x.extents(), n - 1, 1)), columns = view_as(y, with_axis(y.extents(), m - 2, 1));
    return norm<P, 1, false, -1>::apply(detail::broadcasting<op::sub>::apply(rows, columns));
  }
};

template <int P>
struct pairwise_distance {
  static constexpr auto apply(auto x, auto y, auto eps) {
    using detail::broadcasting;
    return norm<P, 1, false, -1>::apply(broadcasting<op::add>::apply(broadcasting<op::sub>::apply(x, y), eps));
  }
};

/// x divided by its norm along an axis, or by eps where that is larger.
template <int P, int Axis>
struct normalize {
  static constexpr auto apply(auto x, auto eps) {
    const auto size = norm<P, 1, true, Axis>::apply(x);
    return detail::broadcasting<op::div>::apply(x, detail::broadcasting<op::maximum>::apply(size, eps));
  }
};

template <int Axis>
struct cosine_similarity {
  static constexpr auto apply(auto x, auto y, auto eps) {
    const auto unit = [&](auto v) { return normalize<2, Axis>::apply(v, eps); };
    return sum<false, Axis>::apply(detail::broadcasting<op::mul>::apply(unit(x), unit(y)));
  }
};

struct skew_matrix {
  template <class T>
  static constexpr operand<T> apply(operand<T> v) {
    if (v.is_refused()) return v;
    const int axis = v.rank() - 1;
    if (axis < 0 || v.rank() == max_rank || !v.g->syms.unify(v.extent(axis), 3)) return refuse<T>(*v.g, 399);
    graph& g = *v.g;
    const int one = g.intern(with_extent(v.extents(), axis, 1));
    const auto x = slice_as(v, {axis, 0}, one), y = slice_as(v, {axis, 1}, one), z = slice_as(v, {axis, 2}, one), o = literal_like(x, 0);
    const int parts[] = {o.id, (-z).id, y.id, z.id, o.id, (-x).id, (-y).id, x.id, o.id};
    shape to = with_extent(v.extents(), axis, 3);
    to.push(3);
    return view_as(operand<T>{&g, emit<op::concat, T>(g, number_range{parts, 9}, {axis})}, to);
  }
};

}  // namespace functions

/// The distances of order P between all rows of x and all rows of y: torch.cdist without its matrix product, which cancels.
/// Shape: x [..., n, d], y [..., m, d]: [..., n, m].   Dtype: promoted; integers give float.   Saves: as norm of the differences.
/// Error: that of norm. At distance 0 the derivatives are 0.   Throws: if a call's vectors have different lengths.
template <int P = 2, class X, class Y>
constexpr auto cdist(X&& x, Y&& y) {
  return apply_function(functions::cdist<P>{}, std::forward<X>(x), std::forward<Y>(y));
}
/// norm(x - y + eps) of order P along the last axis, as in PyTorch: eps keeps derivatives finite where x equals y.
/// Shape: broadcast, without the last axis.   Dtype: promoted.   Saves, Error: as norm.
template <int P = 2, class X, class Y>
constexpr auto pairwise_distance(X&& x, Y&& y, double eps = 1e-6) {
  return apply_function(functions::pairwise_distance<P>{}, std::forward<X>(x), std::forward<Y>(y), eps);
}
/// x / max(norm(x), eps) along an axis: vectors get length 1, but vectors shorter than eps stay shorter. PyTorch's eps is 1e-12.
/// Shape, Dtype: x's.   Saves: x, the norms.   Error: that of norm, and 1 ulp.
template <int Axis = -1, int P = 2, class X>
constexpr auto normalize(X&& x, double eps = 1e-12) {
  return apply_function(functions::normalize<P, Axis>{}, std::forward<X>(x), eps);
}
/// The cosine of the angle between x and y along an axis: x and y are divided by max(norm, eps), multiplied and summed.
/// Shape: broadcast, without the axis.   Dtype: promoted; integers give float.   Saves: x, y, their norms.   Error: that of the sums.
template <int Axis = -1, class X, class Y>
constexpr auto cosine_similarity(X&& x, Y&& y, double eps = 1e-8) {
  return apply_function(functions::cosine_similarity<Axis>{}, std::forward<X>(x), std::forward<Y>(y), eps);
}
/// The matrix that multiplies as the cross product with v does: skew_matrix(v) u = v x u.   Shape: [..., 3]: [..., 3, 3].
/// Dtype: v's.   Saves: nothing.   Error: exact.
inline constexpr call<functions::skew_matrix> skew_matrix{};

}  // namespace ebb::inline EBB_ABI
