// test/train/rules.hpp — runs update rules: against recorded steps, against formulas in long double, and in captured backwards.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/golden.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace rules {

using weights = ebb::variable<double, ebb::dyn>;
using row = ebb::tensor<double, ebb::dyn>;

/// 8 steps on sum(w (p - a)^2) + sum(sin(p)) are PyTorch's, which sums gradients in another order.
/// `then(opt, p, t)` runs after step t.
template <class Rule>
void follows_recorded(const std::string& name, const Rule& rule, long double bound = 2e-14L,
                      auto&&... then) {
  INFO(name);
  const auto& block = golden::family("training").at("train_" + name);
  const auto &x = block.find("input", "x")->values, &a = block.find("input", "a")->values, &want = block.find("value", "out")->values;
  REQUIRE((x.size() == 6 && want.size() == 48));
  row start(6);
  for (std::size_t i = 0; i < 6; ++i) start.mutable_data()[i] = static_cast<double>(x[i]);
  weights p(start);
  ebb::optimizer opt(rule, p);
  for (std::size_t t = 0; t < 8; ++t) {
    row g(6);
    for (std::size_t i = 0; i < 6; ++i)
      g.mutable_data()[i] = 2 * (i % 2 ? 3.0 : 1.0) * (p.data()[i] - static_cast<double>(a[i])) + std::cos(p.data()[i]);
    p.set_grad(g);
    opt.step();
    for (std::size_t i = 0; i < 6; ++i) {
      INFO("step " << t + 1 << ", element " << i);
      CHECK(std::fabs(p.data()[i] - want[t * 6 + i]) <= bound);
    }
    (then(opt, p, t), ...);
  }
}

/// The gradients of step t: of both signs, and 0 for one element.
inline row gradient_of(std::size_t t) {
  row g(5);
  for (std::size_t i = 0; i < 5; ++i)
    g.mutable_data()[i] = i == 3 ? 0 : std::sin(1.7 * static_cast<double>(t) + static_cast<double>(i * i)) * 2;
  return g;
}
inline row start() { return row{0.5, -1.25, 2, 3, -0.75}; }

/// Steps compared with `formula(t, p, g, states)` in long double, which changes all of p and of the states, of which there are three.
template <class Rule>
void follows_formula(const char* name, const Rule& rule, auto&& formula) {
  INFO(name);
  weights p(start());
  ebb::optimizer opt(rule, p);
  using numbers = std::array<long double, 5>;
  numbers q;
  std::array<numbers, 3> states{};
  for (std::size_t i = 0; i < 5; ++i) q[i] = start().data()[i];
  for (std::size_t t = 1; t <= 20; ++t) {
    numbers g;
    const row now = gradient_of(t);
    for (std::size_t i = 0; i < 5; ++i) g[i] = now.data()[i];
    p.set_grad(now);
    opt.step();
    formula(static_cast<long double>(t), q, g, states);
    for (std::size_t i = 0; i < 5; ++i) {
      INFO("step " << t << ", element " << i);
      CHECK(std::fabs(p.data()[i] - q[i]) <= 1e-14L * std::max(1.0L, std::fabs(q[i])));
    }
  }
}

/// A rule in captured backwards, in backwards that are not captured, and in steps has the same bits; its states survive a file.
template <class Rule>
void is_the_same_everywhere(const char* name, const Rule& rule) {
  INFO(name);
  const auto loss = [](const weights& p, std::size_t t) { return ebb::sum(p * gradient_of(t)); };
  std::array<row, 3> ends;
  for (std::size_t way = 0; way < 3; ++way) {
    weights p(start());
    ebb::optimizer opt(rule, p);
    std::vector<ebb::hook_handle> handles;
    if (way < 2) handles = opt.step_in_backward();
    for (std::size_t t = 1; t <= 6; ++t) {
      ebb::backward(loss(p, t), {.compiled_autograd = way == 0});
      if (way == 2) opt.step(), opt.zero_grad();
      if (way == 2 && t == 3) {
        std::stringstream file;
        opt.save(file);
        opt = ebb::optimizer(rule, p);
        opt.load(file);
        CHECK(opt.state(0).step == 3);
      }
    }
    ends[way] = p.value();
  }
  CHECK(ebb::same_bits(ends[0], ends[1]));
  CHECK(ebb::same_bits(ends[1], ends[2]));
}

/// The sentence with which a rule is refused.
template <class Rule>
std::string refusal_of(const Rule& rule) {
  weights p(start());
  return test::raised([&] { ebb::optimizer(rule, p); });
}

}  // namespace rules
