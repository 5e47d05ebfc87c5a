// examples/mpc/model.hpp — a cart with a pole, and what a plan of forces costs, with its gradient.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <tuple>

/// Position and velocity of the cart, angle of the pole (0 is upright) and angular velocity.
using state = ebb::tensor<double, 4>;
constexpr std::size_t horizon = 200;
/// For each step ahead a number u; the force is 20 tanh(u) newtons, so that it has limits.
using plan = ebb::tensor<double, horizon>;
constexpr double step_size = 0.01;

/// The time derivative of the state. A. G. Barto, R. S. Sutton, C. W. Anderson, Neuronlike Adaptive Elements That Can Solve Difficult
/// Learning Control Problems, IEEE Trans. SMC 13 (1983), without friction.
constexpr auto slope = [](auto s, auto force, auto pole) {
  constexpr double cart = 1, half = 0.5, gravity = 9.81;
  const auto sine = ebb::sin(s[2]), cosine = ebb::cos(s[2]), total = cart + pole;
  const auto push = (force + pole * half * s[3] * s[3] * sine) / total;
  const auto turn = (gravity * sine - cosine * push) / (half * (4.0 / 3 - pole * cosine * cosine / total));
  return ebb::stack<0>(s[1], push - pole * half * turn * cosine / total, s[3], turn);
};
/// A step of Runge and Kutta's method of order 4.
constexpr auto stepped = [](auto s, auto u, auto pole) {
  const auto force = 20 * ebb::tanh(u);
  const auto k1 = slope(s, force, pole);
  const auto k2 = slope(s + step_size / 2 * k1, force, pole);
  const auto k3 = slope(s + step_size / 2 * k2, force, pole);
  const auto k4 = slope(s + step_size * k3, force, pole);
  return s + step_size / 6 * (k1 + 2 * (k2 + k3) + k4);
};
constexpr auto cost_of = [](auto s, auto u) {
  const auto upright = 1 - ebb::cos(s[2]);
  return 2 * upright + 0.5 * s[0] * s[0] + 0.02 * s[1] * s[1] + 0.02 * s[3] * s[3] + 0.01 * ebb::square(ebb::tanh(u));
};
/// The cost of a plan from a state on. The step is compiled once, forwards and backwards.
constexpr auto cost = [](auto us, auto s, auto pole) {
  const auto [end, costs] = ebb::scan([](auto now, auto u, auto mass) {
    const auto next = stepped(now, u, mass);
    return std::tuple(next, cost_of(next, u));
  }, s, us, ebb::whole(pole));
  return step_size * ebb::sum(costs) + cost_of(end, 0.0);
};

constexpr auto slope_of_cost = ebb::value_and_grad<0>(cost);
