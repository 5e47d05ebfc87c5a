// test/plan/quotients.cpp — the number of divisions of a loop that are exchanged, beside all numbers that could be.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/pass/pipeline.hpp>
#include <ebb/plan/plan.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <algorithm>

namespace {

using test::n;

/// A loop that divides `repeated` arrays by one number and `others` by an array, and adds `work` times.
struct loop {
  int repeated = 0, others = 0, work = 0;

  ebb::graph graph(ebb::dtype type) const {
    return test::build([&](test::builder& b) {
      return type == ebb::dtype::f64 ? returned<double>(b) : returned<float>(b);
    });
  }
  template <class T>
  ebb::graph returned(test::builder& b) const {
    const auto x = b.in<T>({n}), divisor = b.in<T>({n});
    const auto number = ebb::broadcast_to(b.in<T>({}), x.shape_number(), 1);
    auto y = x;
    for (int i = 0; i < repeated; ++i) y = y / number;
    for (int i = 0; i < others; ++i) y = y / divisor;
    for (int i = 0; i < work; ++i) y = y + x;
    return b.returns(y);
  }
  /// The time of the loop if `count` divisions are exchanged, each of which takes `time`.
  int cost(int time, int count) const { return std::max(time * (repeated + others - count), work + 10 * count); }
};

int exchanged(const ebb::plan& p) {
  int count = 0;
  for (const ebb::nest_compute& c : p.computes) count += c.divided != nullptr;
  return count;
}

}  // namespace

TEST_CASE("as many divisions by a number are exchanged as take the least time, if that is an eighth less") {
  for (const ebb::dtype type : {ebb::dtype::f32, ebb::dtype::f64}) {
    const int time = type == ebb::dtype::f64 ? ebb::target_has::division.doubles : ebb::target_has::division.floats;
    for (int repeated = 1; repeated <= 4; ++repeated)
      for (int others = 0; others <= 2; ++others)
        for (const int work : {0, 1, 5, 12, 40, 90}) {
          const loop l{repeated, others, work};
          CAPTURE(repeated, others, work);
          const int count = exchanged(ebb::make_plan(l.graph(type)));
          REQUIRE((count >= 0 && count <= repeated));
          const int all = l.cost(time, 0), least = all - all / 8, now = l.cost(time, count);
          if (time == 0) CHECK(count == 0);
          else {
            CHECK((count == 0 || now < least));
            for (int other = 0; other <= repeated; ++other) CHECK((l.cost(time, other) >= now || l.cost(time, other) >= least));
          }
        }
  }
}
