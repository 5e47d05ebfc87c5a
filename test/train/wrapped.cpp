// test/train/wrapped.cpp — accumulated gradients, moving averages and means around other rules.
// SPDX-License-Identifier: BSL-1.0
#include "rules.hpp"

namespace {

using rules::row, rules::weights;

TEST_CASE("an accumulated rule makes the steps of the rule on mean gradients, and none in between") {
  weights p(rules::start()), q(rules::start());
  ebb::optimizer opt(ebb::accumulated{ebb::adam{.lr = 0.1}, 3}, p);
  ebb::optimizer plain(ebb::adam{.lr = 0.1}, q);
  for (std::size_t t = 1; t <= 9; ++t) {
    p.set_grad(rules::gradient_of(t));
    opt.step();
    if (t % 3 == 0) {
      q.set_grad((rules::gradient_of(t - 2) + rules::gradient_of(t - 1) + rules::gradient_of(t)) / 3.0);
      plain.step();
    }
    for (std::size_t i = 0; i < 5; ++i) CHECK(std::fabs(p.data()[i] - q.data()[i]) <= 1e-14);
  }
  CHECK(opt.state(0).arrays.size() == 3);
}

TEST_CASE("gradients that are not finite reach parameters and states only with the step that uses them") {
  weights p(row{1, 2});
  ebb::optimizer opt(ebb::accumulated{ebb::sgd{.lr = 1, .momentum = 0.5}, 2}, p);
  p.set_grad(row{INFINITY, 1});
  opt.step();
  CHECK(ebb::all_equal(p.value(), row{1, 2}));
  opt.step();
  CHECK((p.data()[0] == -INFINITY && p.data()[1] == 1));
}

TEST_CASE("a rule with an average keeps the moving average of the parameters after each step") {
  weights p(rules::start());
  ebb::optimizer opt(ebb::with_average{ebb::sgd{.lr = 0.25}, 0.75}, p);
  CHECK(ebb::all_equal(ebb::average_of(opt, p), p.value()));
  std::array<long double, 5> average{}, q{};
  for (std::size_t i = 0; i < 5; ++i) q[i] = rules::start().data()[i];
  for (std::size_t t = 1; t <= 10; ++t) {
    p.set_grad(rules::gradient_of(t));
    opt.step();
    const row now = ebb::average_of(opt, p);
    for (std::size_t i = 0; i < 5; ++i) {
      q[i] -= 0.25L * rules::gradient_of(t).data()[i];
      average[i] = t == 1 ? q[i] : 0.75L * average[i] + 0.25L * q[i];
      CHECK(std::fabs(now.data()[i] - average[i]) <= 1e-14L);
    }
  }
  const weights other(row{1});
  CHECK(test::says(test::raised([&] { ebb::average_of(opt, other); }), {"ebb::average_of"}));
}

TEST_CASE("a rule with a mean gives the steps after the first ones, or every n-th of them, the same weight") {
  for (const std::size_t every : {std::size_t{1}, std::size_t{3}}) {
    weights p(rules::start());
    ebb::optimizer opt(ebb::with_mean{ebb::sgd{.lr = 0.25}, 4, every}, p);
    std::array<long double, 5> sum{};
    std::size_t n = 0;
    for (std::size_t t = 1; t <= 14; ++t) {
      p.set_grad(rules::gradient_of(t));
      opt.step();
      const bool counts = t > 4 && (t - 4) % every == 0;
      n += counts;
      const row now = ebb::average_of(opt, p);
      if (n == 0) CHECK(ebb::all_equal(now, p.value()));
      for (std::size_t i = 0; i < 5; ++i) {
        if (counts) sum[i] += p.data()[i];
        if (n > 0) CHECK(std::fabs(now.data()[i] - sum[i] / static_cast<long double>(n)) <= 1e-14L);
      }
    }
    CHECK(n == (every == 1 ? 10 : 3));
  }
}

TEST_CASE("wrapped rules are the same in steps, hooks and captured backwards, nested, and after loading") {
  rules::is_the_same_everywhere("mean of accumulated", ebb::with_mean{ebb::accumulated{ebb::sgd{.lr = 0.1, .momentum = 0.5}, 2}, 2});
  rules::is_the_same_everywhere("nested", ebb::with_average{ebb::accumulated{ebb::adamw{}, 2}});
  CHECK(test::says(rules::refusal_of(ebb::with_mean{ebb::sgd{}, 1, 0}), {"every must be above 0"}));
  CHECK(test::says(rules::refusal_of(ebb::accumulated{ebb::sgd{}, 0}), {"steps must be above 0"}));
  CHECK(test::says(rules::refusal_of(ebb::with_average{ebb::sgd{}, 1}), {"decay must be at least 0 and below 1"}));
  CHECK(test::says(rules::refusal_of(ebb::with_average{ebb::adam{.lr = -1}}), {"lr must not be negative"}));
}

}  // namespace
