// ebb/train/wrapped.hpp — rules around rules: accumulated gradients, and moving or equal averages of parameters.
// SPDX-License-Identifier: BSL-1.0
//
// They wrap any rule, nest, and run in steps and in backwards as other rules do:
//   ebb::optimizer opt(ebb::with_average{ebb::accumulated{ebb::adam{.lr = 1e-3}, 4}, 0.999}, params);   opt.rule().rule.rule.lr = 1e-4;
#pragma once

#include "optimizer.hpp"
#include "sgd.hpp"

#include <array>
#include <cstring>
#include <tuple>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A function's result as a tuple: the parameter, then the states.
template <class... R>
constexpr std::tuple<R...> as_results(const std::tuple<R...>& r) {
  return r;
}
constexpr auto as_results(const auto& p) { return std::tuple(p); }

/// The numbers of a wrapped rule, followed by more.
template <std::size_t N, class... More>
std::array<double, N + sizeof...(More)> with_numbers(const std::array<double, N>& inner, More... more) {
  std::array<double, N + sizeof...(More)> r{};
  for (std::size_t i = 0; i < N; ++i) r[i] = inner[i];
  std::size_t at = N;
  ((r[at++] = more), ...);
  return r;
}

/// Wrapper<Update> for each function of a rule.
template <template <class> class Wrapper, class Updates>
struct wrap_each;
template <template <class> class Wrapper, class... Update>
struct wrap_each<Wrapper, std::tuple<Update...>> {
  using type = std::tuple<Wrapper<Update>...>;
};

/// A wrapper of Update with states and numbers of its own, which come after those of Update.
template <class Update, std::size_t States = 1, std::size_t Numbers = 1>
struct wrapper {
  static constexpr int states = Update::states + static_cast<int>(States);
  static constexpr bool by_element = is_by_element<Update>;

  /// f(the states of Update as a tuple, its numbers as a tuple, the own states, the own numbers).
  static constexpr auto apart(auto f, auto... a) {
    const auto all = std::tuple(a...);
    constexpr std::size_t inner = Update::states, first = inner + States, last = sizeof...(a) - Numbers;
    const auto some = [&]<std::size_t From, std::size_t... I>(std::integral_constant<std::size_t, From>, std::index_sequence<I...>) {
      return std::tuple(std::get<From + I>(all)...);
    };
    const auto kept = some(std::integral_constant<std::size_t, 0>{}, std::make_index_sequence<inner>{});
    const auto numbers = some(std::integral_constant<std::size_t, first>{}, std::make_index_sequence<last - first>{});
    return [&]<std::size_t... S, std::size_t... N>(std::index_sequence<S...>, std::index_sequence<N...>) {
      return f(kept, numbers, std::get<inner + S>(all)..., std::get<last + N>(all)...);
    }(std::make_index_sequence<States>{}, std::make_index_sequence<Numbers>{});
  }
};

/// A rule whose last state is an average of the parameter.
template <class Rule>
concept keeps_average = requires { requires Rule::keeps_average; };

}  // namespace detail

namespace rule {

template <class Update>
struct accumulated : detail::wrapper<Update> {
  constexpr auto operator()(auto p, auto g, auto... others) const {
    return detail::wrapper<Update>::apart([&](auto kept, auto numbers, auto sum, auto share) {
      const auto total = sum + g;
      const auto next = detail::as_results(std::apply(Update{}, std::tuple_cat(std::tuple(p, share * total), kept, numbers)));
      const auto old = std::tuple_cat(std::tuple(p), kept);
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(if_set(share, std::get<I>(next), std::get<I>(old))..., where(broadcast_like(share, total) != 0, 0, total));
      }(std::make_index_sequence<1 + Update::states>{});
    }, others...);
  }
};

template <class Update>
struct with_average : detail::wrapper<Update> {
  constexpr auto operator()(auto p, auto g, auto... others) const {
    return detail::wrapper<Update>::apart([&](auto kept, auto numbers, auto average, auto share) {
      const auto next = detail::as_results(std::apply(Update{}, std::tuple_cat(std::tuple(p, g), kept, numbers)));
      const auto q = std::get<0>(next);
      return std::tuple_cat(next, std::tuple(average + share * (q - average)));
    }, others...);
  }
};

template <class Update>
struct with_mean : detail::wrapper<Update, 1, 2> {
  constexpr auto operator()(auto p, auto g, auto... others) const {
    return detail::wrapper<Update, 1, 2>::apart([&](auto kept, auto numbers, auto average, auto begins, auto share) {
      const auto next = detail::as_results(std::apply(Update{}, std::tuple_cat(std::tuple(p, g), kept, numbers)));
      const auto q = std::get<0>(next);
      return std::tuple_cat(next, std::tuple(if_set(begins, q, if_set(share, average + share * (q - average), average))));
    }, others...);
  }
};

}  // namespace rule

/// A rule that updates in every `steps`-th step only, with the mean of the gradients since its last update: for batches that do not fit
/// into memory. In other steps the parameters and the states of the rule do not change. The rule counts its updates as steps.
template <class Rule>
struct accumulated {
  Rule rule;
  std::uint64_t steps = 1;

  using updates = typename detail::wrap_each<ebb::rule::accumulated, typename detail::updates_of<Rule>::type>::type;
  int which() const { return detail::updates_of<Rule>::which(rule); }
  auto values(std::uint64_t step) const {
    return detail::with_numbers(rule.values((step - 1) / steps + 1), step % steps == 0 ? 1 / static_cast<double>(steps) : 0.0);
  }
  const char* problem() const {
    if (steps == 0) return "accumulated: steps must be above 0";
    if constexpr (requires { rule.problem(); }) return rule.problem();
    else return nullptr;
  }
};
template <class Rule>
accumulated(Rule, std::uint64_t) -> accumulated<Rule>;

/// A rule with a moving average of each parameter: after each step a = decay * a + (1 - decay) * p, after the first step a = p. Read a by
/// average_of.
/// Source: Polyak and Juditsky, SIAM J. Control Optim. 30, 1992; torch.optim.swa_utils.get_ema_avg_fn, whose default this is.
template <class Rule>
struct with_average {
  Rule rule;
  double decay = 0.999;

  static constexpr bool keeps_average = true;
  using updates = typename detail::wrap_each<ebb::rule::with_average, typename detail::updates_of<Rule>::type>::type;
  int which() const { return detail::updates_of<Rule>::which(rule); }
  auto values(std::uint64_t step) const { return detail::with_numbers(rule.values(step), step == 1 ? 1.0 : 1 - decay); }
  const char* problem() const {
    if (!(decay >= 0 && decay < 1)) return "with_average: decay must be at least 0 and below 1";
    if constexpr (requires { rule.problem(); }) return rule.problem();
    else return nullptr;
  }
};
template <class Rule>
with_average(Rule, double) -> with_average<Rule>;
template <class Rule>
with_average(Rule) -> with_average<Rule>;

/// A rule with the mean of each parameter over the steps after + every, after + 2 every, ..., all with the same weight: stochastic weight
/// averaging. With n such steps so far, a += (p - a) / n; before the first of them a = p. Read a by average_of. Step `after` should come
/// when the loss has become flat; a constant or cyclic learning rate follows, with a mean at the end of each cycle of `every` steps.
/// Source: Izmailov et al., UAI 2018, arXiv:1803.05407; torch.optim.swa_utils.AveragedModel.
template <class Rule>
struct with_mean {
  Rule rule;
  std::uint64_t after = 0;
  std::uint64_t every = 1;

  static constexpr bool keeps_average = true;
  using updates = typename detail::wrap_each<ebb::rule::with_mean, typename detail::updates_of<Rule>::type>::type;
  int which() const { return detail::updates_of<Rule>::which(rule); }
  auto values(std::uint64_t step) const {
    const std::uint64_t past = step > after ? step - after : 0, n = past / every;
    const double share = n > 0 && past % every == 0 ? 1 / static_cast<double>(n) : 0;
    return detail::with_numbers(rule.values(step), n == 0 || past == every ? 1.0 : 0.0, share);
  }
  const char* problem() const {
    if (every == 0) return "with_mean: every must be above 0";
    if constexpr (requires { rule.problem(); }) return rule.problem();
    else return nullptr;
  }
};
template <class Rule>
with_mean(Rule) -> with_mean<Rule>;
template <class Rule>
with_mean(Rule, std::uint64_t) -> with_mean<Rule>;
template <class Rule>
with_mean(Rule, std::uint64_t, std::uint64_t) -> with_mean<Rule>;

/// The average of a parameter that a rule with_average, with_mean, asgd or schedule_free keeps; before the first step its value. 16-bit
/// parameters have averages in float.
/// Throws: error if the optimizer does not have the parameter.
template <detail::keeps_average Rule, class T, std::size_t... E>
tensor<detail::updated_in<T>, E...> average_of(const optimizer<Rule>& opt, const variable<T, E...>& p) {
  using number = detail::updated_in<T>;
  for (std::size_t i = 0; i < opt.size(); ++i) {
    if (&opt.parameter(i) != p.history()) continue;
    auto r = tensor<number, E...>::uninitialized(p.layout());
    const auto& arrays = opt.state(i).arrays;
    for (std::size_t k = 0; arrays.empty() && k < r.size(); ++k) r.mutable_data()[k] = as_element<number>(p.data()[k]);
    if (!arrays.empty() && r.size()) std::memcpy(r.mutable_data(), arrays.back().data(), arrays.back().bytes());
    return r;
  }
  raise("ebb::average_of: the optimizer does not have " + p.name());
}

}  // namespace ebb::inline EBB_ABI
