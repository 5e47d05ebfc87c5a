// ebb/reductions/differences.hpp — differences of neighbours along an axis, and integrals by trapezoids and by parabolas.
// SPDX-License-Identifier: BSL-1.0
//
//   diff(x)   diff<0, 2>(x)                              the second differences along axis 0
//   trapezoid(y)   trapezoid<0>(y, 0.5)   trapezoid(y, x)   at points 1 apart, at points 0.5 apart, at the points x
//   simpson<1>(y, 0.5)                                   at points 0.5 apart, whose number is static
#pragma once

#include "../op/bits.hpp"
#include "../op/recurrence.hpp"
#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<374, Call> : Call {
  static_assert(Call::code != 374, "[ebb E0374] diff, trapezoid, cumulative_trapezoid: the axis has too few elements");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// All elements along an axis except the last one, or except the first one.
template <int Axis>
struct neighbours {
  template <class T>
  static constexpr operand<T> left(operand<T> x) {
    return slice<Axis, 0, -1, 1>::apply(x);
  }
  template <class T>
  static constexpr operand<T> right(operand<T> x) {
    return slice<Axis, 1, to_end, 1>::apply(x);
  }
  /// 0, or the code that refuses x.
  template <class T>
  static constexpr int code(operand<T> x, int least) {
    if (x.is_refused()) return -x.id;
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return 103;
    return x.extent(axis) >= 0 && x.extent(axis) < least ? 374 : 0;
  }
};

template <int Axis, int N>
struct diff {
  static constexpr detail::spelled name{"diff", Axis, N};
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Number = std::conditional_t<std::is_same_v<T, bool>, std::int64_t, T>;
    if (const int code = neighbours<Axis>::code(x, N); code != 0) return refuse<Number>(*x.g, code);
    auto y = cast_to<Number>(x);
    for (int i = 0; i < N; ++i) y = neighbours<Axis>::right(y) - neighbours<Axis>::left(y);
    return y;
  }
};

/// The areas of the trapezoids between neighbours: mean height times width.
template <int Axis, bool Running>
struct trapezoids {
  static constexpr std::string_view name = Running ? "cumulative_trapezoid" : "trapezoid";
  template <class T>
  static constexpr auto apply(operand<T> y) {
    return areas_of<T>(y, [](auto heights, int) { return heights; });
  }
  template <class T>
  static constexpr auto apply(operand<T> y, number auto width) {
    return areas_of<T>(y, [width](auto heights, int) { return heights * beside<promoted_to_real<T>>(width); });
  }
  /// x is the width, a scalar, or the points: a vector, or an array with the axes of y.
  template <class T, class X>
  static constexpr auto apply(operand<T> y, operand<X> x) {
    return areas_of<promoted<T, X>>(y, [x, y](auto heights, int axis) {
      using Wide = typename decltype(heights)::value_type;
      if (x.is_refused()) return refuse<Wide>(*x.g, -x.id);
      const auto points = cast_to<Wide>(x);
      if (x.rank() == 0) return detail::broadcasting<op::mul>::apply(heights, points);
      if (x.rank() != 1 && x.rank() != y.rank()) return refuse<Wide>(*x.g, 102);
      const auto row = x.rank() == 1 ? points : axis_moved(points, axis, x.rank() - 1);
      if (row.extent(row.rank() - 1) == 0) return refuse<Wide>(*x.g, 102);
      return detail::broadcasting<op::mul>::apply(heights, neighbours<-1>::right(row) - neighbours<-1>::left(row));
    });
  }

 private:
  template <class Given, class T>
  static constexpr auto areas_of(operand<T> given, auto times_width) {
    using Real = promoted_to_real<Given>;
    if (const int code = neighbours<Axis>::code(given, 1); code != 0) return refuse<Real>(*given.g, code);
    const int last = given.rank() - 1, axis = axis_of(Axis, given.rank());
    const auto y = axis_moved(cast_to<detail::computed_in<Real>>(given), axis, last);
    const auto areas = times_width((neighbours<-1>::left(y) + neighbours<-1>::right(y)) / 2, axis);
    if (areas.is_refused()) return refuse<Real>(*given.g, -areas.id);
    if constexpr (Running) return cast_to<Real>(axis_moved(cumsum<-1, 0>::apply(areas), last, axis));
    else return cast_to<Real>(sum<false, -1>::apply(areas));
  }
};

/// The integral of parabolas through three points each, two intervals at a time: points are 1 apart, and the sum is multiplied by the
/// width. If the number of intervals is odd, the last one belongs to the parabola through the last three points.
template <int Axis>
struct simpson {
  static constexpr detail::spelled name{"simpson", Axis};
  template <class T>
  static constexpr auto apply(operand<T> y) {
    return apply(y, 1);
  }
  template <class T, class W>
  static constexpr auto apply(operand<T> given, W width) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    graph& g = *given.g;
    if (const int code = neighbours<Axis>::code(given, 1); code != 0) return refuse<Real>(g, code);
    const int last = given.rank() - 1, axis = axis_of(Axis, given.rank()), n = given.extent(axis);
    if (n < 0) return refuse<Real>(g, 378);
    if constexpr (is_operand<W>)
      if (width.is_refused() || width.rank() != 0) return refuse<Real>(g, width.is_refused() ? -width.id : 379);
    const auto y = axis_moved(cast_to<Wide>(given), axis, last);
    // The weight of each point in twelfths: small integers, exact in each dtype.
    const auto index = index_along<std::int32_t>(g, y.shape_number(), last);
    const auto at = [&](int i) { return emit_on<op::equal>({}, index, literal_like(index, i)); };
    const auto number = [&](double x) { return literal_like(y, x); };
    const auto set = [&](auto where, auto value, auto other) { return emit_on<op::where>({}, where, value, other); };
    auto weights = number(0);
    if (n == 2) weights = number(6);
    if (n > 2) {
      const int whole = n % 2 ? n : n - 1;  // the number of points in whole pairs of intervals
      const auto odd = emit_on<op::equal>({}, emit_on<op::bitwise_and>({}, index, literal_like(index, 1)), literal_like(index, 1));
      weights = set(odd, number(16), number(8));
      weights = set(at(0), number(4), weights);
      weights = set(at(whole - 1), number(4), weights);
      if (whole < n) {
        weights = set(at(n - 3), number(15), weights);
        weights = set(at(n - 2), number(12), weights);
        weights = set(at(n - 1), number(5), weights);
      }
    }
    const auto r = sum<false, -1>::apply(operand<Wide>(y * weights)) / 12;
    if constexpr (is_operand<W>) return cast_to<Real>(r.is_refused() ? r : detail::broadcasting<op::mul>::apply(r, cast_to<Wide>(width)));
    else return cast_to<Real>(r.is_refused() ? r : r * beside<Real>(width));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<378, Call> : Call {
  static_assert(Call::code != 378, "[ebb E0378] simpson: the number of points must be known while tracing: it decides the weights");
};

template <class Call>
struct refusal<379, Call> : Call {
  static_assert(Call::code != 379, "[ebb E0379] simpson: the width between two points is a number or a scalar");
};

/// Differences of neighbours along an axis, by default the last one; N times.   diff(x), diff<0, 2>(x)
/// Shape: x's, with N fewer elements along the axis.   Dtype: x's, bool gives int64.   Saves: nothing.   Error: that of N differences.
/// Throws: if a call's axis has fewer than N elements.
template <int Axis = -1, int N = 1, class X>
constexpr auto diff(X&& x) {
  static_assert(N >= 0, "[ebb E0375] diff: differences are taken 0 times or more");
  return apply_function(functions::diff<Axis, (N >= 0 ? N : 0)>{}, std::forward<X>(x));
}
/// The integral of y along an axis, by default the last one, by trapezoids: at points 1 apart, or a given width apart, or at points x.
/// Shape: y's without the axis. x: a vector along the axis, or an array like y.   Dtype: promoted; integers give float.
/// Saves: nothing; with points: y, x.   Error: that of the sum.   Throws: if a call's y or x has no element along the axis.
template <int Axis = -1, class Y, class... X>
constexpr auto trapezoid(Y&& y, X&&... x) {
  static_assert(sizeof...(X) <= 1, "[ebb E0376] trapezoid, cumulative_trapezoid: after y comes nothing, a width, or the points");
  if constexpr (sizeof...(X) <= 1) return apply_function(functions::trapezoids<Axis, false>{}, std::forward<Y>(y), std::forward<X>(x)...);
  else return std::forward<Y>(y);
}
/// The integrals up to each point except the first one.   Shape: y's, with one element fewer along the axis.   All other fields as
/// trapezoid.
template <int Axis = -1, class Y, class... X>
constexpr auto cumulative_trapezoid(Y&& y, X&&... x) {
  static_assert(sizeof...(X) <= 1, "[ebb E0376] trapezoid, cumulative_trapezoid: after y comes nothing, a width, or the points");
  if constexpr (sizeof...(X) <= 1) return apply_function(functions::trapezoids<Axis, true>{}, std::forward<Y>(y), std::forward<X>(x)...);
  else return std::forward<Y>(y);
}
/// The integral of y along an axis, by default the last one, by Simpson's rule: at points 1 apart, or a given width apart. The number of
/// points is known while tracing; an even number of points is treated as scipy.integrate.simpson does.
/// Shape: y's without the axis.   Dtype: y's, integers give float.   Saves: nothing; with a width that has a gradient: the sum.
/// Error: that of the sum.
template <int Axis = -1, class Y, class... Width>
constexpr auto simpson(Y&& y, Width&&... width) {
  static_assert(sizeof...(Width) <= 1, "[ebb E0379] simpson: the width between two points is a number or a scalar");
  if constexpr (sizeof...(Width) <= 1) return apply_function(functions::simpson<Axis>{}, std::forward<Y>(y), std::forward<Width>(width)...);
  else return std::forward<Y>(y);
}

}  // namespace ebb::inline EBB_ABI
