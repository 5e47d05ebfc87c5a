// ebb/linalg/diagonal.hpp — diagonals of matrices: trace, diagonal, diag_embed, diag.
// SPDX-License-Identifier: BSL-1.0
//
// Matrices are the last two axes; leading axes are batches. Diagonal number Offset begins at column Offset, or at row -Offset.
#pragma once

#include "../op/reduce.hpp"
#include "../op/shape.hpp"
#include "../op/triangle.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<420, Call> : Call {
  static_assert(Call::code != 420, "[ebb E0420] a function of matrices: an operand has fewer than two axes");
};

template <class Call>
struct refusal<421, Call> : Call {
  static_assert(Call::code != 421, "[ebb E0421] diagonal: the matrix has no such diagonal");
};

template <class Call>
struct refusal<528, Call> : Call {
  static_assert(Call::code != 528, "[ebb E0528] diag: an operand is a vector or a matrix; diagonal and diag_embed take batches");
};

template <class Call>
struct refusal<422, Call> : Call {
  static_assert(Call::code != 422, "[ebb E0422] diag_embed: an operand has no axis, or the result would have more than eight");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The first element of diagonal number Offset.
template <int Offset>
struct begin_of_diagonal {
  static constexpr int right = Offset > 0 ? Offset : 0, down = Offset < 0 ? -Offset : 0;
};

template <int Offset>
struct diagonal : begin_of_diagonal<Offset> {
  static constexpr detail::spelled name{"diagonal", Offset};
  using begin_of_diagonal<Offset>::right, begin_of_diagonal<Offset>::down;

  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    graph& g = *x.g;
    const int rank = x.rank();
    if (rank < 2) return refuse<T>(g, 420);
    const int rows = x.extent(rank - 2), columns = x.extent(rank - 1);
    if ((rows >= 0 && rows < down) || (columns >= 0 && columns < right)) return refuse<T>(g, 421);
    const int count = g.syms.derive(extent_rule::least, g.syms.derive(extent_rule::difference, rows, down),
                                    g.syms.derive(extent_rule::difference, columns, right));
    const shape batch = axes_between(x.extents(), 0, rank - 2);
    if (columns >= 0) {
      // The diagonal is every (columns + 1)-th element of the matrix as a vector.
      const auto flat = view_as(x, with_axis(batch, batch.rank, volume_of(g.syms, axes_between(x.extents(), rank - 2, rank))));
      return slice_as(flat, {rank - 2, down * columns + right, columns + 1}, g.intern(with_axis(batch, batch.rank, count)));
    }
    // The distance between the elements is unknown: a sum over the rows adds them to zeros in the place of all other elements.
    x = slice_as(x, {rank - 2, down}, g.intern(with_extent(x.extents(), rank - 2, count)));
    x = slice_as(x, {rank - 1, right}, g.intern(with_extent(x.extents(), rank - 1, count)));
    return sum_over(emit_on<op::where>({}, is_on_diagonal(x), x, literal_like(x, 0)), std::int64_t{1} << (rank - 2));
  }
};

/// The diagonals of the matrices in axes A and B.
template <int Offset, int A, int B>
struct diagonal_of_axes {
  static constexpr detail::spelled name{"diagonal", Offset, A, B};
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    const int rank = x.rank(), a = axis_of(A, rank), b = axis_of(B, rank);
    if (rank < 2) return refuse<T>(*x.g, 420);
    if (axes_mask<A, B>(rank) < 0) return refuse<T>(*x.g, 103);
    int order[max_rank] = {}, kept = 0;
    for (int i = 0; i < rank; ++i)
      if (i != a && i != b) order[kept++] = i;
    order[rank - 2] = a;
    order[rank - 1] = b;
    if (a != rank - 2 || b != rank - 1) x = emit_on<op::permute>({pack_axes(order, rank)}, x);
    return diagonal<Offset>::apply(x);
  }
};

struct trace {
  static constexpr precision autocast = precision::full;
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const auto d = diagonal<0>::apply(x);
    return d.is_refused() ? d : sum_over(d, std::int64_t{1} << (d.rank() - 1));
  }
};

template <int Offset>
struct diag_embed : begin_of_diagonal<Offset> {
  static constexpr detail::spelled name{"diag_embed", Offset};
  using begin_of_diagonal<Offset>::right, begin_of_diagonal<Offset>::down;

  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    graph& g = *x.g;
    const int rank = x.rank();
    if (rank < 1 || rank == max_rank) return refuse<T>(g, 422);
    const int n = g.syms.derive(extent_rule::sum, x.extent(rank - 1), right + down);
    const shape batch = axes_between(x.extents(), 0, rank - 1);
    const shape square = with_axis(with_axis(batch, rank - 1, n), rank, n);
    if (n >= 0) {
      const auto flat = place_in(x, {rank - 1, down * n + right, n + 1}, g.intern(with_axis(batch, rank - 1, n * n)));
      return view_as(flat, square);
    }
    // Element i is placed at (i + down, i + right): x is repeated along the axis without an offset.
    x = place_in(x, {rank - 1, 0}, g.intern(with_axis(batch, rank - 1, n)));
    const auto filled = ebb::broadcast_to(x, g.intern(square), std::int64_t{1} << (right > 0 ? rank : rank - 1));
    return emit_on<op::where>({}, is_on_diagonal(filled, right, down), filled, literal_like(filled, 0));
  }
};

template <int Offset>
struct diag {
  static constexpr detail::spelled name{"diag", Offset};
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (!x.is_refused() && x.rank() != 1 && x.rank() != 2) return refuse<T>(*x.g, 528);
    return x.rank() == 1 ? diag_embed<Offset>::apply(x) : diagonal<Offset>::apply(x);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// Diagonal number Offset of each matrix, in the last two axes or in those given.   diagonal(x), diagonal<1>(x), diagonal<0, 0, 1>(x)
/// Shape: x [..., n, m]: [..., k], k the length of the diagonal; of other axes: those that are left, then k.   Dtype: x's.
/// Saves: nothing.
/// Error: exact; if m is known only at the call, a -0 may become 0.   Throws: if a call's matrix has no such diagonal.
template <int Offset = 0, class X>
constexpr auto diagonal(X&& x) {
  return apply_function(functions::diagonal<Offset>{}, std::forward<X>(x));
}
template <int Offset, int A, int B, class X>
constexpr auto diagonal(X&& x) {
  return apply_function(functions::diagonal_of_axes<Offset, A, B>{}, std::forward<X>(x));
}
/// The sum of the diagonal of each matrix, which need not be square.
/// Shape: x [..., n, m]: [...].   Dtype: x's.   Saves: nothing.   Error: that of the sum.
inline constexpr call<functions::trace> trace{};
/// Square matrices with the last axis of x on diagonal number Offset, and zeros elsewhere.   diag_embed(x), diag_embed<-1>(x)
/// Shape: x [..., k]: [..., n, n] with n = k + |Offset|.   Dtype: x's.   Saves: nothing.   Error: exact.
template <int Offset = 0, class X>
constexpr auto diag_embed(X&& x) {
  return apply_function(functions::diag_embed<Offset>{}, std::forward<X>(x));
}

/// Of a vector the square matrix with the vector on diagonal number Offset, of a matrix that diagonal.   diag(x), diag<-1>(x)
/// Shape: [k]: [n, n] with n = k + |Offset|; [n, m]: [k].   Dtype: x's.   Saves: nothing.   Error: as diagonal.   Throws: as diagonal.
template <int Offset = 0, class X>
constexpr auto diag(X&& x) {
  return apply_function(functions::diag<Offset>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
