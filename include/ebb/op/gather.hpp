// ebb/op/gather.hpp — take and one_hot: rows by index, the scatter that inverts it, and marks along an axis.
// SPDX-License-Identifier: BSL-1.0
//
// Indices are int32 or int64 and begin at 0; a negative or too large one is an error of the call.
#pragma once

#include "axes.hpp"
#include "compare.hpp"

namespace ebb::inline EBB_ABI {

template <class I>
concept index_element = std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>;

template <class Call>
struct refusal<115, Call> : Call {
  static_assert(Call::code != 115, "[ebb E0115] an index must be an integer array of the right rank");
};

namespace functions {
struct take;
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The name of the places that an operand of F names: F::counted, if that is there.
template <class F>
constexpr std::string_view counted_by(std::string_view otherwise) {
  if constexpr (requires { F::counted; }) return F::counted;
  else return otherwise;
}

/// The index whose rows a scatter leaves out: F::left_out; -1 if there is none.
template <class F>
constexpr std::int64_t left_out_by() {
  if constexpr (requires { F::left_out; }) return F::left_out;
  else return -1;
}

template <class I>
struct by_rows : op_base {
  static constexpr int arity = 2;
  static constexpr domain accepts = domain::any;
  static constexpr bool names_places = true;
  template <class T, int J>
  using operand_type = std::conditional_t<J == 1, I, T>;
};

template <class I, class F>
struct scatter;

/// The rows of operand 0 with the indices in operand 1. attr 0: the number of leading axes common to both, each with rows of its own.
/// attr 1: whether the result is turned, with the indices' axes last; then attr 0 is 0. Only pass/unpack.hpp asks for that, after pulls.
/// F: the function that errors about indices name, with F::counted if the places are no rows.
/// Shape: indices' axes, then x's axes after the row axis; turned: the other way round.   Saves: indices.   Error: exact.
template <class I, class F = functions::take>
struct gather : by_rows<I> {
  static constexpr std::string_view name = "gather", asker = short_name_of<F>(), counted = counted_by<F>("rows");
  static constexpr kind what = kind::gather;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    const int own = static_cast<int>(attr[0]);
    if (in[0].rank < own + 1 || in[1].rank < own || in[0].rank + in[1].rank - own - 1 > max_rank) return refused(115);
    for (int axis = 0; axis < own; ++axis)
      if (!s.unify(in[0].e[axis], in[1].e[axis])) return refused(102);
    const shape row = axes_between(in[0], own + 1, in[0].rank);
    return s.find(attr[1] ? joined(row, in[1]) : joined(in[1], row));
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<I> indices, operand<T> out) {
    return grads(operand<T>{g.g, emit_as<scatter<I, F>, T>(*g.g, x.shape_number(), {g.id, indices.id}, {out.attribute(0)})}, nothing);
  }
};

/// Adds the rows of operand 0, in rising order, into zeros, at the indices in operand 1. attr 0: as for gather. attr 1: whether operand 0
/// is turned, as a gather's result. Rows with the index F::left_out are left out, if F has one.
/// Shape: given, not inferred.   Saves: indices.   Error: that of the sums.
template <class I, class F = functions::take>
struct scatter : by_rows<I> {
  static constexpr std::string_view name = "scatter", asker = short_name_of<F>(), counted = counted_by<F>("rows");
  static constexpr kind what = kind::scatter;
  static constexpr std::int64_t left_out = left_out_by<F>();
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T>, operand<I> indices, operand<T> out) {
    const auto rows = emit_on<gather<I, F>, T>({out.attribute(0)}, g, indices);
    if constexpr (left_out < 0) return grads(rows, nothing);
    else {
      const auto kept = emit_on<not_equal>({}, indices, literal_like(indices, static_cast<int>(left_out)));
      return grads(emit_on<where>({}, repeat(kept, rows, axis_run(indices.rank(), rows.rank())), rows, literal_like(rows, 0)), nothing);
    }
  }
};

/// Indices repeated along the axis that they refer to: comparing them with the index along it marks one element.   Error: exact.
/// F: the function that errors name, with F::counted if the places are no classes.
template <class F>
struct places : op_base {
  static constexpr std::string_view name = "places", asker = short_name_of<F>(), counted = counted_by<F>("classes");
  static constexpr kind what = kind::broadcast;
  static constexpr int arity = 1;
  static constexpr bool names_places = true;
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Inside rules of F: an array of shape `in` that is true at the index along `axis` given by `indices`, which have its other axes.
/// It compares numbers of dtype Compared, which holds all indices along the axis.
template <class F, class Compared = void, index_element I>
constexpr operand<bool> marked(operand<I> indices, const shape& in, int axis) {
  using J = std::conditional_t<std::is_void_v<Compared>, I, Compared>;
  graph& g = *indices.g;
  if (indices.is_refused() || !g.syms.unify(indices.extents(), without_axes(in, std::int64_t{1} << axis))) return refuse<bool>(g, 115);
  const int number = g.intern(g.syms.find(in));
  const operand<I> named{&g, emit_as<op::places<F>, I>(g, number, {indices.id}, {std::int64_t{1} << axis})};
  return emit_on<op::equal>({}, operand<J>{&g, emit_as<op::index, J>(g, number, {}, {axis})}, cast_to<J>(named));
}

namespace functions {

struct take {
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> x, operand<I> indices) {
    if constexpr (!index_element<I>) return refuse<T>(*x.g, 115);
    else return emit_on<op::gather<I>, T>({}, x, indices);
  }
};

template <int Classes, int Axis, class To, class Compared = std::int32_t>
struct one_hot {
  template <class I>
  static constexpr operand<To> apply(operand<I> indices) {
    if constexpr (!index_element<I>) return refuse<To>(*indices.g, 115);
    else {
      if (indices.is_refused()) return {indices.g, indices.id};
      const int rank = indices.rank() + 1, axis = axis_of(Axis, rank);
      if (!has_axis(axis, rank) || rank > max_rank) return refuse<To>(*indices.g, 103);
      return cast_to<To>(marked<one_hot<Classes, -1, std::int64_t>, Compared>(indices, with_axis(indices.extents(), axis, Classes), axis));
    }
  }
};

}  // namespace functions

/// The rows of x with the given indices: an embedding, if x is a table.   Shape: indices' axes, then x's without the first.
/// Dtype: x's.   Saves: the indices.   Error: exact.   Throws: if an index is negative or too large.
/// A row that is taken twice gets the sum of both gradients.
template <class X, class Indices>
  requires(!std::integral<std::remove_cvref_t<Indices>>)
constexpr auto take(X&& x, Indices&& indices) {
  return apply_function(functions::take{}, std::forward<X>(x), std::forward<Indices>(indices));
}
/// 1 at the given index along a new axis, by default the last one, else 0.   one_hot<10>(x), one_hot<10, 1>(x), one_hot<10, 1, float>(x)
/// Shape: indices' axes, with one of extent Classes.   Dtype: To, no gradient.   Saves: nothing.   Error: exact.
/// Throws: if an index is negative or too large.
template <int Classes, int Axis = -1, element To = std::int64_t, class Indices>
constexpr auto one_hot(Indices&& indices) {
  return apply_function(functions::one_hot<Classes, Axis, To>{}, std::forward<Indices>(indices));
}
template <int Classes, element To, class Indices>
constexpr auto one_hot(Indices&& indices) {
  return one_hot<Classes, -1, To>(std::forward<Indices>(indices));
}

}  // namespace ebb::inline EBB_ABI
