// ebb/geometry/columns.hpp — functions of short vectors, written on their elements: by_columns takes arrays apart and puts them together.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/exponential.hpp"
#include "../op/extremum.hpp"
#include "../op/power.hpp"
#include "../op/shape.hpp"

#include <array>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<496, Call> : Call {
  static_assert(Call::code != 496, "[ebb E0496] the last axis has another extent: quaternions have 4 elements, vectors 3, twists 6, "
                                   "poses 7, in the plane vectors 2, twists 3, poses 4; rotation matrices are 3 x 3");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::geometry {

/// An array whose last axes hold N elements for each row: a vector, a matrix of Rows rows, or, without axes, one number.
struct scalar_row {
  static constexpr int count = 1, axes = 0, rows = 1;
};
template <int N>
struct vector_row {
  static constexpr int count = N, axes = 1, rows = 1;
};
template <int Rows, int Columns>
struct matrix_row {
  static constexpr int count = Rows * Columns, axes = 2, rows = Rows;
};

using quaternion_row = vector_row<4>;
using space_row = vector_row<3>;
using rotation_row = matrix_row<3, 3>;
using pose_row = vector_row<7>;
using twist_row = vector_row<6>;
using plane_row = vector_row<2>;
using planar_pose_row = vector_row<4>;
using planar_twist_row = vector_row<3>;

/// The elements of each row: arrays over the leading axes, with a last axis of extent 1.
template <class T, int N>
using columns = std::array<operand<T>, N>;

template <class... A>
using real_dtype = promoted_to_real<detail::promoted_of<op::add, A...>>;

/// The columns of x; a number has none yet.
template <class Kind, class W, class A>
constexpr columns<W, Kind::count> columns_of(operand<A> x) {
  graph& g = *x.g;
  columns<W, Kind::count> r;
  r.fill({&g, x.is_refused() ? x.id : -496});
  if (x.is_refused() || x.rank() < Kind::axes || x.rank() - Kind::axes >= max_rank) return r;
  const int last = x.rank() - Kind::axes;
  for (int i = 0; i < Kind::axes; ++i)
    if (!g.syms.unify(x.extent(last + i), i + 1 == Kind::axes ? Kind::count / Kind::rows : Kind::rows)) return r;
  const auto wide = view_as(cast_to<W>(x), with_axis(axes_between(x.extents(), 0, last), last, Kind::count));
  const int one = g.intern(g.syms.find(with_extent(wide.extents(), last, 1)));
  for (int i = 0; i < Kind::count; ++i) r[static_cast<std::size_t>(i)] = Kind::count == 1 ? wide : slice_as(wide, {last, i}, one);
  return r;
}
template <class Kind, class W>
constexpr W columns_of(number auto x) {
  return static_cast<W>(x);
}

/// f(columns of each operand), put together as a Result. f computes in float for narrow floats; leading axes are broadcast.
template <class Result, class... Kind>
constexpr auto by_columns(auto f, auto... x) {
  using T = real_dtype<decltype(x)...>;
  using W = detail::computed_in<T>;
  graph& g = *detail::first_operand(x...).g;
  return [&](auto... given) {
    shape shapes[sizeof...(given)];
    int code = 0, count = 0;
    const auto see = [&]<class C>(const C& c) {
      if constexpr (!number<C>) {
        if (c[0].is_refused()) code = code ? code : -c[0].id;
        else shapes[count++] = c[0].extents();
      }
    };
    (see(given), ...);
    if (code) return refuse<T>(g, code);
    const shape common = broadcast_shapes(g.syms, shapes, count);
    if (common.is_refused()) return refuse<T>(g, common.code());
    const auto fitted = [&]<class C>(C c) {
      if constexpr (number<C>) {
        const auto bits = static_cast<std::int64_t>(literal_bits<W>(c));
        return columns<W, 1>{operand<W>{&g, emit_as<op::literal, W>(g, g.intern(common), {}, {bits})}};
      } else {
        for (auto& one : c) one = detail::fit(one, common);
        return c;
      }
    };
    const columns<W, Result::count> r = f(fitted(given)...);
    shape to = axes_between(common, 0, common.rank - 1);
    if (Result::axes == 2) to.push(Result::rows);
    if (Result::axes > 0) to.push(Result::count / Result::rows);
    int parts[Result::count] = {};
    for (int i = 0; i < Result::count; ++i) parts[i] = r[static_cast<std::size_t>(i)].id;
    if (Result::count == 1) return cast_to<T>(view_as(r[0], to));
    return cast_to<T>(view_as(operand<W>{&g, emit<op::concat, W>(g, number_range{parts, Result::count}, {common.rank - 1})}, to));
  }(columns_of<Kind, W>(x)...);
}

/// Sums and products of columns.
template <class T>
constexpr auto dot(const columns<T, 3>& a, const columns<T, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class T>
constexpr columns<T, 3> cross(const columns<T, 3>& a, const columns<T, 3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
template <class T, std::size_t N>
constexpr std::array<operand<T>, N> plus(std::array<operand<T>, N> a, const std::array<operand<T>, N>& b) {
  for (std::size_t i = 0; i < N; ++i) a[i] = a[i] + b[i];
  return a;
}
template <class T, std::size_t N>
constexpr std::array<operand<T>, N> scaled(std::array<operand<T>, N> a, auto by) {
  for (auto& x : a) x = by * x;
  return a;
}
/// Some columns, from First on.
template <int First, int Count, class T, std::size_t N>
constexpr columns<T, Count> part(const std::array<operand<T>, N>& a) {
  columns<T, Count> r;
  for (std::size_t i = 0; i < Count; ++i) r[i] = a[First + i];
  return r;
}
template <class T, std::size_t N, std::size_t M>
constexpr std::array<operand<T>, N + M> both(const std::array<operand<T>, N>& a, const std::array<operand<T>, M>& b) {
  std::array<operand<T>, N + M> r;
  for (std::size_t i = 0; i < N + M; ++i) r[i] = i < N ? a[i] : b[i - N];
  return r;
}

}  // namespace ebb::inline EBB_ABI::geometry
