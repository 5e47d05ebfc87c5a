// ebb/train/schedule.hpp — learning rates as functions of the step.
// SPDX-License-Identifier: BSL-1.0
//
//   opt.rule().lr = ebb::schedule::cosine(0.1, t, 1000);
// Each is a closed formula without state, for any step. Two are combined by nesting:
//   warm_up(cosine(0.1, t, 1000), t, 50)
// The formulas are those of PyTorch's documentation of torch.optim.lr_scheduler. t is its last_epoch: 0 in the first step.
#pragma once

#include "../base/config.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace ebb::inline EBB_ABI::schedule {

namespace detail {

/// Half a wave of the cosine: from `from` at x = 0 to `to` at x = 1.
inline double half_wave(double from, double to, double x) { return to + (from - to) * (1 + std::cos(std::numbers::pi * x)) / 2; }
inline double ratio(std::uint64_t t, double steps) { return static_cast<double>(t) / steps; }

}  // namespace detail

/// factor * lr for the first `steps` steps, then lr.   Source: ConstantLR.
constexpr double constant(double lr, std::uint64_t t, std::uint64_t steps = 0, double factor = 1.0 / 3) {
  return t < steps ? factor * lr : lr;
}

/// lr * gamma^floor(t / every).   Source: StepLR.
inline double step(double lr, std::uint64_t t, std::uint64_t every, double gamma = 0.1) {
  return lr * std::pow(gamma, static_cast<double>(t / every));
}

/// lr * gamma^t.   Source: ExponentialLR.
inline double exponential(double lr, std::uint64_t t, double gamma) { return lr * std::pow(gamma, static_cast<double>(t)); }

/// Half a wave from lr down to `least` in `steps` steps, and up again: least + (lr - least) * (1 + cos(pi * t / steps)) / 2.
/// Source: CosineAnnealingLR, in closed form; Loshchilov and Hutter, SGDR, ICLR 2017, arXiv:1608.03983.
inline double cosine(double lr, std::uint64_t t, std::uint64_t steps, double least = 0) {
  return detail::half_wave(lr, least, detail::ratio(t, static_cast<double>(steps)));
}

/// lr * (start + (end - start) * min(t, steps) / steps).   Source: LinearLR.
constexpr double linear(double lr, std::uint64_t t, std::uint64_t steps, double start = 1.0 / 3, double end = 1) {
  return lr * (start + (end - start) * static_cast<double>(std::min(t, steps)) / static_cast<double>(steps));
}
/// From lr / steps in the first step to lr, which is reached in step `steps` and stays.
constexpr double warm_up(double lr, std::uint64_t t, std::uint64_t steps) {
  return t + 1 < steps ? lr * static_cast<double>(t + 1) / static_cast<double>(steps) : lr;
}

/// From max / div_factor up to max, then down to max / (div_factor * final_div_factor); the last of `steps` steps is the lowest.
/// Source: OneCycleLR with its two phases; Smith and Topin, Super-convergence, 2018, arXiv:1708.07120.
struct one_cycle_options {
  double pct_start = 0.3;          // the fraction of the steps in which it rises
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool linear = false;             // else half waves of the cosine
};
EBB_ONCE double one_cycle(double max, std::uint64_t t, std::uint64_t steps, const one_cycle_options& o = {}) {
  const double first = max / o.div_factor, last = first / o.final_div_factor;
  const double top = o.pct_start * static_cast<double>(steps) - 1, end = static_cast<double>(steps) - 1;
  const double now = std::min(static_cast<double>(t), end);
  const auto between = [&](double from, double to, double x) { return o.linear ? from + (to - from) * x : detail::half_wave(from, to, x); };
  return top > 0 && now <= top ? between(first, max, now / top) : between(max, last, (now - top) / (end - top));
}

}  // namespace ebb::inline EBB_ABI::schedule
