// ebb/order/quantile.hpp — quantile, median, nanquantile and nanmedian along an axis.
// SPDX-License-Identifier: BSL-1.0
//
//   quantile(x, 0.9)                           along the last axis; q is a number, a scalar or a vector
//   quantile<0, between::nearest>(x, q)        the rule between two elements: line, lower, higher, midpoint, nearest
//   auto [values, places] = median<1>(x);      of an even number of elements the lower one of the two in the middle, as in PyTorch;
//                                              quantile(x, 0.5) is the mean of both
#pragma once

#include "sort.hpp"

#include "../op/extremum.hpp"
#include "../op/reduce.hpp"
#include "../op/rounding.hpp"

namespace ebb::inline EBB_ABI {

/// The value of a quantile whose position is between two elements: on the line through both, the lower or the higher one, the mean of both,
/// or the nearer one.
enum class between { line, lower, higher, midpoint, nearest };

template <class Call>
struct refusal<365, Call> : Call {
  static_assert(Call::code != 365, "[ebb E0365] quantile: q has more than one axis, or the result would have more than eight");
};

template <class Call>
struct refusal<366, Call> : Call {
  static_assert(Call::code != 366, "[ebb E0366] quantile, median: the axis has no elements");
};

/// A number or a scalar operand, as a scalar of dtype T.
template <class T, class X>
constexpr operand<T> scalar_as(graph& g, X x) {
  if constexpr (is_operand<X>) return cast_to<T>(x);
  else return {&g, emit_as<op::literal, T>(g, g.intern({}), {}, {static_cast<std::int64_t>(literal_bits<T>(x))})};
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The order of the elements in each row: their places, and the count of those that are not NaN, which come first. Rows are along the last
/// axis.
template <class T>
struct order_of_rows {
  operand<T> rows;
  operand<std::int64_t> places, numbers, count;  // numbers: for each row, elements that are not NaN. count: elements of a row, a scalar

  constexpr order_of_rows(operand<T> x, int axis) : rows(axis_moved(x, axis, x.rank() - 1)) {
    const std::int64_t last = std::int64_t{1} << (x.rank() - 1);
    places = emit_on<op::argsort>({}, rows);
    count = count_along<std::int64_t>(rows, last);
    if constexpr (real_element<T>) {
      const auto is_number = emit_on<op::logical_not>({}, emit_on<op::isnan>({}, rows));
      numbers = sum_over(cast_to<std::int64_t>(is_number), last);
    } else {
      numbers = ebb::broadcast_to(count, x.g->intern(axes_between(rows.extents(), 0, x.rank() - 1)), axis_run(0, x.rank() - 1));
    }
  }
  /// The elements at the positions `index` in the order; each row has its own positions.   F: the function that errors name.
  template <class F>
  constexpr operand<T> at(operand<std::int64_t> index) const {
    const std::int64_t own = rows.rank() - 1;
    return emit_on<op::gather<std::int64_t, F>, T>({own}, rows, place<F>(index));
  }
  template <class F>
  constexpr operand<std::int64_t> place(operand<std::int64_t> index) const {
    return emit_on<op::gather<std::int64_t, F>, std::int64_t>({rows.rank() - 1}, places, index);
  }
};

template <int Axis, between Rule, bool SkipNan, bool Keep>
struct quantile {
  static constexpr std::string_view name = SkipNan ? "nanquantile" : "quantile";
  static constexpr precision autocast = precision::full;
  static constexpr bool keeps_numbers = true;  // 0.3 of 11 floats is the element 3, not one beside it

  template <class T, class Q>
  static constexpr auto apply(operand<T> x, Q given) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    graph& g = *x.g;
    const auto q = scalar_as<double>(g, given);
    if (x.is_refused() || q.is_refused()) return refuse<Real>(g, x.is_refused() ? -x.id : -q.id);
    const int axis = axis_of(Axis, x.rank()), last = x.rank() - 1;
    if (!has_axis(axis, x.rank())) return refuse<Real>(g, 103);
    if (x.extent(axis) == 0) return refuse<Real>(g, 366);
    const bool many = q.rank() == 1;
    if (q.rank() > 1 || (many && Keep && x.rank() == max_rank)) return refuse<Real>(g, 365);
    const order_of_rows<Wide> order(cast_to<Wide>(x), axis);
    const shape batch = axes_between(order.rows.extents(), 0, last);
    const auto wanted = many ? q : view_as(q, with_axis({}, 0, 1));
    const int wide = g.intern(g.syms.find(joined(batch, wanted.extents())));
    // The position in the order, in double. With a NaN, which comes last, all quantiles are NaN.
    const auto along = [&](auto each) { return ebb::broadcast_to(each, wide, std::int64_t{1} << last); };
    const auto spread = ebb::broadcast_to(wanted, wide, axis_run(0, last));
    const auto everywhere = [&](auto scalar) { return ebb::broadcast_to(scalar, wide, axis_run(0, last + 1)); };
    const auto top = SkipNan ? along(emit_on<op::maximum>({}, order.numbers - 1, literal_like(order.numbers, 0)))
                             : everywhere(order.count - 1);
    const auto position = spread * cast_to<double>(top);
    const auto element = [&](auto at) {
      auto index = cast_to<std::int64_t>(at);
      if (!SkipNan) index = emit_on<op::where>({}, emit_on<op::less_equal>({}, along(order.numbers), top), top, index);
      return order.template at<quantile>(index);
    };
    const auto r = cast_to<Real>(pick<Wide>(position, element));
    if (many) {
      const auto front = axis_moved(r, last, 0);
      return Keep ? view_as(front, with_axis(front.extents(), axis + 1, 1)) : front;
    }
    return view_as(r, Keep ? with_axis(batch, axis, 1) : batch);
  }

 private:
  template <class T>
  static constexpr operand<T> pick(auto position, auto element) {
    if constexpr (Rule == between::nearest) return element(emit_on<op::round>({}, position));
    else if constexpr (Rule == between::higher) return element(emit_on<op::ceil>({}, position));
    else {
      const auto below = emit_on<op::floor>({}, position);
      const operand<T> a = element(below);
      if constexpr (Rule == between::lower) return a;
      else {
        // The mean of equal infinities is the infinity: their difference would be NaN.
        const operand<T> b = element(emit_on<op::ceil>({}, position));
        const auto same = emit_on<op::logical_and>({}, emit_on<op::equal>({}, a, b), emit_on<op::isinf>({}, a));
        const auto step = emit_on<op::where>({}, same, literal_like(a, 0), b - a);
        if constexpr (Rule == between::midpoint) return a + step / 2;
        else return a + step * cast_to<T>(position - below);
      }
    }
  }
};

template <int Axis, bool SkipNan>
struct median_place {
  static constexpr std::string_view name = SkipNan ? "nanmedian" : "median";
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> given) {
    graph& g = *given.g;
    if (given.is_refused()) return refuse<std::int64_t>(g, -given.id);
    const int axis = axis_of(Axis, given.rank()), last = given.rank() - 1;
    if (!has_axis(axis, given.rank())) return refuse<std::int64_t>(g, 103);
    if (given.extent(axis) == 0) return refuse<std::int64_t>(g, 366);
    const order_of_rows<T> order(given, axis);
    // The lower middle of the numbers, or the first NaN.
    const auto middle = emit_on<op::maximum>({}, half(order.numbers - 1), literal_like(order.numbers, 0));
    const auto all = repeat(order.count, order.numbers, axis_run(0, last));
    const auto index = SkipNan ? middle : emit_on<op::where>({}, emit_on<op::equal>({}, order.numbers, all), middle, order.numbers);
    const auto place = order.template place<median_place>(view_as(index, with_axis(index.extents(), last, 1)));
    return view_as(place, without_axes(given.extents(), std::int64_t{1} << axis));
  }

 private:
  static constexpr operand<std::int64_t> half(auto n) {
    return cast_to<std::int64_t>(emit_on<op::floor>({}, cast_to<double>(n) * 0.5));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {

template <class... Tag>
inline constexpr bool are_keep_tags = sizeof...(Tag) <= 1 && (std::is_same_v<Tag, keep_dims_tag> && ...);

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The quantiles of x along an axis: the elements at position q (n - 1) in rising order, counted from 0. The rule says the value between
/// two elements. If a row has a NaN, its quantiles are NaN.
/// Shape: x's without the axis; if q is a vector, its axis comes first. With the tag keep_dims the axis stays, with extent 1.
/// Dtype: x's, integers give float; bf16 and f16 are computed in float. Positions are computed in double: a number q is not rounded to x's
/// dtype.
/// Saves: places, and the two elements for a gradient by q.   Error: 2 ulp of the larger of both elements.
/// Throws: if q is not in [0, 1], or a call's axis has no elements.
template <int Axis = -1, between Rule = between::line, class X, class Q, class... Tag>
constexpr auto quantile(X&& x, Q&& q, Tag...) {
  static_assert(detail::are_keep_tags<Tag...>, "[ebb E0367] quantile, nanquantile: after x and q comes nothing, or the tag ebb::keep_dims");
  return apply_function(functions::quantile<Axis, Rule, false, (sizeof...(Tag) > 0)>{}, std::forward<X>(x), std::forward<Q>(q));
}
/// quantile of the elements that are not NaN; NaN if there is none.   All other fields as quantile.
template <int Axis = -1, between Rule = between::line, class X, class Q, class... Tag>
constexpr auto nanquantile(X&& x, Q&& q, Tag...) {
  static_assert(detail::are_keep_tags<Tag...>, "[ebb E0367] quantile, nanquantile: after x and q comes nothing, or the tag ebb::keep_dims");
  return apply_function(functions::quantile<Axis, Rule, true, (sizeof...(Tag) > 0)>{}, std::forward<X>(x), std::forward<Q>(q));
}
/// The middle element along an axis, the lower one of two, and its place, in a tuple; the first NaN, if there is one.
/// Shape: x's without the axis.   Dtype: x's, and int64.   Saves: the place.   Error: exact.   Throws: if a call's axis has no elements.
template <int Axis = -1, class X>
constexpr auto median(const X& x) {
  const auto place = apply_function(functions::median_place<Axis, false>{}, x);
  return std::tuple(apply_function(functions::element_at<Axis>{}, x, place), place);
}
/// median of the elements that are not NaN; the first NaN, if there is no other element.   All other fields as median.
template <int Axis = -1, class X>
constexpr auto nanmedian(const X& x) {
  const auto place = apply_function(functions::median_place<Axis, true>{}, x);
  return std::tuple(apply_function(functions::element_at<Axis>{}, x, place), place);
}

}  // namespace ebb::inline EBB_ABI
