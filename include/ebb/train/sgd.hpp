// ebb/train/sgd.hpp — gradient descent with momentum and weight decay, as an update rule.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../trace/functions.hpp"

#include <array>
#include <cstdint>
#include <tuple>

namespace ebb::inline EBB_ABI {

/// The traced functions of update rules: see [note: update rules].
namespace rule {

// Numbers are broadcast before they are compared: computations on numbers alone are separate steps, and would split the loop.

/// x where the number is not 0, else y.
constexpr auto if_set(auto number, auto x, auto y) { return where(broadcast_like(number, x) != 0, x, y); }
/// g + weight_decay * p: the gradient with an L2 penalty. If weight_decay is 0 it is g, even if p is infinite.
constexpr auto decayed(auto g, auto p, auto weight_decay) { return if_set(weight_decay, g + weight_decay * p, g); }

struct descent {
  static constexpr int states = 0;
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto lr, auto weight_decay, auto...) const { return p - lr * decayed(g, p, weight_decay); }
};
struct momentum_descent {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"momentum_buffer"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto v, auto lr, auto weight_decay, auto momentum, auto share, auto nesterov) const {
    const auto d = decayed(g, p, weight_decay);
    const auto next = momentum * v + share * d;
    return std::tuple(p - lr * if_set(nesterov, d + momentum * next, next), next);
  }
};

}  // namespace rule

/// Stochastic gradient descent, see [note: update rules]. With d = g + weight_decay * p:
///   momentum 0    p -= lr * d                                      no state
///   otherwise     v = momentum * v + (1 - dampening) * d           in the first step v = d
///                 p -= lr * v, or with nesterov  p -= lr * (d + momentum * v)
/// Source: the algorithm in PyTorch's documentation of torch.optim.SGD; Sutskever et al., On the importance of initialization and
/// momentum in deep learning, ICML 2013, from which the place of lr differs. The defaults are PyTorch's.
struct sgd {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  using updates = std::tuple<rule::descent, rule::momentum_descent>;
  int which() const { return momentum != 0; }

  std::array<double, 5> values(std::uint64_t step) const {
    return {lr, weight_decay, momentum, step == 1 ? 1 : 1 - dampening, nesterov ? 1.0 : 0.0};
  }
  EBB_ONCE const char* problem() const {
    if (!(lr >= 0)) return "sgd: lr must not be negative";
    if (!(momentum >= 0)) return "sgd: momentum must not be negative";
    if (!(weight_decay >= 0)) return "sgd: weight_decay must not be negative";
    if (nesterov && (momentum == 0 || dampening != 0)) return "sgd: nesterov needs a momentum, and no dampening";
    return nullptr;
  }
};

}  // namespace ebb::inline EBB_ABI
