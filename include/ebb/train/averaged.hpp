// ebb/train/averaged.hpp — rules whose result is an average of the parameters: asgd, schedule_free.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "wrapped.hpp"

#include <algorithm>
#include <cmath>

namespace ebb::inline EBB_ABI {

namespace rule {

struct averaged_descent {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"ax"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto average, auto weight_decay, auto kept, auto lr, auto share, auto rest) const {
    const auto next = kept * p - lr * decayed(g, p, weight_decay);
    return std::tuple(next, if_set(rest, average + share * (next - average), next));
  }
};

template <class Update>
struct schedule_free : detail::wrapper<Update, 2, 4> {
  constexpr auto operator()(auto p, auto g, auto... others) const {
    return detail::wrapper<Update, 2, 4>::apart([&](auto kept, auto numbers, auto fast, auto average, auto first, auto warm, auto share,
                                                    auto momentum) {
      const auto next = detail::as_results(std::apply(Update{}, std::tuple_cat(std::tuple(p, g), kept, numbers)));
      const auto z = if_set(first, p, fast) + warm * (std::get<0>(next) - p);
      const auto x = if_set(first, z, average + share * (z - average));
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(z + momentum * (x - z), std::get<1 + I>(next)..., z, x);
      }(std::make_index_sequence<Update::states>{});
    }, others...);
  }
};

}  // namespace rule

/// Averaged gradient descent, see [note: update rules]. In step t, with d = g + weight_decay * p and
/// lr(t) = lr / (1 + decay * lr * (t - 1))^power:
///   p = (1 - decay * lr(t)) * p - lr(t) * d      a += (p - a) / max(1, t - 1 - start)
/// The average a is p until step start + 2. Read it by average_of.
/// Source: Polyak and Juditsky, SIAM J. Control Optim. 30, 1992; torch.optim.ASGD, whose defaults these are: there decay is lambd, power
/// alpha, and start t0.
struct asgd {
  double lr = 1e-2;
  double decay = 1e-4;
  double power = 0.75;
  double start = 1e6;
  double weight_decay = 0;

  static constexpr bool keeps_average = true;
  using update = rule::averaged_descent;
  EBB_ONCE std::array<double, 5> values(std::uint64_t step) const {
    const double before = static_cast<double>(step - 1), now = lr / std::pow(1 + decay * lr * before, power);
    const double count = before - start;
    return {weight_decay, 1 - decay * now, now, count > 1 ? 1 / count : 1, count > 1 ? 1.0 : 0.0};
  }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0 && decay >= 0 && weight_decay >= 0)) return "asgd: lr, decay and weight_decay must not be negative";
    if (!(power >= 0 && start >= 0)) return "asgd: power and start must not be negative";
    return nullptr;
  }
};

/// A rule that needs no schedule and no number of steps in advance. The parameter y is where gradients are taken, z moves by the rule, and
/// x, the average of z, is the result. In step t, with y = z = x at first:
///   z += w(t) * (the rule's step from y)      x += c(t) * (z - x)      y = z + momentum * (x - z)
/// where w(t) = min(1, t / warm_up), and c(t) = w(t)^2 / (w(1)^2 + ... + w(t)^2): without warm_up x is the mean of all z.
/// Read x by average_of: x is what to evaluate and to keep, not y. 16-bit parameters have z and x in float. The rule inside needs no
/// momentum: ebb::sgd{.lr = 1}, or ebb::adamw{.lr = 2.5e-3, .beta1 = 0}, whose weights decay at y. To accumulate gradients, write
/// accumulated{schedule_free{...}, n}.
/// Source: Defazio et al., The road less scheduled, NeurIPS 2024, arXiv:2405.15682; optax.contrib.schedule_free.
template <class Rule>
struct schedule_free {
  Rule rule;
  double momentum = 0.9;
  std::uint64_t warm_up = 0;

  static constexpr bool keeps_average = true;
  using updates = typename detail::wrap_each<ebb::rule::schedule_free, typename detail::updates_of<Rule>::type>::type;
  int which() const { return detail::updates_of<Rule>::which(rule); }
  auto values(std::uint64_t step) const {
    // Over the first n steps of a warm-up of m, the sum of (i / m)^2 is n (n + 1) (2 n + 1) / (6 m^2).
    const double t = static_cast<double>(step), m = static_cast<double>(warm_up), n = std::min(t, m);
    const double warm = t < m ? t / m : 1, sum = n > 0 ? n * (n + 1) * (2 * n + 1) / (6 * m * m) + (t - n) : t;
    return detail::with_numbers(rule.values(step), step == 1 ? 1.0 : 0.0, warm, warm * warm / sum, momentum);
  }
  const char* problem() const {
    if (!(momentum >= 0 && momentum <= 1)) return "schedule_free: momentum must be from 0 to 1";
    if constexpr (requires { rule.problem(); }) return rule.problem();
    else return nullptr;
  }
};
template <class Rule>
schedule_free(Rule) -> schedule_free<Rule>;
template <class Rule>
schedule_free(Rule, double) -> schedule_free<Rule>;
template <class Rule>
schedule_free(Rule, double, std::uint64_t) -> schedule_free<Rule>;

}  // namespace ebb::inline EBB_ABI
