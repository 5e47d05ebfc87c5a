// ebb/train/adaptive.hpp — steps scaled by past gradients: rmsprop, adagrad, adadelta, rprop, and `maximized` for any rule.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "sgd.hpp"

#include "../hooks/rule.hpp"

#include <cmath>

namespace ebb::inline EBB_ABI {

namespace rule {

struct scaled_descent {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"square_avg"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto s, auto lr, auto weight_decay, auto alpha, auto share, auto eps, auto, auto) const {
    const auto d = decayed(g, p, weight_decay);
    const auto next = alpha * s + share * d * d;
    return std::tuple(p - lr * d / (sqrt(next) + eps), next);
  }
};
/// scaled_descent with a momentum, centred, or both. The mean is kept in any case, and used only if the rule is centred.
struct centred_descent {
  static constexpr int states = 3;
  static constexpr const char* state_names[] = {"square_avg", "grad_avg", "momentum_buffer"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto s, auto m, auto v, auto lr, auto weight_decay, auto alpha, auto share, auto eps,
                            auto momentum, auto centred) const {
    const auto d = decayed(g, p, weight_decay);
    const auto next = alpha * s + share * d * d;
    const auto mean = m + share * (d - m);
    // The difference is a variance. Rounding may make it negative.
    const auto spread = if_set(centred, maximum(next - mean * mean, 0), next);
    const auto moved = momentum * v + d / (sqrt(spread) + eps);
    return std::tuple(p - lr * moved, next, mean, moved);
  }
};

struct adagrad {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"sum"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto s, auto lr, auto weight_decay, auto first, auto eps) const {
    const auto d = decayed(g, p, weight_decay);
    const auto next = s + first + d * d;
    return std::tuple(p - lr * d / (sqrt(next) + eps), next);
  }
};

struct adadelta {
  static constexpr int states = 2;
  static constexpr const char* state_names[] = {"square_avg", "acc_delta"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto s, auto moves, auto lr, auto weight_decay, auto rho, auto share, auto eps) const {
    const auto d = decayed(g, p, weight_decay);
    const auto next = rho * s + share * d * d;
    const auto move = sqrt(moves + eps) / sqrt(next + eps) * d;
    return std::tuple(p - lr * move, next, rho * moves + share * move * move);
  }
};

struct rprop {
  static constexpr int states = 2;
  static constexpr const char* state_names[] = {"prev", "step_size"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto before, auto size, auto first, auto less, auto more, auto least, auto most) const {
    const auto agreement = g * before;
    const auto factor = where(agreement > 0, broadcast_like(more, g), where(agreement < 0, broadcast_like(less, g), 1));
    const auto next = minimum(maximum((size + first) * factor, least), most);
    const auto used = where(agreement < 0, 0, g);  // after a change of sign the element does not move for one step
    return std::tuple(p - sign(used) * next, used, next);
  }
};

/// Another update with the gradient negated.
template <class Update>
struct negated : Update {
  constexpr auto operator()(auto p, auto g, auto... others) const { return Update::operator()(p, -g, others...); }
};

}  // namespace rule

/// RMSprop, see [note: update rules]. With d = g + weight_decay * p:
///   s = alpha * s + (1 - alpha) * d * d      u = d / (sqrt(s) + eps), centred: d / (sqrt(s - m * m) + eps) with m the mean of d
///   v = momentum * v + u                     p -= lr * v
/// Source: Tieleman and Hinton, lecture 6.5 of Neural networks for machine learning, 2012; Graves, 2013, arXiv:1308.0850, for the centred
/// form; the algorithm in PyTorch's documentation of torch.optim.RMSprop, whose defaults these are.
struct rmsprop {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centred = false;

  using updates = std::tuple<rule::scaled_descent, rule::centred_descent>;
  int which() const { return centred || momentum != 0; }
  std::array<double, 7> values(std::uint64_t) const { return {lr, weight_decay, alpha, 1 - alpha, eps, momentum, centred ? 1.0 : 0.0}; }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0)) return "rmsprop: lr must not be negative";
    if (!(alpha >= 0 && alpha < 1)) return "rmsprop: alpha must be at least 0 and below 1";
    if (!(eps >= 0 && weight_decay >= 0 && momentum >= 0)) return "rmsprop: eps, weight_decay and momentum must not be negative";
    return nullptr;
  }
};

/// Adagrad, see [note: update rules]. In step t, with d = g + weight_decay * p and s = initial before the first step:
///   s += d * d      p -= lr / (1 + (t - 1) * lr_decay) * d / (sqrt(s) + eps)
/// Source: Duchi, Hazan and Singer, JMLR 12, 2011; the algorithm in PyTorch's documentation of torch.optim.Adagrad, whose defaults these
/// are.
struct adagrad {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial = 0;
  double eps = 1e-10;

  using update = rule::adagrad;
  std::array<double, 4> values(std::uint64_t step) const {
    return {lr / (1 + static_cast<double>(step - 1) * lr_decay), weight_decay, step == 1 ? initial : 0, eps};
  }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0 && lr_decay >= 0)) return "adagrad: lr and lr_decay must not be negative";
    if (!(weight_decay >= 0 && initial >= 0 && eps >= 0)) return "adagrad: weight_decay, initial and eps must not be negative";
    return nullptr;
  }
};

/// Adadelta, see [note: update rules]. With d = g + weight_decay * p:
///   s = rho * s + (1 - rho) * d * d      x = sqrt(D + eps) / sqrt(s + eps) * d      D = rho * D + (1 - rho) * x * x      p -= lr * x
/// Source: Zeiler, 2012, arXiv:1212.5701; the algorithm in PyTorch's documentation of torch.optim.Adadelta, whose defaults these are.
struct adadelta {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;

  using update = rule::adadelta;
  std::array<double, 5> values(std::uint64_t) const { return {lr, weight_decay, rho, 1 - rho, eps}; }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0 && eps >= 0 && weight_decay >= 0)) return "adadelta: lr, eps and weight_decay must not be negative";
    if (!(rho >= 0 && rho <= 1)) return "adadelta: rho must be from 0 to 1";
    return nullptr;
  }
};

/// Resilient propagation, see [note: update rules]: only the signs of gradients count, so they must be those of all examples. Each element
/// has a step of its own, lr at first. It is multiplied by `more` if the gradient has the sign of the step before, and by `less` if the
/// sign has changed; then the element does not move for one step.
/// Source: Riedmiller and Braun, ICNN 1993; the algorithm in PyTorch's documentation of torch.optim.Rprop, whose defaults these are.
struct rprop {
  double lr = 1e-2;
  double less = 0.5, more = 1.2;
  double least = 1e-6, most = 50;

  using update = rule::rprop;
  std::array<double, 5> values(std::uint64_t step) const { return {step == 1 ? lr : 0, less, more, least, most}; }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0)) return "rprop: lr must not be negative";
    if (!(less > 0 && less < 1 && more > 1)) return "rprop: less must be between 0 and 1, and more above 1";
    if (!(least >= 0 && least <= most)) return "rprop: the least step must not be negative nor above the most";
    return nullptr;
  }
};

/// Maximizes by any rule: it negates the gradient.
///   ebb::optimizer opt(ebb::maximized{ebb::adamw{.lr = 0.1}}, w);   opt.rule().rule.lr = 0.01;
/// Source: the option maximize of PyTorch's optimizers.
template <class Rule>
struct maximized {
  Rule rule;

  using updates = decltype([]<class... Update>(std::type_identity<std::tuple<Update...>>) {
    return std::tuple<ebb::rule::negated<Update>...>();
  }(std::type_identity<typename detail::updates_of<Rule>::type>{}));
  int which() const { return detail::updates_of<Rule>::which(rule); }
  auto values(std::uint64_t step) const { return rule.values(step); }
  const char* problem() const {
    if constexpr (requires { rule.problem(); }) return rule.problem();
    else return nullptr;
  }
};
template <class Rule>
maximized(Rule) -> maximized<Rule>;

}  // namespace ebb::inline EBB_ABI
