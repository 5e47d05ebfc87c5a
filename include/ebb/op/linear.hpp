// ebb/op/linear.hpp — matmul for operands of any rank, and dot, outer and linear, which are made of it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "context.hpp"
#include "reduce.hpp"

namespace ebb::inline EBB_ABI::detail {

/// A factor of a product. A transpose of the last two axes is not computed: x is its operand, and `transposed` is set.
template <class T>
struct factor {
  operand<T> x;
  bool transposed = false;

  constexpr explicit factor(operand<T> given) : x(given) {
    if (x.is_refused() || x.op().family != family_of<op::permute>) return;
    for (int i = 0; i < x.rank(); ++i)
      if (packed_axis(x.attribute(0), i) != (i < x.rank() - 2 ? i : 2 * x.rank() - 3 - i)) return;
    x.id = x.g->operand(x.id, 0);
    transposed = true;
  }
  constexpr shape batch() const { return axes_between(x.extents(), 0, x.rank() - 2); }
  constexpr shape matrix() const { return axes_between(x.extents(), x.rank() - 2, x.rank()); }
  constexpr void repeat_to(const shape& batch) { x = fit(x, joined(batch, matrix())); }
};

/// The product of two operands of rank 2 or more. Flags: of_vector, or 0.
template <class T>
constexpr operand<T> product_of_batches(operand<T> a, operand<T> b, std::int64_t flags) {
  graph& g = *a.g;
  factor<T> x(a), y(b);
  const auto product = [&](const factor<T>& l, const factor<T>& r) {
    return product_of(l.x, r.x, (l.transposed ? left_transposed : 0) | (r.transposed ? right_transposed : 0) | flags);
  };
  if (y.x.rank() == 2 && x.x.rank() > 2 && !x.transposed) {
    // One matrix serves the whole batch: the batch is one tall matrix, made of all its rows.
    const shape rows = axes_between(x.x.extents(), 0, x.x.rank() - 1);
    shape tall;
    tall.push(volume_of(g.syms, rows));
    tall.push(x.x.extent(x.x.rank() - 1));
    x.x = view_as(x.x, tall);
    const auto r = product(x, y);
    if (r.is_refused()) return r;
    return view_as(r, with_axis(rows, rows.rank, r.extent(1)));
  }
  const shape batches[] = {x.batch(), y.batch()};
  const shape batch = broadcast_shapes(g.syms, batches, 2);
  if (batch.is_refused()) return refuse<T>(g, batch.code());
  x.repeat_to(batch);
  y.repeat_to(batch);
  return product(x, y);
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::functions {

struct matmul {
  static constexpr precision autocast = op::matmul::autocast;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted<A, B>;
    auto x = cast_to<T>(a), y = cast_to<T>(b);
    if (x.rank() == 0 || y.rank() == 0) return refuse<T>(*x.g, 105);
    const bool row = x.rank() == 1, column = y.rank() == 1;
    if (row) x = view_as(x, with_axis(x.extents(), 0, 1));
    if (column) y = view_as(y, with_axis(y.extents(), 1, 1));
    const auto r = detail::product_of_batches(x, y, row || column ? of_vector : 0);
    if (r.is_refused()) return r;
    const int rank = r.rank();
    return view_as(r, without_axes(r.extents(), (row ? std::int64_t{1} << (rank - 2) : 0) | (column ? std::int64_t{1} << (rank - 1) : 0)));
  }
};

struct dot {
  template <class A, class B>
  static constexpr auto apply(operand<A> x, operand<B> y) {
    using R = decltype(matmul::apply(x, y));
    if (x.rank() != 1 || y.rank() != 1) return R{x.g, -105};
    return matmul::apply(x, y);
  }
};

struct outer {
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted<A, B>;
    if (a.is_refused() || b.is_refused()) return operand<T>{a.g, a.is_refused() ? a.id : b.id};
    if (a.rank() == 0 || b.rank() == 0 || a.rank() == max_rank || b.rank() == max_rank) return refuse<T>(*a.g, 105);
    if (a.rank() > 1 || b.rank() > 1) {
      const operand<A> column = view_as(a, with_axis(a.extents(), a.rank(), 1));
      const operand<B> row = view_as(b, with_axis(b.extents(), b.rank() - 1, 1));
      return detail::broadcasting<op::mul>::apply(cast_to<T>(column), cast_to<T>(row));
    }
    shape grid = a.extents();
    grid.push(b.extent(0));
    return repeat_along(cast_to<T>(a), grid, 2) * repeat_along(cast_to<T>(b), grid, 1);
  }

 private:
  static constexpr auto repeat_along(auto x, const shape& grid, std::int64_t mask) { return ebb::broadcast_to(x, x.g->intern(grid), mask); }
};

struct linear {
  static constexpr precision autocast = op::matmul::autocast;
  static constexpr auto apply(auto x, auto w) {
    if (w.rank() != 2) return decltype(matmul::apply(x, w)){x.g, -105};
    return matmul::apply(x, emit_on<op::permute>({pack_axes(swapped, 2)}, w));
  }
  static constexpr auto apply(auto x, auto w, auto b) { return detail::broadcasting<op::add>::apply(apply(x, w), b); }

 private:
  static constexpr int swapped[] = {1, 0};
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {
template <>
inline constexpr bool is_cast_in_rules<functions::matmul> = false;
template <>
inline constexpr bool is_cast_in_rules<functions::linear> = false;
}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The matrix product of the last two axes. Leading axes are batches, which are broadcast. An operand of rank 1 is a row on the left and
/// a column on the right. A transposed operand is read in place, without a copy.
/// Shape: x [..., n, k], y [..., k, m]: [..., n, m].   Dtype: promoted.   Saves: x, y.   Error: see [note: order of a product].
/// Throws: if a call's inner extents differ, or its batches do not fit.
inline constexpr call<functions::matmul> matmul{};
/// The sum of products of two vectors.   Shape: x [n], y [n]: [].   Dtype, Saves, Error, Throws: as matmul.
inline constexpr call<functions::dot> dot{};
/// All products of an element of x and an element of y.   Shape: x's extent, y's extent.   Dtype: promoted.   Saves: x, y.
/// Error: 0.5 ulp.
inline constexpr call<functions::outer> outer{};
/// x w^T + b, or without b.   Shape: x [..., in], w [out, in], b [out]: [..., out], as torch.nn.functional.linear.
/// Dtype: promoted.   Saves: x, w.
/// Error: that of the product and of the sum. Both are rounded, to a narrow dtype too; under autocast PyTorch may round only once.
inline constexpr call<functions::linear> linear{};

}  // namespace ebb::inline EBB_ABI
