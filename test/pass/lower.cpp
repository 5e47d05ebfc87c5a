// test/pass/lower.cpp — lowering removes stop_gradient and then applies the rules that it blocked.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"
#include "random_graph.hpp"

#include <ebb/pass/pipeline.hpp>
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

TEST_CASE("the second derivative still respects stop_gradient") {
  // The first derivative of stop(x) x is stop(x), whose derivative is zero; that of x x would be 2.
  const graph first = ebb::value_and_gradient(stopped(), {0});
  graph inner = first;
  inner.out = {first.out[1]};
  const ebb::vec<int> wrt = ebb::equations_of_inputs(inner, {0});
  const int seed = inner.op(inner.out[0]).kit->literal(inner, inner.eq[inner.out[0]].shape, 1);
  CHECK(ebb::pull_back(inner, wrt, {inner.out[0]}, {seed}) == ebb::vec<int>{-1});
}

TEST_CASE("lowering need not rewrite equations that simplify has finished") {
  int smaller = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const graph g = test::random_graph_of(seed, 40).take();
    graph simple = ebb::prune(ebb::simplify(g));
    REQUIRE(simple.simplified == simple.size());
    smaller += simple.size() < ebb::prune(g).size();
    const std::string known = ebb::to_string(ebb::lower(simple));
    simple.simplified = -1;
    CHECK(known == ebb::to_string(ebb::lower(simple)));
    CHECK(known == ebb::to_string(ebb::lower(g)));
  }
  CHECK(smaller > 100);
}

TEST_CASE("an equation that simplify has not seen is rewritten") {
  graph g = ebb::prune(ebb::simplify(stopped()));
  const ebb::operand<float> x{&g, 0};
  g.out.push((-(-x)).id);
  CHECK(g.simplified < g.size());
  CHECK(ebb::lower(g).out[1] == 0);
}
