// ebb/linalg/matrix.hpp — the common parts of ops on single matrices: their bases, parts of packed results, masks.
// SPDX-License-Identifier: BSL-1.0
//
// An op has one result. If users get several arrays, the op packs them into one, and functions cut it apart.
#pragma once

#include "diagonal.hpp"

#include "../kernel/contract.hpp"
#include "../kernel/solve.hpp"
#include "../op/shape.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// Inside rules: `count` elements of x along an axis, from `start` on: 0, 1, or stride::at_the_end.
template <class T>
constexpr operand<T> cut(operand<T> x, int axis, std::int64_t start, int count) {
  if (x.is_refused() || x.extent(axis) == count) return x;
  return slice_as(x, {axis, start}, x.g->intern(with_extent(x.extents(), axis, count)));
}
/// Inside rules: x placed at `start` along an axis of `count` elements, which are zeros elsewhere.
template <class T>
constexpr operand<T> set_in(operand<T> x, int axis, std::int64_t start, int count) {
  if (x.is_refused() || x.extent(axis) == count) return x;
  return place_in(x, {axis, start}, x.g->intern(with_extent(x.extents(), axis, count)));
}
/// Inside rules: one element of x along an axis, which the result does not have.
template <class T>
constexpr operand<T> one_of(operand<T> x, int axis, std::int64_t start) {
  if (x.is_refused()) return x;
  return view_as(cut(x, axis, start, 1), without_axes(x.extents(), std::int64_t{1} << axis));
}
/// Inside rules: identity matrices of the shape of x, scaled by a number for each matrix.
template <class T>
constexpr operand<T> identity_times(operand<T> scale, operand<T> x) {
  if (x.is_refused()) return x;
  const auto all = repeat(scale, x, axis_run(x.rank() - 2, x.rank()));
  return emit_on<op::where>({}, is_on_diagonal(x), all, literal_like(x, 0));
}
/// Inside rules: diagonal matrices of the shape of x, with v on their diagonals.
template <class T>
constexpr operand<T> diagonal_of(operand<T> v, operand<T> x) {
  if (x.is_refused()) return x;
  const auto all = repeat(v, x, std::int64_t{1} << (x.rank() - 2));
  return emit_on<op::where>({}, is_on_diagonal(x), all, literal_like(x, 0));
}
/// Inside rules: times_rows multiplies each row of x by its element of v, times_columns each column.
template <class T>
constexpr operand<T> times_rows(operand<T> v, operand<T> x) {
  return x.is_refused() ? x : repeat(v, x, std::int64_t{1} << (x.rank() - 1)) * x;
}
template <class T>
constexpr operand<T> times_columns(operand<T> x, operand<T> v) {
  return x.is_refused() ? x : x * repeat(v, x, std::int64_t{1} << (x.rank() - 2));
}

/// Inside rules: 1 / x, but 0 where `left_out` holds, with derivatives of 0.
template <class T>
constexpr operand<T> inverse_or_zero(operand<T> x, operand<bool> left_out) {
  const auto safe = emit_on<op::where>({}, left_out, literal_like(x, 1), x);
  return emit_on<op::where>({}, left_out, literal_like(x, 0), 1 / safe);
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// to = x y for n x n matrices; x or y is read transposed if its flag is set. The sums are chains of fma in rising order, from 0 on. `to`
/// is neither x nor y. Tiles of sums stay in registers, unless y is transposed: its rows are not together then.
template <class T>
constexpr void multiply_squares(std::ptrdiff_t n, const T* x, bool x_turned, const T* y, bool y_turned, T* to) {
  if (!__builtin_is_constant_evaluated() && !y_turned && n >= lane_count) {
    constexpr auto width = static_cast<std::ptrdiff_t>(kernel::tile::width<T>);
    for (std::ptrdiff_t j = 0; j < n; j += width)
      kernel::tile::block(n, n, kernel::tile::operand(x, n, x_turned), y + j, n, to + j, n, std::min(width, n - j), false);
    return;
  }
  const std::ptrdiff_t row = y_turned ? 1 : n, column = y_turned ? n : 1, step = x_turned ? n : 1;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const T* const factor = x_turned ? x + i : x + i * n;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      T sum = T(0);
      for (std::ptrdiff_t k = 0; k < n; ++k) sum = lane::fma(factor[k * step], y[k * row + j * column], sum);
      to[i * n + j] = sum;
    }
  }
}
template <class T>
constexpr void fill_with_nan(std::ptrdiff_t count, T* to) {
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = std::numeric_limits<T>::quiet_NaN();
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The base of ops on single matrices that have their own arithmetic: see matrix_call.
struct own_matrix : of_matrix {
  /// The end of an error message about a matrix, such as "is singular".
  static std::string complaint(std::ptrdiff_t) { return {}; }

 protected:
  using least_large = kernel::lapack::large;
};

/// The base of ops whose operand is several matrices of n x n, one above the other. The result is one matrix of n x n.
struct of_several_squares : own_matrix {
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const int last = in[0].rank - 1;
    return s.find(with_extent(in[0], last - 1, in[0].e[last]));
  }

 protected:
  template <class T>
  static constexpr operand<T> above(operand<T> x, operand<T> y) {
    return functions::concat<-2>::apply(x, y);
  }
  /// Matrix number k of an operand.
  template <class T>
  static constexpr operand<T> part(operand<T> x, std::int64_t k) {
    const int last = x.rank() - 1, n = x.extent(last);
    int end = n;
    for (std::int64_t i = 0; i < k; ++i) end = x.g->syms.derive(extent_rule::sum, end, n);
    return cut(cut(x, last - 1, 0, end), last - 1, stride::at_the_end, n);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Inside rules: Op, a function of matrices, on x in the dtype that it computes in. The result type is spelled out: pulls use each other.
template <class Op, class A>
constexpr auto of_matrices(operand<A> x, std::int64_t flags = 0) -> operand<decltype(detail::accepted<Op, A>())> {
  return emit_on<Op>({static_cast<std::int64_t>(factor_kind::own), flags}, cast_to<decltype(detail::accepted<Op, A>())>(x));
}

}  // namespace ebb::inline EBB_ABI
