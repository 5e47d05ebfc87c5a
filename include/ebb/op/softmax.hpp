// ebb/op/softmax.hpp — softmax, log_softmax, and the losses cross_entropy, nll, mse and bce_with_logits.
// SPDX-License-Identifier: BSL-1.0
//
// softmax and log_softmax first subtract the largest element of a row: that changes no value and no derivative, and keeps exp from
// overflowing.
#pragma once

#include "extremum.hpp"
#include "gather.hpp"
#include "reduce.hpp"

namespace ebb::inline EBB_ABI {

/// Tags of losses: average the losses of the examples, sum them, or return each of them.   ebb::mse(x, y, ebb::summed)
struct averaged_tag {};
struct summed_tag {};
struct unreduced_tag {};
inline constexpr averaged_tag averaged{};
inline constexpr summed_tag summed{};
inline constexpr unreduced_tag unreduced{};

template <class Call>
struct refusal<211, Call> : Call {
  static_assert(Call::code != 211, "[ebb E0211] the operands of a loss differ in rank: reshape one, or give a number");
};

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
    using Real = decltype(detail::accepted<op::exp, T>());
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

/// Reduces the losses of the examples as the tag demands.
template <class How>
constexpr auto reduced_loss(auto losses) {
  if constexpr (std::is_same_v<How, averaged_tag>) return mean<false>::apply(losses);
  else if constexpr (std::is_same_v<How, summed_tag>) return sum<false>::apply(losses);
  else return losses;
}

template <class How>
struct nll {
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto log_p, auto target) { return of<nll>(log_p, target); }
  /// nll as part of F: errors name F.
  template <class F, class T, class Target>
  static constexpr auto of(operand<T> log_p, operand<Target> target) {
    using Real = decltype(detail::accepted<op::exp, T>());
    const auto x = cast_to<Real>(log_p);
    const std::int64_t last = x.rank() ? axis_run(x.rank() - 1, x.rank()) : 0;
    if constexpr (index_element<Target>) {
      const auto hit = x.rank() ? marked<F>(target, x.extents(), x.rank() - 1) : refuse<bool>(*x.g, 103);
      const auto chosen = emit_on<op::where>({}, hit, x, literal_like(x, 0));
      return reduced_loss<How>(-sum_over(chosen, last));
    } else if constexpr (real_element<Target>) {
      using Wide = promoted<Real, Target>;
      return reduced_loss<How>(-sum_over(cast_to<Wide>(target) * cast_to<Wide>(x), last));
    } else {
      return reduced_loss<How>(refuse<Real>(*x.g, 115));
    }
  }
};

template <class How>
struct cross_entropy {
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto logits, auto target) {
    return nll<How>::template of<cross_entropy>(log_softmax<-1>::apply(logits), target);
  }
};

/// The losses of the examples, computed from x and y. Refused if the ranks of x and y differ and neither is a number: a column with a row
/// would give a matrix of losses.
template <class T>
constexpr operand<T> losses_of(operand<T> losses, auto x, auto y) {
  const auto rank = []<class X>(const X& a) {
    if constexpr (is_operand<X>) return a.rank();
    else return 0;
  };
  return rank(x) == rank(y) || rank(x) == 0 || rank(y) == 0 ? losses : refuse<T>(*losses.g, 211);
}

template <class How>
struct mse {
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) {
    const auto difference = detail::broadcasting<op::sub>::apply(x, y);
    return reduced_loss<How>(losses_of(detail::broadcasting<op::square>::apply(difference), x, y));
  }
};

template <class How>
struct bce_with_logits {
  static constexpr precision autocast = precision::full;
  template <class A, class B>
  static constexpr auto apply(operand<A> logits, operand<B> target) {
    using T = promoted<decltype(detail::accepted<op::exp, A>()), B>;
    const auto x = cast_to<T>(logits), y = cast_to<T>(target);
    const auto product = detail::broadcasting<op::mul>::apply(1 - y, x);
    return reduced_loss<How>(losses_of(detail::broadcasting<op::sub>::apply(product, emit_on<op::log_sigmoid>({}, x)), x, y));
  }
  template <class A>
  static constexpr auto apply(operand<A> logits, number auto target) {
    return apply(logits, literal_like(cast_to<decltype(detail::accepted<op::exp, A>())>(logits), target));
  }
  template <class B>
  static constexpr auto apply(number auto logits, operand<B> target) {
    return apply(literal_like(cast_to<decltype(detail::accepted<op::exp, B>())>(target), logits), target);
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
/// -log of the probability of each example's class, for logits with classes along the last axis, averaged over the examples.
/// Shape: logits [..., classes], target [...] of class indices, or probabilities of logits' shape; result [], or [...] if unreduced.
/// Dtype, Saves, Error: as log_softmax.   Throws: if there is no such class, or if a call's extents differ.
template <class X, class Target, class How = averaged_tag>
constexpr auto cross_entropy(X&& logits, Target&& target, How = {}) {
  return apply_function(functions::cross_entropy<How>{}, std::forward<X>(logits), std::forward<Target>(target));
}
/// cross_entropy for log-probabilities.   Shape, Throws: as cross_entropy.   Saves: nothing.   Error: that of the mean.
template <class X, class Target, class How = averaged_tag>
constexpr auto nll(X&& log_probabilities, Target&& target, How = {}) {
  return apply_function(functions::nll<How>{}, std::forward<X>(log_probabilities), std::forward<Target>(target));
}
/// Mean squared difference; NaN over no elements.
/// Shape: operands of one rank, broadcast, or one of them a number; result [], or the operands' shape if unreduced.
/// Dtype: promoted; a mean of integers is float.   Saves: x, y.   Error: that of the mean.
template <class X, class Y, class How = averaged_tag>
constexpr auto mse(X&& x, Y&& y, How = {}) {
  return apply_function(functions::mse<How>{}, std::forward<X>(x), std::forward<Y>(y));
}
/// -y log(p) - (1 - y) log(1 - p) for p = sigmoid(logits), without overflow, averaged.
/// Shape: as mse.   Saves: logits, y.   Error: that of log_sigmoid and of the mean.
template <class X, class Y, class How = averaged_tag>
constexpr auto bce_with_logits(X&& logits, Y&& target, How = {}) {
  return apply_function(functions::bce_with_logits<How>{}, std::forward<X>(logits), std::forward<Y>(target));
}

}  // namespace ebb::inline EBB_ABI
