// test/graph/graph.cpp — equal shapes have one number, however many there are.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/graph/graph.hpp>

#include <random>

TEST_CASE("graph/graph: the number of a shape is that of the first one like it, in copies of the graph too") {
  std::mt19937 random(7);
  ebb::graph g;
  for (int step = 0; step < 4000; ++step) {
    ebb::shape s;
    for (int rank = static_cast<int>(random() % 4); rank > 0; --rank) s.push(static_cast<int>(random() % 11) - 5);
    int expected = 0;
    while (expected < g.shapes.size() && !(g.shapes[expected] == s)) ++expected;
    if (random() % 200 == 0) g = ebb::shell_of(g);
    if (random() % 200 == 0) g = ebb::graph(g);
    REQUIRE(g.intern(s) == expected);
    REQUIRE(g.intern(s) == expected);
  }
  CHECK(g.shapes.size() > 500);
}
