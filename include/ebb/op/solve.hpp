// ebb/op/solve.hpp — solve and inverse: systems of linear equations, and inverse matrices.
// SPDX-License-Identifier: BSL-1.0
//
// [note: singular matrices]
// As in PyTorch, a singular matrix is an error of the call, not an array of infinities: elimination finds a pivot that is 0. The error is
// found when the step that solves runs, so earlier steps may have written results already, and so may other matrices of the batch. A call
// that returns its results returns none in that case. Rounding decides: a matrix without an inverse may have one after rounding, and the
// other way round. A matrix with a NaN or an infinity is not an error: its solution has NaNs. With the tag nan_if_not, the solution of a
// singular matrix is NaN in all elements, other matrices of the batch have theirs, and there is no error.
#pragma once

#include "../tensor/triangle_order.hpp"
#include "linear.hpp"

namespace ebb::inline EBB_ABI {

/// A tag of a function of matrices, as a flag.
template <std::int64_t Flag>
struct matrix_tag {
  static constexpr std::int64_t flag = Flag;
};
/// Tag of solve, inverse, cholesky and logdet_spd: a matrix that is singular, or not positive definite, gives NaN instead of an error.
inline constexpr matrix_tag<32> nan_if_not{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// The flags of the tags, or -1 if one of them is not in `known`.
template <class... Tag>
constexpr std::int64_t matrix_flags([[maybe_unused]] std::int64_t known) {
  std::int64_t flags = 0;
  bool all = true;
  [[maybe_unused]] const auto see = [&]<class One>(std::type_identity<One>) {
    if constexpr (requires { One::flag; }) flags |= One::flag, all = all && (One::flag & known) != 0;
    else all = false;
  };
  (see(std::type_identity<Tag>{}), ...);
  return all ? flags : -1;
}
constexpr std::int64_t or_none(std::int64_t flags) { return flags < 0 ? 0 : flags; }

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<180, Call> : Call {
  static_assert(Call::code != 180, "[ebb E0180] a function of square matrices: an operand is no matrix, or its last two axes differ");
};

template <class Call>
struct refusal<181, Call> : Call {
  static_assert(Call::code != 181, "[ebb E0181] a system of linear equations: each right side has one element for each row of the matrix");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The extents of a batch of square matrices, or the refusal of operands that are none.
constexpr shape batch_of_squares(symbols& s, const shape& x) {
  const int last = x.rank - 1;
  return last < 1 || !s.unify(x.e[last - 1], x.e[last]) ? refused(180) : s.find(axes_between(x, 0, last - 1));
}
/// The shape of square matrices, or the refusal of operands that are none.
constexpr shape shape_of_squares(symbols& s, const shape& x) {
  const shape batch = batch_of_squares(s, x);
  return batch.is_refused() ? batch : s.find(x);
}

/// Operand 0 is square, and read transposed if attr 0 is 1. Leading axes are batches, equal on both sides.
struct system : op_base {
  static constexpr kind what = kind::solve;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::full;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const shape &a = in[0], &b = in[1];
    const int last = a.rank - 1;
    if (const shape batch = batch_of_squares(s, a); batch.is_refused()) return batch;
    if (b.rank != a.rank) return refused(102);
    for (int i = 0; i < last - 1; ++i)
      if (!s.unify(a.e[i], b.e[i])) return refused(102);
    if (!s.unify(a.e[last], b.e[last - 1])) return refused(181);
    return s.find(b);
  }

 protected:
  static constexpr auto product(auto x, auto y, std::int64_t transposed) { return product_of(x, y, transposed); }
};

/// The matrix x with a x = b.
/// Saves: a, out. A backward pass computes the factors of a again.   Error: see [note: order of a solution] and kernel/solve.hpp.
struct solve : system {
  static constexpr std::string_view name = "solve";
  static constexpr int arity = 2;
  static constexpr auto pull(auto g, auto a, auto, auto out) {
    const std::int64_t transposed = out.attribute(0);
    const auto of_b = emit_on<solve>({!transposed, out.attribute(1)}, a, g);
    return grads(-(transposed ? product(out, of_b, right_transposed) : product(of_b, out, right_transposed)), of_b);
  }
};

/// The matrix x with a x = 1.
/// Saves: out.   Error: that of solve, for each column of 1.
struct inverse : system {
  static constexpr std::string_view name = "inverse";
  static constexpr int arity = 1;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) { return shape_of_squares(s, in[0]); }
  static constexpr auto pull(auto g, auto, auto out) {
    return grads(-product(out, product(g, out, right_transposed), left_transposed));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <bool OrNaN>
struct inverse {
  static constexpr std::string_view name = "inverse";
  static constexpr precision autocast = op::inverse::autocast;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    return emit_on<op::inverse>({0, OrNaN ? nan_bit : 0}, cast_to<decltype(detail::accepted<op::inverse, A>())>(a));
  }
};

/// a x = b for right sides that are vectors or matrices, with broadcast batches: `one(factor, b)` emits the equation on equal batches, or
/// on one matrix.
struct right_sides {
  template <class T>
  static constexpr operand<T> apply(operand<T> x, operand<T> y, auto one) {
    if (x.is_refused()) return x;
    if (y.is_refused()) return y;
    if (x.rank() < 2) return refuse<T>(*x.g, 180);
    if (y.rank() < 1) return refuse<T>(*x.g, 181);
    if (!is_vector(x.g->syms, x.extents(), y.extents())) return on_matrices(detail::factor(x), y, one);
    const auto r = on_matrices(detail::factor(x), view_as(y, with_axis(y.extents(), y.rank(), 1)), one);
    return r.is_refused() ? r : view_as(r, without_axes(r.extents(), std::int64_t{1} << (r.rank() - 1)));
  }

  /// Whether the right sides are one vector for each matrix; unknown extents are taken to fit.
  static constexpr bool is_vector(const symbols& s, const shape& a, const shape& b) {
    if (b.rank == 1) return true;
    bool may_be = b.rank + 1 == a.rank;
    for (int i = 0; i < b.rank && may_be; ++i) may_be = s.find(a.e[i]) == s.find(b.e[i]) || s.find(a.e[i]) < 0 || s.find(b.e[i]) < 0;
    return may_be;
  }

 private:
  template <class T>
  static constexpr operand<T> on_matrices(detail::factor<T> a, operand<T> b, auto one) {
    const int rank = b.rank();
    if (a.x.rank() == 2 && rank > 2) {
      // One matrix serves the whole batch: it is factored once, and all right sides are columns of one matrix.
      int columns_last[max_rank] = {rank - 2}, back[max_rank] = {};
      for (int i = 0; i < rank - 2; ++i) back[i] = i + 1, columns_last[i + 1] = i;
      back[rank - 1] = columns_last[rank - 1] = rank - 1;
      const auto apart = emit_on<op::permute>({pack_axes(columns_last, rank)}, b);
      shape flat;
      flat.push(apart.extent(0));
      flat.push(volume_of(b.g->syms, axes_between(apart.extents(), 1, rank)));
      return emit_on<op::permute>({pack_axes(back, rank)}, view_as(operand<T>(one(a, view_as(apart, flat))), apart.extents()));
    }
    const shape batches[] = {a.batch(), axes_between(b.extents(), 0, rank - 2)};
    const shape batch = broadcast_shapes(b.g->syms, batches, 2);
    if (batch.is_refused()) return refuse<T>(*b.g, batch.code());
    a.repeat_to(batch);
    return one(a, detail::fit(b, joined(batch, axes_between(b.extents(), rank - 2, rank))));
  }
};

template <bool OrNaN>
struct solve {
  static constexpr std::string_view name = "solve";
  static constexpr precision autocast = op::solve::autocast;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = decltype(detail::accepted<op::solve, promoted<A, B>>());
    return right_sides::apply(cast_to<T>(a), cast_to<T>(b), [](const detail::factor<T>& m, operand<T> y) {
      return emit_on<op::solve>({m.transposed, OrNaN ? nan_bit : 0}, m.x, y);
    });
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The inverse of each matrix in the last two axes; leading axes are batches. To multiply by an inverse, use solve instead.
///   inverse(a)   inverse(a, nan_if_not)
/// Shape: a [..., n, n]: the same.   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: out.
/// Throws: for a singular matrix, without the tag, see [note: singular matrices].   Error: see kernel/solve.hpp.
template <class A, class... Tag>
constexpr auto inverse(A&& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(nan_if_not.flag);
  static_assert(flags >= 0, "[ebb E0539] solve, inverse: after the operands comes nothing, or the tag ebb::nan_if_not");
  return apply_function(functions::inverse<(flags > 0)>{}, std::forward<A>(a));
}
/// x with a x = b.   solve(a, b)   solve(a, b, nan_if_not)
/// Shape: a [..., n, n], b [..., n, m] or [n]; leading axes are batches, which are broadcast. As in torch.linalg.solve, a b with one axis
/// less than a is one vector for each matrix if its extents are a's. If that is unknown at compile time, the call requires it.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float.   Saves: a, out.
/// Throws: for a singular matrix, without the tag, see [note: singular matrices].   Error: see kernel/solve.hpp.
template <class A, class B, class... Tag>
constexpr auto solve(A&& a, B&& b, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(nan_if_not.flag);
  static_assert(flags >= 0, "[ebb E0539] solve, inverse: after the operands comes nothing, or the tag ebb::nan_if_not");
  return apply_function(functions::solve<(flags > 0)>{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace ebb::inline EBB_ABI
