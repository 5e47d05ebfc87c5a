// ebb/nn/norm.hpp — rms_norm, batch_norm, group_norm and instance_norm. layer_norm is in op/normalize.hpp.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/loss_option.hpp"
#include "../op/normalize.hpp"
#include "../op/operators.hpp"
#include "../op/shape.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<472, Call> : Call {
  static_assert(Call::code != 472, "[ebb E0472] norm: weight, bias, mean and variance have one number for each channel");
};
template <class Call>
struct refusal<473, Call> : Call {
  static_assert(Call::code != 473, "[ebb E0473] norm: the array has the axes [batch, channels, places...], whose channels the groups "
                                   "divide");
};
template <class Call>
struct refusal<474, Call> : Call {
  static_assert(Call::code != 474, "[ebb E0474] rms_norm: the weight has the extents of the axes that are normalized");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The common part of norms whose weights have one number for each channel: index of axis 1.
template <class Own, int MostArrays>
struct normalizing_channels : normalizing<Own, MostArrays> {
 protected:
  template <class T>
  static constexpr operand<T> per_channel(operand<T> a, operand<T> like) {
    return normalizing_channels::along(a, like, 2, 472);
  }
  template <class T>
  static constexpr operand<T> scaled(operand<T> y, const operand<T>* in, int count) {
    return normalizing<Own, MostArrays>::scaled(y, in, count, 2, 472);
  }
};

template <int... Axes>
struct rms_norm : normalizing<rms_norm<Axes...>, 1> {
  static constexpr std::string_view name = "rms_norm";
  template <class Real>
  static constexpr double epsilon() {
    if (std::is_same_v<Real, bfloat16>) return 0x1p-7;
    if (std::is_same_v<Real, float16>) return 0x1p-10;
    return std::is_same_v<Real, float> ? 0x1p-23 : 0x1p-52;
  }
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    const std::int64_t mask = axes_mask<Axes...>(x.rank());
    if (mask < 0) return refuse<T>(*x.g, 103);
    const auto total = sum_over(x * x, mask);
    const auto square = total / repeat(count_along<T>(x, mask), total, axis_run(0, total.rank()));
    const auto y = x * repeat(emit_on<op::rsqrt>({}, square + epsilon(square)), x, mask);
    return rms_norm::scaled(y, in, count, mask, 474);
  }
};

struct batch_norm : normalizing_channels<batch_norm, 2> {
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    if (x.rank() < 2) return refuse<T>(*x.g, 473);
    return scaled(normalized(x, axis_run(0, x.rank()) & ~std::int64_t{2}, epsilon), in, count);
  }
};

struct batch_norm_by : normalizing_channels<batch_norm_by, 4> {
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    if (x.rank() < 2) return refuse<T>(*x.g, 473);
    if (count < 2) return refuse<T>(*x.g, 176);
    const auto mean = per_channel(in[0], x);
    if (mean.is_refused() || in[1].rank() != 1) return refuse<T>(*x.g, 472);
    const auto root = per_channel(emit_on<op::rsqrt>({}, in[1] + epsilon(in[1])), x);
    if (root.is_refused()) return root;
    return scaled((x - mean) * root, in + 2, count - 2);
  }
};

/// Old statistics of each channel, moved towards those of x by the share `momentum`. The variance has the divisor n - 1.
template <bool Variance>
struct running_statistic {
  static constexpr std::string_view name = "running_statistics";
  template <class X, class S>
  static constexpr operand<S> apply(operand<X> given, operand<S> old, auto momentum) {
    using T = detail::computed_in<promoted_to_real<promoted<X, S>>>;
    graph& g = *given.g;
    if (given.is_refused() || old.is_refused()) return refuse<S>(g, given.is_refused() ? -given.id : -old.id);
    if constexpr (!real_element<S>) return refuse<S>(g, 472);
    else {
      if (given.rank() < 2) return refuse<S>(g, 473);
      if (old.rank() != 1 || !g.syms.unify(old.extent(0), given.extent(1))) return refuse<S>(g, 472);
      const auto x = emit_on<op::stop_gradient>({}, cast_to<T>(given)), before = cast_to<T>(old);
      const auto share = detail::repeated_number(momentum, before, 472);
      if (share.is_refused()) return refuse<S>(g, -share.id);
      const std::int64_t mask = axis_run(0, x.rank()) & ~std::int64_t{2};
      const auto count = repeat(count_along<T>(x, mask), before, 1), mean = sum_over(x, mask) / count;
      const auto rest = x - repeat(mean, x, mask);
      const auto now = Variance ? sum_over(rest * rest, mask) / (count - 1) : mean;
      return cast_to<S>(before + share * (now - before));
    }
  }
};

struct instance_norm : normalizing_channels<instance_norm, 2> {
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    if (x.rank() < 3) return refuse<T>(*x.g, 473);
    return scaled(normalized(x, axis_run(2, x.rank()), epsilon), in, count);
  }
};

template <int Groups>
struct group_norm : normalizing_channels<group_norm<Groups>, 2> {
  static constexpr detail::spelled name{"group_norm", Groups};
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    graph& g = *x.g;
    if (x.rank() < 2 || x.rank() == max_rank || Groups < 1) return refuse<T>(g, 473);
    const int each = g.syms.derive(extent_rule::quotient, x.extent(1), Groups);
    if (!g.syms.unify(g.syms.derive(extent_rule::product, each, Groups), x.extent(1))) return refuse<T>(g, 473);
    shape grouped = with_axis(x.extents(), 1, Groups);
    grouped.e[2] = each;
    const auto y = group_norm::normalized(view_as(x, grouped), axis_run(2, grouped.rank), epsilon);
    return group_norm::scaled(view_as(y, x.extents()), in, count);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// x / sqrt(mean of x^2 + epsilon), times a weight if it is given. The mean is over some axes, by default the last one.
///   rms_norm(x)   rms_norm(x, weight)   rms_norm<-2, -1>(x, weight, 1e-6)
/// The number after the arrays is epsilon: by default 2^-23 for float, 2^-52 for double, 2^-7 for bf16, 2^-10 for f16, as in PyTorch.
/// Shape: x's; the weight has the extents of these axes.   Saves: x, 1 / sqrt(mean of x^2 + epsilon), weight.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.   Error: that of the sum, plus 3 ulp.
/// Throws: if a call's weight has other extents.   Source: torch.nn.functional.rms_norm.
template <int... Axes, class X, class... More>
constexpr auto rms_norm(X&& x, More&&... weight_epsilon) {
  using function = std::conditional_t<sizeof...(Axes) == 0, functions::rms_norm<-1>, functions::rms_norm<Axes...>>;
  return apply_function(function{}, std::forward<X>(x), std::forward<More>(weight_epsilon)...);
}

/// (x - mean) / sqrt(variance + epsilon) for each channel of x [batch, channels, places...], times a weight and plus a bias for each
/// channel, if they are given. Mean and variance are over the batch and all places; the divisor of the variance is the count.
///   batch_norm(x)   batch_norm(x, weight, bias)   batch_norm(x, weight, bias, 1e-3)
/// The number after the arrays is epsilon, by default 1e-5. This is PyTorch's batch_norm with training. Its running statistics are
/// those of running_statistics.
/// Shape: x's; weight, bias [channels].   Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: x, its means, 1 / sqrt(variance + epsilon), weight.   Error: that of the sums, plus 3 ulp of the terms of the last sum.
/// Throws: if a call's weight or bias has another extent.
inline constexpr call<functions::batch_norm> batch_norm{};
/// batch_norm with a given mean and variance for each channel: PyTorch's batch_norm without training.
///   batch_norm_by(x, mean, variance)   batch_norm_by(x, mean, variance, weight, bias, 1e-3)
/// Shape, Dtype, Throws: as batch_norm.   Saves: x, mean, 1 / sqrt(variance + epsilon), weight.   Error: 4 ulp of the terms of the sums.
inline constexpr call<functions::batch_norm_by> batch_norm_by{};
/// A tuple of the mean and the variance of each channel over many batches: (1 - momentum) * old + momentum * that of x. batch_norm_by takes
/// both when training is over.
///   const auto [mean, variance] = running_statistics(x, old_mean, old_variance);   running_statistics(x, mean, variance, 0.01)
/// momentum is a number or a term of rank 0, by default 0.1. The divisor of the variance is the count less 1, as in PyTorch: with one
/// element it is NaN.
/// Shape: x [batch, channels, places...], mean and variance [channels].   Dtype: theirs; computed in that of x, if it is wider.
/// Saves: nothing: x gets no gradient.   Error: that of the sums.   Throws: if a call's mean or variance has another extent.
/// Source: the running statistics of torch.nn.functional.batch_norm.
template <class X, class M, class V, class Momentum = double>
constexpr auto running_statistics(const X& x, const M& mean, const V& variance, Momentum momentum = 0.1) {
  return std::tuple(apply_function(functions::running_statistic<false>{}, x, mean, momentum),
                    apply_function(functions::running_statistic<true>{}, x, variance, momentum));
}
/// batch_norm over the places alone: each channel of each array of the batch is normalized by itself.
/// Shape, Dtype, Saves, Error, Throws: as batch_norm.
inline constexpr call<functions::instance_norm> instance_norm{};
/// instance_norm over groups of channels: the channels are divided into Groups groups, each normalized by itself.
///   group_norm<8>(x, weight, bias)
/// Shape, Dtype, Saves, Error: as batch_norm.   Throws: if the groups of a call do not divide its channels; and as batch_norm.
template <int Groups, class X, class... More>
constexpr auto group_norm(X&& x, More&&... weight_bias_epsilon) {
  return apply_function(functions::group_norm<Groups>{}, std::forward<X>(x), std::forward<More>(weight_bias_epsilon)...);
}

}  // namespace ebb::inline EBB_ABI
