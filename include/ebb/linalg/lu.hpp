// ebb/linalg/lu.hpp — triangular factors by elimination with partial pivoting.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [p, l, u] = lu(a);             // a = p l u
//   const auto x = lu_solve(p, l, u, b);      // a x = b, without another elimination
#pragma once

#include "matrix.hpp"

#include "../kernel/small.hpp"
#include "../op/linear.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::op {

/// The packed factors of a matrix of m x n, in rows of n elements: as many rows as m numbers x take, the same for y, then both factors in
/// one matrix. Row i of p^T a is row i + 128 x + y of a: bf16 holds no large integers, and a matrix without columns has no numbers.
/// Saves: out. A zero pivot is an error in the backward pass.   Error: see [note: order of a solution].
///
/// [note: derivatives of rectangular factors]
/// Let k be the smaller extent, L1 the first k rows of L and L2 the others, U1 the first k columns of U and U2 the others; one of L2 and U2
/// is empty. The gradient of the rows in their new order follows from dA = dL U + L dU, block by block. With
/// f = tril(L1^T gL1 - gU2 U2^T), without its diagonal, plus triu(gU1 U1^T - L2^T gL2), the first k rows and columns are L1^-T f U1^-T, the
/// rows below are gL2 U1^-T, and the columns to the right L1^-T gU2.
struct lu : own_matrix {
  static constexpr std::string_view name = "lu";
  static constexpr bool is_quick = true;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    if (in[0].rank < 2) return refused(420);
    const int last = in[0].rank - 1, m = s.find(in[0].e[last - 1]);
    const int beside = s.derive(extent_rule::product, rows_of_numbers(s, in[0]), 2);
    return s.find(with_extent(in[0], last - 1, s.derive(extent_rule::sum, m, beside)));
  }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t m, std::ptrdiff_t) { return m; }
  /// As [note: order of a solution]; a column without a pivot is left as it is, as LAPACK does.
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const packed<T> to(c);
    for (std::ptrdiff_t i = 0; i < c.rows * c.columns; ++i) to.factors[i] = c.a[i];
    T* const from = numbered(c.rows, c.scratch);
    eliminate_in_order(to.factors, c.rows, c.columns, [from](std::ptrdiff_t i, std::ptrdiff_t j) { exchange(from[i], from[j]); });
    to.put_rows(from);
    return -1;
  }
  static constexpr std::ptrdiff_t scratch_for_each(std::ptrdiff_t m, std::ptrdiff_t n) {
    return is_small(m, n) ? m * n + 2 * room_for_numbers(m, n) : 0;
  }
  /// Small matrices, those of a batch side by side; false if they are not small.
  template <class T>
  static bool compute_each(std::ptrdiff_t batch, const matrix_call<T>& given) {
    constexpr std::ptrdiff_t lanes = kernel::small::lanes_of<T>;
    matrix_call<T> c = given;
    const std::ptrdiff_t m = c.rows, n = c.columns, size = m * n, room = room_for_numbers(m, n), results = size + 2 * room;
    if (!is_small(m, n)) return false;
    const kernel::small::spread_matrix<T> w{c.scratch + 2 * room * lanes, n, 1}, from{c.scratch + room * lanes, 1, 1};
    while (batch > 0) {
      const std::ptrdiff_t count = std::min(lanes, batch);
      bool computed = false;
      if (count >= kernel::small::enough_to_factor<T>(m)) {
        for (std::ptrdiff_t i = 0; i < 2 * room; ++i) simd::store(c.scratch + i * lanes, simd::vector<T>{});
        for (std::ptrdiff_t i = 0; i < m; ++i) simd::store(from.at(i, 0), simd::all(static_cast<T>(i)));
        kernel::small::spread(w.data, c.a, size, count);
        computed = !kernel::small::any_of<T>(kernel::small::eliminate_lanes<T>(m, n, w, from), count);
        for (std::ptrdiff_t i = 0; i < m; ++i) simd::store(from.at(i, 0), from(i, 0) - simd::all(static_cast<T>(i)));
        if (computed) kernel::small::gather(c.out, c.scratch, results, count);
      }
      for (std::ptrdiff_t i = 0; i < count && !computed; ++i) {
        const matrix_call<T> one{m, n, c.flags, c.a + i * size, c.out + i * results, c.scratch};
        if (m < blocked || n < blocked) compute(one);
        else compute_blocked(one);
      }
      c.a += count * size;
      c.out += count * results;
      batch -= count;
    }
    return true;
  }
  static constexpr std::ptrdiff_t blocked = 8;
  static constexpr std::ptrdiff_t blocked_scratch(std::ptrdiff_t m, std::ptrdiff_t n) {
    return kernel::elimination::factored_room(m, n) + m;
  }
  /// Rows in registers, or panels.
  template <class T>
  static std::ptrdiff_t compute_blocked(const matrix_call<T>& c) {
    const std::ptrdiff_t m = c.rows, n = c.columns;
    const packed<T> to(c);
    T* const from = numbered(m, c.scratch + kernel::elimination::factored_room(m, n));
    if (by_rows(m, n)) {
      constexpr std::ptrdiff_t lanes = kernel::small::lanes_of<T>;
      const std::ptrdiff_t row = kernel::small::padded(n, lanes), last = n - n % lanes;
      const int rest = static_cast<int>(n - last);
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        const T* const a = c.a + i * n;
        for (std::ptrdiff_t j = 0; j < last; j += lanes) simd::store(c.scratch + i * row + j, simd::load(a + j));
        if (rest > 0) simd::store(c.scratch + i * row + last, simd::load_first(a + last, rest));
      }
      kernel::small::eliminate_rows(m, n, c.scratch, row, from);
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        const T* const w = c.scratch + i * row;
        for (std::ptrdiff_t j = 0; j < last; j += lanes) simd::store(to.factors + i * n + j, simd::load(w + j));
        if (rest > 0) simd::store_first(to.factors + i * n + last, simd::load(w + last), rest);
      }
      to.put_rows(from);
      return -1;
    }
    const auto w = kernel::elimination::factored(m, n, c.a, c.scratch, nullptr, from);
    if (!w.data) return detail::not_computed;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const std::ptrdiff_t pivot = i < n ? i : n;
      for (std::ptrdiff_t j = 0; j < pivot; ++j) to.factors[i * n + j] = -*w.at(i, j);
      for (std::ptrdiff_t j = pivot; j < n; ++j) to.factors[i * n + j] = *w.at(i, j);
    }
    to.put_rows(from);
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::elimination;
  template <class T>
  static constexpr std::ptrdiff_t large_scratch(std::ptrdiff_t m, std::ptrdiff_t n) {
    return m * n + m + n;
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    const std::ptrdiff_t m = c.rows, n = c.columns;
    const packed<T> to(c);
    T *const w = c.scratch, *const from = numbered(m, w + m * n);
    int* const pivots = reinterpret_cast<int*>(from + m);
    kernel::elimination::turn(w, m, c.a, n, m, n);
    kernel::lapack::eliminate(m, n, w, pivots);
    kernel::elimination::turn(to.factors, n, w, m, n, m);
    for (std::ptrdiff_t i = 0; i < m && i < n; ++i) exchange(from[i], from[pivots[i] - 1]);
    to.put_rows(from);
    return -1;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    symbols& s = a.g->syms;
    const int last = a.rank() - 1, m = a.extent(last - 1), n = a.extent(last), k = s.derive(extent_rule::least, m, n);
    const auto rows = [&](operand<T> x, std::int64_t start, int count) { return cut(x, last - 1, start, count); };
    const auto columns = [&](operand<T> x, std::int64_t start, int count) { return cut(x, last, start, count); };
    const auto f = factors(out, a), of_f = factors(g, a);
    const auto core = columns(rows(f, 0, k), 0, k), of_core = columns(rows(of_f, 0, k), 0, k);
    const auto u = triangle_of(core, true, false), l = unit_lower(core);
    auto of_l = product_of(l, triangle_of(of_core, false, true), left_transposed);
    auto of_u = product_of(triangle_of(of_core, true, false), u, right_transposed);
    operand<T> of_below = g, of_right = g;
    if (k != m) {
      const int others = s.derive(extent_rule::difference, m, k);
      of_below = columns(rows(of_f, stride::at_the_end, others), 0, k);
      of_u = of_u - product_of(columns(rows(f, stride::at_the_end, others), 0, k), of_below, left_transposed);
    }
    if (k != n) {
      const int others = s.derive(extent_rule::difference, n, k);
      of_right = columns(rows(of_f, 0, k), stride::at_the_end, others);
      of_l = of_l - product_of(of_right, columns(rows(f, 0, k), stride::at_the_end, others), right_transposed);
    }
    const auto left = [&](operand<T> x) { return emit_on<solve_triangular>({1, triangular | unit_diagonal_bit}, core, x); };
    auto inner = left(triangle_of(of_l, false, true) + triangle_of(of_u, true, false));
    if (k != m) inner = set_in(inner, last - 1, 0, m) + set_in(of_below, last - 1, stride::at_the_end, m);
    auto both = transposed_matrix(emit_on<solve>({0}, u, transposed_matrix(inner)));
    if (k != n) {
      const auto right = set_in(left(of_right), last, stride::at_the_end, n);
      both = set_in(both, last, 0, n) + set_in(right, last - 1, 0, m);
    }
    return grads(product_of(permutation(out, a), both, 0));
  }
  /// p of a = p l u: column i has its 1 in the row that row i of l u came from.
  template <class T, class A>
  static constexpr operand<T> permutation(operand<T> packed, operand<A> a) {
    if (packed.is_refused()) return packed;
    const int last = a.rank() - 1, square = a.g->intern(with_extent(a.extents(), last, a.extent(last - 1)));
    const auto high = cast_to<std::int32_t>(numbers(packed, a, 0)), low = cast_to<std::int32_t>(numbers(packed, a, stride::at_the_end));
    const auto moved = broadcast_to(128 * high + low, square, std::int64_t{1} << (last - 1));
    const auto row = index_along<std::int32_t>(*a.g, square, last - 1), column = index_along<std::int32_t>(*a.g, square, last);
    return cast_to<T>(emit_on<equal>({}, row, column + moved));
  }
  /// Both factors in one matrix of the shape of a.
  template <class T, class A>
  static constexpr operand<T> factors(operand<T> packed, operand<A> a) {
    return cut(packed, a.rank() - 2, stride::at_the_end, a.extent(a.rank() - 2));
  }
  template <class T>
  static constexpr operand<T> unit_lower(operand<T> f) {
    return f.is_refused() ? f : triangle_of(f, false, true) + cast_to<T>(is_on_diagonal(f));
  }

 private:
  /// Whether rows in registers take less time than panels: for few pivots, and for matrices that stay in the caches next to the processor.
  static constexpr bool by_rows(std::ptrdiff_t m, std::ptrdiff_t n) {
    const std::ptrdiff_t least = m < n ? m : n;
    return least < kernel::elimination::blocked || (least <= 64 && m * n <= 8192);
  }
  /// Whether a batch is computed side by side.
  static constexpr bool is_small(std::ptrdiff_t m, std::ptrdiff_t n) { return m <= kernel::small::most && n <= 8; }
  /// The rows that m numbers take, and their elements.
  static constexpr int rows_of_numbers(symbols& s, const shape& x) {
    return s.derive(extent_rule::quotient, s.find(x.e[x.rank - 2]), s.find(x.e[x.rank - 1]));
  }
  static constexpr std::ptrdiff_t room_for_numbers(std::ptrdiff_t m, std::ptrdiff_t n) { return n > 0 ? (m + n - 1) / n * n : 0; }
  /// The m numbers x or y: 0 if the matrix has no columns.
  template <class T, class A>
  static constexpr operand<T> numbers(operand<T> packed, operand<A> a, std::int64_t start) {
    symbols& s = a.g->syms;
    const int rows = a.rank() - 2, m = a.extent(rows), each = rows_of_numbers(s, a.extents());
    const auto part = cut(cut(packed, rows, 0, s.derive(extent_rule::product, each, 2)), rows, start, each);
    const int all = volume_of(s, axes_between(part.extents(), rows, rows + 2));
    auto line = view_as(part, with_axis(axes_between(a.extents(), 0, rows), rows, all));
    if (all < 0 || m < 0 || all < m) line = set_in(line, rows, 0, s.derive(extent_rule::sum, all, m));
    return cut(line, rows, 0, m);
  }

  template <class T>
  static constexpr void exchange(T& x, T& y) {
    const T other = x;
    x = y;
    y = other;
  }
  /// The numbers of the rows.
  template <class T>
  static constexpr T* numbered(std::ptrdiff_t m, T* from) {
    for (std::ptrdiff_t i = 0; i < m; ++i) from[i] = static_cast<T>(i);
    return from;
  }
  /// The parts of a result.
  template <class T>
  struct packed {
    T *high, *low, *factors;
    std::ptrdiff_t rows, room;

    constexpr explicit packed(const matrix_call<T>& c)
        : high(c.out), low(high), factors(high), rows(c.rows), room(room_for_numbers(c.rows, c.columns)) {
      low += room;
      factors += 2 * room;
    }
    constexpr void put_rows(const T* from) const {
      for (std::ptrdiff_t i = 0; i < room; ++i) {
        const std::ptrdiff_t by = i < rows ? static_cast<std::ptrdiff_t>(from[i]) - i : 0;
        high[i] = static_cast<T>(by / 128);
        low[i] = static_cast<T>(by % 128);
      }
    }
  };
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
      const int last = a.rank() - 1, k = a.g->syms.derive(extent_rule::least, a.extent(last - 1), a.extent(last));
      const auto f = cut(op::lu::factors(packed, a), last - (Which == 2), 0, k);
      return Which == 2 ? triangle_of(f, true, false) : op::lu::unit_lower(f);
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

/// A tuple (P, L, U) with a = P L U: a permutation, which has no gradient, a unit lower triangular and an upper triangular matrix, both
/// trapezoidal if a is not square. The pivot is the first of the largest magnitudes of its column.
/// Shape: a [..., m, n]: [..., m, m], [..., m, k], [..., k, n], where k is the smaller of m and n; leading axes are batches.
/// Dtype: integers give float; bf16 and f16 are computed in float.   Saves: the factors.
/// Error: see kernel/solve.hpp. A matrix whose first k columns are dependent has factors, with a 0 on the diagonal of U.
/// Throws: in a backward pass, if there is a 0 on the diagonal of U.
template <class A>
constexpr auto lu(const A& a) {
  const auto packed = apply_function(functions::lu{}, a);
  return std::tuple(apply_function(functions::lu_part<0>{}, packed, a), apply_function(functions::lu_part<1>{}, packed, a),
                    apply_function(functions::lu_part<2>{}, packed, a));
}
/// x with p l u x = b, from the factors that lu gives for square matrices. A singular matrix gives infinities and NaN and no error.
/// Shape: of b and the result as for solve.   Dtype: promoted, then as solve_triangular.   Saves: the factors, both solutions.
/// Error: that of two solve_triangular.
inline constexpr call<functions::lu_solve> lu_solve{};

}  // namespace ebb::inline EBB_ABI
