// test/train/schedule.cpp — learning rates against PyTorch's records.
// SPDX-License-Identifier: BSL-1.0
#include "../autograd/recorded.hpp"
#include "../op/golden.hpp"

#include <ebb/train/schedule.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace {

namespace schedule = ebb::schedule;

/// PyTorch computes some of them step by step, which accumulates a few roundings.
void check(const std::string& name, auto&& rate) {
  INFO(name);
  const auto& want = recorded::find(name, "float64").at("lr");
  REQUIRE(want.size() == 30);
  for (std::size_t t = 0; t < want.size(); ++t) {
    INFO("step " << t);
    CHECK(std::fabs(rate(t) - want[t]) <= 2e-15 * 0.1);
  }
}

}  // namespace

TEST_CASE("schedules give PyTorch's learning rates") {
  check("constant", [](auto t) { return schedule::constant(0.1, t, 5); });
  check("step", [](auto t) { return schedule::step(0.1, t, 7); });
  check("exponential", [](auto t) { return schedule::exponential(0.1, t, 0.9); });
  check("cosine", [](auto t) { return schedule::cosine(0.1, t, 30, 0.001); });
  check("linear", [](auto t) { return schedule::linear(0.1, t, 10); });
  check("one_cycle", [](auto t) { return schedule::one_cycle(0.1, t, 30); });
  check("one_cycle_linear", [](auto t) {
    return schedule::one_cycle(0.1, t, 30, {.pct_start = 0.25, .div_factor = 10, .final_div_factor = 100, .linear = true});
  });
}

TEST_CASE("schedules are right at their first and last steps") {
  CHECK(schedule::constant(0.1, 3) == 0.1);
  CHECK(schedule::warm_up(0.1, 0, 4) == 0.1 / 4);
  CHECK(schedule::warm_up(0.1, 3, 4) == 0.1);
  CHECK(schedule::warm_up(0.1, 100, 4) == 0.1);
  CHECK(schedule::warm_up(0.1, 0, 0) == 0.1);
  CHECK(schedule::cosine(0.1, 0, 10) == 0.1);
  CHECK(std::fabs(schedule::cosine(0.1, 10, 10, 0.01) - 0.01) < 1e-17);
  CHECK(schedule::linear(0.1, 1000, 10) == 0.1);
  CHECK(schedule::one_cycle(0.1, 0, 10, {.pct_start = 0.1}) == 0.1);  // begins at the maximum
  CHECK(schedule::one_cycle(0.1, 9, 10, {.pct_start = 1}) == 0.1);    // ends at the maximum
  CHECK(schedule::one_cycle(0.1, 50, 10) == schedule::one_cycle(0.1, 9, 10));
  CHECK(schedule::warm_up(schedule::cosine(0.1, 5, 100), 5, 10) == schedule::cosine(0.1, 5, 100) * 6 / 10);
}

TEST_CASE("schedules with milestones, restarts and cycles give PyTorch's learning rates") {
  const auto follows = [](const std::string& name, auto&& rate) {
    INFO(name);
    const auto& want = golden::family("training").at("schedule_" + name).lines.at(0).values;
    REQUIRE(want.size() == 14);
    for (std::size_t t = 0; t < want.size(); ++t) {
      INFO("step " << t);
      CHECK(std::fabs(rate(t) - want[t]) <= 2e-16L);
    }
  };
  follows("multi_step", [](auto t) { return schedule::multi_step(0.1, t, {2, 5}, 0.3); });
  follows("polynomial", [](auto t) { return schedule::polynomial(0.1, t, 8, 2); });
  follows("cosine_restarts", [](auto t) { return schedule::cosine_restarts(0.1, t, 3, 2, 0.01); });
  follows("cyclic", [](auto t) { return schedule::cyclic(0.01, 0.1, t, 3, 2); });
  follows("cyclic_triangular2", [](auto t) { return schedule::cyclic(0.01, 0.1, t, 3, 2, {.halved = true}); });
  follows("cyclic_exp", [](auto t) { return schedule::cyclic(0.01, 0.1, t, 3, 2, {.gamma = 0.9}); });
}

TEST_CASE("schedules without a record are right at their corners") {
  CHECK(schedule::multi_step(0.1, 7, {}) == 0.1);
  CHECK(schedule::polynomial(0.1, 9, 8) == 0);
  CHECK(schedule::cosine_restarts(0.1, 1000, 10) == 0.1);
  CHECK(schedule::cyclic(0.01, 0.1, 5001, 3, 2, {.halved = true}) == 0.01);  // halved a thousand times
  CHECK(schedule::inverse_sqrt(0.1, 0, 4) == 0.1 / 4);
  CHECK(schedule::inverse_sqrt(0.1, 3, 4) == 0.1);
  CHECK(schedule::inverse_sqrt(0.1, 15, 4) == 0.05);
  const double want[] = {0.05, 0.1, 0.1, 0.1, 0.1, 0.1 - 0.045, 0.01, 0.01};
  for (std::uint64_t t = 0; t < 8; ++t) CHECK(std::fabs(schedule::warm_up_stable_decay(0.1, t, 2, 2, 2, 0.01) - want[t]) < 1e-16);
  CHECK(schedule::warm_up_stable_decay(0.1, 5, 2, 3, 0) == 0);
  const auto one = [](std::uint64_t t) { return 1.0 + static_cast<double>(t); };
  const auto ten = [](std::uint64_t t) { return 10.0 + static_cast<double>(t); };
  CHECK(schedule::join(1, one, 2, ten) == 2);
  CHECK(schedule::join(2, one, 2, ten) == 10);
  CHECK(schedule::join(7, one, 2, ten, 3, one) == 3);
}

TEST_CASE("the learning rate is reduced when a measure no longer improves") {
  const auto rates = [](schedule::reduce_on_plateau p, const std::vector<double>& measures) {
    std::vector<double> r;
    double lr = 1;
    for (const double m : measures) r.push_back(lr = p.next(lr, m));
    return r;
  };
  using list = std::vector<double>;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // By hand, by the rules of PyTorch's documentation: with a patience of 1 the second bad measure reduces.
  CHECK(rates({.factor = 0.5, .patience = 1}, {3, 2, 2, 2, 2, 2, 1, 1}) == list{1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25});
  CHECK(rates({.factor = 0.5, .patience = 0, .cooldown = 2}, {1, 1, 1, 1, 1}) == list{1, 0.5, 0.5, 0.5, 0.25});
  CHECK(rates({.factor = 0.5, .patience = 0, .threshold = 0.5, .relative = false}, {4, 3.5, 3.25}) == list{1, 0.5, 0.5});
  CHECK(rates({.factor = 0.5, .patience = 0, .threshold = 0.5, .relative = false}, {4, 3.25, 2.5}) == list{1, 1, 1});
  CHECK(rates({.factor = 0.5, .patience = 0, .rising = true}, {1, 2, 3, 3, 2}) == list{1, 1, 1, 0.5, 0.25});
  CHECK(rates({.factor = 0.5, .patience = 0, .least = 0.3}, {1, 1, 1, 1}) == list{1, 0.5, 0.3, 0.3});
  CHECK(rates({.factor = 0.5, .patience = 0}, {nan, 2, nan, 1}) == list{0.5, 0.5, 0.25, 0.25});
}
