// ebb/nn/norm.hpp — rms_norm, batch_norm, group_norm and instance_norm. layer_norm is in op/normalize.hpp.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/normalize.hpp"
#include "../op/operators.hpp"
#include "../op/shape.hpp"

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

/// The common part of norms. The operands are x, then arrays, then the number epsilon, if it is given. Own::on(x, arrays, count, epsilon)
/// computes the norm; epsilon(v) is epsilon in the shape of v.
template <class Own, int MostArrays>
struct normalizing {
  template <class T, class... More>
  static constexpr auto apply(operand<T> given, More... more) {
    using Real = decltype(detail::accepted<op::exp, typename detail::promoted_of<op::add, operand<T>, More...>>());
    using Wide = detail::computed_in<Real>;
    graph& g = *given.g;
    const auto x = cast_to<Wide>(given);
    if (x.is_refused()) return refuse<Real>(g, -x.id);
    const operand<Wide> in[] = {as_operand<Wide>(g, more)..., {}};
    int count = sizeof...(More);
    for (int i = 0; i < count; ++i)
      if (in[i].is_refused()) return refuse<Real>(g, -in[i].id);
    const bool has_epsilon = count > 0 && in[count - 1].rank() == 0;
    if (has_epsilon) --count;
    if (count > MostArrays) return refuse<Real>(g, 176);
    const auto epsilon = [&](operand<Wide> like) {
      if (!has_epsilon) return literal_like(like, Own::template epsilon<Real>());
      const operand<Wide> e = in[count];
      if (e.op().what == kind::literal) return operand<Wide>{&g, emit_as<op::literal, Wide>(g, like.shape_number(), {}, {e.attribute(0)})};
      return repeat(e, like, axis_run(0, like.rank()));
    };
    return cast_to<Real>(Own::on(x, in, count, epsilon));
  }
  template <class Real>
  static constexpr double epsilon() {
    return 1e-5;
  }

 protected:
  /// (x - mean) / sqrt(variance + epsilon) along the axes in the mask.
  template <class T>
  static constexpr operand<T> normalized(operand<T> x, std::int64_t mask, auto epsilon) {
    const moments_of<T> m(x, mask);
    const auto v = m.squares / m.divisor(0);
    return (x - repeat(m.mean, x, mask)) * repeat(emit_on<op::rsqrt>({}, v + epsilon(v)), x, mask);
  }
  /// y * in[0] + in[1] for each channel, as far as these are given.
  template <class T>
  static constexpr operand<T> scaled(operand<T> y, const operand<T>* in, int count) {
    for (int i = 0; i < count && !y.is_refused(); ++i) {
      const operand<T> along = per_channel(in[i], y);
      y = i == 0 ? y * along : y + along;
    }
    return y;
  }
  template <class T>
  static constexpr operand<T> per_channel(operand<T> a, operand<T> like) {
    if (a.rank() != 1 || !a.g->syms.unify(a.extent(0), like.extent(1))) return refuse<T>(*a.g, 472);
    return repeat(a, like, axis_run(0, like.rank()) & ~std::int64_t{2});
  }

 private:
  template <class To, class From>
  static constexpr operand<To> as_operand(graph&, operand<From> x) {
    return cast_to<To>(x);
  }
  template <class To>
  static constexpr operand<To> as_operand(graph& g, number auto x) {
    return {&g, emit_as<op::literal, To>(g, g.intern({}), {}, {static_cast<std::int64_t>(literal_bits<To>(x))})};
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
    if (count == 0) return y;
    if (!x.g->syms.unify(in[0].extents(), without_axes(x.extents(), ~mask))) return refuse<T>(*x.g, 474);
    return y * repeat(in[0], x, axis_run(0, x.rank()) & ~mask);
  }
};

struct batch_norm : normalizing<batch_norm, 2> {
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    if (x.rank() < 2) return refuse<T>(*x.g, 473);
    return scaled(normalized(x, axis_run(0, x.rank()) & ~std::int64_t{2}, epsilon), in, count);
  }
};

struct batch_norm_by : normalizing<batch_norm_by, 4> {
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

struct instance_norm : normalizing<instance_norm, 2> {
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    if (x.rank() < 3) return refuse<T>(*x.g, 473);
    return scaled(normalized(x, axis_run(2, x.rank()), epsilon), in, count);
  }
};

template <int Groups>
struct group_norm : normalizing<group_norm<Groups>, 2> {
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
/// The number after the arrays is epsilon, by default 1e-5. This is PyTorch's batch_norm with training. Its running statistics are made of
/// ebb::mean<0, 2, 3>(x) and ebb::var<0, 2, 3>(x), whose divisor is one less.
/// Shape: x's; weight, bias [channels].   Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: x, its means, 1 / sqrt(variance + epsilon), weight.   Error: that of the sums, plus 3 ulp of the terms of the last sum.
/// Throws: if a call's weight or bias has another extent.
inline constexpr call<functions::batch_norm> batch_norm{};
/// batch_norm with a given mean and variance for each channel: PyTorch's batch_norm without training.
///   batch_norm_by(x, mean, variance)   batch_norm_by(x, mean, variance, weight, bias, 1e-3)
/// Shape, Dtype, Throws: as batch_norm.   Saves: x, mean, 1 / sqrt(variance + epsilon), weight.   Error: 4 ulp of the terms of the sums.
inline constexpr call<functions::batch_norm_by> batch_norm_by{};
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
