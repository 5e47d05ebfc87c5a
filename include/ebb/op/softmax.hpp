// ebb/op/softmax.hpp — softmax and log_softmax.
// SPDX-License-Identifier: BSL-1.0
//
// softmax and log_softmax first subtract the largest element of a row: that changes no value and no derivative, and keeps exp from
// overflowing.
#pragma once

#include "reduce.hpp"

namespace ebb::inline EBB_ABI {

namespace functions {

template <int Axis>
struct softmax {
  static constexpr auto apply(auto x) {
    return along(x, [](auto shifted, std::int64_t mask) {
      const auto e = emit_on<op::exp>({}, shifted);
      return e / repeat(sum_over(e, mask), e, mask);
    });
  }
  /// f(x - its largest element along the axis, mask of the axis): narrow floats are computed in float, and the result is rounded once.
  template <class T>
  static constexpr auto along(operand<T> given, auto f) {
    using Real = promoted_to_real<T>;
    const auto x = cast_to<detail::computed_in<Real>>(given);
    const std::int64_t mask = axes_mask<Axis>(x.rank());
    if (mask < 0) return refuse<Real>(*x.g, 103);
    return cast_to<Real>(f(x - repeat(reduce_over<op::peak>(x, mask), x, mask), mask));
  }
};

template <int Axis>
struct log_softmax {
  static constexpr auto apply(auto x) {
    return softmax<Axis>::along(x, [](auto shifted, std::int64_t mask) {
      const auto total = sum_over(emit_on<op::exp>({}, shifted), mask);
      return shifted - repeat(emit_on<op::log>({}, total), shifted, mask);
    });
  }
};

}  // namespace functions

/// e^x divided by its sum along an axis, by default the last one.   Shape: x's.
/// Dtype: integers give float; bf16 and f16 are computed in float and rounded once, as PyTorch does along the last axis.
/// Saves: e^x, its sum, both in float.   Error: that of exp and of the sum.
template <int Axis = -1, class X>
constexpr auto softmax(X&& x) {
  return apply_function(functions::softmax<Axis>{}, std::forward<X>(x));
}
/// log(softmax(x)) without cancellation, by default along the last axis.
/// Shape, Dtype: as softmax.   Saves: e^x, its sum.   Error: that of exp, the sum and log.
template <int Axis = -1, class X>
constexpr auto log_softmax(X&& x) {
  return apply_function(functions::log_softmax<Axis>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
