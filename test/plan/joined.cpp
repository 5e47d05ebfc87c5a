// test/plan/joined.cpp — concats of columns that are stored by the loop that computes a column.
// SPDX-License-Identifier: BSL-1.0
// covers: joined.hpp fuse.hpp plan.hpp readers.hpp
#include <ebb/pass/pipeline.hpp>
#include <ebb/plan/print.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <vector>

namespace {

using test::n, test::m;

ebb::plan plan_of(auto&& f) {
  return ebb::make_plan(test::build([&](test::builder& b) { return b.returns(f(b)); }));
}
constexpr auto column = [](auto x) {
  ebb::shape s = x.g->shape_of(x.id);
  s.push(1);
  return ebb::reshape_as(x, s);
};
constexpr auto joined = [](std::int64_t axis, auto... x) { return ebb::emit_on<ebb::op::concat>({axis}, x...); };
/// The counts of the slots that are stored side by side.
std::vector<int> counts(const ebb::plan& p) {
  std::vector<int> r;
  for (const ebb::nest_store& s : p.stores)
    if (s.joined.count > 0) r.push_back(s.joined.count);
  return r;
}
int stores(const ebb::plan& p) { return p.stores.size(); }

}  // namespace

TEST_CASE("a loop that computes one of the columns stores all of them, and nothing else") {
  const ebb::plan p = plan_of([](auto& b) {
    const auto x = b.in({n}), y = b.in({n});
    return joined(1, column(-x), column(x * y), column(y));
  });
  CHECK(p.steps.size() == 1);
  CHECK(counts(p) == std::vector{3});
  CHECK(stores(p) == 1);
  const ebb::plan of_rows = plan_of([](auto& b) {
    const auto x = b.in({n, m, 1});
    return joined(2, -x, x * x);
  });
  CHECK(of_rows.steps.size() == 1);
  CHECK(counts(of_rows) == std::vector{2});
}

TEST_CASE("a column that something else reads is stored alone, too") {
  const ebb::plan p = ebb::make_plan(test::build([](test::builder& b) {
    const auto x = b.in({n}), y = -x;
    return b.returns(joined(1, column(y), column(y * x)), y);
  }));
  CHECK(p.steps.size() == 1);
  CHECK(counts(p) == std::vector{2});
  CHECK(stores(p) == 2);
}

TEST_CASE("other concats are steps") {
  const auto check = [](auto&& f) {
    const ebb::plan p = plan_of(f);
    CHECK(counts(p).empty());
    int moves = 0;
    for (const ebb::plan_step& s : p.steps) moves += s.what == ebb::kind::move;
    CHECK(moves == 1);
  };
  check([](auto& b) { return joined(1, b.in({n, 1}), b.in({n, 1})); });                                     // nothing is computed
  check([](auto& b) { const auto x = b.in({n, 2}); return joined(1, -x, x * x); });                         // two columns each
  check([](auto& b) { const auto x = b.in({n, 1}); return joined(1, -x, x * x, x + x, x - x, x); });        // five are not mixed
  check([](auto& b) { const auto x = b.in({1, n}); return joined(0, -x, x * x); });                         // rows are adjacent
  check([](auto& b) { const auto x = b.in({n, 1, 3}); return joined(1, -x, x * x); });                      // not along the last axis
  check([](auto& b) { const auto x = b.template in<ebb::float16>({n, 1}); return joined(1, -x, x * x); });  // elements of two bytes
}
