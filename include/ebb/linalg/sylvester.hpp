// ebb/linalg/sylvester.hpp — the linear equation a x + x b = c for matrices.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "matrix.hpp"
#include "products.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<435, Call> : Call {
  static_assert(Call::code != 435, "[ebb E0435] solve_sylvester: the operands do not fit: a is n x n, b is m x m, c is n x m");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

struct solve_sylvester {
  static constexpr precision autocast = op::solve::autocast;
  template <class A, class B, class C>
  static constexpr auto apply(operand<A> a, operand<B> b, operand<C> c) {
    using T = decltype(detail::accepted<op::solve, promoted<promoted<A, B>, C>>());
    const auto x = cast_to<T>(a), y = cast_to<T>(b), z = cast_to<T>(c);
    graph& g = *x.g;
    for (const auto& o : {x, y, z})
      if (o.is_refused()) return o;
    const int p = x.rank(), q = y.rank(), r = z.rank();
    if (p < 2 || q < 2 || r < 2) return refuse<T>(g, 435);
    const int n = x.extent(p - 1), m = y.extent(q - 1);
    const bool fits = g.syms.unify(n, x.extent(p - 2)) && g.syms.unify(m, y.extent(q - 2)) && g.syms.unify(n, z.extent(r - 2)) &&
                      g.syms.unify(m, z.extent(r - 1));
    if (!fits) return refuse<T>(g, 435);
    // With x as a vector, row after row, the product a x is that with kron(a, 1), and x b is that with kron(1, b^T).
    const auto left = kron::apply(x, cast_to<T>(is_on_diagonal(y)));
    const auto right = kron::apply(cast_to<T>(is_on_diagonal(x)), transposed_matrix(y));
    const auto both = detail::broadcasting<op::add>::apply(left, right);
    if (both.is_refused()) return operand<T>(both);
    shape column = axes_between(z.extents(), 0, r - 2);
    column.push(volume_of(g.syms, axes_between(z.extents(), r - 2, r)));
    column.push(1);
    const operand<T> found = solve<false>::apply(operand<T>(both), view_as(z, column));
    if (found.is_refused()) return found;
    shape result = axes_between(found.extents(), 0, found.rank() - 2);
    result.push(n);
    result.push(m);
    return view_as(found, result);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The x with a x + x b = c, by elimination on the n m equations: for small matrices. With b = transpose(a) it is Lyapunov's equation.
/// Shape: a [..., n, n], b [..., m, m], c [..., n, m]: [..., n, m]; leading axes are batches, which are broadcast.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float.   Saves: a system of n m equations, x.   Error: that of solve.
/// Throws: if an eigenvalue of a is one of -b: the system is singular.
inline constexpr call<functions::solve_sylvester> solve_sylvester{};

}  // namespace ebb::inline EBB_ABI
