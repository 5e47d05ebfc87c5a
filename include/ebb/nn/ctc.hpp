// ebb/nn/ctc.hpp — ctc: the loss of sequences whose labels have no places in time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "loss.hpp"

#include "../op/along.hpp"
#include "../op/gather.hpp"
#include "../op/like.hpp"
#include "../op/shape.hpp"
#include "../trace/scan.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<456, Call> : Call {
  static_assert(Call::code != 456, "[ebb E0456] ctc: log-probabilities are [steps, n, classes], targets integers [n, labels], lengths "
                                   "integers [n]");
};

/// The loss of an example that no path fits is 0, not infinite.
inline constexpr detail::loss_flag<loss_option::zero_infinity> zero_infinity{};

namespace detail {

/// The logarithm of 0 here: of a size that may be added without becoming infinite, so that gradients stay finite.
inline constexpr double no_path = -1e30;

}  // namespace detail

namespace functions {

/// The labels with a blank before, between and after them: [n, 2 labels + 1]. Places after the last label of an example are blank.
template <std::int64_t Blank>
struct ctc_labels {
  static constexpr std::string_view name = "ctc";
  template <class P, class I, class L, class M>
  static constexpr auto apply(operand<P> p, operand<I> targets, operand<L> steps, operand<M> lengths) {
    using integer = std::int64_t;
    graph& g = *p.g;
    const int refused_codes[] = {p.id, targets.id, steps.id, lengths.id};
    for (const int id : refused_codes)
      if (id < 0) return refuse<integer>(g, -id);
    if constexpr (!real_element<P> || !index_element<I> || !index_element<L> || !index_element<M>) return refuse<integer>(g, 456);
    else {
      if (p.rank() != 3 || targets.rank() != 2 || steps.rank() != 1 || lengths.rank() != 1) return refuse<integer>(g, 456);
      const int n = p.extent(1);
      if (!g.syms.unify(n, targets.extent(0)) || !g.syms.unify(n, steps.extent(0)) || !g.syms.unify(n, lengths.extent(0)))
        return refuse<integer>(g, 456);
      const auto labels = view_as(cast_to<integer>(targets), with_axis(targets.extents(), 2, 1));
      const auto pairs = emit_on<op::concat>({2}, literal_like(labels, Blank), labels);
      const int twice = g.syms.derive(extent_rule::product, targets.extent(1), 2);
      const auto row = view_as(pairs, with_extent(targets.extents(), 1, twice));
      const auto last = literal_in<integer>(g, g.intern(with_extent(targets.extents(), 1, 1)), Blank);
      const auto all = emit_on<op::concat>({1}, row, last);
      const auto place = index_along<integer>(g, all.shape_number(), 1);
      const auto end = repeat(2 * cast_to<integer>(lengths), all, 2);
      return emit_on<op::where>({}, emit_on<op::less>({}, place, end), all, literal_like(all, Blank));
    }
  }
};

/// The logarithms of the probabilities before the first step: the path is at the first blank.
struct ctc_start {
  static constexpr std::string_view name = "ctc";
  template <class I, class T>
  static constexpr operand<T> apply(operand<I> labels, operand<T> p) {
    if (labels.is_refused() || p.is_refused()) return refuse<T>(*p.g, labels.is_refused() ? -labels.id : -p.id);
    const auto place = index_along<I>(*p.g, labels.shape_number(), 1);
    const auto zero = literal_in<T>(*p.g, labels.shape_number(), 0.);
    return emit_on<op::where>({}, emit_on<op::equal>({}, place, literal_like(place, 0)), zero, literal_like(zero, detail::no_path));
  }
};

/// Log-probabilities in the dtype of the computation.
struct ctc_probabilities {
  static constexpr std::string_view name = "ctc";
  static constexpr precision autocast = precision::full;
  template <class P>
  static constexpr auto apply(operand<P> p) {
    return cast_to<detail::computed_in<promoted_to_real<P>>>(p);
  }
};

}  // namespace functions

namespace detail {

/// The logarithms of the probabilities of all paths to each place, after one more step.
inline constexpr auto ctc_step = [](auto paths, auto row, auto t, auto labels, auto skips, auto steps) {
  const auto before = pad<-1, 1, -1>(paths, no_path);
  const auto skipped = where(skips, pad<-1, 1, -1>(before, no_path), no_path);
  const auto next = take_along_axis<-1>(row, labels) + logaddexp(logaddexp(paths, before), skipped);
  return std::tuple(where(unsqueeze<-1>(t < steps), next, paths), std::tuple<>());
};

}  // namespace detail

/// -log of the probability of each example's labels, over all ways to stretch them over the steps, with blanks between them: equal
/// labels that follow each other need one. Class Blank is the blank.
///   ctc(log_softmax(x), targets, steps, lengths)   ctc<0>(log_p, targets, steps, lengths, summed, zero_infinity)
/// The example i has steps[i] steps and lengths[i] labels; later elements do not count, and need not be classes. averaged divides
/// each loss by the number of its labels, at least 1, before it takes the mean. If no path fits, the loss is infinite, and its gradient 0.
/// Shape: log_p [steps, n, classes], targets [n, labels], steps and lengths [n]; losses [n].
/// Dtype: log_p's; bf16 and f16 give float.   Saves: log_p, and the logarithms of [n, 2 labels + 1] probabilities for each step.
/// Error: that of logaddexp, for each step.   Throws: if there is no such class.   Autocast: full.
/// Source: Graves et al., Connectionist temporal classification, ICML 2006; torch.nn.functional.ctc_loss, whose gradient by log_p takes for
/// granted that log_p is a log_softmax: this one is the derivative.
template <std::int64_t Blank = 0, class P, class Targets, class Steps, class Lengths, class... How>
constexpr auto ctc(const P& log_probabilities, const Targets& targets, const Steps& steps, const Lengths& lengths, How...) {
  using o = detail::arguments_of_loss<How...>;
  constexpr bool fits = detail::loss_takes<o, false, loss_option::zero_infinity> && detail::count_of_operands<How...> == 0;
  static_assert(fits, "[ebb E0483] this loss has no such option");
  const auto labels = apply_function(functions::ctc_labels<Blank>{}, log_probabilities, targets, steps, lengths);
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(labels)>, refused_result>) return labels;
  else {
    const auto p = apply_function(functions::ctc_probabilities{}, log_probabilities);
    const auto before = pad<-1, 1, -1>(pad<-1, 1, -1>(labels, Blank), Blank);
    const auto skips = labels != Blank && labels != before;
    const auto place = arange_like<-1>(labels);
    const auto start = apply_function(functions::ctc_start{}, labels, p);
    const auto paths = std::get<0>(scan(detail::ctc_step, start, p, iota<0>(p), whole(labels), whole(skips), whole(steps)));
    const auto ends = unsqueeze<-1>(2 * lengths);
    const auto total = logsumexp<-1>(where(place == ends || place + 1 == ends, paths, detail::no_path));
    constexpr double without = o::options::has(loss_option::zero_infinity) ? 0 : std::numeric_limits<double>::infinity();
    const auto losses = where(total < 0.1 * detail::no_path, without, -total);
    if constexpr (std::is_same_v<typename o::how, averaged_tag>) return mean(losses / maximum(lengths, 1));
    else if constexpr (std::is_same_v<typename o::how, summed_tag>) return sum(losses);
    else return losses;
  }
}

}  // namespace ebb::inline EBB_ABI
