// ebb/shapes/scatter.hpp — elements written or combined at indices: scatter, scatter_reduce, index_copy, index_fill, index_put.
// SPDX-License-Identifier: BSL-1.0
//
// Indices are int32 or int64 and begin at 0; a negative or too large one is an error of the call. If several elements have one index, the
// last one in rising order of places is written: in every run, and it alone gets the gradient. PyTorch leaves open which one.
#pragma once

#include "segment.hpp"

#include "../op/remainder.hpp"
#include "../op/replace.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<498, Call> : Call {
  static_assert(Call::code != 498, "[ebb E0498] scatter, index_copy: indices and elements do not have the extents of x beside the axis, or "
                                   "not one element for each index; index_put takes an array of indices for each of x's first axes");
};

/// How scatter_reduce combines the elements with one index.
enum class combination { sum, mean, prod, amax, amin };

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The product of the rows of operand 0 with one index in operand 1; 1 where there is none. attr 0, F: as for gather.
/// The product of the others is not found by division by 0: its derivative, and the derivative of that, are right for any zeros.
/// Shape: given, not inferred.   Saves: x, indices.   Error: that of the product.
template <class I, class F = functions::take>
struct scatter_prod : by_rows<I> {
  static constexpr std::string_view name = "scatter_prod", asker = short_name_of<F>();
  static constexpr kind what = kind::scatter;
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  static constexpr auto value(auto product, auto x) { return product * x; }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<I> indices, operand<T> out) {
    const std::int64_t own = out.attribute(0);
    const auto along = [&](auto y) { return emit_on<gather<I, F>, T>({own}, y, indices); };
    const auto where_else = [](auto m, auto a, auto b) { return emit_on<where>({}, m, a, b); };
    const auto zero = literal_like(x, 0), one = literal_like(x, 1);
    const auto is_zero = emit_on<equal>({}, x, zero);
    const auto factors = where_else(is_zero, one, x);
    const operand<T> product{x.g, emit_as<scatter_prod, T>(*x.g, out.shape_number(), {factors.id, indices.id}, {own})};
    // Of the zeros with one index: how many they are, and their sum, which is 0 but has a derivative.
    const auto zeros = along(cast_to<T>(summed_at<F>(where_else(is_zero, one, zero), indices, out.extents(), static_cast<int>(own))));
    const auto sum = along(cast_to<T>(summed_at<F>(where_else(is_zero, x, zero), indices, out.extents(), static_cast<int>(own))));
    const auto count = zeros - where_else(is_zero, one, zero);  // zeros among the others
    const auto others = sum - where_else(is_zero, x, zero);
    const auto of_zeros = where_else(emit_on<equal>({}, count, zero), one, where_else(emit_on<equal>({}, count, one), others, zero));
    return grads(along(g) * (along(product) / factors * of_zeros), nothing);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// The place of the last element with each index, of elements numbered along axis `own`; the lowest number where there is none.
template <class F, class I>
constexpr operand<std::int64_t> last_places(operand<I> indices, const shape& to, int own) {
  graph& g = *indices.g;
  const auto places = index_along<std::int64_t>(g, indices.shape_number(), own);
  return {&g, emit_as<op::scatter_max<I, F>, std::int64_t>(g, g.intern(g.syms.find(to)), {places.id, indices.id}, {own})};
}
constexpr operand<bool> is_written(operand<std::int64_t> places) { return emit_on<op::greater_equal>({}, places, literal_like(places, 0)); }

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::op {

/// Operand 2 with the rows of operand 0 written at the indices in operand 1, in rising order: of equal indices the last one is there, and
/// it alone gets the gradient. attr 0, F: as for gather.
/// Shape: operand 2's.   Saves: indices.   Error: exact.
template <class I, class F = functions::take>
struct put : by_rows<I> {
  static constexpr std::string_view name = "put", asker = short_name_of<F>();
  static constexpr kind what = kind::scatter;
  static constexpr int arity = 3;
  static constexpr bool writes = true;
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  static constexpr auto value(auto, auto x) { return x; }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> u, operand<I> indices, operand<T>, operand<T> out) {
    const int own = static_cast<int>(out.attribute(0)), rank = out.rank();
    const auto places = functions::last_places<F>(indices, axes_between(out.extents(), 0, own + 1), own);
    const auto written = repeat(functions::is_written(places), out, axis_run(own + 1, rank));
    const auto number = index_along<std::int64_t>(*g.g, indices.shape_number(), own);
    const auto is_last = emit_on<equal>({}, emit_on<gather<I, F>, std::int64_t>({own}, places, indices), number);
    const auto there = emit_on<gather<I, F>, T>({own}, g, indices), zero = literal_like(there, 0);
    return grads(emit_on<where>({}, repeat(is_last, u, axis_run(own + 1, rank)), there, zero), nothing,
                 emit_on<where>({}, written, literal_like(g, 0), g));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <class F, class T, class I>
constexpr operand<T> with_written(operand<T> x, operand<I> indices, operand<T> u, int own) {
  return {x.g, emit_as<op::put<I, F>, T>(*x.g, x.shape_number(), {u.id, indices.id, x.id}, {own})};
}

template <int Axis>
struct scatter {
  static constexpr std::string_view name = "scatter";
  static constexpr auto apply(auto x, auto indices, auto u) {
    return with_elements_at<Axis, 498>::apply(x, indices, u, [](auto to, auto i, auto v, int own) {
      return with_written<scatter<0>>(to, i, v, own);
    });
  }
};

template <int Axis, combination How, bool IncludeSelf>
struct scatter_reduce {
  static constexpr std::string_view name = "scatter_reduce";
  static constexpr auto apply(auto x, auto indices, auto u) {
    return with_elements_at<Axis, 498>::apply(x, indices, u, [&]<class T, class I>(operand<T> to, operand<I> i, operand<T> v, int own) {
      graph& g = *to.g;
      if constexpr (!IncludeSelf) {
        const auto places = last_places<called>(i, to.extents(), own);
        return emit_on<op::where>({}, is_written(places), combined(v, i, to.extents(), own), to);
      } else {
        // The elements of x are elements like the others: so ties share a gradient with them evenly.
        const auto own_places = index_along<I>(g, to.shape_number(), own);
        const operand<T> all{&g, emit<op::concat, T>(g, {to.id, v.id}, {own})};
        const operand<I> at{&g, emit<op::concat, I>(g, {own_places.id, i.id}, {own})};
        return combined(all, at, to.extents(), own);
      }
    });
  }

 private:
  using called = scatter_reduce<0, combination::sum, true>;  // one op for all of them: errors name the function
  template <class T, class I>
  static constexpr operand<T> combined(operand<T> x, operand<I> i, const shape& to, int own) {
    using Wide = detail::computed_in<T>;
    graph& g = *x.g;
    const auto wide = cast_to<Wide>(x);
    const auto by = [&]<class Op>(std::type_identity<Op>) {
      return cast_to<T>(operand<Wide>{&g, emit_as<Op, Wide>(g, g.intern(g.syms.find(to)), {wide.id, i.id}, {own})});
    };
    if constexpr (How == combination::sum) return by(std::type_identity<op::scatter<I, called>>{});
    else if constexpr (How == combination::prod) return by(std::type_identity<op::scatter_prod<I, called>>{});
    else if constexpr (How == combination::amax) return by(std::type_identity<op::scatter_max<I, called>>{});
    else if constexpr (How == combination::amin) return by(std::type_identity<op::scatter_min<I, called>>{});
    else {
      const auto sums = summed_at<called>(wide, i, to, own), counts = summed_at<called>(literal_like(wide, 1), i, to, own);
      const auto some = emit_on<op::maximum>({}, counts, literal_like(counts, 1));
      if constexpr (real_element<T>) return cast_to<T>(sums / some);
      else return cast_to<T>(emit_on<op::floor_divide>({}, sums, some));
    }
  }
};

/// The parts of u along an axis written into x, by one index for each.
template <int Axis>
struct index_copy {
  static constexpr std::string_view name = "index_copy";
  static constexpr auto apply(auto x, auto indices, auto u) {
    return with_parts_at<Axis, 498>::apply(x, indices, u, [](auto to, auto at, auto parts, int axis) {
      graph& g = *to.g;
      const auto each = ebb::broadcast_to(at, g.intern(g.syms.find(axes_between(parts.extents(), 0, axis + 1))), axis_run(0, axis));
      return with_written<index_copy<0>>(to, each, parts, axis);
    });
  }
};

template <int Axis>
struct index_fill {
  static constexpr std::string_view name = "index_fill";
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> x, operand<I> indices, auto value) {
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 115);
    else {
      if (x.is_refused() || indices.is_refused()) return {x.g, x.is_refused() ? x.id : indices.id};
      const int axis = axis_of(Axis, x.rank());
      if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
      if (indices.rank() != 1) return refuse<T>(*x.g, 498);
      const auto places = last_places<index_fill<0>>(indices, axes_between(x.extents(), axis, axis + 1), 0);
      const auto written = ebb::broadcast_to(is_written(places), x.shape_number(), ~(std::int64_t{1} << axis) & axis_run(0, x.rank()));
      return masked_fill::apply(x, written, value);
    }
  }
};

/// u written, or added, at the places whose indices along x's first axes are given by arrays of one shape.
template <bool Adds>
struct index_put {
  static constexpr std::string_view name = Adds ? "index_put_add" : "index_put";
  template <class A, class B, class... I>
  static constexpr auto apply(operand<A> a, operand<B> b, operand<I>... indices) {
    using T = promoted<A, B>;
    if constexpr (!(index_element<I> && ...) || sizeof...(I) == 0) return refuse<T>(*a.g, 115);
    else {
      constexpr int count = sizeof...(I);
      graph& g = *a.g;
      for (const int id : {a.id, b.id, indices.id...})
        if (id < 0) return operand<T>{&g, id};
      if (a.rank() < count) return refuse<T>(g, 498);
      const operand<std::int64_t> at[] = {cast_to<std::int64_t>(indices)...};
      for (const auto& i : at)
        if (!g.syms.unify(i.extents(), at[0].extents())) return refuse<T>(g, 498);
      const auto place = detail::place_within(a, at, count);
      const shape rest = axes_between(a.extents(), count, a.rank());
      const auto flat = view_as(cast_to<T>(a), with_axis(rest, 0, volume_of(g.syms, axes_between(a.extents(), 0, count))));
      const int many = volume_of(g.syms, place.extents());
      const auto u = broadcast_to<>::like(cast_to<T>(b), joined(place.extents(), rest));
      if (u.is_refused()) return u;
      const auto line = view_as(place, with_axis({}, 0, many));
      const auto parts = view_as(u, with_axis(rest, 0, many));
      const auto r = [&] {
        if constexpr (Adds) return index_add<0>::apply(flat, line, parts);
        else return index_copy<0>::apply(flat, line, parts);
      }();
      return r.is_refused() ? r : view_as(r, a.extents());
    }
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// x with the elements of u written at indices along an axis; of equal indices the last one is written.   scatter<1>(x, indices, u)
/// Shape: x's; indices and u have one shape, with x's extents along the other axes.   Dtype: promoted.   Saves: the indices.
/// Error: exact.   Throws: if an index is negative or too large, or a call's extents do not fit.
template <int Axis, class X, class Indices, class U>
constexpr auto scatter(X&& x, Indices&& indices, U&& u) {
  return apply_function(functions::scatter<Axis>{}, std::forward<X>(x), std::forward<Indices>(indices), std::forward<U>(u));
}
/// The elements of x and those of u with their index combined: scatter_reduce<0, combination::amax>(x, indices, u). Without IncludeSelf an
/// element of x counts only where no index names it. Extrema that are equal share the gradient evenly. Means of integers are rounded down.
/// Shape, Saves, Throws: as scatter; prod, amax and amin save the elements.   Dtype: promoted; narrow floats are computed in float.
/// Error: that of the sums and products.   Source: torch.scatter_reduce; its second derivative of products with zeros is refused there.
template <int Axis, combination How, bool IncludeSelf = true, class X, class Indices, class U>
constexpr auto scatter_reduce(X&& x, Indices&& indices, U&& u) {
  using F = functions::scatter_reduce<Axis, How, IncludeSelf>;
  return apply_function(F{}, std::forward<X>(x), std::forward<Indices>(indices), std::forward<U>(u));
}
/// x with parts of u along an axis: part k is written at index indices(k), of equal ones the last.   index_copy<0>(x, indices, u)
/// Shape: x's; indices [n], u: x's, with extent n along the axis.   Dtype, Saves, Error, Throws: as scatter.
template <int Axis, class X, class Indices, class U>
constexpr auto index_copy(X&& x, Indices&& indices, U&& u) {
  return apply_function(functions::index_copy<Axis>{}, std::forward<X>(x), std::forward<Indices>(indices), std::forward<U>(u));
}
/// x with a number at the indices along an axis.   index_fill<0>(x, indices, 0.5)
/// Shape, Dtype: x's; indices [n]; the value is a number or a scalar.   Saves, Error, Throws: as scatter.
template <int Axis, class X, class Indices, class Value>
constexpr auto index_fill(X&& x, Indices&& indices, Value&& value) {
  return apply_function(functions::index_fill<Axis>{}, std::forward<X>(x), std::forward<Indices>(indices), std::forward<Value>(value));
}
/// x with the elements, or the parts along the other axes, of u at x(i, j, ...): index_put(x, u, i, j). The indices are arrays of one
/// shape, one for each of x's first axes; of equal places the last is written. index_put_add adds all to x instead, in their order.
/// Shape: x's; u is broadcast to the indices' shape and x's other axes.   Dtype, Saves, Error, Throws: as scatter.
template <class X, class U, class... Indices>
constexpr auto index_put(X&& x, U&& u, Indices&&... indices) {
  return apply_function(functions::index_put<false>{}, std::forward<X>(x), std::forward<U>(u), std::forward<Indices>(indices)...);
}
template <class X, class U, class... Indices>
constexpr auto index_put_add(X&& x, U&& u, Indices&&... indices) {
  return apply_function(functions::index_put<true>{}, std::forward<X>(x), std::forward<U>(u), std::forward<Indices>(indices)...);
}

/// Refused: how many elements the result has depends on the elements, and extents are known before a program runs.
template <class X> constexpr auto nonzero(X&& x) {
  static_assert(sizeof(X) == 0, "[ebb E0501] nonzero, unique, masked_select: the result's extent would depend on the elements; where, "
                                "masked sums, count_nonzero, sort with segments do without it");
  return std::forward<X>(x);
}
template <class X> constexpr auto unique(X&& x) {
  return nonzero(std::forward<X>(x));
}
template <class X, class Mask> constexpr auto masked_select(X&& x, Mask&&) {
  return nonzero(std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
