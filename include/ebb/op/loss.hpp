// ebb/op/loss.hpp — the losses cross_entropy, nll, mse and bce_with_logits.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "extremum.hpp"
#include "gather.hpp"
#include "loss_option.hpp"
#include "softmax.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<480, Call> : Call {
  static_assert(Call::code != 480, "[ebb E0480] cross_entropy, nll: the weights are a vector with one for each class");
};
template <class Call>
struct refusal<481, Call> : Call {
  static_assert(Call::code != 481, "[ebb E0481] cross_entropy, nll: targets that are probabilities have no class to ignore");
};
template <class Call>
struct refusal<482, Call> : Call {
  static_assert(Call::code != 482, "[ebb E0482] cross_entropy, nll: the smoothing is a number");
};

namespace functions {

template <int Axis, class How, class Ignored, class Options>
struct nll;
template <int Axis, class How, class Ignored, loss_option... Which>
struct nll<Axis, How, Ignored, detail::option_list<Which...>> {
  static constexpr std::string_view name = "nll";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto log_p, auto target, auto... options) { return of<nll>(log_p, target, options...); }
  /// nll as a part of F, the function that errors name.
  template <class F, class T, class Target>
  static constexpr auto of(operand<T> log_p, operand<Target> target, auto... options) {
    using Real = promoted_to_real<T>;
    const auto x = cast_to<Real>(log_p);
    const int axis = axis_of(Axis, x.rank());
    const std::int64_t mask = has_axis(axis, x.rank()) ? std::int64_t{1} << axis : 0;
    if constexpr (index_element<Target>) {
      const auto counts = counted(target);
      const auto hit = mask ? marked<F>(known(target, counts), x.extents(), axis) : refuse<bool>(*x.g, 103);
      const auto at_target = [&](auto of_class) {
        return sum_over(emit_on<op::where>({}, hit, of_class, literal_like(of_class, 0)), mask);
      };
      const auto each = weighted_classes(x, mask, options...);
      const auto losses = without_ignored(smooth(-at_target(each), each, mask, options...), counts);
      if constexpr (std::is_same_v<How, averaged_tag> && (weighs || ignores)) {
        // The sum of the losses is divided by the sum of the weights of the examples that count.
        const auto weights = weighted_classes(literal_like(x, 1), mask, options...);
        return reduced_loss<summed_tag>(losses) / reduced_loss<summed_tag>(without_ignored(at_target(weights), counts));
      } else return reduced_loss<How>(losses);
    } else if constexpr (real_element<Target>) {
      using Wide = promoted<Real, Target>;
      const auto wide = cast_to<Wide>(x);
      if (ignores || !mask) return reduced_loss<How>(refuse<Wide>(*x.g, ignores ? 481 : 103));
      const auto each = weighted_classes(wide, mask, options...);
      const auto losses = smooth(-sum_over(cast_to<Wide>(target) * each, mask), each, mask, options...);
      return reduced_loss<How>(losses);
    } else {
      return reduced_loss<How>(refuse<Real>(*x.g, 115));
    }
  }

 private:
  static constexpr bool ignores = !std::is_void_v<Ignored>;
  static constexpr bool weighs = detail::has_option<loss_option::weight, Which...>;

  /// The mask of the examples whose class is not the ignored one.
  template <class I>
  static constexpr auto counted(operand<I> target) {
    if constexpr (ignores) return emit_on<op::not_equal>({}, target, literal_like(target, Ignored::value));
    else return nothing;
  }
  /// Class 0 in place of the ignored one, which need not exist.
  template <class I>
  static constexpr operand<I> known(operand<I> target, auto counts) {
    if constexpr (ignores) return emit_on<op::where>({}, counts, target, literal_like(target, 0));
    else return target;
  }
  template <class T>
  static constexpr operand<T> without_ignored(operand<T> x, auto counts) {
    if constexpr (ignores) return emit_on<op::where>({}, counts, x, literal_like(x, 0));
    else return x;
  }
  template <class T>
  static constexpr operand<T> weighted_classes(operand<T> x, std::int64_t mask, auto... options) {
    if constexpr (weighs) {
      const auto along = vector_along(detail::option_in<loss_option::weight, Which...>(options...), x, mask);
      return along.is_refused() ? along : x * along;
    } else return x;
  }
  template <class T>
  static constexpr operand<T> vector_along(number auto, operand<T> x, std::int64_t) {
    return refuse<T>(*x.g, 480);
  }
  template <class T, class W>
  static constexpr operand<T> vector_along(operand<W> weights, operand<T> x, std::int64_t mask) {
    if (weights.is_refused() || x.is_refused()) return refuse<T>(*x.g, weights.is_refused() ? -weights.id : -x.id);
    if (!x.g->syms.unify(weights.extents(), without_axes(x.extents(), ~mask))) return refuse<T>(*x.g, 480);
    return repeat(cast_to<T>(weights), x, axis_run(0, x.rank()) & ~mask);
  }
  /// (1 - e) losses + e times the mean loss of all classes.
  template <class T>
  static constexpr operand<T> smooth(operand<T> losses, operand<T> each, std::int64_t mask, auto... options) {
    if constexpr (detail::has_option<loss_option::smoothing, Which...>) {
      const auto e = detail::repeated_number(detail::option_in<loss_option::smoothing, Which...>(options...), losses, 482);
      const auto classes = repeat(count_along<T>(each, mask), losses, axis_run(0, losses.rank()));
      return e.is_refused() ? e : (1 - e) * losses + e / classes * -sum_over(each, mask);
    } else return losses;
  }
};

template <int Axis, class How, class Ignored, class Options>
struct cross_entropy {
  static constexpr std::string_view name = "cross_entropy";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto logits, auto target, auto... options) {
    return nll<Axis, How, Ignored, Options>::template of<cross_entropy>(log_softmax<Axis>::apply(logits), target, options...);
  }
};

template <class How>
struct mse {
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) {
    const auto difference = detail::broadcasting<op::sub>::apply(x, y);
    return reduced_loss<How>(losses_of(detail::broadcasting<op::square>::apply(difference), x, y));
  }
};

template <class How, class Options = detail::option_list<>>
struct bce_with_logits;
template <class How, loss_option... Which>
struct bce_with_logits<How, detail::option_list<Which...>> {
  static constexpr std::string_view name = "bce_with_logits";
  static constexpr precision autocast = precision::full;
  template <class A, class B>
  static constexpr auto apply(operand<A> logits, operand<B> target, auto... options) {
    using T = promoted<promoted_to_real<A>, B>;
    const auto x = cast_to<T>(logits), y = cast_to<T>(target);
    const auto product = detail::broadcasting<op::mul>::apply(1 - y, x), part = positive(emit_on<op::log_sigmoid>({}, x), y, options...);
    const auto losses = detail::broadcasting<op::sub>::apply(product, part);
    if constexpr (detail::has_option<loss_option::weight, Which...>) {
      const auto weights = in_dtype<T>(detail::option_in<loss_option::weight, Which...>(options...));
      return reduced_loss<How>(losses_of(detail::broadcasting<op::mul>::apply(losses, weights), x, y));
    } else return reduced_loss<How>(losses_of(losses, x, y));
  }
  template <class A>
  static constexpr auto apply(operand<A> logits, number auto target, auto... options) {
    return apply(logits, literal_like(cast_to<promoted_to_real<A>>(logits), target), options...);
  }
  template <class B>
  static constexpr auto apply(number auto logits, operand<B> target, auto... options) {
    return apply(literal_like(cast_to<promoted_to_real<B>>(target), logits), target, options...);
  }

 private:
  /// log(sigmoid(x)), times 1 + (v - 1) y if positives have the weight v.
  template <class T>
  static constexpr operand<T> positive(operand<T> log_p, operand<T> y, auto... options) {
    if constexpr (detail::has_option<loss_option::positive_weight, Which...>) {
      const auto v = in_dtype<T>(detail::option_in<loss_option::positive_weight, Which...>(options...));
      const auto share = detail::broadcasting<op::mul>::apply(detail::broadcasting<op::sub>::apply(v, literal_like(y, 1)), y);
      return detail::broadcasting<op::mul>::apply(1 + share, log_p);
    } else return log_p;
  }
};

}  // namespace functions

/// -log of the probability of each example's class, for logits, averaged over the examples. Classes lie along Axis, by default the last;
/// for images [n, classes, height, width] Axis is 1.
///   cross_entropy(x, t)   cross_entropy<1>(x, t, weighted(w), ignoring<-100>, smoothed(0.1), summed)
/// Options: weighted by a vector, one number for each class; ignoring; smoothed. See [note: options of losses]. With weights,
/// the average for class indices is the sum divided by the sum of the examples' weights. If all examples are ignored, it is NaN. Both are
/// as in PyTorch.
/// Shape: logits with classes along Axis; target of class indices without that axis, or probabilities of logits' shape; result [], or
/// that of class indices if unreduced.   Dtype, Saves, Error: as log_softmax.
/// Throws: if there is no such class, or if a call's extents differ.
template <int Axis = -1, class X, class Target, class... Options>
constexpr auto cross_entropy(const X& logits, const Target& target, const Options&... options) {
  using o = detail::arguments_of_loss<Options...>;
  using function = functions::cross_entropy<Axis, typename o::how, typename o::ignored, typename o::options>;
  static_assert(detail::loss_takes<o, true, loss_option::weight, loss_option::smoothing>, "[ebb E0483] this loss has no such option");
  constexpr std::size_t n = detail::count_of_operands<Options...>;
  if constexpr (n == 0) return apply_function(function{}, logits, target);
  else if constexpr (n == 1) return apply_function(function{}, logits, target, detail::nth_operand<0>(options...));
  else return apply_function(function{}, logits, target, detail::nth_operand<0>(options...), detail::nth_operand<1>(options...));
}
/// cross_entropy for log-probabilities.   Shape, Dtype, Throws: as cross_entropy.   Saves: nothing.   Error: that of the mean.
template <int Axis = -1, class X, class Target, class... Options>
constexpr auto nll(const X& log_probabilities, const Target& target, const Options&... options) {
  using o = detail::arguments_of_loss<Options...>;
  using function = functions::nll<Axis, typename o::how, typename o::ignored, typename o::options>;
  static_assert(detail::loss_takes<o, true, loss_option::weight, loss_option::smoothing>, "[ebb E0483] this loss has no such option");
  constexpr std::size_t n = detail::count_of_operands<Options...>;
  if constexpr (n == 0) return apply_function(function{}, log_probabilities, target);
  else if constexpr (n == 1) return apply_function(function{}, log_probabilities, target, detail::nth_operand<0>(options...));
  else return apply_function(function{}, log_probabilities, target, detail::nth_operand<0>(options...), detail::nth_operand<1>(options...));
}
/// The mean squared difference; NaN if there are no elements.
/// Shape: operands of one rank, broadcast, or one of them a number; result [], or the operands' shape if unreduced.
/// Dtype: promoted; a mean of integers is float.   Saves: x, y.   Error: that of the mean.
template <class X, class Y, class... How>
constexpr auto mse(const X& x, const Y& y, How...) {
  using o = detail::arguments_of_loss<How...>;
  static_assert(detail::loss_takes<o, false> && detail::count_of_operands<How...> == 0, "[ebb E0483] this loss has no such option");
  return apply_function(functions::mse<typename o::how>{}, x, y);
}
/// -y log(p) - (1 - y) log(1 - p) for p = sigmoid(logits), without overflow, averaged.
/// Options: weighted, by numbers that are broadcast to the losses; positives_weighted, which multiplies the first term.
/// Shape: as mse.   Dtype: promoted; integers give float.   Saves: logits, y.   Error: that of log_sigmoid and of the mean.
template <class X, class Y, class... Options>
constexpr auto bce_with_logits(const X& logits, const Y& target, const Options&... options) {
  using o = detail::arguments_of_loss<Options...>;
  using function = functions::bce_with_logits<typename o::how, typename o::options>;
  constexpr bool fits = detail::loss_takes<o, false, loss_option::weight, loss_option::positive_weight>;
  static_assert(fits, "[ebb E0483] this loss has no such option");
  constexpr std::size_t n = detail::count_of_operands<Options...>;
  if constexpr (n == 0) return apply_function(function{}, logits, target);
  else if constexpr (n == 1) return apply_function(function{}, logits, target, detail::nth_operand<0>(options...));
  else return apply_function(function{}, logits, target, detail::nth_operand<0>(options...), detail::nth_operand<1>(options...));
}

}  // namespace ebb::inline EBB_ABI
