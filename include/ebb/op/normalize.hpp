// ebb/op/normalize.hpp — layer_norm.
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

/// The operands after x are optional: the weight, the bias and, last, the number epsilon.
template <int... Axes>
struct layer_norm {
  template <class T, class... More>
  static constexpr auto apply(operand<T> given, More... more) {
    using Real = decltype(detail::accepted<op::exp, typename detail::promoted_of<op::add, operand<T>, More...>>());
    using Wide = detail::computed_in<Real>;
    const auto x = cast_to<Wide>(given);
    graph& g = *x.g;
    const std::int64_t mask = axes_mask<Axes...>(x.rank());
    if (mask < 0) return refuse<Real>(g, 103);
    const operand<Wide> in[] = {as_operand<Wide>(g, more)..., {}};
    int count = sizeof...(More);
    const bool has_epsilon = count > 0 && !in[count - 1].is_refused() && in[count - 1].rank() == 0;
    if (has_epsilon) --count;
    if (count > 2) return refuse<Real>(g, 176);
    const moments_of<Wide> m(x, mask);
    const auto v = m.squares / m.divisor(0);
    const auto epsilon = has_epsilon ? fill(in[count], v) : literal_like(v, 1e-5);
    auto y = (x - repeat(m.mean, x, mask)) * repeat(emit_on<op::rsqrt>({}, v + epsilon), x, mask);
    for (int i = 0; i < count; ++i) {
      if (in[i].is_refused()) return refuse<Real>(g, -in[i].id);
      if (!g.syms.unify(in[i].extents(), without_axes(x.extents(), ~mask))) return refuse<Real>(g, 282);
      const auto along = repeat(in[i], x, axis_run(0, x.rank()) & ~mask);
      y = i == 0 ? y * along : y + along;
    }
    return cast_to<Real>(y);
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
  /// The single element of x in the shape of `like`; a literal remains a literal.
  template <class T>
  static constexpr operand<T> fill(operand<T> x, operand<T> like) {
    if (x.op().what == kind::literal) return {x.g, emit_as<op::literal, T>(*x.g, like.shape_number(), {}, {x.attribute(0)})};
    return repeat(x, like, axis_run(0, like.rank()));
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
