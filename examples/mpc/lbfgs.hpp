// examples/mpc/lbfgs.hpp — minima by the method L-BFGS, for any function that gives its value and writes its gradient.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

/// Improves x by at most `steps` steps and returns the value that is reached. value_at(x, gradient) returns the value and writes the
/// gradient. The last eight steps and changes of the gradient stand for the Hessian: J. Nocedal, Updating Quasi-Newton Matrices with
/// Limited Storage, Mathematics of Computation 35 (1980).
template <class Vector>
double improve(Vector& x, int steps, const auto& value_at) {
  struct pair {
    Vector step, change;
    double weight;  // 1 / <step, change>
  };
  const std::size_t n = x.size();
  const auto dot = [n](const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a(i) * b(i);
    return sum;
  };
  const auto add = [n](Vector& to, double factor, const Vector& a) {
    for (std::size_t i = 0; i < n; ++i) to.at(i) += factor * a(i);
  };

  std::vector<pair> past;
  Vector gradient, there_gradient;
  double value = value_at(x, gradient);
  for (int k = 0; k < steps; ++k) {
    Vector direction = gradient;
    std::vector<double> along(past.size());
    for (std::size_t j = past.size(); j-- > 0;) {
      along[j] = past[j].weight * dot(past[j].step, direction);
      add(direction, -along[j], past[j].change);
    }
    // The first step is short: nothing is known about the curvature.
    const double scale = past.empty() ? std::min(1.0, 0.3 / std::sqrt(dot(gradient, gradient)))
                                      : 1 / (past.back().weight * dot(past.back().change, past.back().change));
    for (std::size_t i = 0; i < n; ++i) direction.at(i) *= scale;
    for (std::size_t j = 0; j < past.size(); ++j)
      add(direction, along[j] - past[j].weight * dot(past[j].change, direction), past[j].step);

    const double slope = dot(gradient, direction);
    double length = 1;
    for (; length > 1e-6; length /= 2) {
      Vector there = x;
      add(there, -length, direction);
      const double there_value = value_at(there, there_gradient);
      if (!(there_value < value - 1e-4 * length * slope)) continue;
      pair now{there, there_gradient, 0};
      add(now.step, -1, x);
      add(now.change, -1, gradient);
      const double curvature = dot(now.step, now.change);
      if (curvature > 0) {
        now.weight = 1 / curvature;
        past.push_back(now);
        if (past.size() > 8) past.erase(past.begin());
      }
      x = there, gradient = there_gradient, value = there_value;
      break;
    }
    if (length > 1e-6) continue;
    if (past.empty()) break;
    past.clear();
  }
  return value;
}
