// examples/mpc/main.cpp — model predictive control: a cart swings up its pole and keeps it upright, planning 200 steps ahead.
// SPDX-License-Identifier: BSL-1.0
//
// main [picture.svg]
#include "lbfgs.hpp"
#include "model.hpp"

#include "../plot.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

/// The planner: what it knows of the pole, and how many gradients it has computed in what time.
class planner {
 public:
  explicit planner(double pole) : pole_(pole) {}

  double operator()(const plan& us, const state& s, plan& gradient) {
    double value;
    const auto start = std::chrono::steady_clock::now();
    slope_of_cost(ebb::into(value, gradient), us, s, pole_);
    time_ += std::chrono::steady_clock::now() - start;
    ++count_;
    return value;
  }
  int gradients() const { return count_; }
  double microseconds() const { return 1e6 * time_.count() / count_; }

 private:
  double pole_;
  int count_ = 0;
  std::chrono::duration<double> time_{};
};

int main(int count, char** arguments) {
  // The pole hangs down. It is a fifth heavier than the planner believes, and is hit on the way.
  const double believed = 0.1, real = 0.12;
  constexpr int steps = 500, hit = 300;
  state s{0, 0, 3.14, 0};
  planner mind(believed);
  plan us{};
  const auto cost_from_here = [&](const plan& x, plan& gradient) { return mind(x, s, gradient); };
  const double first = improve(us, 0, cost_from_here), planned = improve(us, 200, cost_from_here);
  std::printf("the cost of the first plan: %.3f, without a force %.3f\n", planned, first);

  // The gradient against central differences.
  double worst = 0;
  plan gradient, unused;
  cost_from_here(us, gradient);
  for (std::size_t i = 0; i < horizon; i += 20) {
    plan left = us, right = us;
    left.at(i) -= 1e-5, right.at(i) += 1e-5;
    const double difference = (cost_from_here(right, unused) - cost_from_here(left, unused)) / 2e-5;
    worst = std::max(worst, std::abs(gradient(i) - difference));
  }
  std::printf("gradient and differences %s\n\n", worst < 1e-6 ? "agree" : "do not agree");

  // Each step: improve the plan, take its first force, and move the others up.
  std::vector<double> times, positions, angles, forces;
  std::printf("seconds   position    angle    force\n");
  for (int i = 0; i < steps; ++i) {
    improve(us, 4, cost_from_here);
    const double u = us(0), force = 20 * ebb::tanh(u);
    std::rotate(us.mutable_data(), us.mutable_data() + 1, us.mutable_data() + horizon);
    us.at(horizon - 1) = 0;
    if (i % 25 == 0) std::printf("%7.2f   %8.3f %8.3f %8.3f\n", i * step_size, s(0), s(2), force);
    times.push_back(i * step_size), positions.push_back(s(0)), angles.push_back(s(2)), forces.push_back(force);
    if (i == hit) s.at(3) += 1;
    s = ebb::compile(stepped)(s, u, real);
  }
  const double tilt = ebb::atan2(ebb::sin(s(2)), ebb::cos(s(2)));
  std::printf("at last the pole is %.3f radians from upright\n\n", std::abs(tilt));
  std::printf("%d gradients of 200 steps, %.1f us each\n", mind.gradients(), mind.microseconds());

  if (count > 1) {
    panel position("position of the cart", "seconds", "metres"), angle("angle of the pole, 0 is upright", "seconds", "radians");
    panel force("force", "seconds", "newtons");
    position.line(times, positions);
    angle.line(times, angles);
    force.line(times, forces);
    std::ofstream(arguments[1]) << picture({position, angle, force}, 3);
  }
  return worst < 1e-6 && std::abs(tilt) < 0.1 ? 0 : 1;
}
