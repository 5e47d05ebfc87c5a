// ebb/op/reduce.hpp — reductions over any axes: sum, mean, prod, max, min, argmax, argmin, logsumexp, any, all.
// SPDX-License-Identifier: BSL-1.0
//
//   sum(x)                   over all axes          sum<0, -1>(x)               over some axes
//   sum<1>(x, keep_dims)     the axis stays, with extent 1
// Shape, for all of them: x's without the given axes; [] if none is given.
#pragma once

#include "axes.hpp"
#include "exponential.hpp"
#include "extremum.hpp"
#include "extremum_place.hpp"
#include "move.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::op {

template <class T>
inline constexpr T lowest = std::numeric_limits<T>::has_infinity ? -infinity<T> : std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T highest = std::numeric_limits<T>::has_infinity ? infinity<T> : std::numeric_limits<T>::max();

/// Equal extrema share the gradient evenly. If a NaN is the result, all NaNs share it: that is torch.max's rule over all elements; along
/// an axis torch.max gives the gradient to a NaN too. torch.amax makes the gradient of the whole row NaN; one op can follow only one rule.
struct shared_by_ties : reduction {
  static constexpr bool needs_elements = true;
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out) {
    const std::int64_t mask = axis_run(out.attribute(0), out.attribute(1));
    const auto same = emit_on<equal>({}, x, broadcast_to(out, x.shape_number(), mask));
    const auto tied = emit_on<logical_or>({}, same, emit_on<isnan>({}, x));
    const auto share = g / sum_over(cast_to<T>(tied), mask);
    return grads(emit_on<where>({}, tied, broadcast_to(share, x.shape_number(), mask), literal_like(x, 0)));
  }
};

/// How max and cummax combine elements: the larger one, or NaN.
struct larger {
  template <class T>
  static constexpr T identity() {
    return lowest<T>;
  }
  // With this order a step waits for one maximum and one select of the previous step: the comparison with NaN is not in the chain.
  static constexpr auto value(auto accumulated, auto x) { return lane::maximum(x, accumulated); }
  static constexpr auto ordered(auto accumulated, auto x) { return lane::at_least(accumulated, x); }
};
/// How min and cummin combine elements: the smaller one, or NaN.
struct smaller {
  template <class T>
  static constexpr T identity() {
    return highest<T>;
  }
  static constexpr auto value(auto accumulated, auto x) { return lane::minimum(x, accumulated); }
  static constexpr auto ordered(auto accumulated, auto x) { return lane::at_most(accumulated, x); }
};

/// The largest element over adjacent axes; NaN if there is one.   Saves: x, out.   Error: exact.
struct max : shared_by_ties, larger {
  static constexpr std::string_view name = "max";
  static constexpr auto combined(auto accumulated, auto x) { return emit_on<maximum>({}, x, accumulated); }
};

/// The smallest element over adjacent axes; NaN if there is one.   Saves: x, out.   Error: exact.
struct min : shared_by_ties, smaller {
  static constexpr std::string_view name = "min";
  static constexpr auto combined(auto accumulated, auto x) { return emit_on<minimum>({}, x, accumulated); }
};

/// The extrema of reductions/sums.hpp: errors name the functions that users call.
struct amax : max {
  static constexpr std::string_view asker = "amax";
};
struct amin : min {
  static constexpr std::string_view asker = "amin";
};
struct larger_of_aminmax : max {
  static constexpr std::string_view asker = "aminmax";
};
struct smaller_of_aminmax : min {
  static constexpr std::string_view asker = "aminmax";
};

/// max for softmax and logsumexp: -inf over no elements, no gradient, and NaNs are skipped. Their results do not depend on the shift, and
/// a NaN passes through their sums.
struct peak : max {
  static constexpr std::string_view name = "peak";
  static constexpr bool needs_elements = false;
  static constexpr auto value(auto accumulated, auto x) { return lane::at_least(accumulated, x); }
  static void ordered() = delete;  // that of max is no quicker
  static constexpr auto combined(auto accumulated, auto x) {
    return emit_on<where>({}, emit_on<less>({}, accumulated, x), x, accumulated);
  }
  static constexpr auto first(auto x) { return combined(literal_like(x, -infinity<double>), x); }
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

/// The product over adjacent axes.   Saves: x, out.   Error: that of as many products.
/// Its derivative is out / x. If x is 0 it is the product of the others, exact for any number of zeros, and so is the second derivative.
/// If x is an infinity or NaN it is the product of the others too, but NaN for a NaN beside an infinity.
struct prod : reduction {
  static constexpr std::string_view name = "prod";
  static constexpr precision autocast = precision::full;
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated * x; }
  static constexpr auto combined(auto accumulated, auto x) { return accumulated * x; }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out) {
    const std::int64_t first = out.attribute(0), last = out.attribute(1), mask = axis_run(first, last);
    const auto along = [&](auto y) { return broadcast_to(y, x.shape_number(), mask); };
    const auto zero = literal_like(x, 0), one = literal_like(x, 1);
    const auto is_zero = emit_on<equal>({}, x, zero), is_finite = emit_on<isfinite>({}, x);
    // The elements, with 1 for some of them; the number of those; the product of the others.
    const auto without = [&](auto kept) { return emit_on<where>({}, kept, x, one); };
    const auto count = [&](auto kept) { return along(sum_over(emit_on<where>({}, kept, zero, one), mask)); };
    const auto others = [&](auto safe) { return along(emit_on<prod>({first, last}, safe)); };
    // Next to one zero: the others' product. Next to two: that times the other zero, which has a derivative. Next to three: 0.
    const auto safe = without(emit_on<logical_not>({}, is_zero)), zeros = count(emit_on<logical_not>({}, is_zero));
    const auto other_zero = along(sum_over(emit_on<where>({}, is_zero, x, zero), mask)) - x;
    const auto beside = emit_on<where>({}, emit_on<equal>({}, zeros, one), one,
                                       emit_on<where>({}, emit_on<equal>({}, zeros, literal_like(x, 2)), other_zero, zero));
    // Next to several infinities the others' product has the sign of out without that of x.
    const auto beside_infinity = emit_on<where>({}, emit_on<equal>({}, count(is_finite), one), others(without(is_finite)),
                                                along(out) * emit_on<sign>({}, x));
    const auto finite = emit_on<where>({}, is_zero, others(safe) * beside, along(out) / safe);
    return grads(along(g) * emit_on<where>({}, is_finite, finite, beside_infinity));
  }
};

/// Whether any element is true over adjacent axes.
struct any : reduction {
  static constexpr std::string_view name = "any";
  static constexpr domain accepts = domain::boolean;
  template <class T>
  static constexpr T identity() {
    return false;
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated || x; }
};

/// Whether all elements are true over adjacent axes.
struct all : reduction {
  static constexpr std::string_view name = "all";
  static constexpr domain accepts = domain::boolean;
  template <class T>
  static constexpr T identity() {
    return true;
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated && x; }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Inside rules: Op over the axes in `mask`. Axes that are not adjacent are permuted to the end first.
template <class Op, class T>
constexpr operand<T> reduce_over(operand<T> x, std::int64_t mask) {
  if (mask == 0) return x;
  int order[max_rank] = {}, count = 0;
  for (const bool reduced : {false, true})
    for (int i = 0; i < x.rank(); ++i)
      if ((mask >> i & 1) == reduced) order[count++] = i;
  int first = 0, last = x.rank();
  while (!(mask >> first & 1)) ++first;
  while (!(mask >> (last - 1) & 1)) --last;
  if (mask == axis_run(first, last)) return emit_on<Op>({first, last}, x);
  const int kept = without_axes(x.extents(), mask).rank;
  return emit_on<Op>({kept, x.rank()}, emit_on<op::permute>({pack_axes(order, count)}, x));
}

template <class Call>
struct refusal<116, Call> : Call {
  static_assert(Call::code != 116, "[ebb E0116] the largest or smallest of no elements: the axis has extent 0");
};

namespace functions {

/// The common form of reductions: f(x, mask) drops the axes in the mask. If Keep is true, they stay with extent 1.
template <bool Keep, int... Axes>
constexpr auto reduced(auto x, auto f) -> decltype(f(x, std::int64_t{})) {
  const std::int64_t mask = axes_mask<Axes...>(x.rank());
  if (mask < 0) return {x.g, -103};
  const auto r = f(x, mask);
  if (!Keep) return r;
  shape kept = x.extents();
  for (int i = 0; i < kept.rank; ++i)
    if (mask >> i & 1) kept.e[i] = 1;
  return view_as(r, kept);
}
/// The same with a result of dtype Result: narrow floats are computed in float, and the result is rounded once.
template <class Result, bool Keep, int... Axes>
constexpr operand<Result> reduced_as(auto x, auto f) {
  return cast_to<Result>(reduced<Keep, Axes...>(cast_to<detail::computed_in<Result>>(x), f));
}

template <bool Keep, int... Axes>
struct sum {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Sum = std::conditional_t<real_element<T>, T, std::int64_t>;
    return reduced<Keep, Axes...>(cast_to<Sum>(x), [](auto y, std::int64_t mask) { return sum_over(y, mask); });
  }
};

template <bool Keep, int... Axes>
struct mean {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced_as<promoted_to_real<T>, Keep, Axes...>(x, []<class Wide>(operand<Wide> y, std::int64_t mask) {
      const auto total = sum_over(y, mask);
      return total / repeat(count_along<Wide>(y, mask), total, axis_run(0, total.rank()));
    });
  }
};

template <class Op, bool Keep, int... Axes>
struct extremum {
  static constexpr std::string_view name = [] {
    if constexpr (requires { Op::asker; }) return Op::asker;
    else return Op::name;
  }();
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced<Keep, Axes...>(x, [](auto y, std::int64_t mask) {
      if (volume_of(y.g->syms, without_axes(y.extents(), ~mask)) == 0) return refuse<T>(*y.g, 116);
      return reduce_over<Op>(y, mask);
    });
  }
};

template <bool Keep, int... Axes>
struct prod {
  static constexpr precision autocast = op::prod::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Product = std::conditional_t<real_element<T>, T, std::int64_t>;
    return reduced_as<Product, Keep, Axes...>(x, [](auto y, std::int64_t mask) { return reduce_over<op::prod>(y, mask); });
  }
};

template <class Op, bool Keep, int... Axes>
struct truth {
  static constexpr std::string_view name = Op::name;
  static constexpr auto apply(auto x) {
    return reduced<Keep, Axes...>(cast_to<bool>(x), [](auto y, std::int64_t mask) { return reduce_over<Op>(y, mask); });
  }
};

template <bool Keep, int... Axes>
struct logsumexp {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced_as<promoted_to_real<T>, Keep, Axes...>(x, [](auto y, std::int64_t mask) {
      // No shift if the largest element is infinite: the results for -inf and inf are right without it.
      const auto top = reduce_over<op::peak>(y, mask);
      const auto shift = emit_on<op::where>({}, emit_on<op::isfinite>({}, top), top, literal_like(top, 0));
      const auto total = sum_over(emit_on<op::exp>({}, y - repeat(shift, y, mask)), mask);
      return shift + emit_on<op::log>({}, total);
    });
  }
};

/// The index of the first extremum along one axis, or over all elements in row-major order; that of the first NaN if there is one.
template <class Op, bool Keep, int... Axis>
struct place_of {
  static constexpr std::string_view name = Op::name;
  static_assert(sizeof...(Axis) <= 1, "[ebb E0121] argmax and argmin take one axis, or none for all elements in their order");
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> x) {
    if constexpr (sizeof...(Axis) == 0) {
      shape flat;
      flat.push(volume_of(x.g->syms, x.extents()));
      const auto r = place_of<Op, false, 0>::apply(view_as(x, flat));
      shape ones;
      if (Keep)
        for (int i = 0; i < x.rank(); ++i) ones.push(1);
      return view_as(r, ones);
    } else {
      return reduced<Keep, Axis...>(x, [](auto y, std::int64_t) -> operand<std::int64_t> {
        const int axis = axis_of((Axis, ...), y.rank());
        if (y.extent(axis) == 0) return refuse<std::int64_t>(*y.g, 116);
        return emit_on<Op>({y.rank() - 1 - axis}, y);
      });
    }
  }
};

}  // namespace functions

/// Sum.   Dtype: integers and bool give int64.   Saves: nothing.   Error: see [note: logical reduction tree].
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto sum(X&& x, Keep = {}) {
  return apply_function(functions::sum<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// Arithmetic mean; NaN over no elements.   Dtype: integers give float.   Saves: nothing.   Error: that of the sum, and 0.5 ulp.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto mean(X&& x, Keep = {}) {
  return apply_function(functions::mean<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// Product; 1 over no elements. The gradient of an element is the product of the others, next to and at zeros and infinities too.
/// Dtype: integers and bool give int64.   Saves: x, out.   Error: that of as many products.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto prod(X&& x, Keep = {}) {
  return apply_function(functions::prod<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The largest element; NaN if any is. Equal ones share the gradient evenly, as in torch.amax; NaNs do, as in torch.max over all.
/// Dtype: x's.   Saves: x, out.   Error: exact.   Throws: if there are no elements.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto max(X&& x, Keep = {}) {
  return apply_function(functions::extremum<op::max, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The smallest element; NaN if any is. Equal ones share the gradient evenly, as in torch.amin; NaNs do, as in torch.min over all.
/// Dtype, Saves, Error, Throws: as max.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto min(X&& x, Keep = {}) {
  return apply_function(functions::extremum<op::min, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// log(sum(exp(x))) without overflow; -inf over no elements.
/// Dtype: integers give float; bf16 and f16 are computed in float and rounded once; PyTorch rounds after each step.
/// Saves: e^x, its sum.   Error: that of exp, the sum and log.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto logsumexp(X&& x, Keep = {}) {
  return apply_function(functions::logsumexp<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// Whether any element is not 0.   Dtype: bool.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto any(X&& x, Keep = {}) {
  return apply_function(functions::truth<op::any, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// Whether no element is 0.   Dtype: bool.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto all(X&& x, Keep = {}) {
  return apply_function(functions::truth<op::all, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The index of the first largest element along an axis, or over all.   Dtype: int64, no gradient.   Throws: if there are no elements.
template <int... Axis, class X, class Keep = drop_dims_tag>
constexpr auto argmax(X&& x, Keep = {}) {
  return apply_function(functions::place_of<op::argmax, detail::keeps<Keep>::dims, Axis...>{}, std::forward<X>(x));
}
/// The index of the first smallest element.   Dtype: int64, no gradient.   Throws: if there are no elements.
template <int... Axis, class X, class Keep = drop_dims_tag>
constexpr auto argmin(X&& x, Keep = {}) {
  return apply_function(functions::place_of<op::argmin, detail::keeps<Keep>::dims, Axis...>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
