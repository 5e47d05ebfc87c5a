// ebb/op/along.hpp — reads by index along any axis, and sums at indices: take<Axis>, take_along_axis, scatter_add, index_add.
// SPDX-License-Identifier: BSL-1.0
//
// Indices are int32 or int64 and begin at 0; a negative or too large one is an error of the call. Elements with the same index are added in
// rising order of their places, so that a sum has the same bits in each run.
#pragma once

#include "gather.hpp"
#include "shape.hpp"
#include "subscript.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<380, Call> : Call {
  static_assert(Call::code != 380,
                "[ebb E0380] take_along_axis, scatter_add: indices and summands have the rank of x, and its extents beside the axis");
};
template <class Call>
struct refusal<381, Call> : Call {
  static_assert(Call::code != 381, "[ebb E0381] index_add: the summands have one part along the axis for each index, and else x's extents");
};

/// Inside rules: adds the parts of x at indices into zeros of the given shape. Narrow floats are added in float, and the result stays
/// float. own: the number of leading axes that all operands have in common; each place along them has its own indices.   F: the function
/// that errors name.
template <class F, class T, index_element I>
constexpr auto summed_at(operand<T> x, operand<I> indices, const shape& to, int own) {
  using Wide = detail::computed_in<T>;
  const auto wide = cast_to<Wide>(x);
  return operand<Wide>{x.g, emit_as<op::scatter<I, F>, Wide>(*x.g, x.g->intern(x.g->syms.find(to)), {wide.id, indices.id}, {own})};
}

/// Inside rules: the parts of x along `axis` by indices, the same for all places along the other axes.   F: the function that errors name.
template <class F, class T, index_element I>
constexpr operand<T> parts_at(operand<T> x, operand<I> indices, int axis) {
  if (x.is_refused() || indices.is_refused()) return {x.g, x.is_refused() ? x.id : indices.id};
  // Repeating the indices for each place along the leading axes is less work than moving x.
  graph& g = *x.g;
  const int repeated = g.intern(g.syms.find(joined(axes_between(x.extents(), 0, axis), indices.extents())));
  return emit_on<op::gather<I, F>, T>({axis}, x, broadcast_to(indices, repeated, axis_run(0, axis)));
}
/// Inside rules: the adjoint of parts_at. x has the axes of the indices at `axis`; its parts are added into zeros with the given extent
/// there.
template <class F, class T, index_element I>
constexpr auto parts_summed_at(operand<T> x, operand<I> indices, int axis, int extent) {
  if (x.is_refused() || indices.is_refused()) return operand<detail::computed_in<T>>{x.g, x.is_refused() ? x.id : indices.id};
  graph& g = *x.g;
  const int repeated = g.intern(g.syms.find(joined(axes_between(x.extents(), 0, axis), indices.extents())));
  const shape beside = without_axes(x.extents(), axis_run(axis, axis + indices.rank()));
  return summed_at<F>(x, broadcast_to(indices, repeated, axis_run(0, axis)), with_axis(beside, axis, extent), axis);
}

namespace functions {

template <int Axis>
struct take_along_axis {
  /// Whether `part` has the extents of x along all axes except `axis`.
  static constexpr bool fits(symbols& s, const shape& x, const shape& part, int axis) {
    if (part.rank != x.rank) return false;
    for (int i = 0; i < x.rank; ++i)
      if (i != axis && !s.unify(x.e[i], part.e[i])) return false;
    return true;
  }
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> x, operand<I> indices) {
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 115);
    else {
      if (x.is_refused() || indices.is_refused()) return {x.g, x.is_refused() ? x.id : indices.id};
      const int axis = axis_of(Axis, x.rank()), last = x.rank() - 1;
      if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
      if (!fits(x.g->syms, x.extents(), indices.extents(), axis)) return refuse<T>(*x.g, 380);
      const auto r = emit_on<op::gather<I, take_along_axis<0>>, T>({last}, axis_moved(x, axis, last), axis_moved(indices, axis, last));
      return axis_moved(r, last, axis);
    }
  }
};

/// The element of x at one place along an axis, which is dropped.
template <int Axis>
struct element_at {
  template <class T, class Index>
  static constexpr operand<T> apply(operand<T> x, operand<Index> place) {
    if (x.is_refused() || place.is_refused()) return {x.g, x.is_refused() ? x.id : place.id};
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank()) || place.rank() + 1 != x.rank()) return refuse<T>(*x.g, 103);
    if (axis + 1 < x.rank() && fits(x.g->syms, x.extents(), place.extents(), axis)) return element_beside(x, place, axis);
    const auto r = take_along_axis<Axis>::apply(x, view_as(place, with_axis(place.extents(), axis, 1)));
    return r.is_refused() ? r : view_as(r, without_axes(r.extents(), std::int64_t{1} << axis));
  }

 private:
  static constexpr bool fits(symbols& s, const shape& x, const shape& place, int axis) {
    const shape beside = without_axes(x, std::int64_t{1} << axis);
    for (int i = 0; i < beside.rank; ++i)
      if (!s.unify(beside.e[i], place.e[i])) return false;
    return true;
  }
  /// With the axis and those after it as one, elements are taken where they are: to move the axis to the end would copy x.
  template <class T, class Index>
  static constexpr operand<T> element_beside(operand<T> x, operand<Index> place, int axis) {
    const shape &of = x.extents(), before = axes_between(of, 0, axis);
    symbols& s = x.g->syms;
    shape rows = before, columns = before;
    rows.push(volume_of(s, axes_between(of, axis, of.rank)));
    columns.push(volume_of(s, axes_between(of, axis + 1, of.rank)));
    const auto at = cast_to<std::int64_t>(view_as(place, columns));
    const auto step = repeat(count_along<std::int64_t>(at, axis_run(axis, axis + 1)), at, axis_run(0, at.rank()));
    const auto index = at * step + index_along<std::int64_t>(*x.g, at.shape_number(), axis);
    const auto r = emit_on<op::gather<std::int64_t, take_along_axis<0>>, T>({axis}, view_as(x, rows), index);
    return r.is_refused() ? r : view_as(r, without_axes(x.extents(), axis_run(axis, axis + 1)));
  }
};

/// f(x, indices, u, axis) of an index for each element of u: x and u in one dtype, the axis last. Code refuses extents that do not fit.
template <int Axis, int Code>
struct with_elements_at {
  template <class A, class I, class B, class R>
  static constexpr auto apply(operand<A> x, operand<I> indices, operand<B> u, R f) {
    using T = promoted<A, B>;
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 115);
    else {
      for (const int id : {x.id, indices.id, u.id})
        if (id < 0) return operand<T>{x.g, id};
      const int axis = axis_of(Axis, x.rank()), last = x.rank() - 1;
      if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
      symbols& s = x.g->syms;
      const bool fits = take_along_axis<Axis>::fits(s, x.extents(), indices.extents(), axis);
      if (!fits || !s.unify(indices.extents(), u.extents())) return refuse<T>(*x.g, Code);
      // One after another: the order in which arguments are evaluated depends on the compiler, and sums in a pull follow that of equations.
      const operand<T> to = axis_moved(cast_to<T>(x), axis, last), elements = axis_moved(cast_to<T>(u), axis, last);
      const operand<I> at = axis_moved(indices, axis, last);
      return axis_moved(f(to, at, elements, last), last, axis);
    }
  }
};
/// f(x, indices, u, axis) of an index for each part of u along the axis: x and u in one dtype. Code refuses extents that do not fit.
template <int Axis, int Code>
struct with_parts_at {
  template <class A, class I, class B, class R>
  static constexpr auto apply(operand<A> x, operand<I> indices, operand<B> u, R f) {
    using T = promoted<A, B>;
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 115);
    else {
      for (const int id : {x.id, indices.id, u.id})
        if (id < 0) return operand<T>{x.g, id};
      const int axis = axis_of(Axis, x.rank());
      if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
      symbols& s = x.g->syms;
      const bool fits = indices.rank() == 1 && take_along_axis<Axis>::fits(s, x.extents(), u.extents(), axis);
      if (!fits || !s.unify(indices.extent(0), u.extent(axis))) return refuse<T>(*x.g, Code);
      const operand<T> to = cast_to<T>(x), parts = cast_to<T>(u);
      return f(to, indices, parts, axis);
    }
  }
};

template <int Axis>
struct scatter_add {
  static constexpr auto apply(auto x, auto indices, auto summands) {
    return with_elements_at<Axis, 380>::apply(x, indices, summands, []<class T>(operand<T> to, auto at, operand<T> u, int last) {
      const auto wide = cast_to<detail::computed_in<T>>(to);
      return cast_to<T>(wide + summed_at<scatter_add<0>>(u, at, wide.extents(), last));
    });
  }
};

template <int Axis>
struct index_add {
  static constexpr auto apply(auto x, auto indices, auto summands) {
    return with_parts_at<Axis, 381>::apply(x, indices, summands, []<class T>(operand<T> to, auto at, operand<T> u, int axis) {
      const auto wide = cast_to<detail::computed_in<T>>(to);
      return cast_to<T>(wide + parts_summed_at<index_add<0>>(u, at, axis, to.extent(axis)));
    });
  }
};

/// take along an axis, by an array of indices or by one number: the same for all places along the other axes.
template <int Axis>
struct take_axis {
  static constexpr std::string_view name = "take";
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> x, operand<I> indices) {
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 115);
    else {
      if (x.is_refused() || indices.is_refused()) return {x.g, x.is_refused() ? x.id : indices.id};
      const int axis = axis_of(Axis, x.rank());
      if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
      if (axis + indices.rank() > max_rank) return refuse<T>(*x.g, 115);
      return parts_at<take>(x, indices, axis);
    }
  }
  /// A number that is known while tracing.
  template <class T>
  static constexpr operand<T> apply(operand<T> x, std::int64_t place) {
    if (x.is_refused()) return x;
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    if (!detail::find_place(x.g->syms, x.extent(axis), place) && !x.g->tolerant) return refuse<T>(*x.g, 230);
    const auto one = slice_as(x, {axis, place, 1}, x.g->intern(with_extent(x.extents(), axis, 1)));
    return view_as(one, without_axes(x.extents(), std::int64_t{1} << axis));
  }
};

}  // namespace functions

/// The elements of x with the given indices along an axis. A scalar index drops the axis, and so does an integer, which counts from the
/// end if it is negative.   take<1>(x, indices), take<-1>(x, i), take<1>(x, 3)
/// Shape: x's, with the indices' axes in place of the axis.   Dtype: x's.   Saves: the indices.   Error: exact.
/// The gradients of equal indices are added.
/// Throws: if there is no such index. An integer outside of an extent that is known while tracing does not compile.
template <int Axis, class X, class Indices>
constexpr auto take(X&& x, Indices&& indices) {
  using I = std::remove_cvref_t<Indices>;
  using along = functions::take_axis<Axis>;
  if constexpr (!std::integral<I> || std::same_as<I, bool>) {
    return apply_function(along{}, std::forward<X>(x), std::forward<Indices>(indices));
  } else if constexpr (array_like<X>) {
    using A = std::remove_cvref_t<X>;
    constexpr int rank = borrowed_extents<A>::rank, axis = axis_of(Axis, rank);
    static_assert(has_axis(axis, rank), "[ebb E0103] there is no such axis");
    const auto length = static_cast<std::size_t>(borrow<A>::extent(x, axis));
    std::int64_t place = static_cast<std::int64_t>(indices);
    if (place < 0) place += static_cast<std::int64_t>(length);
    if (!std::in_range<std::int64_t>(indices) || place < 0 || place >= static_cast<std::int64_t>(length)) {
      const std::int64_t given = static_cast<std::int64_t>(indices);
      raise_bad_index("ebb::take", &given, &length, 1);
    }
    return apply_function(along{}, std::forward<X>(x), tensor<std::int64_t>(place));
  } else {
    const auto part = apply_function(along{}, x, static_cast<std::int64_t>(indices));
    if (detail::is_outside(part)) detail::refuse_subscript("[ebb E0230] take: a subscript is outside of its axis");
    return part;
  }
}
/// Elements of x by index along an axis, with indices of its own for each place along the other axes: torch.gather.
/// Shape: that of the indices, which have x's extents along the other axes.   Dtype: x's.   Saves: the indices.   Error: exact.
/// Throws: if an index is negative or too large, or a call's extents do not fit. The gradients of equal indices are added.
template <int Axis, class X, class Indices>
constexpr auto take_along_axis(X&& x, Indices&& indices) {
  return apply_function(functions::take_along_axis<Axis>{}, std::forward<X>(x), std::forward<Indices>(indices));
}
/// x plus the elements of u, added at indices along an axis: the adjoint of take_along_axis.
/// Shape: x's; indices and u have one shape, with x's extents along the other axes.   Dtype: promoted; narrow floats are added in float
/// and rounded once.   Saves: the indices.   Error: that of the sums.   Throws: as take_along_axis.
template <int Axis, class X, class Indices, class Summands>
constexpr auto scatter_add(X&& x, Indices&& indices, Summands&& u) {
  return apply_function(functions::scatter_add<Axis>{}, std::forward<X>(x), std::forward<Indices>(indices), std::forward<Summands>(u));
}
/// x plus the parts of u along an axis: part k is added at index indices(k).
/// Shape: x's; indices [n], u: x's, with extent n along the axis.   Dtype, Saves, Error, Throws: as scatter_add.
template <int Axis, class X, class Indices, class Summands>
constexpr auto index_add(X&& x, Indices&& indices, Summands&& u) {
  return apply_function(functions::index_add<Axis>{}, std::forward<X>(x), std::forward<Indices>(indices), std::forward<Summands>(u));
}

}  // namespace ebb::inline EBB_ABI
