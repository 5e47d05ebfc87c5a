// ebb/train/adam.hpp — Adam, and AdamW with its decoupled weight decay, as update rules.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "sgd.hpp"

#include <cmath>

namespace ebb::inline EBB_ABI {

namespace rule {

/// Adam's two moments after a step with g: the running mean of g, and that of its squares.
constexpr auto moved_moments(auto m, auto v, auto g, auto share1, auto beta2, auto share2) {
  const auto mean = m + share1 * (g - m);
  return std::tuple(mean, beta2 * v + share2 * g * g);
}
/// p moved by both moments, and the moments. step_size and root are those of this step: bias is corrected in them.
constexpr auto move_by_moments(auto p, auto g, auto m, auto v, auto share1, auto beta2, auto share2, auto step_size, auto root, auto eps) {
  const auto [mean, spread] = moved_moments(m, v, g, share1, beta2, share2);
  return std::tuple(p - step_size * mean / (sqrt(spread) / root + eps), mean, spread);
}

/// The states of rules with both moments.
struct both_moments {
  static constexpr int states = 2;
  static constexpr const char* state_names[] = {"exp_avg", "exp_avg_sq"};
};
struct adam : both_moments {
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto v, auto weight_decay, auto... numbers) const {
    return move_by_moments(p, decayed(g, p, weight_decay), m, v, numbers...);
  }
};
struct adamw : both_moments {
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto v, auto kept, auto... numbers) const {
    return move_by_moments(kept * p, g, m, v, numbers...);
  }
};

}  // namespace rule

namespace detail {

inline double bias_of(double beta, std::uint64_t step) { return 1 - std::pow(beta, static_cast<double>(step)); }

/// The common part of Adam and AdamW.
struct adam_numbers {
  /// For share1 to eps above, after a first one.
  template <class Rule>
  static std::array<double, 7> values(const Rule& r, double first, std::uint64_t step) {
    return {first, 1 - r.beta1, r.beta2, 1 - r.beta2, r.lr / bias_of(r.beta1, step), std::sqrt(bias_of(r.beta2, step)), r.eps};
  }
  template <class Rule>
  static const char* problem(const Rule& r) {
    if (!(r.lr >= 0)) return "adam: lr must not be negative";
    if (!(r.beta1 >= 0 && r.beta1 < 1 && r.beta2 >= 0 && r.beta2 < 1)) return "adam: beta1 and beta2 must be at least 0 and below 1";
    if (!(r.eps >= 0)) return "adam: eps must not be negative";
    if (!(r.weight_decay >= 0)) return "adam: weight_decay must not be negative";
    return nullptr;
  }
};

}  // namespace detail

/// Adam, see [note: update rules]. In step t, with d = g + weight_decay * p:
///   m = beta1 * m + (1 - beta1) * d           v = beta2 * v + (1 - beta2) * d * d
///   p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// Dtype: 16-bit parameters are updated in float, in which eps and 1 - beta2 do not vanish.
/// Source: Kingma and Ba, Adam, ICLR 2015, arXiv:1412.6980, algorithm 1; the algorithm in PyTorch's documentation of torch.optim.Adam,
/// whose defaults these are, and whose order of operations: m moves by (1 - beta1) * (d - m).
struct adam {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;

  using update = rule::adam;
  auto values(std::uint64_t step) const { return detail::adam_numbers::values(*this, weight_decay, step); }
  const char* problem() const { return detail::adam_numbers::problem(*this); }
};

/// AdamW, see [note: update rules]: Adam on the gradient alone, after p *= 1 - lr * weight_decay.
/// Source: Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019, arXiv:1711.05101; the algorithm in PyTorch's
/// documentation of torch.optim.AdamW, whose defaults these are.
struct adamw {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;

  using update = rule::adamw;
  auto values(std::uint64_t step) const { return detail::adam_numbers::values(*this, 1 - lr * weight_decay, step); }
  const char* problem() const { return detail::adam_numbers::problem(*this); }
};

}  // namespace ebb::inline EBB_ABI
