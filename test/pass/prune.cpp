// test/pass/prune.cpp — pruning, sharing equal equations and splicing on graphs written by hand; all passes on random ones.
// SPDX-License-Identifier: BSL-1.0
#include "random_graph.hpp"

#include "../catch.hpp"

#include <ebb/pass/pipeline.hpp>
#include <ebb/pass/lower.hpp>
#include <ebb/pass/partition.hpp>

using test::graph;
using test::n;

TEST_CASE("prune keeps arguments and results") {
  graph g = test::build([](test::builder& b) {
    const auto x = b.in({n}), y = b.in({n});
    const auto unused = x * y, used = x + x;
    (void)unused;
    return b.returns(used);
  });
  CHECK(ebb::to_string(ebb::prune(g)) == "a = input 0 : f32[n]\nb = input 1 : f32[n]\nc = add a a : f32[n]\nreturn c\n");
  g.out = {-1};
  CHECK(ebb::prune(g).out[0] == -1);
}

TEST_CASE("simplify merges equal equations and no others") {
  graph g = test::build([](test::builder& b) {
    const auto x = b.in({2, 3});
    const auto rows = ebb::sum_over(x, 1), columns = ebb::sum_over(x, 2);
    return b.returns(rows, columns);
  });
  CHECK(ebb::simplify(g).size() == 3);  // the same op on the same operand over another axis is another equation
  const ebb::equation e = g.eq[1];
  const int x = 0;
  g.out.push(g.append(e, {&x, 1}));
  CHECK(g.size() == 4);
  CHECK(ebb::simplify(g).size() == 3);
  CHECK(ebb::simplify(g).out == ebb::vec<int>{1, 2, 1});
}

TEST_CASE("splice copies a graph after the arguments it is given") {
  const graph inner = test::build([](test::builder& b) {
    const auto x = b.in({n}), y = b.in({n});
    return b.returns(x * y, y);
  });
  graph outer = test::build([](test::builder& b) { return b.returns(b.in({5})); });
  const ebb::vec<int> out = ebb::splice(outer, inner, {0, 0});
  outer.out = out;
  CHECK(ebb::to_string(outer) == "a = input 0 : f32[5]\nb = mul a a : f32[5]\nreturn b a\n");
  CHECK(test::error_text(outer) == "");
  graph other = test::build([](test::builder& b) { return b.returns(b.in({5}), b.in({6})); });
  CHECK(ebb::splice(other, inner, {0, 1})[0] == -102);
}

TEST_CASE("every pass leaves a valid graph with the same bits") {
  int equations = 0, simpler = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const graph g = test::random_graph(seed);
    INFO("seed " << seed << "\n" << ebb::to_string(g));
    REQUIRE(test::error_text(g) == "");
    const graph pruned = ebb::prune(g), simple = ebb::simplify(g), lowered = ebb::lower(g);
    for (const graph* pass : {&pruned, &simple, &lowered}) CHECK(test::error_text(*pass) == "");
    const graph once = ebb::prune(simple), twice = ebb::prune(ebb::simplify(once));
    CHECK(ebb::to_string(once) == ebb::to_string(twice));
    equations += pruned.size();
    simpler += once.size();
    for (const std::uint64_t call : {1u, 2u}) {
      const auto c = test::random_call(g, seed * 10 + call);
      for (const graph* pass : {&pruned, &simple, &lowered}) CHECK(test::difference(g, *pass, c) == "");
    }
  }
  CHECK(simpler < equations - 200);  // the generator leaves work to do
}

TEST_CASE("the halves of random graphs give the bits of the joint graph") {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const graph g = test::random_graph(seed);
    ebb::vec<int> arguments;
    for (int i = 0; i < g.inputs; ++i) arguments.push(i);
    if (ebb::first_without_pull(g, ebb::equations_of_inputs(g, arguments)) >= 0) continue;
    INFO("seed " << seed << "\n" << ebb::to_string(g));
    const graph joint = ebb::joint(g, arguments);
    REQUIRE(test::error_text(joint) == "");
    const ebb::halves h = ebb::partition(joint, g.inputs, g.out.size());
    INFO("joint\n" << ebb::to_string(joint) << "forward\n" << ebb::to_string(h.forward) << "backward\n" << ebb::to_string(h.backward));
    REQUIRE(test::error_text(h.forward) == "");
    REQUIRE(test::error_text(h.backward) == "");
    const auto c = test::random_call(joint, seed);
    const auto whole = ebb::evaluate(joint, c.arguments, c.symbols);
    ebb::vec<ebb::cell_array> given;
    for (int i = 0; i < g.inputs; ++i) given.push(c.arguments[i]);
    const auto first = ebb::evaluate(h.forward, given, c.symbols);
    REQUIRE(first.size() == g.out.size() + h.saved);
    for (int i = 0; i < h.saved; ++i) given.push(first[g.out.size() + i]);
    for (int i = g.inputs; i < joint.inputs; ++i) given.push(c.arguments[i]);
    const auto second = ebb::evaluate(h.backward, given, c.symbols);
    for (int i = 0; i < g.out.size(); ++i) CHECK((first[i] == whole[i]));
    for (int i = 0; i < second.size(); ++i) CHECK((second[i] == whole[g.out.size() + i]));
    ++tried;
  }
  CHECK(tried > 150);
}
