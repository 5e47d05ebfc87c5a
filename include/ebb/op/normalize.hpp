// ebb/op/normalize.hpp — the common part of norms, and layer_norm.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "moments.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<282, Call> : Call {
  static_assert(Call::code != 282, "[ebb E0282] layer_norm: weight and bias have the extents of the axes that are normalized");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The common part of norms. The operands are x, then arrays, then the number epsilon, if it is given. Own::on(x, arrays, count, epsilon)
/// computes the norm; epsilon(v) is epsilon in the shape of v.
template <class Own, int MostArrays>
struct normalizing {
  template <class T, class... More>
  static constexpr auto apply(operand<T> given, More... more) {
    using Real = promoted_to_real<typename detail::promoted_of<op::add, operand<T>, More...>>;
    using Wide = detail::computed_in<Real>;
    graph& g = *given.g;
    const auto x = cast_to<Wide>(given);
    if (x.is_refused()) return refuse<Real>(g, -x.id);
    const operand<Wide> in[] = {to_operand<Wide>(g, more)..., {}};
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
    const auto v = m.squares / m.divisor(0), small = epsilon(v);
    return (x - repeat(m.mean, x, mask)) * repeat(emit_on<op::rsqrt>({}, v + small), x, mask);
  }
  /// `a`, which has the extents of the axes of `like` in the mask, repeated along the others; the code refuses other extents.
  template <class T>
  static constexpr operand<T> along(operand<T> a, operand<T> like, std::int64_t mask, int code) {
    if (!a.g->syms.unify(a.extents(), without_axes(like.extents(), ~mask))) return refuse<T>(*a.g, code);
    return repeat(a, like, axis_run(0, like.rank()) & ~mask);
  }
  /// y * in[0] + in[1], as far as these are given, along the axes in the mask.
  template <class T>
  static constexpr operand<T> scaled(operand<T> y, const operand<T>* in, int count, std::int64_t mask, int code) {
    for (int i = 0; i < count && !y.is_refused(); ++i) {
      const operand<T> repeated = along(in[i], y, mask, code);
      y = i == 0 ? y * repeated : y + repeated;
    }
    return y;
  }
};

template <int... Axes>
struct layer_norm : normalizing<layer_norm<Axes...>, 2> {
  template <class T>
  static constexpr operand<T> on(operand<T> x, const operand<T>* in, int count, auto epsilon) {
    const std::int64_t mask = axes_mask<Axes...>(x.rank());
    if (mask < 0) return refuse<T>(*x.g, 103);
    return layer_norm::scaled(layer_norm::normalized(x, mask, epsilon), in, count, mask, 282);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// (x - mean) / sqrt(var + epsilon) along some axes, by default the last one, times a weight and plus a bias, if they are given.
///   layer_norm(x)   layer_norm(x, weight)   layer_norm<-2, -1>(x, weight, bias, 1e-6)
/// var has the divisor n. The number after the arrays is epsilon: by default 1e-5, as in torch.nn.functional.layer_norm.
/// Shape: x's; weight and bias have the extents of these axes, in their order.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: x, its means, 1 / sqrt(var + epsilon), weight.   Error: that of the sums, plus 3 ulp of the terms of the last sum.
/// Throws: if a call's weight or bias has other extents.
template <int... Axes, class X, class... More>
constexpr auto layer_norm(X&& x, More&&... weight_bias_epsilon) {
  using function = std::conditional_t<sizeof...(Axes) == 0, functions::layer_norm<-1>, functions::layer_norm<Axes...>>;
  return apply_function(function{}, std::forward<X>(x), std::forward<More>(weight_bias_epsilon)...);
}

}  // namespace ebb::inline EBB_ABI
