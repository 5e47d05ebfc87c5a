// test/train/adaptive.cpp — rmsprop, adagrad, adadelta, rprop and maximized rules.
// SPDX-License-Identifier: BSL-1.0
#include "rules.hpp"

namespace {

using rules::follows_formula, rules::follows_recorded, rules::is_the_same_everywhere;

TEST_CASE("rules with scaled steps make PyTorch's steps") {
  follows_recorded("rmsprop_centered", ebb::rmsprop{.lr = 0.05, .momentum = 0.9, .centred = true});
  follows_recorded("adagrad_decay", ebb::adagrad{.lr = 0.1, .lr_decay = 0.5, .initial = 0.1});
  follows_recorded("adadelta", ebb::adadelta{});
  follows_recorded("rprop", ebb::rprop{.lr = 0.05});
  follows_recorded("adamw_maximize", ebb::maximized{ebb::adamw{.lr = 0.1}});
}

TEST_CASE("rules with scaled steps follow their formulas, with weight decay") {
  follows_formula("rmsprop", ebb::rmsprop{.lr = 0.05, .alpha = 0.9, .weight_decay = 0.1}, [](long double, auto& p, auto& g, auto& state) {
    for (std::size_t i = 0; i < 5; ++i) {
      const long double d = g[i] + 0.1L * p[i];
      state[0][i] = 0.9L * state[0][i] + (1 - 0.9L) * d * d;
      p[i] -= 0.05L * d / (std::sqrt(state[0][i]) + 1e-8L);
    }
  });
  follows_formula("rmsprop with momentum", ebb::rmsprop{.lr = 0.05, .weight_decay = 0.1, .momentum = 0.5},
                  [](long double, auto& p, auto& g, auto& state) {
    for (std::size_t i = 0; i < 5; ++i) {
      const long double d = g[i] + 0.1L * p[i];
      state[0][i] = 0.99L * state[0][i] + 0.01L * d * d;
      state[1][i] = 0.5L * state[1][i] + d / (std::sqrt(state[0][i]) + 1e-8L);
      p[i] -= 0.05L * state[1][i];
    }
  });
  follows_formula("adagrad", ebb::adagrad{.lr = 0.1, .weight_decay = 0.25, .initial = 0.5},
                  [](long double t, auto& p, auto& g, auto& state) {
                    for (std::size_t i = 0; i < 5; ++i) {
                      const long double d = g[i] + 0.25L * p[i];
                      state[0][i] += (t == 1 ? 0.5L : 0) + d * d;
                      p[i] -= 0.1L * d / (std::sqrt(state[0][i]) + 1e-10L);
                    }
                  });
}

TEST_CASE("rules with scaled steps are the same in steps, hooks and captured backwards, and after loading") {
  is_the_same_everywhere("rmsprop", ebb::rmsprop{.momentum = 0.5});
  is_the_same_everywhere("adagrad", ebb::adagrad{.initial = 0.5});
  is_the_same_everywhere("adadelta", ebb::adadelta{});
  is_the_same_everywhere("rprop", ebb::rprop{});
  is_the_same_everywhere("maximized", ebb::maximized{ebb::adamw{}});
}

TEST_CASE("a constant gradient does not make the variance of the centred rmsprop negative, and elements without a gradient rest") {
  rules::weights p(rules::row{1, 2});
  ebb::optimizer opt(ebb::rmsprop{.lr = 1e-3, .alpha = 0.5, .centred = true}, p);
  for (int t = 0; t < 200; ++t) {
    p.set_grad(rules::row{0.3, 0});
    opt.step();
  }
  CHECK(std::isfinite(p.data()[0]));
  CHECK(p.data()[1] == 2);
  ebb::optimizer by_sign(ebb::rprop{}, p);
  p.set_grad(rules::row{0, 0});
  const double before = p.data()[0];
  by_sign.step();
  CHECK(p.data()[0] == before);
}

TEST_CASE("hyperparameters of rules with scaled steps are checked, and states have PyTorch's names") {
  const auto says = [](const auto& rule, const char* part) { return test::says(rules::refusal_of(rule), {part}); };
  CHECK(says(ebb::rmsprop{.lr = -1}, "rmsprop: lr must not be negative"));
  CHECK(says(ebb::rmsprop{.alpha = 1}, "alpha must be at least 0 and below 1"));
  CHECK(says(ebb::rmsprop{.momentum = -1}, "eps, weight_decay and momentum"));
  CHECK(says(ebb::adagrad{.lr_decay = -1}, "adagrad: lr and lr_decay"));
  CHECK(says(ebb::adagrad{.initial = -1}, "weight_decay, initial and eps"));
  CHECK(says(ebb::adadelta{.eps = -1}, "adadelta: lr, eps and weight_decay"));
  CHECK(says(ebb::adadelta{.rho = 2}, "rho must be from 0 to 1"));
  CHECK(says(ebb::rprop{.lr = -1}, "rprop: lr must not be negative"));
  CHECK(says(ebb::rprop{.more = 1}, "more above 1"));
  CHECK(says(ebb::rprop{.most = 0}, "the least step"));
  CHECK(says(ebb::maximized{ebb::adamw{.lr = -1}}, "adam: lr must not be negative"));
  CHECK(ebb::optimizer<ebb::rmsprop>::state_name(2) == "momentum_buffer");
  CHECK(ebb::optimizer<ebb::maximized<ebb::adamw>>::state_name(1) == "exp_avg_sq");
}

}  // namespace
