// test/graph/copy.cpp — copies of graphs: equations kept, renumbered and rewritten; equal equations kept apart or merged.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/graph/copy.hpp>

namespace {

using ebb::equal_equations, ebb::equation;
using test::graph;
using test::n;

constexpr graph two_products() {
  return test::build([](test::builder& b) {
    const auto x = b.in({n}), y = b.in({n});
    const auto product = x * y, sum = x + y;
    return b.returns(product, sum, -product);
  });
}

}  // namespace

TEST_CASE("a copy of all equations is the same graph") {
  const graph g = two_products();
  const graph copy = ebb::copied(g, ebb::all_equations);
  CHECK(ebb::to_string(copy) == ebb::to_string(g));
  CHECK(test::error_text(copy) == "");
}

TEST_CASE("a copy leaves out equations and renumbers the operands of those that follow") {
  graph g = two_products();
  g.out = {g.out[0], -1, g.out[2]};
  const graph copy = ebb::copied(g, [&](int k) { return g.op(k).name != "add"; });
  CHECK(ebb::to_string(copy) ==
        "a = input 0 : f32[n]\nb = input 1 : f32[n]\nc = mul a b : f32[n]\nd = neg c : f32[n]\nreturn c nothing d\n");
  CHECK(test::error_text(copy) == "");
}

TEST_CASE("a rewrite changes the copy and not the original graph") {
  const graph g = two_products();
  const auto exchanged = [](int, equation& e) {
    if (e.op->what == ebb::kind::input) e.attr[0] = 1 - e.attr[0];
  };
  const graph copy = ebb::copied(g, ebb::all_equations, exchanged);
  CHECK(copy.input(0) == 1);
  CHECK(copy.input(1) == 0);
  CHECK(g.input(0) == 0);
  CHECK(ebb::to_string(ebb::copied(copy, ebb::all_equations, exchanged)) == ebb::to_string(g));
}

TEST_CASE("equal equations of a copy stay two, or become one on request") {
  graph g = two_products();
  const int product = g.out[0], operands[] = {g.operand(product, 0), g.operand(product, 1)};
  const equation e = g.eq[product];
  g.out.push(g.append(e, {operands, 2}));
  const graph two = ebb::copied(g, ebb::all_equations);
  const graph one = ebb::copied<equal_equations::become_one>(g, ebb::all_equations, ebb::as_they_are);
  CHECK(two.size() == g.size());
  CHECK(two.out[3] != two.out[0]);
  CHECK(one.size() == g.size() - 1);
  CHECK(one.out[3] == one.out[0]);
  CHECK(test::error_text(one) == "");
}

TEST_CASE("a copy skips equations that have a place already, and can leave out equations whose operands are missing") {
  const graph g = two_products();
  graph to = test::build([](test::builder& b) { return b.returns(-b.in({n})); });
  ebb::vec<int> at = ebb::at_arguments(g, {to.out[0], -1});
  ebb::copy_equations(to, g, at, [&](int k) { return g.op(k).what != ebb::kind::input && ebb::has_operands(g, k, at); }, ebb::as_they_are);
  CHECK(to.size() == 2);  // both results need the second argument
  CHECK(ebb::outputs_at(g, at) == ebb::vec<int>{-1, -1, -1});
  at = ebb::at_arguments(g, {to.out[0], 0});
  ebb::copy_equations(to, g, at, ebb::but_arguments(g), ebb::as_they_are);
  to.out = ebb::outputs_at(g, at);
  CHECK(ebb::to_string(to) ==
        "a = input 0 : f32[n]\nb = neg a : f32[n]\nc = mul b a : f32[n]\nd = add b a : f32[n]\ne = neg c : f32[n]\nreturn c d e\n");
}

static_assert(ebb::copied(two_products(), ebb::all_equations).size() == two_products().size());
