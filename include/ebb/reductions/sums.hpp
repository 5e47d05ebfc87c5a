// ebb/reductions/sums.hpp — reductions of some elements: without NaN, under a mask, with weights; extrema with their places; vecdot.
// SPDX-License-Identifier: BSL-1.0
//
//   nansum<1>(x)   nanmean(x)   nanmax<0>(x)             without the elements that are NaN
//   masked_sum<1>(x, x > 0)     masked_mean(x, mask)     only the elements where the mask is true
//   auto [values, places] = max_with_index<-1>(x);       the first largest element
// Axes and keep_dims as for sum. An element that does not count gets the gradient 0, also where it is NaN or infinite.
#pragma once

#include "../op/along.hpp"
#include "../op/reduce.hpp"
#include "../op/softmax.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::functions {

/// The mask of the elements of x that count: those that are not NaN.
struct not_nan {
  template <class T>
  static constexpr operand<bool> mask(operand<T> x) {
    if constexpr (real_element<T>) return emit_on<op::logical_not>({}, emit_on<op::isnan>({}, x));
    else return literal_like(cast_to<bool>(x), 1);
  }
};

enum class reduced_to { sum, mean, max, min };

/// The reduction of the elements of x at which `mask` is true.
template <reduced_to What, bool Keep, int... Axes>
struct masked {
  static constexpr std::string_view name = What == reduced_to::sum    ? "masked_sum"
                                           : What == reduced_to::mean ? "masked_mean"
                                           : What == reduced_to::max  ? "masked_max"
                                                                      : "masked_min";
  template <class T, class M>
  static constexpr auto apply(operand<T> x, operand<M> mask) {
    const auto refused_as = [&](int id) { return reduced_part(operand<T>{x.g, id}, operand<bool>{x.g, id}); };
    if (x.is_refused() || mask.is_refused()) return refused_as(x.is_refused() ? x.id : mask.id);
    const shape in[] = {x.extents(), mask.extents()}, common = broadcast_shapes(x.g->syms, in, 2);
    if (common.is_refused()) return refused_as(-common.code());
    return reduced_part(detail::fit(x, common), detail::fit(cast_to<bool>(mask), common));
  }
  template <class T>
  static constexpr auto reduced_part(operand<T> x, operand<bool> counts) {
    if constexpr (What == reduced_to::sum) {
      using Sum = std::conditional_t<real_element<T>, T, std::int64_t>;
      if (x.is_refused()) return operand<Sum>{x.g, x.id};
      const auto y = cast_to<Sum>(x);
      return sum<Keep, Axes...>::apply(operand<Sum>(emit_on<op::where>({}, counts, y, literal_like(y, 0))));
    } else if constexpr (What == reduced_to::mean) {
      using Mean = promoted_to_real<T>;
      using Wide = detail::computed_in<Mean>;
      if (x.is_refused()) return operand<Mean>{x.g, x.id};
      const auto y = cast_to<Wide>(x);
      const auto total = sum<Keep, Axes...>::apply(operand<Wide>(emit_on<op::where>({}, counts, y, literal_like(y, 0))));
      const auto number = sum<Keep, Axes...>::apply(cast_to<Wide>(counts));
      return cast_to<Mean>(total.is_refused() ? total : total / number);
    } else {
      using Op = std::conditional_t<What == reduced_to::max, op::max, op::min>;
      if (x.is_refused()) return x;
      const auto none = literal_like(x, Op::template identity<detail::computed_in<T>>());
      return extremum<Op, Keep, Axes...>::apply(operand<T>(emit_on<op::where>({}, counts, x, none)));
    }
  }
};

template <bool Keep, int... Axes>
struct count_nonzero {
  static constexpr std::string_view name = "count_nonzero";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    if (x.is_refused()) return operand<std::int64_t>{x.g, x.id};
    const auto counted = emit_on<op::not_equal>({}, x, literal_like(x, 0));
    return reduced<Keep, Axes...>(counted, [](auto y, std::int64_t mask) {
      // A static number of elements is counted in 32 bits: twice as many counts fit into a register.
      const bool is_static = volume_of(y.g->syms, without_axes(y.extents(), ~mask)) >= 0;
      return is_static ? cast_to<std::int64_t>(sum_over(cast_to<std::int32_t>(y), mask)) : sum_over(cast_to<std::int64_t>(y), mask);
    });
  }
};

/// The reduction of the elements that are not NaN. An extremum of none is NaN.
template <reduced_to What, bool Keep, int... Axes>
struct without_nan {
  static constexpr std::string_view name = What == reduced_to::sum    ? "nansum"
                                           : What == reduced_to::mean ? "nanmean"
                                           : What == reduced_to::max  ? "nanmax"
                                                                      : "nanmin";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    if (x.is_refused()) return masked<What, Keep, Axes...>::reduced_part(x, operand<bool>{x.g, x.id});
    const auto counts = not_nan::mask(x);
    const auto r = masked<What, Keep, Axes...>::reduced_part(x, counts);
    if constexpr (real_element<T> && (What == reduced_to::max || What == reduced_to::min)) {
      if (r.is_refused()) return r;
      const auto some = truth<op::any, Keep, Axes...>::apply(counts);
      return operand<T>(emit_on<op::where>({}, some, r, literal_like(r, std::numeric_limits<float>::quiet_NaN())));
    } else return r;
  }
};

template <bool Keep, int... Axes>
struct norm_squared {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Sum = std::conditional_t<real_element<T>, T, std::int64_t>;
    const auto y = cast_to<detail::computed_in<Sum>>(x);
    return cast_to<Sum>(sum<Keep, Axes...>::apply(y * y));
  }
};

template <int Axis>
struct vecdot {
  static constexpr precision autocast = precision::low;
  template <class A, class B>
  static constexpr auto apply(operand<A> x, operand<B> y) {
    using T = promoted<A, B>;
    using Sum = std::conditional_t<real_element<T>, T, std::int64_t>;
    using Wide = detail::computed_in<Sum>;
    const auto products = detail::broadcasting<op::mul>::apply(cast_to<Wide>(x), cast_to<Wide>(y));
    if (products.is_refused()) return refuse<Sum>(*x.g, -products.id);
    return cast_to<Sum>(sum<false, Axis>::apply(products));
  }
};

template <bool Keep, int... Axes>
struct weighted_mean {
  template <class A, class B>
  static constexpr auto apply(operand<A> x, operand<B> w) {
    using T = promoted_to_real<promoted<A, B>>;
    using Wide = detail::computed_in<T>;
    const shape in[] = {x.extents(), w.extents()};
    if (x.is_refused() || w.is_refused()) return refuse<T>(*x.g, x.is_refused() ? -x.id : -w.id);
    const shape common = broadcast_shapes(x.g->syms, in, 2);
    if (common.is_refused()) return refuse<T>(*x.g, common.code());
    const auto weights = detail::fit(cast_to<Wide>(w), common);
    const auto total = sum<Keep, Axes...>::apply(weights * detail::fit(cast_to<Wide>(x), common));
    return cast_to<T>(total.is_refused() ? total : total / sum<Keep, Axes...>::apply(weights));
  }
};

template <bool Keep, int... Axes>
struct log_mean_exp {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    const auto y = cast_to<Wide>(x);
    const operand<Wide> r = logsumexp<Keep, Axes...>::apply(y);
    if (r.is_refused()) return refuse<Real>(*x.g, -r.id);
    const auto n = count_along<Wide>(y, axes_mask<Axes...>(y.rank()));
    return cast_to<Real>(r - repeat(operand<Wide>(emit_on<op::log>({}, n)), r, axis_run(0, r.rank())));
  }
};

/// log |sum w e^x|, or the sign of that sum.
template <bool Sign, bool Keep, int... Axes>
struct weighted_logsumexp {
  static constexpr std::string_view name = "weighted_logsumexp";
  template <class A, class B>
  static constexpr auto apply(operand<A> given, operand<B> w) {
    using Real = promoted_to_real<promoted<A, B>>;
    using Wide = detail::computed_in<Real>;
    if (given.is_refused() || w.is_refused()) return refuse<Real>(*given.g, given.is_refused() ? -given.id : -w.id);
    const shape in[] = {given.extents(), w.extents()}, common = broadcast_shapes(given.g->syms, in, 2);
    if (common.is_refused()) return refuse<Real>(*given.g, common.code());
    const auto weights = detail::fit(cast_to<Wide>(w), common);
    const operand<Wide> r = reduced<Keep, Axes...>(detail::fit(cast_to<Wide>(given), common), [&](auto x, std::int64_t mask) {
      const auto top = reduce_over<op::peak>(x, mask);
      const auto shift = emit_on<op::where>({}, emit_on<op::isfinite>({}, top), top, literal_like(top, 0));
      const auto total = sum_over(weights * emit_on<op::exp>({}, x - repeat(shift, x, mask)), mask);
      if constexpr (Sign) return emit_on<op::sign>({}, total);
      else return shift + emit_on<op::log>({}, emit_on<op::abs>({}, total));
    });
    return cast_to<Real>(r);
  }
};

template <int Axis>
struct softmin {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Real = promoted_to_real<T>;
    return softmax<Axis>::apply(-cast_to<Real>(x));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The number of elements that are not 0; NaN is not 0.   Shape: as sum.   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto count_nonzero(X&& x, Keep = {}) {
  return apply_function(functions::count_nonzero<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The sum of the elements that are not NaN; 0 if there is none.   Shape, Dtype, Error: as sum.   Saves: where x is not NaN.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto nansum(X&& x, Keep = {}) {
  return apply_function(functions::without_nan<functions::reduced_to::sum, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The mean of the elements that are not NaN; NaN if there is none.   Shape, Dtype, Error: as mean.   Saves: where x is not NaN.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto nanmean(X&& x, Keep = {}) {
  return apply_function(functions::without_nan<functions::reduced_to::mean, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The largest of the elements that are not NaN; NaN if there is none.   All fields as max.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto nanmax(X&& x, Keep = {}) {
  return apply_function(functions::without_nan<functions::reduced_to::max, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The smallest of the elements that are not NaN; NaN if there is none.   All fields as min.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto nanmin(X&& x, Keep = {}) {
  return apply_function(functions::without_nan<functions::reduced_to::min, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The sum of the elements at which the mask is true; 0 if there is none. Mask and x are broadcast.
/// Shape: as sum of the broadcast array.   Dtype, Error: as sum.   Saves: the mask.
template <int... Axes, class X, class M, class Keep = drop_dims_tag>
constexpr auto masked_sum(X&& x, M&& mask, Keep = {}) {
  using function = functions::masked<functions::reduced_to::sum, detail::keeps<Keep>::dims, Axes...>;
  return apply_function(function{}, std::forward<X>(x), std::forward<M>(mask));
}
/// The mean of the elements at which the mask is true; NaN if there is none.   Shape: as masked_sum.   Dtype, Error: as mean.
/// Saves: the mask.
template <int... Axes, class X, class M, class Keep = drop_dims_tag>
constexpr auto masked_mean(X&& x, M&& mask, Keep = {}) {
  using function = functions::masked<functions::reduced_to::mean, detail::keeps<Keep>::dims, Axes...>;
  return apply_function(function{}, std::forward<X>(x), std::forward<M>(mask));
}
/// The largest of the elements at which the mask is true; -inf, or the least integer, if there is none.   All other fields as max.
template <int... Axes, class X, class M, class Keep = drop_dims_tag>
constexpr auto masked_max(X&& x, M&& mask, Keep = {}) {
  using function = functions::masked<functions::reduced_to::max, detail::keeps<Keep>::dims, Axes...>;
  return apply_function(function{}, std::forward<X>(x), std::forward<M>(mask));
}
/// The smallest of the elements at which the mask is true; inf, or the largest integer, if there is none.   All other fields as min.
template <int... Axes, class X, class M, class Keep = drop_dims_tag>
constexpr auto masked_min(X&& x, M&& mask, Keep = {}) {
  using function = functions::masked<functions::reduced_to::min, detail::keeps<Keep>::dims, Axes...>;
  return apply_function(function{}, std::forward<X>(x), std::forward<M>(mask));
}
/// The sum of squares.   Shape: as sum.   Dtype: integers give int64; bf16 and f16 are computed in float.   Saves: x.
/// Error: that of the sum.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto norm_squared(X&& x, Keep = {}) {
  return apply_function(functions::norm_squared<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The sum of products along an axis, by default the last one.
/// Shape: those of x and y, broadcast, without the axis.   Dtype: promoted; integers give int64.   Saves: x, y.   Error: that of the sum.
template <int Axis = -1, class X, class Y>
constexpr auto vecdot(X&& x, Y&& y) {
  return apply_function(functions::vecdot<Axis>{}, std::forward<X>(x), std::forward<Y>(y));
}
/// The mean of x with weights w: sum(w x) / sum(w). w and x are broadcast.   Shape: as mean of the broadcast array.
/// Dtype: promoted; integers give float.   Saves: x, w, the sums.   Error: that of two sums.
template <int... Axes, class X, class W, class Keep = drop_dims_tag>
constexpr auto weighted_mean(X&& x, W&& w, Keep = {}) {
  return apply_function(functions::weighted_mean<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x), std::forward<W>(w));
}
/// log(mean(exp(x))) without overflow.   All fields as logsumexp.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto log_mean_exp(X&& x, Keep = {}) {
  return apply_function(functions::log_mean_exp<detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// log |sum w e^x| without overflow, and the sign of that sum, in a tuple: weights may be negative. x and w are broadcast. The sign has no
/// gradient.
/// Shape: as sum of the broadcast array, for both.   Dtype: promoted; integers give float; bf16 and f16 are computed in float.   Saves: w,
/// e^x, their sum.   Error: that of exp, the sum and log; large where terms of both signs cancel.
template <int... Axes, class X, class W, class Keep = drop_dims_tag>
constexpr auto weighted_logsumexp(const X& x, const W& w, Keep = {}) {
  return std::tuple(apply_function(functions::weighted_logsumexp<false, detail::keeps<Keep>::dims, Axes...>{}, x, w),
                    apply_function(functions::weighted_logsumexp<true, detail::keeps<Keep>::dims, Axes...>{}, x, w));
}
/// softmax of -x along an axis, by default the last one.   All fields as softmax.
template <int Axis = -1, class X>
constexpr auto softmin(X&& x) {
  return apply_function(functions::softmin<Axis>{}, std::forward<X>(x));
}
/// max and min under the names of PyTorch's reductions that share the gradient among equal elements.   All fields as max and min.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto amax(X&& x, Keep = {}) {
  return apply_function(functions::extremum<op::amax, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto amin(X&& x, Keep = {}) {
  return apply_function(functions::extremum<op::amin, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The smallest and the largest element, in a tuple.   All fields as min and max.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto aminmax(const X& x, Keep = {}) {
  return std::tuple(apply_function(functions::extremum<op::smaller_of_aminmax, detail::keeps<Keep>::dims, Axes...>{}, x),
                    apply_function(functions::extremum<op::larger_of_aminmax, detail::keeps<Keep>::dims, Axes...>{}, x));
}
/// The largest element along an axis, by default the last one, and its place, in a tuple: the first one of equal ones, or the first NaN.
/// The gradient goes to that element alone; max shares it among equal ones.
/// Shape: x's without the axis.   Dtype: x's, and int64.   Saves: the place.   Error: exact.   Throws: if there are no elements.
template <int Axis = -1, class X>
constexpr auto max_with_index(const X& x) {
  const auto place = ebb::argmax<Axis>(x);
  return std::tuple(apply_function(functions::element_at<Axis>{}, x, place), place);
}
/// The smallest element along an axis and its place.   All fields as max_with_index.
template <int Axis = -1, class X>
constexpr auto min_with_index(const X& x) {
  const auto place = ebb::argmin<Axis>(x);
  return std::tuple(apply_function(functions::element_at<Axis>{}, x, place), place);
}

}  // namespace ebb::inline EBB_ABI
