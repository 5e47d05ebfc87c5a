// test/pass/lower.cpp — stop_gradient goes last, and what it hid from the rules goes with it.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/pass/differentiate.hpp>
#include <ebb/pass/lower.hpp>

using test::graph;
using test::n;

namespace {
graph stopped() {
  return test::build([](test::builder& b) {
    const auto x = b.in({n});
    return b.returns(ebb::sum_over(-ebb::emit_on<ebb::op::stop_gradient>({}, -x) * x, 1));
  });
}
}  // namespace

TEST_CASE("stop_gradient stays until lowering") {
  const graph g = stopped();
  CHECK(ebb::to_string(ebb::prune(ebb::simplify(g))) == ebb::to_string(g));
  CHECK(ebb::to_string(ebb::lower(g)) == "a = input 0 : f32[n]\nb = mul a a : f32[n]\nc = sum b over 0 : f32\nreturn c\n");
  CHECK(test::error_text(ebb::lower(g)) == "");
}

TEST_CASE("a second derivative still sees it") {
  // The first derivative of stop(x) x is stop(x), whose derivative is zero: of x x it would be 2.
  const graph first = ebb::value_and_gradient(stopped(), {0});
  graph inner = first;
  inner.out = {first.out[1]};
  const ebb::vec<int> wrt = ebb::equations_of_inputs(inner, {0});
  const int seed = inner.op(inner.out[0]).kit->literal(inner, inner.eq[inner.out[0]].shape, 1);
  CHECK(ebb::pull_back(inner, wrt, {inner.out[0]}, {seed}) == ebb::vec<int>{-1});
}
