// ebb/train/moments.hpp — relatives of Adam: amsgrad, nadam, radam, adamax, adabelief, lion, lamb.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "adam.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

namespace rule {

struct amsgrad {
  static constexpr int states = 3;
  static constexpr const char* state_names[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto v, auto top, auto kept, auto weight_decay, auto share1, auto beta2, auto share2,
                            auto step_size, auto root, auto eps) const {
    const auto q = kept * p, d = decayed(g, q, weight_decay);
    const auto [mean, spread] = moved_moments(m, v, d, share1, beta2, share2);
    const auto most = maximum(top, spread);
    return std::tuple(q - step_size * mean / (sqrt(most) / root + eps), mean, spread, most);
  }
};

struct nadam : both_moments {
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto v, auto weight_decay, auto share1, auto beta2, auto share2, auto now, auto ahead,
                            auto root, auto eps) const {
    const auto d = decayed(g, p, weight_decay);
    const auto [mean, spread] = moved_moments(m, v, d, share1, beta2, share2);
    return std::tuple(p - (now * d + ahead * mean) / (sqrt(spread) / root + eps), mean, spread);
  }
};

struct radam : both_moments {
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto v, auto weight_decay, auto share1, auto beta2, auto share2, auto step_size,
                            auto rectified, auto eps) const {
    const auto d = decayed(g, p, weight_decay);
    const auto [mean, spread] = moved_moments(m, v, d, share1, beta2, share2);
    return std::tuple(p - step_size * mean / if_set(rectified, sqrt(spread) + eps, 1), mean, spread);
  }
};

struct adamax {
  static constexpr int states = 2;
  static constexpr const char* state_names[] = {"exp_avg", "exp_inf"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto u, auto weight_decay, auto share1, auto beta2, auto step_size, auto eps) const {
    const auto d = decayed(g, p, weight_decay);
    const auto mean = m + share1 * (d - m);
    const auto most = maximum(beta2 * u, abs(d) + eps);
    return std::tuple(p - step_size * mean / most, mean, most);
  }
};

struct adabelief {
  static constexpr int states = 2;
  static constexpr const char* state_names[] = {"exp_avg", "exp_avg_var"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto s, auto kept, auto share1, auto beta2, auto share2, auto step_size, auto root,
                            auto eps) const {
    const auto mean = m + share1 * (g - m), error = g - mean;
    const auto spread = beta2 * s + share2 * error * error + eps;
    return std::tuple(kept * p - step_size * mean / (sqrt(spread) / root + eps), mean, spread);
  }
};

struct lion {
  static constexpr int states = 1;
  static constexpr const char* state_names[] = {"exp_avg"};
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto kept, auto lr, auto beta1, auto share1, auto beta2, auto share2) const {
    return std::tuple(kept * p - lr * sign(beta1 * m + share1 * g), beta2 * m + share2 * g);
  }
};

/// The norms are taken over the whole parameter.
struct lamb : both_moments {
  constexpr auto operator()(auto p, auto g, auto m, auto v, auto lr, auto weight_decay, auto share1, auto beta2, auto share2, auto scale,
                            auto root, auto eps) const {
    const auto [mean, spread] = moved_moments(m, v, g, share1, beta2, share2);
    const auto move = scale * mean / (sqrt(spread) / root + eps) + weight_decay * p;
    const auto length = norm(p), step = norm(move);
    const auto trust = where(length * step > 0, length / where(step > 0, step, 1), 1);
    return std::tuple(p - lr * trust * move, mean, spread);
  }
};

}  // namespace rule

namespace detail {

EBB_COLD const char* problem_of_moments(double lr, double beta1, double beta2, double eps, double weight_decay) {
  if (!(lr >= 0)) return "lr must not be negative";
  if (!(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1)) return "beta1 and beta2 must be at least 0 and below 1";
  if (!(eps >= 0 && weight_decay >= 0)) return "eps and weight_decay must not be negative";
  return nullptr;
}

}  // namespace detail

/// Adam with the largest v so far in the place of v; see [note: update rules] and ebb::adam. With `decoupled`, weights decay as in
/// ebb::adamw.
/// Source: Reddi, Kale and Kumar, On the convergence of Adam and beyond, ICLR 2018; the option amsgrad of torch.optim.Adam and AdamW. As
/// there, the maximum is taken before the bias of v is corrected.
struct amsgrad {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;

  using update = rule::amsgrad;
  std::array<double, 8> values(std::uint64_t step) const {
    const double kept = decoupled ? 1 - lr * weight_decay : 1, penalty = decoupled ? 0 : weight_decay;
    return {kept, penalty, 1 - beta1, beta2, 1 - beta2, lr / detail::bias_of(beta1, step), std::sqrt(detail::bias_of(beta2, step)), eps};
  }
  const char* problem() const { return detail::problem_of_moments(lr, beta1, beta2, eps, weight_decay); }
};

/// Adam with Nesterov's momentum, see [note: update rules]. In step t, with d = g + weight_decay * p, m and v as ebb::adam has them, and
/// a(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2):
///   p -= lr * ((1 - a(t)) / (1 - a(1) ... a(t)) * d + a(t + 1) / (1 - a(1) ... a(t + 1)) * m) / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// Source: Dozat, Incorporating Nesterov momentum into Adam, ICLR 2016 workshop; the algorithm in PyTorch's documentation of
/// torch.optim.NAdam, whose defaults these are.
struct nadam {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;

  using update = rule::nadam;
  EBB_ONCE std::array<double, 8> values(std::uint64_t step) const {
    const auto momentum = [&](double t) { return beta1 * (1 - 0.5 * std::pow(0.96, t * momentum_decay)); };
    const double t = static_cast<double>(step);
    double product = 1;  // its factors are below beta1: once it is tiny, 1 minus it is 1
    for (std::uint64_t i = 1; i <= step && product > 1e-18; ++i) product *= momentum(static_cast<double>(i));
    return {weight_decay, 1 - beta1, beta2, 1 - beta2, lr * (1 - momentum(t)) / (1 - product),
            lr * momentum(t + 1) / (1 - product * momentum(t + 1)), std::sqrt(detail::bias_of(beta2, step)), eps};
  }
  const char* problem() const {
    if (!(momentum_decay >= 0)) return "momentum_decay must not be negative";
    return detail::problem_of_moments(lr, beta1, beta2, eps, weight_decay);
  }
};

/// Adam with a rectified first phase, see [note: update rules]. In step t, with m and v as ebb::adam has them and r = 2 / (1 - beta2) - 1,
/// r(t) = r - 2 t beta2^t / (1 - beta2^t): while r(t) <= 5 the step does not use v. Later it uses v, and is multiplied by
/// sqrt((r(t) - 4) (r(t) - 2) r / ((r - 4) (r - 2) r(t))). As in PyTorch, eps is added to sqrt(v) before its bias is corrected.
/// Source: Liu et al., On the variance of the adaptive learning rate and beyond, ICLR 2020, arXiv:1908.03265; the algorithm in PyTorch's
/// documentation of torch.optim.RAdam, whose defaults these are.
struct radam {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;

  using update = rule::radam;
  EBB_ONCE std::array<double, 7> values(std::uint64_t step) const {
    const double t = static_cast<double>(step), bias = detail::bias_of(beta2, step), r = 2 / (1 - beta2) - 1;
    const double now = r - 2 * t * (1 - bias) / bias;
    const bool rectified = now > 5;
    const double factor = rectified ? std::sqrt((now - 4) * (now - 2) * r / ((r - 4) * (r - 2) * now)) * std::sqrt(bias) : 1;
    return {weight_decay, 1 - beta1, beta2, 1 - beta2, lr / detail::bias_of(beta1, step) * factor, rectified ? 1.0 : 0.0, eps};
  }
  const char* problem() const { return detail::problem_of_moments(lr, beta1, beta2, eps, weight_decay); }
};

/// Adam with the largest size of recent gradients in the place of sqrt(v), see [note: update rules]. With d = g + weight_decay * p:
///   m = beta1 * m + (1 - beta1) * d      u = max(beta2 * u, |d| + eps)      p -= lr / (1 - beta1^t) * m / u
/// Source: Kingma and Ba, Adam, ICLR 2015, arXiv:1412.6980, section 7.1; the algorithm in PyTorch's documentation of torch.optim.Adamax,
/// whose defaults these are.
struct adamax {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;

  using update = rule::adamax;
  std::array<double, 5> values(std::uint64_t step) const {
    return {weight_decay, 1 - beta1, beta2, lr / detail::bias_of(beta1, step), eps};
  }
  const char* problem() const { return detail::problem_of_moments(lr, beta1, beta2, eps, weight_decay); }
};

/// Adam with the spread of the gradient around its mean in the place of v, see [note: update rules]:
///   p *= 1 - lr * weight_decay       m = beta1 * m + (1 - beta1) * g      s = beta2 * s + (1 - beta2) * (g - m)^2 + eps
///   p -= lr / (1 - beta1^t) * m / (sqrt(s) / sqrt(1 - beta2^t) + eps)
/// Source: Zhuang et al., AdaBelief optimizer, NeurIPS 2020, arXiv:2010.07468, algorithm 2, with the eps of the authors' program and
/// without the rectification that it adds.
struct adabelief {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-16;
  double weight_decay = 0;

  using update = rule::adabelief;
  std::array<double, 7> values(std::uint64_t step) const {
    return {1 - lr * weight_decay, 1 - beta1, beta2, 1 - beta2, lr / detail::bias_of(beta1, step), std::sqrt(detail::bias_of(beta2, step)),
            eps};
  }
  const char* problem() const { return detail::problem_of_moments(lr, beta1, beta2, eps, weight_decay); }
};

/// Steps of one size in the direction of a momentum's sign, see [note: update rules]:
///   p = (1 - lr * weight_decay) * p - lr * sign(beta1 * m + (1 - beta1) * g)      m = beta2 * m + (1 - beta2) * g
/// Source: Chen et al., Symbolic discovery of optimization algorithms, NeurIPS 2023, arXiv:2302.06675, program 1, whose defaults these
/// are.
struct lion {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;

  using update = rule::lion;
  std::array<double, 6> values(std::uint64_t) const { return {1 - lr * weight_decay, lr, beta1, 1 - beta1, beta2, 1 - beta2}; }
  const char* problem() const { return detail::problem_of_moments(lr, beta1, beta2, 0, weight_decay); }
};

/// Adam's step scaled to the norm of the parameter, for large batches, see [note: update rules]. With ebb::adam's m and v of g:
///   u = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + eps) + weight_decay * p      p -= lr * norm(p) / norm(u) * u
/// The ratio of the norms is 1 if one of them is 0.
/// Source: You et al., Large batch optimization for deep learning, ICLR 2020, arXiv:1904.00962, algorithm 2, without a bound for norm(p).
struct lamb {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-6;
  double weight_decay = 0;

  using update = rule::lamb;
  std::array<double, 8> values(std::uint64_t step) const {
    return {lr, weight_decay, 1 - beta1, beta2, 1 - beta2, 1 / detail::bias_of(beta1, step), std::sqrt(detail::bias_of(beta2, step)), eps};
  }
  const char* problem() const { return detail::problem_of_moments(lr, beta1, beta2, eps, weight_decay); }
};

}  // namespace ebb::inline EBB_ABI
