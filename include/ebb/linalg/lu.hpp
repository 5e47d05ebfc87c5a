// ebb/linalg/lu.hpp — triangular factors by elimination with partial pivoting.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [p, l, u] = lu(a);             // a = p l u
//   const auto x = lu_solve(p, l, u, b);      // a x = b, without another elimination
#pragma once

#include "matrix.hpp"

#include "../op/linear.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::op {

/// The packed factors of a square matrix, [..., n + 2, n]: two rows x and y, then both factors in one matrix. 128 x + y is the number of
/// the row that each pivot came from: bf16 holds no large integers.
/// Saves: out. A zero pivot is an error in the backward pass.   Error: see [note: order of a solution].
struct lu : own_matrix {
  static constexpr std::string_view name = "lu";
  static constexpr bool is_quick = true;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const shape batch = batch_of_squares(s, in[0]);
    if (batch.is_refused()) return batch;
    const int last = in[0].rank - 1;
    return s.find(with_extent(in[0], last - 1, s.derive(extent_rule::sum, s.find(in[0].e[last]), 2)));
  }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return n; }
  /// As [note: order of a solution]; a column without a pivot is left as it is, as LAPACK does.
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    T *const from = c.scratch, *const f = c.out + 2 * n;
    for (std::ptrdiff_t i = 0; i < n * n; ++i) f[i] = c.a[i];
    for (std::ptrdiff_t i = 0; i < n; ++i) from[i] = static_cast<T>(i);
    eliminate_in_order(f, n, n, [from](std::ptrdiff_t i, std::ptrdiff_t j) { exchange(from[i], from[j]); });
    put_rows(n, from, c.out);
    return -1;
  }
  static constexpr std::ptrdiff_t blocked = kernel::elimination::blocked;
  static constexpr std::ptrdiff_t blocked_scratch(std::ptrdiff_t n) { return kernel::elimination::factored_room(n) + n; }
  template <class T>
  static std::ptrdiff_t compute_blocked(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    T *const from = c.scratch + kernel::elimination::factored_room(n), *const f = c.out + 2 * n;
    for (std::ptrdiff_t i = 0; i < n; ++i) from[i] = static_cast<T>(i);
    const auto w = kernel::elimination::factored(n, c.a, c.scratch, nullptr, from);
    if (!w.data) return detail::not_computed;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (std::ptrdiff_t j = 0; j < i; ++j) f[i * n + j] = -*w.at(i, j);
      for (std::ptrdiff_t j = i; j < n; ++j) f[i * n + j] = *w.at(i, j);
    }
    put_rows(n, from, c.out);
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::elimination;
  template <class T>
  static constexpr std::ptrdiff_t large_scratch(std::ptrdiff_t n, std::ptrdiff_t) {
    return n * n + 2 * n;
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    T *const w = c.scratch, *const from = w + n * n;
    int* const pivots = reinterpret_cast<int*>(from + n);
    kernel::elimination::turn(w, n, c.a, n, n, n);
    kernel::lapack::eliminate(n, w, pivots);
    kernel::elimination::turn(c.out + 2 * n, n, w, n, n, n);
    for (std::ptrdiff_t i = 0; i < n; ++i) from[i] = static_cast<T>(i);
    for (std::ptrdiff_t i = 0; i < n; ++i) exchange(from[i], from[pivots[i] - 1]);
    put_rows(n, from, c.out);
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto out) {
    const int last = a.rank() - 1, n = a.extent(last);
    const auto f = cut(out, last - 1, stride::at_the_end, n), of_f = cut(g, last - 1, stride::at_the_end, n);
    const auto u = triangle_of(f, true, false), l = unit_lower(f);
    const auto of_l = triangle_of(product_of(l, triangle_of(of_f, false, true), left_transposed), false, true);
    const auto of_u = triangle_of(product_of(triangle_of(of_f, true, false), u, right_transposed), true, false);
    const auto left = emit_on<solve_triangular>({1, triangular | unit_diagonal_bit}, f, of_l + of_u);
    const auto both = transposed_matrix(emit_on<solve>({0}, u, transposed_matrix(left)));
    return grads(product_of(permutation(out, a), both, 0));
  }
  /// p of a = p l u: column i has its 1 in the row that pivot i came from.
  template <class T, class A>
  static constexpr operand<T> permutation(operand<T> packed, operand<A> a) {
    if (packed.is_refused()) return packed;
    const int last = a.rank() - 1;
    const auto high = cast_to<std::int32_t>(one_of(packed, last - 1, 0)), low = cast_to<std::int32_t>(one_of(packed, last - 1, 1));
    const auto from = repeat(128 * high + low, a, std::int64_t{1} << (last - 1));
    return cast_to<T>(emit_on<equal>({}, from, index_along<std::int32_t>(*a.g, a.shape_number(), last - 1)));
  }
  template <class T>
  static constexpr operand<T> unit_lower(operand<T> f) {
    return f.is_refused() ? f : triangle_of(f, false, true) + cast_to<T>(is_on_diagonal(f));
  }

 private:
  template <class T>
  static constexpr void exchange(T& x, T& y) {
    const T other = x;
    x = y;
    y = other;
  }
  template <class T>
  static constexpr void put_rows(std::ptrdiff_t n, const T* from, T* out) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      out[i] = static_cast<T>(static_cast<std::ptrdiff_t>(from[i]) / 128);
      out[n + i] = static_cast<T>(static_cast<std::ptrdiff_t>(from[i]) % 128);
    }
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct lu {
  static constexpr precision autocast = op::lu::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::lu>(a); }
};
/// p, l or u out of the packed factors of a matrix with the shape of a.
template <int Which>
struct lu_part {
  static constexpr std::string_view name = "lu";
  template <class T, class A>
  static constexpr operand<T> apply(operand<T> packed, operand<A> a) {
    if (packed.is_refused()) return packed;
    if constexpr (Which == 0) return op::lu::permutation(packed, a);
    else {
      const auto f = cut(packed, a.rank() - 2, stride::at_the_end, a.extent(a.rank() - 1));
      if constexpr (Which == 2) return triangle_of(f, true, false);
      else return op::lu::unit_lower(f);
    }
  }
};

struct lu_solve {
  static constexpr precision autocast = op::lu::autocast;
  template <class P, class L, class U, class B>
  static constexpr auto apply(operand<P> p, operand<L> l, operand<U> u, operand<B> b) {
    using T = decltype(detail::accepted<op::solve_triangular, promoted<promoted<P, L>, promoted<U, B>>>());
    const auto x = cast_to<T>(p);
    auto y = cast_to<T>(b);
    if (x.is_refused() || y.is_refused()) return x.is_refused() ? x : y;
    if (x.rank() < 2) return refuse<T>(*x.g, 180);
    if (y.rank() < 1) return refuse<T>(*x.g, 181);
    const bool vectors = right_sides::is_vector(x.g->syms, x.extents(), y.extents());
    if (vectors) y = view_as(y, with_axis(y.extents(), y.rank(), 1));
    const auto z = solve_triangular<unit_diagonal_bit>::apply(cast_to<T>(l), matmul::apply(transposed_matrix(x), y));
    const auto r = solve_triangular<upper_triangle>::apply(cast_to<T>(u), z);
    return vectors && !r.is_refused() ? view_as(r, axes_between(r.extents(), 0, r.rank() - 1)) : r;
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// A tuple (P, L, U) with a = P L U: a permutation, which has no gradient, a unit lower triangular and an upper triangular matrix. The
/// pivot is the first of the largest magnitudes of its column.
/// Shape: a [..., n, n]: three times the same.   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: the factors.
/// Error: see kernel/solve.hpp. A singular matrix has factors, with a 0 on the diagonal of U.
/// Throws: in a backward pass, for a singular matrix.
template <class A>
constexpr auto lu(const A& a) {
  const auto packed = apply_function(functions::lu{}, a);
  return std::tuple(apply_function(functions::lu_part<0>{}, packed, a), apply_function(functions::lu_part<1>{}, packed, a),
                    apply_function(functions::lu_part<2>{}, packed, a));
}
/// x with p l u x = b, from the factors of lu. A singular matrix gives infinities and NaN and no error.
/// Shape: of b and the result as for solve.   Dtype: promoted, then as solve_triangular.   Saves: the factors, both solutions.
/// Error: that of two solve_triangular.
inline constexpr call<functions::lu_solve> lu_solve{};

}  // namespace ebb::inline EBB_ABI
