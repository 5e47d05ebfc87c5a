// test/train/moments.cpp — amsgrad, nadam, radam, adamax, adabelief, lion and lamb.
// SPDX-License-Identifier: BSL-1.0
#include "rules.hpp"

namespace {

using rules::follows_formula, rules::follows_recorded, rules::is_the_same_everywhere;

TEST_CASE("relatives of Adam make PyTorch's steps") {
  follows_recorded("adam_amsgrad", ebb::amsgrad{.lr = 0.1});
  follows_recorded("nadam", ebb::nadam{.lr = 0.1}, 1e-8L);  // PyTorch keeps the product of the momenta in float
  follows_recorded("radam", ebb::radam{.lr = 0.1});
  follows_recorded("adamax", ebb::adamax{.lr = 0.1});
}

TEST_CASE("relatives of Adam follow their papers' formulas, with weight decay") {
  follows_formula("amsgrad", ebb::amsgrad{.lr = 0.1, .beta2 = 0.5, .weight_decay = 0.25, .decoupled = true},
                  [](long double t, auto& p, auto& g, auto& state) {
    for (std::size_t i = 0; i < 5; ++i) {
      p[i] -= 0.1L * 0.25L * p[i];
      state[0][i] = 0.9L * state[0][i] + (1 - 0.9L) * g[i];
      state[1][i] = 0.5L * state[1][i] + 0.5L * g[i] * g[i];
      state[2][i] = std::max(state[2][i], state[1][i]);
      p[i] -= 0.1L * (state[0][i] / (1 - std::pow(0.9L, t))) / (std::sqrt(state[2][i] / (1 - std::pow(0.5L, t))) + 1e-8L);
    }
  });
  long double product = 1;
  follows_formula("nadam", ebb::nadam{.lr = 0.1, .weight_decay = 0.25}, [&](long double t, auto& p, auto& g, auto& state) {
    const auto momentum = [](long double s) { return 0.9L * (1 - 0.5L * std::pow(0.96L, 0.004L * s)); };
    product *= momentum(t);
    for (std::size_t i = 0; i < 5; ++i) {
      const long double d = g[i] + 0.25L * p[i];
      state[0][i] = 0.9L * state[0][i] + (1 - 0.9L) * d;
      state[1][i] = 0.999L * state[1][i] + (1 - 0.999L) * d * d;
      const long double mean = (1 - momentum(t)) * d / (1 - product) + momentum(t + 1) * state[0][i] / (1 - product * momentum(t + 1));
      p[i] -= 0.1L * mean / (std::sqrt(state[1][i] / (1 - std::pow(0.999L, t))) + 1e-8L);
    }
  });
  // With beta2 = 0.8 the rectification begins in step 5 or later, and has a limit.
  follows_formula("radam", ebb::radam{.lr = 0.1, .beta2 = 0.8, .weight_decay = 0.25}, [](long double t, auto& p, auto& g, auto& state) {
    const long double most = 2 / (1 - 0.8L) - 1, power = std::pow(0.8L, t), now = most - 2 * t * power / (1 - power);
    for (std::size_t i = 0; i < 5; ++i) {
      const long double d = g[i] + 0.25L * p[i];
      state[0][i] = 0.9L * state[0][i] + (1 - 0.9L) * d;
      state[1][i] = 0.8L * state[1][i] + (1 - 0.8L) * d * d;
      const long double mean = state[0][i] / (1 - std::pow(0.9L, t));
      if (now > 5)
        p[i] -= 0.1L * mean * std::sqrt((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now)) * std::sqrt(1 - power) /
                (std::sqrt(state[1][i]) + 1e-8L);
      else p[i] -= 0.1L * mean;
    }
  });
  follows_formula("adabelief", ebb::adabelief{.lr = 0.05, .beta2 = 0.5, .eps = 1e-3, .weight_decay = 0.25},
                  [](long double t, auto& p, auto& g, auto& state) {
    for (std::size_t i = 0; i < 5; ++i) {
      p[i] *= 1 - 0.05L * 0.25L;
      state[0][i] = 0.9L * state[0][i] + (1 - 0.9L) * g[i];
      state[1][i] = 0.5L * state[1][i] + 0.5L * (g[i] - state[0][i]) * (g[i] - state[0][i]) + 1e-3L;
      p[i] -= 0.05L * (state[0][i] / (1 - std::pow(0.9L, t))) / (std::sqrt(state[1][i] / (1 - std::pow(0.5L, t))) + 1e-3L);
    }
  });
  follows_formula("lion", ebb::lion{.lr = 0.125, .weight_decay = 0.5}, [](long double, auto& p, auto& g, auto& state) {
    for (std::size_t i = 0; i < 5; ++i) {
      const long double c = 0.9L * state[0][i] + (1 - 0.9L) * g[i];
      p[i] = (1 - 0.125L * 0.5L) * p[i] - 0.125L * ((c > 0) - (c < 0));
      state[0][i] = 0.99L * state[0][i] + (1 - 0.99L) * g[i];
    }
  });
  follows_formula("lamb", ebb::lamb{.lr = 0.05, .weight_decay = 0.125}, [](long double t, auto& p, auto& g, auto& state) {
    std::array<long double, 5> u;
    long double length = 0, step = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      state[0][i] = 0.9L * state[0][i] + (1 - 0.9L) * g[i];
      state[1][i] = 0.999L * state[1][i] + (1 - 0.999L) * g[i] * g[i];
      u[i] = state[0][i] / (1 - std::pow(0.9L, t)) / (std::sqrt(state[1][i] / (1 - std::pow(0.999L, t))) + 1e-6L) + 0.125L * p[i];
      length += p[i] * p[i], step += u[i] * u[i];
    }
    for (std::size_t i = 0; i < 5; ++i) p[i] -= 0.05L * std::sqrt(length / step) * u[i];
  });
}

TEST_CASE("relatives of Adam are the same in steps, hooks and captured backwards, and after loading") {
  is_the_same_everywhere("amsgrad", ebb::amsgrad{});
  is_the_same_everywhere("nadam", ebb::nadam{});
  is_the_same_everywhere("radam", ebb::radam{.beta2 = 0.8});
  is_the_same_everywhere("adamax", ebb::adamax{});
  is_the_same_everywhere("adabelief", ebb::adabelief{});
  is_the_same_everywhere("lion", ebb::lion{});
  is_the_same_everywhere("lamb", ebb::lamb{});
}

TEST_CASE("lamb moves parameters that are 0, or that have no step, by Adam's step") {
  rules::weights p(rules::row{0, 0});
  ebb::optimizer opt(ebb::lamb{.lr = 0.5}, p);
  p.set_grad(rules::row{0, 0});
  opt.step();
  CHECK((p.data()[0] == 0 && p.data()[1] == 0));
  opt = ebb::optimizer(ebb::lamb{.lr = 0.5}, p);
  p.set_grad(rules::row{2, -1});
  opt.step();
  CHECK((p.data()[0] == Approx(-0.5).epsilon(1e-5) && p.data()[1] == Approx(0.5).epsilon(1e-5)));
}

TEST_CASE("the factors of nadam after many steps are those of the limit, and cost no more") {
  const auto late = ebb::nadam{.lr = 1}.values(1'000'000'000);
  CHECK(late[4] == Approx(1 - 0.9));
  CHECK(late[5] == Approx(0.9));
  // By hand: after one step the product is a(1).
  const double a1 = 0.9 * (1 - 0.5 * std::pow(0.96, 0.004)), a2 = 0.9 * (1 - 0.5 * std::pow(0.96, 0.008));
  const auto first = ebb::nadam{.lr = 1}.values(1);
  CHECK(first[4] == 1);
  CHECK(first[5] == Approx(a2 / (1 - a1 * a2)).epsilon(1e-15));
}

TEST_CASE("hyperparameters of Adam's relatives are checked") {
  const auto says = [](const auto& rule, const char* part) { return test::says(rules::refusal_of(rule), {part}); };
  CHECK(says(ebb::amsgrad{.lr = -1}, "lr must not be negative"));
  CHECK(says(ebb::radam{.beta2 = 1}, "beta1 and beta2 must be at least 0 and below 1"));
  CHECK(says(ebb::adamax{.eps = -1}, "eps and weight_decay must not be negative"));
  CHECK(says(ebb::adabelief{.beta1 = 1}, "beta1 and beta2 must be at least 0 and below 1"));
  CHECK(says(ebb::nadam{.momentum_decay = -1}, "momentum_decay must not be negative"));
  CHECK(says(ebb::lion{.beta1 = -0.5}, "beta1 and beta2"));
  CHECK(says(ebb::lamb{.weight_decay = -1}, "eps and weight_decay"));
  CHECK(ebb::optimizer<ebb::amsgrad>::state_name(2) == "max_exp_avg_sq");
}

}  // namespace
