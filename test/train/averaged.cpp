// test/train/averaged.cpp — asgd, and rules that are free of a schedule.
// SPDX-License-Identifier: BSL-1.0
#include "rules.hpp"

namespace {

using rules::row, rules::weights;

TEST_CASE("asgd makes PyTorch's steps, and averages as PyTorch does") {
  const auto& want = golden::family("training").at("train_asgd_average").find("value", "out")->values;
  REQUIRE(want.size() == 48);
  const auto average_too = [&](const auto& opt, const weights& p, std::size_t t) {
    const row a = ebb::average_of(opt, p);
    for (std::size_t i = 0; i < 6; ++i) CHECK(std::fabs(a.data()[i] - want[t * 6 + i]) <= 2e-14L);
  };
  rules::follows_recorded("asgd", ebb::asgd{.lr = 0.05, .decay = 0.1, .start = 2, .weight_decay = 0.25}, 2e-14L, average_too);
}

/// Schedule-free descent as its authors write it: with y and z, without x, which is y + (1 - 1 / beta) (z - y) when it is read.
struct authors_form {
  long double lr, beta, warm_up = 0, beta2 = 0, decay = 0, sum = 0;
  std::array<long double, 5> z{}, v{};

  void step(long double t, std::array<long double, 5>& y, const std::array<long double, 5>& g) {
    const long double now = warm_up > 0 && t < warm_up ? lr * t / warm_up : lr;
    if (t == 1) z = y;
    sum += now * now;
    const long double c = now * now / sum;
    for (std::size_t i = 0; i < 5; ++i) {
      long double d = g[i];
      if (beta2 > 0) {
        v[i] = beta2 * v[i] + (1 - beta2) * d * d;
        d = d / (std::sqrt(v[i] / (1 - std::pow(beta2, t))) + 1e-8L) + decay * y[i];
      }
      y[i] = (1 - c) * y[i] + c * z[i] + now * (beta * (1 - c) - 1) * d;
      z[i] -= now * d;
    }
  }
  long double x(std::size_t i, const std::array<long double, 5>& y) const { return y[i] + (1 - 1 / beta) * (z[i] - y[i]); }
};

TEST_CASE("schedule_free makes the steps of its authors' form around sgd and adamw, with and without a warm-up") {
  const auto follows = [](const auto& rule, authors_form want) {
    weights p(rules::start());
    ebb::optimizer opt(rule, p);
    CHECK(ebb::all_equal(ebb::average_of(opt, p), p.value()));
    std::array<long double, 5> y{}, g{};
    for (std::size_t i = 0; i < 5; ++i) y[i] = rules::start().data()[i];
    for (std::size_t t = 1; t <= 12; ++t) {
      const row now = rules::gradient_of(t);
      for (std::size_t i = 0; i < 5; ++i) g[i] = now.data()[i];
      p.set_grad(now);
      opt.step();
      want.step(static_cast<long double>(t), y, g);
      const row average = ebb::average_of(opt, p);
      for (std::size_t i = 0; i < 5; ++i) {
        INFO("step " << t << ", element " << i);
        CHECK(std::fabs(p.data()[i] - y[i]) <= 1e-14L);
        CHECK(std::fabs(average.data()[i] - want.x(i, y)) <= 1e-14L);
      }
    }
  };
  follows(ebb::schedule_free{ebb::sgd{.lr = 0.25}}, {.lr = 0.25L, .beta = 0.9L});
  follows(ebb::schedule_free{ebb::sgd{.lr = 0.25}, 0.75, 4}, {.lr = 0.25L, .beta = 0.75L, .warm_up = 4});
  follows(ebb::schedule_free{ebb::adamw{.lr = 0.1, .beta1 = 0, .weight_decay = 0.5}, 0.9, 20},
          {.lr = 0.1L, .beta = 0.9L, .warm_up = 20, .beta2 = 0.999L, .decay = 0.5L});
}

TEST_CASE("schedule_free without momentum takes gradients at z, with a momentum of 1 at the average") {
  weights p(row{1, -2}), q(row{1, -2});
  ebb::optimizer plain(ebb::sgd{.lr = 0.5}, p);
  ebb::optimizer fast(ebb::schedule_free{ebb::sgd{.lr = 0.5}, 0}, q);
  for (int t = 0; t < 4; ++t) {
    p.set_grad(row{1, 0.5});
    plain.step();
    q.set_grad(row{1, 0.5});
    fast.step();
    CHECK(ebb::all_equal(p.value(), q.value()));
  }
  weights r(row{1, -2});
  ebb::optimizer slow(ebb::schedule_free{ebb::sgd{.lr = 0.5}, 1}, r);
  for (int t = 0; t < 4; ++t) {
    r.set_grad(row{1, 0.5});
    slow.step();
    CHECK(ebb::all_equal(r.value(), ebb::average_of(slow, r)));
  }
}

TEST_CASE("rules that average are the same in steps, hooks and captured backwards, and after loading") {
  rules::is_the_same_everywhere("asgd", ebb::asgd{.lr = 0.1, .start = 1});
  rules::is_the_same_everywhere("schedule_free", ebb::schedule_free{ebb::adamw{.beta1 = 0}});
}

TEST_CASE("hyperparameters of rules that average are checked, and states have PyTorch's names") {
  const auto says = [](const auto& rule, const char* part) { return test::says(rules::refusal_of(rule), {part}); };
  CHECK(says(ebb::asgd{.lr = -1}, "asgd: lr, decay and weight_decay"));
  CHECK(says(ebb::asgd{.start = -1}, "asgd: power and start"));
  CHECK(says(ebb::schedule_free{ebb::adamw{}, 2}, "schedule_free: momentum must be from 0 to 1"));
  CHECK(says(ebb::schedule_free{ebb::adamw{.lr = -1}}, "adam: lr must not be negative"));
  CHECK(ebb::optimizer<ebb::asgd>::state_name(0) == "ax");
}

}  // namespace
