// bench/suite/cart_pole.cpp — ten Euler steps of a cart-pole, the cost and its gradient by the forces: a program of numbers.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace suite {
namespace {

constexpr int steps = 10;
constexpr double cart = 1, pole = 0.1, half = 0.5, gravity = 9.81, total = cart + pole, duration = 0.02;

constexpr auto cost_of = [](auto start, auto forces) {
  auto x = start[0], v = start[1], angle = start[2], w = start[3];
  auto cost = 0 * x;
  const auto step = [&](auto force) {
    const auto sine = ebb::sin(angle), cosine = ebb::cos(angle);
    const auto push = (force + pole * half * w * w * sine) / total;
    const auto turn = (gravity * sine - cosine * push) / (half * (4.0 / 3 - pole * cosine * cosine / total));
    x = x + duration * v;
    v = v + duration * (push - pole * half * turn * cosine / total);
    angle = angle + duration * w;
    w = w + duration * turn;
    cost = cost + 0.1 * x * x + 0.01 * v * v + (1 - ebb::cos(angle)) + 0.01 * w * w + 0.001 * force * force;
  };
  [&]<int... I>(std::integer_sequence<int, I...>) { (step(forces[I]), ...); }(std::make_integer_sequence<int, steps>{});
  return cost;
};
constexpr auto by_ebb = ebb::value_and_grad<1>(cost_of);

/// The same by hand, backward through the saved steps: the cost, then its derivatives.
template <class T>
[[gnu::noinline]] void by_hand(const T* start, const T* force, T* to) {
  struct saved {
    T x, v, w, sine, cosine, next_sine, push, turn, divisor;
  } all[steps];
  const T by_cart = T(pole) * T(half) / T(total);
  T x = start[0], v = start[1], angle = start[2], w = start[3], cost = 0;
  for (int i = 0; i < steps; ++i) {
    saved& s = all[i];
    s.w = w;
    s.sine = std::sin(angle);
    s.cosine = std::cos(angle);
    s.push = (force[i] + T(pole) * T(half) * w * w * s.sine) / T(total);
    s.divisor = T(half) * (T(4.0 / 3) - T(pole) * s.cosine * s.cosine / T(total));
    s.turn = (T(gravity) * s.sine - s.cosine * s.push) / s.divisor;
    x += T(duration) * v;
    v += T(duration) * (s.push - T(pole) * T(half) * s.turn * s.cosine / T(total));
    angle += T(duration) * w;
    w += T(duration) * s.turn;
    s.x = x;
    s.v = v;
    s.next_sine = std::sin(angle);
    cost += T(0.1) * x * x + T(0.01) * v * v + (1 - std::cos(angle)) + T(0.01) * w * w + T(0.001) * force[i] * force[i];
  }
  to[0] = cost;
  T g_x = 0, g_v = 0, g_angle = 0, g_w = 0;
  for (int i = steps; i-- > 0;) {
    const saved& s = all[i];
    g_x += T(0.2) * s.x;
    g_v += T(0.02) * s.v;
    g_angle += s.next_sine;
    g_w += T(0.02) * w;
    w = s.w;
    const T g_acceleration = T(duration) * g_v;
    const T g_turn = T(duration) * g_w - by_cart * s.cosine * g_acceleration;
    const T g_dividend = g_turn / s.divisor, g_divisor = -(g_dividend * s.turn);
    const T g_push = g_acceleration - s.cosine * g_dividend;
    const T g_cosine = -by_cart * s.turn * g_acceleration - s.push * g_dividend - 2 * by_cart * s.cosine * g_divisor;
    const T g_sine = T(gravity) * g_dividend + by_cart * w * w * g_push;
    to[1 + i] = T(0.002) * force[i] + g_push / T(total);
    g_v += T(duration) * g_x;
    g_w += T(duration) * g_angle + 2 * by_cart * w * s.sine * g_push;
    g_angle += g_sine * s.cosine - g_cosine * s.sine;
  }
}

}  // namespace

void cart_pole(session& s) {
  const row r{"cart-pole", "double", steps, 0, 0, 0};
  if (!s.wanted(r.key, r.type, r.n)) return;
  const ebb::tensor<double, 4> start{0.1, 0, 3, 0.2};
  ebb::tensor<double, steps> forces, gradient;
  for (int i = 0; i < steps; ++i) forces.at(i) = 0.3 * i - 1;
  ebb::tensor<double> cost;
  std::vector<double> hand(1 + steps);
  const auto ebb_call = [&] { by_ebb(ebb::into(cost, gradient), start, forces); };
  const auto hand_call = [&] { by_hand(start.data(), forces.data(), hand.data()); };
  ebb_call();
  hand_call();
  std::vector<long double> first(start.begin(), start.end()), by(forces.begin(), forces.end()), want(1 + steps);
  by_hand(first.data(), by.data(), want.data());
  std::vector<double> got{cost()};
  got.insert(got.end(), gradient.begin(), gradient.end());
  s.check(r, "ebb", "cost and gradient", got.data(), want.data(), got.size(), 16);
  s.check(r, "hand", "cost and gradient", hand.data(), want.data(), hand.size(), 16);
  s.measure(r, ebb_call, hand_call, hand_call);
}

}  // namespace suite
