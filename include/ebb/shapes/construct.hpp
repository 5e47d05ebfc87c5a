// ebb/shapes/construct.hpp — triangles, and arrays made of numbers or of vectors: eye, arange, linspace, meshgrid, toeplitz.
// SPDX-License-Identifier: BSL-1.0
//
// Inside a traced function an argument says the dtype even where no element is read: eye<3>(x) has the dtype of x, arange<5>(start) that of
// start. If all arguments are numbers, the result is a tensor.
#pragma once

#include "../op/arrange.hpp"
#include "../op/extremum.hpp"
#include "../op/power.hpp"
#include "../op/triangle.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<394, Call> : Call {
  static_assert(Call::code != 394, "[ebb E0394] an operand has the wrong rank: triangles and blocks are matrices, meshgrid, vander, "
                                   "toeplitz, hankel and circulant take vectors, arange, linspace, geomspace and fftfreq numbers and "
                                   "scalars");
};

/// Tag of meshgrid: exchanges the first two axes, as plots need it.
struct xy_indexing_tag {};
inline constexpr xy_indexing_tag xy_indexing{};

namespace functions {

template <bool IsUpper, int K>
struct triangle {
  static constexpr std::string_view name = IsUpper ? "triu" : "tril";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    return x.rank() < 2 ? refuse<T>(*x.g, 394) : triangle_from(x, IsUpper, K);
  }
};

template <int N, int M>
struct eye {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    shape to;
    to.push(N);
    to.push(M);
    const int number = x.g->intern(to);
    const auto row = index_along<std::int32_t>(*x.g, number, 0);
    return cast_to<T>(emit_on<op::equal>({}, row, index_along<std::int32_t>(*x.g, number, 1)));
  }
};

/// Calls f with the index of each of N elements, then with each scalar or number as a vector of N equal elements of dtype T.
template <int N, class T>
constexpr operand<T> from_scalars(graph& g, auto f, auto... scalar) {
  int code = 0;
  const auto see = [&]<class S>(const S& s) {
    if constexpr (is_operand<S>) code = code ? code : s.is_refused() ? -s.id : s.rank() > 0 ? 394 : 0;
  };
  (see(scalar), ...);
  if (code) return refuse<T>(g, code);
  shape line;
  line.push(N);
  const int number = g.intern(line);
  const auto index = index_along<T>(g, number, 0);
  const auto along = [&]<class S>(const S& s) {
    if constexpr (is_operand<S>) return ebb::broadcast_to(cast_to<T>(s), number, 1);
    else return literal_like(index, s);
  };
  return f(index, along(scalar)...);
}
template <class... S>
using dtype_of_scalars = detail::promoted_of<op::add, S...>;

template <int N>
struct arange {
  template <class A, class B>
  static constexpr auto apply(A start, B step) {
    using T = dtype_of_scalars<A, B>;
    using Wide = detail::computed_in<T>;
    return cast_to<T>(from_scalars<N, Wide>(
        *detail::first_operand(start, step).g, [](auto i, auto from, auto by) { return from + i * by; }, start, step));
  }
};

/// N elements from `first` to `last`: f of the index, of both ends and of N - 1. It is `first` alone if N is below 2.
template <int N, class A, class B>
constexpr auto between_ends(A first, B last, auto f) {
  using T = promoted_to_real<dtype_of_scalars<A, B>>;
  return cast_to<T>(from_scalars<N, detail::computed_in<T>>(*detail::first_operand(first, last).g, [&](auto i, auto a, auto b) {
    if constexpr (N < 2) return a;
    else return f(i, a, b, literal_like(i, N - 1));
  }, first, last));
}

template <int N>
struct linspace {
  static constexpr auto apply(auto first, auto last) {
    return between_ends<N>(first, last, [](auto i, auto a, auto b, auto n) {
      const auto step = (b - a) / n;
      const auto from_start = a + i * step, from_end = b - (n - i) * step;
      return emit_on<op::where>({}, emit_on<op::less>({}, i, literal_like(i, N / 2)), from_start, from_end);
    });
  }
};

template <int N>
struct geomspace {
  static constexpr auto apply(auto first, auto last) {
    return between_ends<N>(first, last, [](auto i, auto a, auto b, auto n) {
      // Each half is its own end times a power of the square root of the ratio. The exponent is at most 1: nothing overflows on the way.
      const auto is_first = emit_on<op::less>({}, i, literal_like(i, N / 2));
      const auto end = emit_on<op::where>({}, is_first, a, b), other = emit_on<op::where>({}, is_first, b, a);
      const auto steps = emit_on<op::where>({}, is_first, i, n - i);
      const auto sign = emit_on<op::sign>({}, end);
      const auto ratio = emit_on<op::sqrt>({}, other * sign) / emit_on<op::sqrt>({}, end * sign);
      return end * emit_on<op::pow>({}, ratio, (steps + steps) / n);
    });
  }
};

/// Argument number Number of meshgrid, repeated along the axes of the other arguments.
template <int Number, bool Xy>
struct part_of_meshgrid {
  static constexpr std::string_view name = "meshgrid";
  static constexpr auto apply(auto... x) {
    const auto own = std::get<Number>(std::tuple(x...));
    using R = std::remove_const_t<decltype(own)>;
    graph& g = *own.g;
    shape grid;
    int code = 0;
    const auto see = [&](const auto& one) {
      code = code ? code : one.is_refused() ? -one.id : one.rank() == 1 ? 0 : 394;
      if (code == 0) grid.push(one.extent(0));
    };
    (see(x), ...);
    if (code) return R{&g, -code};
    constexpr int count = sizeof...(x), axis = Xy && count > 1 && Number < 2 ? 1 - Number : Number;
    if (Xy && count > 1) {
      const int first = grid.e[0];
      grid.e[0] = grid.e[1];
      grid.e[1] = first;
    }
    return ebb::broadcast_to(own, g.intern(g.syms.find(grid)), axis_run(0, count) & ~(std::int64_t{1} << axis));
  }
};

struct block_diag {
  template <class... A>
  static constexpr auto apply(A... block) {
    using T = detail::promoted_of<op::add, A...>;
    constexpr int count = sizeof...(A);
    graph& g = *detail::first_operand(block...).g;
    const operand<T> blocks[] = {cast_to<T>(block)...};
    for (const auto& b : blocks)
      if (b.is_refused() || b.rank() != 2) return b.is_refused() ? b : refuse<T>(g, 394);
    int width = 0, before = 0;  // before: the columns of the blocks on the left of a row; -1: only a call knows
    for (const auto& x : blocks) width = g.syms.derive(extent_rule::sum, width, x.extent(1));
    vec<int> rows;
    for (int i = 0; i < count; ++i) {
      shape row = blocks[i].extents();
      row.e[1] = width;
      rows.push(before < 0 ? joined_row(g, blocks, i) : place_in(blocks[i], {1, before}, g.intern(g.syms.find(row))).id);
      const int own = g.syms.find(blocks[i].extent(1));
      before = before < 0 || own < 0 ? -1 : before + own;
    }
    return operand<T>{&g, emit<op::concat, T>(g, range_of(rows), {0})};
  }

 private:
  /// The rows of block i, which are joined from arrays of zeros and the block: a place begins at a number.
  template <class T, std::size_t Count>
  static constexpr int joined_row(graph& g, const operand<T> (&blocks)[Count], int i) {
    vec<int> row;
    for (int j = 0; j < static_cast<int>(Count); ++j) {
      shape s = blocks[i].extents();
      s.e[1] = blocks[j].extent(1);
      row.push(i == j ? blocks[i].id : literal_in<T>(g, g.intern(g.syms.find(s)), 0).id);
    }
    return emit<op::concat, T>(g, range_of(row), {1});
  }
};

template <int N>
struct vander {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    if (x.rank() == 0 || x.rank() == max_rank) return refuse<T>(*x.g, 394);
    if constexpr (N == 0) return literal_in<T>(*x.g, x.g->intern(with_axis(x.extents(), x.rank(), 0)), 0);
    const shape column = with_axis(x.extents(), x.rank(), 1);
    vec<int> powers;
    auto power = literal_like(x, 1);
    for (int i = 0; i < N; ++i) {
      powers.push(view_as(power, column).id);
      power = i == 0 ? x : power * x;
    }
    return {x.g, emit<op::concat, T>(*x.g, range_of(powers), {x.rank()})};
  }
};

struct toeplitz {
  static constexpr auto apply(auto column) { return apply(column, column); }
  template <class A, class B, class Index = std::int64_t>  // see [note: ops on a fixed dtype]
  static constexpr auto apply(operand<A> column, operand<B> row) {
    using T = promoted<A, B>;
    graph& g = *column.g;
    const auto c = cast_to<T>(column), r = cast_to<T>(row);
    if (c.is_refused() || r.is_refused()) return c.is_refused() ? c : r;
    if (c.rank() != 1 || r.rank() != 1) return refuse<T>(g, 394);
    // Element (i, j) is column(i - j) where i >= j, else row(j - i).
    shape grid = c.extents();
    grid.push(r.extent(0));
    const int number = g.intern(g.syms.find(grid));
    const auto along = index_along<Index>(g, number, 0) - index_along<Index>(g, number, 1);
    const auto last = ebb::broadcast_to(count_along<std::int64_t>(r, 1), number, 3) - literal_like(along, 1);
    const auto zero = literal_like(along, 0);
    const auto below = parts_at<toeplitz>(c, emit_on<op::maximum>({}, along, zero), 0);
    const auto beside = parts_at<toeplitz>(r, emit_on<op::minimum>({}, emit_on<op::maximum>({}, zero - along, zero), last), 0);
    return emit_on<op::where>({}, emit_on<op::less>({}, along, zero), beside, below);
  }
};

struct hankel {
  template <class T>
  static constexpr operand<T> apply(operand<T> column) {
    if (column.is_refused()) return column;
    return column.rank() != 1 ? refuse<T>(*column.g, 394) : of(column, column, true);
  }
  template <class A, class B>
  static constexpr auto apply(operand<A> column, operand<B> row) {
    using T = promoted<A, B>;
    const auto c = cast_to<T>(column), r = cast_to<T>(row);
    if (c.is_refused() || r.is_refused()) return c.is_refused() ? c : r;
    return c.rank() != 1 || r.rank() != 1 ? refuse<T>(*c.g, 394) : of(c, r, false);
  }

 private:
  /// Element (i, j) is column(i + j), or after its n elements row(i + j - n + 1), or 0.
  template <class T, class Index = std::int64_t>
  static constexpr operand<T> of(operand<T> c, operand<T> r, bool zeros) {
    graph& g = *c.g;
    shape grid = c.extents();
    grid.push(r.extent(0));
    const int number = g.intern(g.syms.find(grid));
    const auto along = index_along<Index>(g, number, 0) + index_along<Index>(g, number, 1);
    const auto last = ebb::broadcast_to(count_along<std::int64_t>(c, 1), number, 3) - literal_like(along, 1);
    const auto in_column = parts_at<hankel>(c, emit_on<op::minimum>({}, along, last), 0);
    const auto after = [&] { return parts_at<hankel>(r, emit_on<op::maximum>({}, along - last, literal_like(along, 0)), 0); };
    return emit_on<op::where>({}, emit_on<op::less>({}, last, along), zeros ? literal_like(in_column, 0) : after(), in_column);
  }
};

struct circulant {
  template <class T, class Index = std::int64_t>
  static constexpr operand<T> apply(operand<T> c) {
    if (c.is_refused()) return c;
    graph& g = *c.g;
    if (c.rank() != 1) return refuse<T>(g, 394);
    shape grid = c.extents();
    grid.push(c.extent(0));
    const int number = g.intern(g.syms.find(grid));
    const auto along = index_along<Index>(g, number, 0) - index_along<Index>(g, number, 1);
    const auto count = ebb::broadcast_to(count_along<std::int64_t>(c, 1), number, 3);
    const auto round = emit_on<op::where>({}, emit_on<op::less>({}, along, literal_like(along, 0)), along + count, along);
    return parts_at<circulant>(c, round, 0);
  }
};

}  // namespace functions

/// Each matrix in the last two axes, with zeros above its diagonal number K.   tril<-1>(x)
/// Shape, Dtype: x's.   Saves: nothing.   Error: exact.
template <int K = 0, class X>
constexpr auto tril(X&& x) {
  return apply_function(functions::triangle<false, K>{}, std::forward<X>(x));
}
/// Each matrix in the last two axes, with zeros below its diagonal number K.   All fields as tril.
template <int K = 0, class X>
constexpr auto triu(X&& x) {
  return apply_function(functions::triangle<true, K>{}, std::forward<X>(x));
}
/// Zeros with ones on the diagonal.   Shape: [N, M].   Dtype: x's; no element of x is read.   Saves: nothing.   Error: exact.
template <int N, int M = N, class X>
constexpr auto eye(X&& x) {
  return apply_function(functions::eye<N, M>{}, std::forward<X>(x));
}

/// start + i * step for i from 0 to N - 1; start and step are numbers or scalars.   Shape: [N].   Dtype: promoted.   Saves: nothing.
/// Error: 0.5 ulp of i * step, and 0.5 ulp.
template <int N, class Start, class Step = int>
constexpr auto arange(const Start& start, const Step& step = 1) {
  static_assert(N >= 0, "[ebb E0395] arange, linspace, logspace, geomspace, vander: a number of elements is not negative");
  using along = functions::arange<(N < 0 ? 0 : N)>;
  // If both are numbers, they become arrays, on which the function runs at once.
  if constexpr (number<Start> && number<Step>)
    return apply_function(along{}, tensor<std::conditional_t<std::floating_point<Start>, Start, std::int64_t>>(start),
                          tensor<std::conditional_t<std::floating_point<Step>, Step, std::int64_t>>(step));
  else return apply_function(along{}, start, step);
}
/// N numbers from first to last, both included, evenly spaced and symmetric: the first half is counted from first, the other from last.
/// N = 1 gives first.
/// Shape: [N].   Dtype: promoted; integers give float, two numbers double.   Saves: nothing.   Error: 2 ulp of the larger end.
template <int N, class First, class Last>
constexpr auto linspace(const First& first, const Last& last) {
  static_assert(N >= 0, "[ebb E0395] arange, linspace, logspace, geomspace, vander: a number of elements is not negative");
  using along = functions::linspace<(N < 0 ? 0 : N)>;
  if constexpr (number<First> && number<Last>)
    return apply_function(along{}, tensor<double>(static_cast<double>(first)), tensor<double>(static_cast<double>(last)));
  else return apply_function(along{}, first, last);
}
/// 10 to the powers linspace<N>(first, last).   Shape, Dtype: as linspace.   Saves: out.   Error: that of pow and linspace.
template <int N, class First, class Last>
constexpr auto logspace(const First& first, const Last& last) {
  return pow(10, linspace<N>(first, last));
}
/// N numbers from first to last, both included and exact, each one the same multiple of the one before. N = 1 gives first. Neither end
/// is 0. Ends of different signs give NaNs between them.
/// Shape, Dtype: as linspace.   Saves: first, last, the powers.   Error: 4 ulp, and as many ulp as a quarter of |log(last / first)|.
template <int N, class First, class Last>
constexpr auto geomspace(const First& first, const Last& last) {
  static_assert(N >= 0, "[ebb E0395] arange, linspace, logspace, geomspace, vander: a number of elements is not negative");
  using along = functions::geomspace<(N < 0 ? 0 : N)>;
  if constexpr (number<First> && number<Last>)
    return apply_function(along{}, tensor<double>(static_cast<double>(first)), tensor<double>(static_cast<double>(last)));
  else return apply_function(along{}, first, last);
}
/// The coordinates of a grid, in a tuple: each vector is repeated along the axes of the others.
///   const auto [a, b] = ebb::meshgrid(x, y);   a(i, j) is x(i), b(i, j) is y(j); with ebb::xy_indexing before x: a(i, j) is x(j)
/// Shape: a vector of n elements and one of m: [n, m] for both; xy_indexing: [m, n].   Dtype: theirs.   Saves: nothing.   Error: exact.
template <class... X>
constexpr auto meshgrid(const X&... x) {
  return [&]<int... Number>(std::integer_sequence<int, Number...>) {
    return std::tuple(apply_function(functions::part_of_meshgrid<Number, false>{}, x...)...);
  }(std::make_integer_sequence<int, sizeof...(X)>{});
}
template <class... X>
constexpr auto meshgrid(xy_indexing_tag, const X&... x) {
  return [&]<int... Number>(std::integer_sequence<int, Number...>) {
    return std::tuple(apply_function(functions::part_of_meshgrid<Number, true>{}, x...)...);
  }(std::make_integer_sequence<int, sizeof...(X)>{});
}
/// A matrix with the given matrices along its diagonal, and zeros elsewhere.   block_diag(x, y)
/// Shape: x [n, m], y [k, l]: [n + k, m + l].   Dtype: promoted.   Saves: nothing.   Error: exact.
inline constexpr call<functions::block_diag> block_diag{};
/// The powers 0 to N - 1 of each element, along a new last axis.   Shape: x [..., n]: [..., n, N].
/// Dtype: x's.   Saves: x, the powers.   Error: that of the products.
template <int N, class X>
constexpr auto vander(X&& x) {
  static_assert(N >= 0, "[ebb E0395] arange, linspace, logspace, geomspace, vander: a number of elements is not negative");
  return apply_function(functions::vander<(N < 0 ? 0 : N)>{}, std::forward<X>(x));
}
/// toeplitz(c, r): the matrix with constant diagonals whose first column is c and whose first row is r. The first element of r is not used.
/// toeplitz(c) is symmetric.   Shape: c [n], r [m]: [n, m].   Dtype: promoted.   Saves: nothing.   Error: exact.
inline constexpr call<functions::toeplitz> toeplitz{};
/// hankel(c, r): the matrix with constant antidiagonals whose first column is c and whose last row is r. The first element of r is not
/// used. hankel(c) has zeros in place of r.
/// Shape: c [n], r [m]: [n, m]; c alone: [n, n].   Dtype: promoted.   Saves: nothing.   Error: exact.
inline constexpr call<functions::hankel> hankel{};
/// The matrix whose first column is c, and whose other columns are each the one before, moved down by one place, round the end: its product
/// with x is the circular convolution of c and x.   Shape: c [n]: [n, n].   Dtype: c's.   Saves: nothing.   Error: exact.
inline constexpr call<functions::circulant> circulant{};

}  // namespace ebb::inline EBB_ABI
