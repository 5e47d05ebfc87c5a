// bench/tape/mlp.hpp — the network of row e as two regions on the tape, against value_and_grad of the whole loss.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chain.hpp"

#include <cstdio>

namespace {

inline constexpr auto hidden_layer = [](auto x, auto w, auto b) { return ebb::tanh(ebb::matmul(x, w) + b); };
inline constexpr auto loss_layer = [](auto h, auto w, auto b, auto t) { return ebb::cross_entropy(ebb::matmul(h, w) + b, t); };
inline constexpr auto whole = [](auto w1, auto b1, auto w2, auto b2, auto x, auto t) {
  return loss_layer(hidden_layer(x, w1, b1), w2, b2, t);
};

/// Returns false if the gradients differ in a bit.
inline bool measure_network(int rounds) {
  constexpr std::size_t batch = 32;
  const auto [k1, k2, k3, k4] = ebb::random_key(7).split<4>();
  const auto x = ebb::normal<float, batch, 64>(k1);
  const auto t = ebb::tensor<int, batch>::generate([](std::size_t i) { return static_cast<int>(i * 7 % 10); });
  const auto a1 = ebb::normal<float, 64, 128>(k2, 0.f, 0.1f);
  const auto a2 = ebb::normal<float, 128, 10>(k3, 0.f, 0.1f);
  const auto c1 = ebb::normal<float, 128>(k4, 0.f, 0.1f);
  const ebb::tensor<float, 10> c2;
  const ebb::variable w1(a1);
  const ebb::variable b1(c1);
  const ebb::variable w2(a2);
  const ebb::variable b2(c2);

  constexpr auto first = ebb::compile(hidden_layer);
  constexpr auto second = ebb::compile(loss_layer);
  constexpr auto together = ebb::value_and_grad<0, 1, 2, 3>(whole);
  float value = 0;
  auto d1 = a1;
  auto e1 = c1;
  auto d2 = a2;
  auto e2 = c2;
  const auto one_program = [&] { together(ebb::into(value, d1, e1, d2, e2), a1, c1, a2, c2, x, t); };
  const auto two_regions = [&] {
    ebb::zero_grad(std::tuple(w1, b1, w2, b2));
    second(first(x, w1, b1), w2, b2, t).backward();
  };
  one_program();
  two_regions();
  const bool same = ebb::all_equal(w1.grad().value(), d1) && ebb::all_equal(b1.grad().value(), e1) &&
                    ebb::all_equal(w2.grad().value(), d2) && ebb::all_equal(b2.grad().value(), e2);

  constexpr int calls = 20;
  std::vector<double> one, two, ratio;
  const auto time = [&](auto& f) {
    const double begin = thread_nanoseconds();
    for (int i = 0; i < calls; ++i) f();
    return (thread_nanoseconds() - begin) / calls;
  };
  for (int round = 0; round < rounds; ++round) {
    one.push_back(time(one_program));
    two.push_back(time(two_regions));
    ratio.push_back(two.back() / one.back());
  }
  std::printf("\nnetwork 64 -> 128 tanh -> 10, batch 32: one program %.1f us, two regions on the tape %.1f us, ratio %.3f (goal 1.1)%s\n",
              1e-3 * median(one), 1e-3 * median(two), median(ratio), same ? "" : "   WRONG: the gradients differ");
  return same;
}

}  // namespace
