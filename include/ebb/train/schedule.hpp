// ebb/train/schedule.hpp — learning rates as functions of the step.
// SPDX-License-Identifier: BSL-1.0
//
//   opt.rule().lr = ebb::schedule::cosine(0.1, t, 1000);
// Each is a closed formula without state, for any step. Two are combined by nesting:
//   warm_up(cosine(0.1, t, 1000), t, 50)
// The formulas are those of PyTorch's documentation of torch.optim.lr_scheduler. t is its last_epoch: 0 in the first step, which is step
// number 1.
#pragma once

#include "../base/config.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
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

/// lr * gamma^n, where n is the number of milestones that t has reached.   multi_step(0.1, t, {30, 80})   Source: MultiStepLR.
EBB_ONCE double multi_step(double lr, std::uint64_t t, std::initializer_list<std::uint64_t> milestones, double gamma = 0.1) {
  const auto reached = std::count_if(milestones.begin(), milestones.end(), [t](std::uint64_t m) { return m <= t; });
  return lr * std::pow(gamma, static_cast<double>(reached));
}
/// lr * (1 - min(t, steps) / steps)^power.   Source: PolynomialLR.
inline double polynomial(double lr, std::uint64_t t, std::uint64_t steps, double power = 1) {
  return lr * std::pow(1 - detail::ratio(std::min(t, steps), static_cast<double>(steps)), power);
}
/// Half waves from lr down to least, each begun anew at lr: the first takes `first` steps, each other `factor` times as many as the one
/// before.   Source: CosineAnnealingWarmRestarts; Loshchilov and Hutter, SGDR, ICLR 2017, arXiv:1608.03983.
EBB_ONCE double cosine_restarts(double lr, std::uint64_t t, std::uint64_t first, std::uint64_t factor = 1, double least = 0) {
  std::uint64_t steps = std::max<std::uint64_t>(first, 1);
  if (factor <= 1) t %= steps;
  else
    for (; t >= steps; steps *= factor) t -= steps;
  return detail::half_wave(lr, least, detail::ratio(t, static_cast<double>(steps)));
}
/// In `up` steps from base to max, in `down` steps back, and again.
/// Source: CyclicLR; Smith, Cyclical learning rates for training neural networks, WACV 2017, arXiv:1506.01186.
struct cyclic_options {
  bool halved = false;  // each cycle rises half as far as the one before: PyTorch's triangular2
  double gamma = 1;     // the height is multiplied by gamma^t: PyTorch's exp_range
};
EBB_ONCE double cyclic(double base, double max, std::uint64_t t, std::uint64_t up, std::uint64_t down, const cyclic_options& o = {}) {
  const std::uint64_t cycle = t / (up + down), now = t % (up + down);
  const double x = now <= up ? detail::ratio(now, static_cast<double>(up)) : detail::ratio(up + down - now, static_cast<double>(down));
  const double height = (o.halved ? std::ldexp(1.0, -static_cast<int>(std::min<std::uint64_t>(cycle, 2000))) : 1.0) *
                        (o.gamma == 1 ? 1.0 : std::pow(o.gamma, static_cast<double>(t)));
  return base + (max - base) * x * height;
}
/// lr * min((t + 1) / steps, sqrt(steps / (t + 1))): lr is reached in step `steps`, and then falls.
/// Source: Vaswani et al., Attention is all you need, NeurIPS 2017, arXiv:1706.03762, section 5.3.
inline double inverse_sqrt(double lr, std::uint64_t t, std::uint64_t steps) {
  const double x = static_cast<double>(t + 1), n = static_cast<double>(steps);
  return x < n ? lr * x / n : lr * std::sqrt(n / x);
}
/// Warm-up, stable, decay: warm_up in the first `up` steps, lr for `stable` steps, then a line that reaches `least` after `down` steps.
/// Source: Hu et al., MiniCPM, 2024, arXiv:2404.06395, section 4.
inline double warm_up_stable_decay(double lr, std::uint64_t t, std::uint64_t up, std::uint64_t stable, std::uint64_t down,
                                   double least = 0) {
  if (t < up + stable) return warm_up(lr, t, up);
  const std::uint64_t late = std::min(t - up - stable, down);
  return late == down ? least : lr + (least - lr) * detail::ratio(late, static_cast<double>(down));
}
/// One schedule after another: join(t, f, 100, g, 1000, h) is f(t) in the first 100 steps, then g(t - 100) in 1000 steps, then h(t - 1100).
template <class F>
constexpr double join(std::uint64_t t, const F& last) {
  return last(t);
}
template <class F, std::integral Steps, class... Rest>
constexpr double join(std::uint64_t t, const F& first, Steps steps, const Rest&... rest) {
  const auto end = static_cast<std::uint64_t>(steps);
  return t < end ? first(t) : join(t - end, rest...);
}

/// Reduces the learning rate when a measure no longer improves. It has a state: copy it to save it.
///   ebb::schedule::reduce_on_plateau plateau{.patience = 5};   opt.rule().lr = plateau.next(opt.rule().lr, loss);
/// Source: ReduceLROnPlateau, whose defaults these are.
struct reduce_on_plateau {
  double factor = 0.1;
  std::uint64_t patience = 10;   // the number of measures without improvement that are allowed
  double threshold = 1e-4;       // improvements that are smaller do not count
  bool relative = true;          // the threshold is a fraction of the best measure, else a difference
  bool rising = false;           // larger measures are better
  std::uint64_t cooldown = 0;    // the number of measures after a reduction that do not count as bad
  double least = 0;              // the smallest learning rate
  double least_change = 1e-8;    // smaller reductions are left out

  double best = std::numeric_limits<double>::quiet_NaN();  // the best measure so far; NaN before the first
  std::uint64_t bad = 0, cooling = 0;                      // measures since then; measures that do not count yet

  /// The learning rate after a measure.
  EBB_ONCE double next(double lr, double measure) {
    if (is_better(measure)) best = measure, bad = 0;
    else ++bad;
    if (cooling > 0) --cooling, bad = 0;
    if (bad <= patience) return lr;
    cooling = cooldown;
    bad = 0;
    const double reduced = std::max(lr * factor, least);
    return lr - reduced > least_change ? reduced : lr;
  }

 private:
  bool is_better(double measure) const {
    if (std::isnan(best)) return !std::isnan(measure);
    const double distance = relative ? best * threshold : threshold;
    return rising ? measure > best + distance : measure < best - distance;
  }
};

}  // namespace ebb::inline EBB_ABI::schedule
