// ebb/op/recurrence.hpp — running products, running extrema, running logarithms of sums, and linear recurrences, along an axis.
// SPDX-License-Identifier: BSL-1.0
//
//   linear_scan(a, b)          y = a y + b at each element, along the last axis
//   cumprod<0>(x, reversed)    cummax(x)   cummin<1>(x)   logcumsumexp(x)
#pragma once

#include "../kernel/recurrence.hpp"
#include "along.hpp"
#include "reduce.hpp"
#include "scan.hpp"
#include "whole.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// A flag in attr 0 of linear_scan, beside scan_reversed: each step takes the factor at the element of the step before.
inline constexpr std::int64_t factor_late = 2;

/// Inside rules: x moved by one place along its last axis, to the left or to the right. The place that becomes free is 0.
template <class T>
constexpr operand<T> moved_by_one(operand<T> x, bool left) {
  if (x.is_refused()) return x;
  graph& g = *x.g;
  const int last = x.rank() - 1, more = g.syms.derive(extent_rule::sum, x.extent(last), 1);
  const auto longer = place_in(x, {last, left ? 0 : 1}, g.intern(with_extent(x.extents(), last, more)));
  return slice_as(longer, {last, left ? 1 : 0}, x.shape_number());
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The base of recurrences along the last axis. attr 0: the flags scan_reversed and factor_late.
struct recurrence : op_base {
  static constexpr kind what = kind::rows;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;

 protected:
  static constexpr kernel::recurrence steps(std::size_t length, std::int64_t flags) {
    return {length, (flags & scan_reversed) != 0, (flags & factor_late) != 0};
  }
  template <class T>
  static constexpr const T* elements(const void* p) {
    return static_cast<const T*>(p);
  }
};

/// y = a y + b along the last axis, y = b at the first element.   Saves: a, out.   Error: a chain of products and sums.
struct linear_scan : recurrence {
  static constexpr std::string_view name = "linear_scan";
  static constexpr int arity = 2;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    if (in[0].rank < 1) return refused(103);
    return s.unify(in[0], in[1]) ? s.find(in[0]) : refused(102);
  }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t*, T* out, std::size_t n, const std::int64_t* attr) {
    kernel::linear_rows<1>(steps(n, attr[0]), in[0], in[1], out);
  }
  template <class T>
  static void whole(const whole_call& c) {
    const int last = c.result.rank - 1;
    if (c.result.volume() == 0) return;
    kernel::linear_rows(steps(c.result.e[last], c.attr[0]), elements<T>(c.in[0]), elements<T>(c.in[1]), static_cast<T*>(c.out),
                        c.result.volume(0, last));
  }
  static constexpr auto pull(auto g, auto a, auto, auto out) {
    const std::int64_t flags = out.attribute(0);
    const bool reversed = flags & scan_reversed, late = flags & factor_late;
    const auto l = emit_on<linear_scan>({flags ^ scan_reversed ^ factor_late}, a, g);
    return grads(late ? moved_by_one(l, !reversed) * out : l * moved_by_one(out, reversed), l);
  }
};

/// Running products. Their derivative is a linear_scan without a division: it is right for any number of zeros.
/// Saves: x.   Error: a chain of products.
struct cumprod : running {
  static constexpr std::string_view name = "cumprod";
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated * x; }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out) {
    const int axis = static_cast<int>(out.attribute(0));
    const std::int64_t flags = out.attribute(1);
    const bool reversed = flags & scan_reversed, exclusive = flags & scan_exclusive;
    const int last = x.rank() - 1;
    auto seen = axis_moved(g, axis, last);
    if (exclusive) seen = moved_by_one(seen, !reversed);
    const auto after = emit_on<linear_scan>({(flags & scan_reversed) ^ scan_reversed ^ factor_late}, axis_moved(x, axis, last), seen);
    const auto before = exclusive ? out : emit_on<cumprod>({axis, flags | scan_exclusive}, x);
    return grads(before * axis_moved(operand<T>(after), last, axis));
  }
};

/// The places of a running extremum: at each step, the last step so far whose element equals it, or is NaN. They are found in I: twice as
/// many places of an axis of static length fit into a register in 32 bits.
template <class Latest, class I, class T>
constexpr operand<std::int64_t> places_of_extremum(operand<T> x, operand<T> extremum, int axis, std::int64_t flags, I none) {
  auto hit = emit_on<equal>({}, x, extremum);
  if constexpr (real_element<T>) hit = emit_on<logical_or>({}, hit, emit_on<isnan>({}, x));
  const auto index = index_along<I>(*x.g, x.shape_number(), axis);
  return cast_to<std::int64_t>(emit_on<Latest>({axis, flags}, emit_on<where>({}, hit, index, literal_like(index, none))));
}
template <class T>
constexpr operand<std::int64_t> places_of_extremum(operand<T> x, operand<T> extremum, int axis, std::int64_t flags);

/// The gradient goes to the element at the place of the extremum.   Saves: x, out.
struct running_extremum : running {
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out) {
    const int axis = static_cast<int>(out.attribute(0));
    const int last = x.rank() - 1;
    const auto places = axis_moved(places_of_extremum(x, out, axis, out.attribute(1)), axis, last);
    const auto rows = axis_moved(g, axis, last);
    return grads(axis_moved(cast_to<T>(summed_at<functions::take>(rows, places, rows.extents(), last)), last, axis));
  }
};

/// Running maxima; from a NaN on, NaN.   Saves: x, out.   Error: exact.
struct cummax : running_extremum, larger {
  static constexpr std::string_view name = "cummax";
};

/// Running minima; from a NaN on, NaN.   Saves: x, out.   Error: exact.
struct cummin : running_extremum, smaller {
  static constexpr std::string_view name = "cummin";
};

template <class T>
constexpr operand<std::int64_t> places_of_extremum(operand<T> x, operand<T> extremum, int axis, std::int64_t flags) {
  // The last step has the largest place, or in a reversed scan the smallest one.
  const auto found_in = [&]<class I>(I) {
    if (flags & scan_reversed) return places_of_extremum<cummin, I>(x, extremum, axis, flags, highest<I>);
    return places_of_extremum<cummax, I>(x, extremum, axis, flags, I(-1));
  };
  return x.extent(axis) >= 0 ? found_in(std::int32_t()) : found_in(std::int64_t());  // a static extent is an int
}

/// Running logarithms of sums of e^x along the last axis.   Saves: x, out.
/// Error: that of exp, of the sum and of log.
struct logcumsumexp : recurrence {
  static constexpr std::string_view name = "logcumsumexp";
  static constexpr int arity = 1;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    return in[0].rank < 1 ? refused(103) : s.find(in[0]);
  }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t*, T* out, std::size_t n, const std::int64_t* attr) {
    kernel::logcumsumexp_row(steps(n, attr[0]), in[0], out);
  }
  template <class T>
  static void whole(const whole_call& c) {
    const int last = c.result.rank - 1;
    if (c.result.volume() == 0) return;
    kernel::logcumsumexp_rows(steps(c.result.e[last], c.attr[0]), elements<T>(c.in[0]), static_cast<T*>(c.out), c.result.volume(0, last));
  }
  /// The gradient of x_k is the sum of g_i e^(x_k - y_i) over i >= k: e^(x_k - y_k) times a recurrence whose factors e^(y_k - y_(k+1)) are
  /// at most 1. Equal numbers, infinities too, have the difference 0.
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> y) {
    const std::int64_t flags = y.attribute(0);
    const auto zero = literal_like(y, 0);
    const auto difference = [&](auto a, auto b) { return emit_on<where>({}, emit_on<equal>({}, a, b), zero, a - b); };
    const auto before = moved_by_one(y, (flags & scan_reversed) != 0);
    // The place that becomes free is that of the first step, which has no factor: the difference there is 0.
    const auto index = index_along<std::int64_t>(*y.g, y.shape_number(), y.rank() - 1);
    const auto first = flags & scan_reversed ? moved_by_one(index, true) : index;
    const auto is_first = emit_on<equal>({}, first, literal_like(index, 0));
    const auto factor = emit_on<exp>({}, difference(emit_on<where>({}, is_first, y, before), y));
    const auto l = emit_on<linear_scan>({(flags ^ scan_reversed) | factor_late}, factor, g);
    return grads(l * emit_on<exp>({}, difference(x, y)));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <int Axis, std::int64_t Flags>
struct cumprod {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Product = std::conditional_t<real_element<T>, T, std::int64_t>;
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<Product>(*x.g, 103);
    return cast_to<Product>(emit_on<op::cumprod>({axis, Flags}, cast_to<detail::computed_in<Product>>(x)));
  }
};

/// A running extremum, or its places.
template <class Op, int Axis, std::int64_t Flags, bool Places>
struct cumulative_extremum {
  static constexpr std::string_view name = Op::name;
  template <class T>
  static constexpr auto apply(operand<T> given) {
    using Value = std::conditional_t<std::is_same_v<T, bool>, std::int64_t, T>;
    using Result = std::conditional_t<Places, std::int64_t, Value>;
    const int axis = axis_of(Axis, given.rank());
    if (given.is_refused() || !has_axis(axis, given.rank())) return refuse<Result>(*given.g, given.is_refused() ? -given.id : 103);
    const auto x = cast_to<Value>(given);
    const auto extremum = emit_on<Op>({axis, Flags}, x);
    if constexpr (Places) return op::places_of_extremum(x, operand<Value>(extremum), axis, Flags);
    else return operand<Value>(extremum);
  }
};

template <int Axis, std::int64_t Flags>
struct logcumsumexp {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    const int axis = axis_of(Axis, x.rank());
    if (x.is_refused() || !has_axis(axis, x.rank())) return refuse<Real>(*x.g, x.is_refused() ? -x.id : 103);
    const int last = x.rank() - 1;
    const operand<Wide> r = emit_on<op::logcumsumexp>({Flags}, axis_moved(cast_to<Wide>(x), axis, last));
    return cast_to<Real>(axis_moved(r, last, axis));
  }
};

template <int Axis, std::int64_t Flags>
struct linear_scan {
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using Real = decltype(detail::accepted<op::linear_scan, promoted<A, B>>());
    using Wide = detail::computed_in<Real>;
    graph& g = *a.g;
    if (a.is_refused() || b.is_refused()) return refuse<Real>(g, a.is_refused() ? -a.id : -b.id);
    const shape in[] = {a.extents(), b.extents()};
    const shape common = broadcast_shapes(g.syms, in, 2);
    if (common.is_refused()) return refuse<Real>(g, common.code());
    const int axis = axis_of(Axis, common.rank), last = common.rank - 1;
    if (!has_axis(axis, common.rank)) return refuse<Real>(g, 103);
    const auto rows = [&](auto x) { return axis_moved(operand<Wide>(detail::fit(cast_to<Wide>(x), common)), axis, last); };
    const operand<Wide> r = emit_on<op::linear_scan>({Flags}, rows(a), rows(b));
    return cast_to<Real>(axis_moved(r, last, axis));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {

template <class... Tag>
inline constexpr bool are_direction_tags = sizeof...(Tag) <= 1 && (std::is_same_v<Tag, reversed_tag> && ...);

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// Running products along an axis, by default the last one.   Shape: x's.
/// Dtype: integers and bool give int64; bf16 and f16 are multiplied in float and each result is rounded once.
/// Saves: x.   Error: a chain of products in rising order, see [note: order of a scan]. The gradient has no division, so zeros
/// do it no harm.
template <int Axis = -1, class X, class... Tag>
constexpr auto cumprod(X&& x, Tag...) {
  static_assert((detail::is_scan_tag<Tag> && ...),
                "[ebb E0283] cumsum, cumprod: after the array come tags: ebb::reversed, ebb::exclusive_scan");
  return apply_function(functions::cumprod<Axis, (std::int64_t{0} | ... | detail::scan_flag<Tag>())>{}, std::forward<X>(x));
}
/// Running maxima along an axis, by default the last one, and their places, in a tuple: the place of the last equal maximum so far. A NaN
/// is the maximum from its place on. The gradient goes to the element at the place.
/// Shape: x's.   Dtype: x's, bool gives int64; places are int64.   Saves: x, the maxima.   Error: exact.
template <int Axis = -1, class X, class... Tag>
constexpr auto cummax(const X& x, Tag...) {
  static_assert(detail::are_direction_tags<Tag...>, "[ebb E0364] cummax, cummin, logcumsumexp, linear_scan: the only tag is ebb::reversed");
  constexpr std::int64_t flags = sizeof...(Tag) > 0 ? scan_reversed : 0;
  return std::tuple(apply_function(functions::cumulative_extremum<op::cummax, Axis, flags, false>{}, x),
                    apply_function(functions::cumulative_extremum<op::cummax, Axis, flags, true>{}, x));
}
/// Running minima and their places.   All fields as cummax.
template <int Axis = -1, class X, class... Tag>
constexpr auto cummin(const X& x, Tag...) {
  static_assert(detail::are_direction_tags<Tag...>, "[ebb E0364] cummax, cummin, logcumsumexp, linear_scan: the only tag is ebb::reversed");
  constexpr std::int64_t flags = sizeof...(Tag) > 0 ? scan_reversed : 0;
  return std::tuple(apply_function(functions::cumulative_extremum<op::cummin, Axis, flags, false>{}, x),
                    apply_function(functions::cumulative_extremum<op::cummin, Axis, flags, true>{}, x));
}
/// Running logarithms of sums of e^x along an axis, by default the last one, without overflow.   Shape: x's.
/// Dtype: integers give float; bf16 and f16 are computed in float.   Saves: x, out.   Error: that of exp, of the sum and of log. If
/// x is -inf from the first element on, its gradient is finite: PyTorch gives NaN.
template <int Axis = -1, class X, class... Tag>
constexpr auto logcumsumexp(X&& x, Tag...) {
  static_assert(detail::are_direction_tags<Tag...>, "[ebb E0364] cummax, cummin, logcumsumexp, linear_scan: the only tag is ebb::reversed");
  return apply_function(functions::logcumsumexp<Axis, (sizeof...(Tag) > 0 ? scan_reversed : 0)>{}, std::forward<X>(x));
}
/// The linear recurrence y = a y + b along an axis, by default the last one, with y = b at the first element: a filter, a discounted sum,
/// or the state of a linear system.
/// Shape: those of a and b, broadcast.   Dtype: promoted; integers give float; bf16 and f16 are computed in float.   Saves: a, out.
/// Error: a chain of products and sums in rising order, see [note: order of a scan]; along an axis that is not the last one both operands
/// are transposed.
template <int Axis = -1, class A, class B, class... Tag>
constexpr auto linear_scan(A&& a, B&& b, Tag...) {
  static_assert(detail::are_direction_tags<Tag...>, "[ebb E0364] cummax, cummin, logcumsumexp, linear_scan: the only tag is ebb::reversed");
  return apply_function(functions::linear_scan<Axis, (sizeof...(Tag) > 0 ? scan_reversed : 0)>{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace ebb::inline EBB_ABI
