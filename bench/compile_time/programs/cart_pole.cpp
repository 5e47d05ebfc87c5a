// bench/compile_time/programs/cart_pole.cpp — a cart-pole, STEPS unrolled steps of Euler's method: the cost and its gradient by the forces.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <cmath>
#include <cstdio>

#ifndef STEPS
#define STEPS 15
#endif

constexpr auto slope = [](auto s, auto force) {
  const auto v = ebb::select<0, 1>(s), angle = ebb::select<0, 2>(s), w = ebb::select<0, 3>(s);
  const auto sine = ebb::sin(angle), cosine = ebb::cos(angle);
  constexpr double cart = 1, pole = 0.1, half = 0.5, gravity = 9.81, total = cart + pole;
  const auto push = (force + pole * half * w * w * sine) / total;
  const auto turn = (gravity * sine - cosine * push) / (half * (4.0 / 3 - pole * cosine * cosine / total));
  return ebb::stack<0>(v, push - pole * half * turn * cosine / total, w, turn);
};

constexpr auto cost_of = [](auto s, auto force) {
  const auto x = ebb::select<0, 0>(s), v = ebb::select<0, 1>(s), angle = ebb::select<0, 2>(s), w = ebb::select<0, 3>(s);
  return 0.1 * x * x + 0.01 * v * v + (1 - ebb::cos(angle)) + 0.01 * w * w + 0.001 * force * force;
};

constexpr auto rollout = [](auto s, auto forces) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    auto cost = 0 * ebb::sum(s);
    const auto step = [&](auto force) {
      s = s + 0.02 * slope(s, force);
      cost = cost + cost_of(s, force);
    };
    (step(ebb::select<0, I>(forces)), ...);
    return cost;
  }(std::make_integer_sequence<int, STEPS>{});
};

int main() {
  const ebb::tensor<double, 4> start{0, 0, 3, 0};
  ebb::tensor<double, STEPS> forces, g;
  for (int i = 0; i < STEPS; ++i) forces.at(i) = 0.3 * i - 1;
  ebb::tensor<double> value, moved;
  ebb::value_and_grad<1>(rollout)(ebb::into(value, g), start, forces);
  double square = 0;
  for (int i = 0; i < STEPS; ++i) {
    square += g(i) * g(i);
    forces.at(i) -= 1e-4 * g(i);
  }
  ebb::value_and_grad<1>(rollout)(ebb::into(moved, g), start, forces);
  std::printf("%d %d\n", STEPS, std::abs((value() - moved()) / 1e-4 / square - 1) < 1e-2);
}
