// test/graph/valid.cpp — valid finds each way to break a graph.
// SPDX-License-Identifier: BSL-1.0
// covers: valid.hpp equation.hpp
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/convert.hpp>
#include <ebb/op/reduce.hpp>

using test::graph;
using test::m;
using test::n;

namespace {

graph good() {
  return test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 3});
    const auto y = b.in<float>({n, 3});
    const auto z = x * y;
    const auto s = ebb::sum_over(z, 2);
    const auto r = ebb::broadcast_to(s, x.g->eq[x.id].shape, 2);
    return b.returns(r, ebb::cast_to<double>(s));
  });
}

std::string after(auto change) {
  graph g = good();
  change(g);
  const ebb::graph_error e = ebb::first_error(g);
  return std::string(e.what) + (e.equation >= 0 ? " at " + std::to_string(e.equation) : "");
}

}  // namespace

TEST_CASE("a well-formed graph has no error") {
  CHECK(after([](graph&) {}) == "");
  CHECK_FALSE(ebb::first_error(good()));
}

TEST_CASE("an error names the fault and its equation") {
  // 0 x   1 y   2 mul   3 sum   4 broadcast   5 cast
  CHECK(after([](graph& g) { g.pool[g.eq[2].first] = 3; }) == "an operand that does not come before at 2");
  CHECK(after([](graph& g) { g.pool[g.eq[2].first] = -1; }) == "an operand that does not come before at 2");
  CHECK(after([](graph& g) { g.eq[2].count = 1; }) == "the wrong number of operands at 2");
  CHECK(after([](graph& g) { g.eq[5].first = 100; }) == "operands outside of the pool at 5");
  CHECK(after([](graph& g) { g.eq[2].shape = 99; }) == "a shape that is not there at 2");
  CHECK(after([](graph& g) { g.eq[2].shape = g.eq[3].shape; }) == "the shape is not what the op's rule gives at 2");
  CHECK(after([](graph& g) { g.eq[3].attr[1] = 5; }) == "the op's shape rule refuses the operands at 3");
  CHECK(after([](graph& g) { g.eq[4].attr[0] = 1; }) == "the mask of a broadcast does not fit its shapes at 4");
  CHECK(after([](graph& g) { g.eq[1].attr[0] = 0; }) == "two equations for one argument at 1");
  CHECK(after([](graph& g) { g.eq[1].attr[0] = 2; }) == "an argument that is not there at 1");
  CHECK(after([](graph& g) { g.eq[2].op = g.eq[4].op; }) == "the wrong number of operands at 2");
  CHECK(after([](graph& g) { g.eq[4].op = g.eq[5].op; }) == "the shape is not what the op's rule gives at 4");
  CHECK(after([](graph& g) { g.eq[2].op = nullptr; }) == "an equation without an op at 2");
  CHECK(after([](graph& g) { g.eq[2].sub = 0; }) == "a sub-graph that is not there at 2");
  CHECK(after([](graph& g) { g.out[0] = 6; }) == "an output that is not there");
  CHECK(after([](graph& g) { g.out[0] = -2; }) == "an output that is not there");
  CHECK(after([](graph& g) { g.out[0] = -1; }) == "");
}

TEST_CASE("an operand whose dtype contradicts the op is an error") {
  CHECK(after([](graph& g) {
          const int in[] = {5, 5};
          const ebb::equation like = g.eq[2];
          g.append(like, {in, 2});
          g.eq.back().shape = g.eq[5].shape;
        }) == "an operand of the wrong dtype at 6");
}

TEST_CASE("extents that are equal only by chance are an error") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<float>({n}), y = b.in<float>({m});
    const int in[] = {x.id, y.id};
    ebb::equation e;
    e.op = &ebb::info<ebb::op::add, float>;
    e.shape = b.g.eq[x.id].shape;
    b.g.out.push(b.g.append(e, {in, 2}));
    return b.g;
  });
  CHECK(std::string(ebb::first_error(g).what) == "the op's shape rule finds extents equal that were not");
}

TEST_CASE("reshapes are checked for their numbers of elements") {
  const auto reshaped = [](int rows) {
    return test::error_text(test::build([&](test::builder& b) {
      const auto x = b.in<float>({6, 4});
      return b.returns(ebb::reshape_to(x, b.shape({rows, 8})));
    }));
  };
  CHECK(reshaped(3) == "");
  CHECK(reshaped(4).rfind("a reshape changes the number of elements", 0) == 0);
}
