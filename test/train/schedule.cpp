// test/train/schedule.cpp — learning rates against PyTorch's records.
// SPDX-License-Identifier: BSL-1.0
#include "../autograd/recorded.hpp"

#include <ebb/train/schedule.hpp>

#include <cmath>

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
