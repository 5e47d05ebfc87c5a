// ebb/op/loss_option.hpp — the tags and options of losses.
// SPDX-License-Identifier: BSL-1.0
//
// [note: options of losses]
// Tags and options follow the operands, in any order:
//   ebb::mse(x, y, ebb::summed)
//   ebb::cross_entropy<1>(logits, classes, ebb::weighted(w), ebb::ignoring<-100>, ebb::smoothed(0.1))
// A loss with an option that it does not have does not compile.
#pragma once

#include "reduce.hpp"

#include <array>
#include <tuple>

namespace ebb::inline EBB_ABI {

/// Tags that average the losses of the examples, sum them, return each of them, or divide their sum by the extent of axis 0. Without a tag,
/// losses are averaged.
struct averaged_tag {};
struct summed_tag {};
struct unreduced_tag {};
struct batch_averaged_tag {};
inline constexpr averaged_tag averaged{};
inline constexpr summed_tag summed{};
inline constexpr unreduced_tag unreduced{};
inline constexpr batch_averaged_tag batch_averaged{};

/// Examples of class Index do not count: their loss is 0, and an average leaves them out. Index need not be a class.
template <std::int64_t Index>
struct ignoring_tag {};
template <std::int64_t Index>
inline constexpr ignoring_tag<Index> ignoring{};

/// The options with an operand, then those without one.
enum class loss_option { weight, positive_weight, smoothing, log_target, with_constants, of_rates, swap, zero_infinity };
template <loss_option Which, class A>
struct option_of {
  const A& value;
};
/// Each loss is multiplied by a weight. cross_entropy and nll take one weight for each class, other losses an array that is broadcast to
/// the losses.
template <class W>
constexpr option_of<loss_option::weight, W> weighted(const W& weights) {
  return {weights};
}
/// The term of bce_with_logits for target 1 is multiplied by a weight.
template <class W>
constexpr option_of<loss_option::positive_weight, W> positives_weighted(const W& weights) {
  return {weights};
}
/// Classes are mixed with the uniform distribution: the share `amount` of each target is spread evenly over all classes.
template <class E>
constexpr option_of<loss_option::smoothing, E> smoothed(const E& amount) {
  return {amount};
}

template <class Call>
struct refusal<211, Call> : Call {
  static_assert(Call::code != 211, "[ebb E0211] the operands of a loss differ in rank: reshape one, or give a number");
};

namespace detail {

template <loss_option... Which>
struct option_list {
  static constexpr bool has(loss_option o) { return ((Which == o) || ...); }
};

/// The meaning of one argument of a loss: a tag, an option or, here, an operand.
template <class O>
struct loss_argument {
  using how = void;
  using ignored = void;
  using options = option_list<>;
  static constexpr bool is_operand = true;
};
struct loss_tag : loss_argument<void> {
  static constexpr bool is_operand = false;
};
template <class How>
struct how_tag : loss_tag {
  using how = How;
};
template <>
struct loss_argument<averaged_tag> : how_tag<averaged_tag> {};
template <>
struct loss_argument<summed_tag> : how_tag<summed_tag> {};
template <>
struct loss_argument<unreduced_tag> : how_tag<unreduced_tag> {};
template <>
struct loss_argument<batch_averaged_tag> : how_tag<batch_averaged_tag> {};
/// An option without an operand.
template <loss_option Which>
struct loss_flag {};
template <loss_option Which>
struct loss_argument<loss_flag<Which>> : loss_tag {
  using options = option_list<Which>;
};
template <std::int64_t Index>
struct loss_argument<ignoring_tag<Index>> : loss_tag {
  using ignored = std::integral_constant<std::int64_t, Index>;
};
template <loss_option Which, class A>
struct loss_argument<option_of<Which, A>> : loss_argument<void> {
  using options = option_list<Which>;
};

/// The tags and options among the arguments of a loss.
template <class How, class Ignored, class Options>
struct loss_arguments {
  using how = std::conditional_t<std::is_void_v<How>, averaged_tag, How>;
  using ignored = Ignored;
  using options = Options;
};
template <class How, class Ignored, loss_option... Which>
constexpr auto read_arguments(loss_arguments<How, Ignored, option_list<Which...>> all) {
  return all;
}
template <class How, class Ignored, loss_option... Which, class O, class... Rest>
constexpr auto read_arguments(loss_arguments<How, Ignored, option_list<Which...>>, std::type_identity<O>, Rest... rest) {
  using one = loss_argument<O>;
  using next_how = std::conditional_t<std::is_void_v<typename one::how>, How, typename one::how>;
  using next_ignored = std::conditional_t<std::is_void_v<typename one::ignored>, Ignored, typename one::ignored>;
  return [&]<loss_option... More>(option_list<More...>) {
    return read_arguments(loss_arguments<next_how, next_ignored, option_list<Which..., More...>>{}, rest...);
  }(typename one::options{});
}
template <class... O>
using arguments_of_loss =
    decltype(read_arguments(loss_arguments<void, void, option_list<>>{}, std::type_identity<std::remove_cvref_t<O>>{}...));

template <class A>
constexpr const A& operand_in(const A& a) {
  return a;
}
template <loss_option Which, class A>
constexpr const A& operand_in(const option_of<Which, A>& o) {
  return o.value;
}

template <loss_option Wanted, loss_option... Which>
inline constexpr bool has_option = option_list<Which...>::has(Wanted);

/// Whether a loss with the options Allowed, and with `ignoring` if Ignores, takes the tags and options of All.
template <class All, bool Ignores, loss_option... Allowed>
inline constexpr bool loss_takes = false;
template <class How, class Ignored, loss_option... Which, bool Ignores, loss_option... Allowed>
inline constexpr bool loss_takes<loss_arguments<How, Ignored, option_list<Which...>>, Ignores, Allowed...> =
    (has_option<Which, Allowed...> && ...) && (Ignores || std::is_void_v<Ignored>);
template <class... O>
inline constexpr std::size_t count_of_operands = (std::size_t{0} + ... + loss_argument<O>::is_operand);

/// Operand number N among the arguments; tags do not count.
template <std::size_t N, class... A>
constexpr const auto& nth_operand(const A&... a) {
  constexpr std::size_t place = [] {
    std::size_t at = 0, operands = 0, found = 0;
    ((loss_argument<A>::is_operand && operands++ == N ? void(found = at++) : void(++at)), ...);
    return found;
  }();
  return operand_in(std::get<place>(std::forward_as_tuple(a...)));
}

/// The type of losses that are objects; F<how they are reduced, their options> computes them. The call operator calls apply_function
/// directly, so that the compiler prints an error near the user's line.
template <template <class, class> class F, loss_option... Allowed>
struct loss_call {
  template <class... A>
  constexpr auto operator()(const A&... a) const {
    using said = arguments_of_loss<A...>;
    using function = F<typename said::how, typename said::options>;
    constexpr bool fits = loss_takes<said, false, Allowed...>;
    static_assert(fits, "[ebb E0483] this loss has no such option");
    constexpr std::size_t n = count_of_operands<A...>;
    static_assert(n >= 2 && n <= 5, "[ebb E0484] a loss has two to five operands");
    if constexpr (!fits || n < 2 || n > 5) return std::get<0>(std::tuple(a...));
    else if constexpr (n == 2) return apply_function(function{}, nth_operand<0>(a...), nth_operand<1>(a...));
    else if constexpr (n == 3) return apply_function(function{}, nth_operand<0>(a...), nth_operand<1>(a...), nth_operand<2>(a...));
    else if constexpr (n == 4)
      return apply_function(function{}, nth_operand<0>(a...), nth_operand<1>(a...), nth_operand<2>(a...), nth_operand<3>(a...));
    else
      return apply_function(function{}, nth_operand<0>(a...), nth_operand<1>(a...), nth_operand<2>(a...), nth_operand<3>(a...),
                            nth_operand<4>(a...));
  }
};

/// The operand of an option. Options are in the order of their operands.
template <loss_option Wanted, loss_option... Which>
constexpr auto option_in(auto... operands) {
  constexpr std::size_t at = [] {
    std::size_t n = 0;
    bool found = false;
    ((found = found || Which == Wanted, n += !found), ...);
    return n;
  }();
  return std::get<at>(std::tuple(operands...));
}

/// A number or an operand of rank 0 repeated to the shape of `like`; a refusal for other ranks.
template <class T>
constexpr operand<T> repeated_number(number auto x, operand<T> like, int) {
  return literal_like(like, x);
}
template <class T, class X>
constexpr operand<T> repeated_number(operand<X> x, operand<T> like, int code) {
  if (x.rank() != 0) return refuse<T>(*like.g, code);
  return repeat(cast_to<T>(x), like, axis_run(0, like.rank()));
}

}  // namespace detail

namespace functions {

/// Reduces the losses of the examples as the tag demands.
template <class How>
constexpr auto reduced_loss(auto losses) {
  if constexpr (std::is_same_v<How, averaged_tag>) return mean<false>::apply(losses);
  else if constexpr (std::is_same_v<How, summed_tag>) return sum<false>::apply(losses);
  else if constexpr (std::is_same_v<How, batch_averaged_tag>) {
    const auto total = sum<false>::apply(losses);
    using T = typename decltype(total)::value_type;
    if (losses.rank() == 0) return refuse<T>(*losses.g, losses.is_refused() ? -losses.id : 103);
    return total / count_along<T>(losses, 1);
  }
  else return losses;
}

/// The rank of an operand; 0 for a number.
template <class A>
constexpr int rank_of_operand(const A& a) {
  if constexpr (is_operand<A>) return a.rank();
  else return 0;
}
/// The losses of the examples, computed from x and y. Refused if the ranks of x and y differ and neither is a number: a column with a row
/// would give a matrix of losses. Refused if weights have more axes than both.
template <class T>
constexpr operand<T> losses_of(operand<T> losses, auto x, auto y) {
  const int a = rank_of_operand(x), b = rank_of_operand(y);
  return (a == b || a == 0 || b == 0) && losses.rank() <= std::max(a, b) ? losses : refuse<T>(*losses.g, 211);
}

}  // namespace functions

}  // namespace ebb::inline EBB_ABI
