// test/plan/plan.cpp — plans of small graphs: steps, values in memory, shared places, copies, checks.
// SPDX-License-Identifier: BSL-1.0
// covers: plan.hpp band.hpp frozen.hpp fuse.hpp step.hpp tensor/nest.hpp
#include <ebb/plan/plan.hpp>

#include <ebb/graph/splice.hpp>
#include <ebb/op/arithmetic.hpp>
#include <ebb/op/contract.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/gather.hpp>
#include <ebb/op/power.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/plan/frozen.hpp>

#include "../catch.hpp"

#include <initializer_list>

namespace {

using ebb::emit_on, ebb::kind, ebb::operand, ebb::plan;
using role = ebb::plan_buffer::role;

struct builder {
  ebb::graph g;

  ebb::shape of(std::initializer_list<int> extents) const {
    ebb::shape s;
    for (int e : extents) s.push(e);
    return s;
  }
  template <class T = float>
  operand<T> argument(std::initializer_list<int> extents) {
    const int number = g.inputs++;
    return {&g, ebb::emit_as<ebb::op::input, T>(g, g.intern(of(extents)), {}, {number})};
  }
  int dynamic(int argument, int axis) { return g.syms.fresh({ebb::extent_rule::argument, argument, axis}); }
  template <class T>
  operand<T> repeated(operand<T> x, std::initializer_list<int> extents, std::int64_t mask) {
    return ebb::broadcast_to(x, g.intern(of(extents)), mask);
  }
  plan planned(std::initializer_list<int> out) {
    for (int o : out) g.out.push(o);
    return ebb::make_plan(g);
  }
};

int count(const plan& p, role r) {
  int n = 0;
  for (const ebb::plan_buffer& b : p.buffers) n += b.is == r;
  return n;
}
const ebb::nest& nest_of(const plan& p, int step) { return p.nests[p.steps[step].nest]; }

}  // namespace

TEST_CASE("a chain of elementwise ops is one nest over one loop, and only its result is stored") {
  builder b;
  const auto x = b.argument({8, 5}), y = b.argument({8, 5});
  const plan p = b.planned({emit_on<ebb::op::tanh>({}, x * y + x).id});
  REQUIRE(p.steps.size() == 1);
  const ebb::nest& n = nest_of(p, 0);
  CHECK(n.loops == 1);
  CHECK(n.axis[0] == 0);
  CHECK(n.axis[1] == 2);
  CHECK(n.loads.count == 2);
  CHECK(n.computes.count == 3);
  CHECK(n.stores.count == 1);
  CHECK(n.reduces.count == 0);
  CHECK(p.places.empty());
  CHECK(count(p, role::argument) == 2);
  CHECK(count(p, role::result) == 1);
}

TEST_CASE("broadcasts cut loops at the axes they repeat, and need no memory") {
  builder b;
  const auto x = b.argument({4, 5, 6}), row = b.argument({6}), middle = b.argument({4, 6}), one = b.argument({});
  const auto sum = x + b.repeated(row, {4, 5, 6}, 3) + b.repeated(middle, {4, 5, 6}, 2) + b.repeated(one, {4, 5, 6}, 7);
  const plan p = b.planned({sum.id});
  REQUIRE(p.steps.size() == 1);
  const ebb::nest& n = nest_of(p, 0);
  CHECK(n.loops == 3);
  CHECK(count(p, role::temporary) == 0);
  int along[4] = {};
  for (int i = 0; i < n.loads.count; ++i) along[p.buffers[p.loads[n.loads.first + i].buffer].number] = p.loads[n.loads.first + i].along;
  CHECK(along[0] == 7);
  CHECK(along[1] == 4);
  CHECK(along[2] == 5);
  CHECK(along[3] == 0);
}

TEST_CASE("a trailing and a leading broadcast alone leave two loops") {
  builder b;
  const auto x = b.argument({4, 5, 6}), column = b.argument({4});
  const plan p = b.planned({(x * b.repeated(column, {4, 5, 6}, 6)).id});
  const ebb::nest& n = nest_of(p, 0);
  CHECK(n.loops == 2);
  CHECK(n.axis[1] == 1);
  CHECK(n.axis[2] == 3);
}

TEST_CASE("a value, its sum over all and its sum over rows are one nest") {
  builder b;
  const auto x = b.argument({40, 50});
  const auto y = emit_on<ebb::op::exp>({}, x);
  const auto all = emit_on<ebb::op::sum>({0, 2}, y), rows = emit_on<ebb::op::sum>({0, 1}, y);
  const plan p = b.planned({y.id, all.id, rows.id});
  REQUIRE(p.steps.size() == 1);
  const ebb::nest& n = nest_of(p, 0);
  CHECK(n.loops == 2);
  REQUIRE(n.reduces.count == 2);
  CHECK(p.reduces[0].run);
  CHECK_FALSE(p.reduces[1].run);
  CHECK(n.run_from == 0);
  CHECK(n.stores.count == 1);
}

TEST_CASE("two splits of the last axes are two groups: the second reads the value from memory") {
  builder b;
  const auto x = b.argument({40, 50});
  const auto y = emit_on<ebb::op::exp>({}, x);
  const auto all = emit_on<ebb::op::sum>({0, 2}, y), last = emit_on<ebb::op::sum>({1, 2}, y);
  const auto rows = emit_on<ebb::op::sum>({0, 1}, y);
  const plan p = b.planned({all.id, last.id, rows.id});
  REQUIRE(p.steps.size() == 2);
  CHECK(nest_of(p, 0).computes.count == 1);
  CHECK(nest_of(p, 0).stores.count == 1);
  CHECK(nest_of(p, 0).reduces.count == 2);  // the sum over rows stays with the value
  CHECK(nest_of(p, 1).computes.count == 0);
  CHECK(nest_of(p, 1).reduces.count == 1);
  CHECK(count(p, role::temporary) == 1);
}

TEST_CASE("a step that reads a sum comes after it") {
  builder b;
  const auto x = b.argument({40, 50});
  const auto total = emit_on<ebb::op::sum>({0, 2}, x);
  const auto share = x / b.repeated(total, {40, 50}, 3);
  const plan p = b.planned({share.id});
  REQUIRE(p.steps.size() == 2);
  CHECK(nest_of(p, 0).reduces.count == 1);
  CHECK(nest_of(p, 1).stores.count == 1);
  CHECK(p.places.size() == 1);
}

TEST_CASE("a number from arguments comes before all loops, and a loop that reads it is one with the others") {
  builder b;
  const auto x = b.argument({40}), width = b.argument({}), other = b.argument({});
  const auto factor = emit_on<ebb::op::square>({}, width);
  const auto total = emit_on<ebb::op::sum>({0, 1}, x);
  const auto scaled = x * b.repeated(factor, {40}, 1);
  const auto value = total * emit_on<ebb::op::log>({}, other);
  const plan p = b.planned({scaled.id, value.id});
  REQUIRE(p.steps.size() == 3);
  CHECK(nest_of(p, 0).computes.count == 1);  // only what the loop waits for
  CHECK(nest_of(p, 1).reduces.count == 1);
  CHECK(nest_of(p, 1).computes.count == 1);
  CHECK(nest_of(p, 2).computes.count == 2);  // the logarithm waits for the sum
  CHECK(p.places.size() == 2);
}

TEST_CASE("a loop that reads a number from a sum is one with a loop that reads the sum") {
  builder b;
  const auto x = b.argument({40}), y = b.argument({40});
  const auto total = emit_on<ebb::op::sum>({0, 1}, x);
  const auto inverse = emit_on<ebb::op::reciprocal>({}, total), root = emit_on<ebb::op::sqrt>({}, total);
  const plan p = b.planned({(x * b.repeated(inverse, {40}, 1)).id, (y - b.repeated(total, {40}, 1)).id, root.id});
  REQUIRE(p.steps.size() == 3);
  CHECK(nest_of(p, 1).computes.count == 2);
  CHECK(nest_of(p, 2).computes.count == 2);
  CHECK(nest_of(p, 2).stores.count == 2);
}

TEST_CASE("a sum of ones is recognized") {
  builder b;
  const auto x = b.argument({~b.dynamic(0, 0)});
  const auto ones = ebb::literal_like(x, 1), twos = ebb::literal_like(x, 2);
  const auto narrow = ebb::literal_like(operand<ebb::float16>{&b.g, b.argument<ebb::float16>({9}).id}, 1);
  const auto total = [](auto y) { return emit_on<ebb::op::sum>({0, 1}, y).id; };
  const plan p = b.planned({total(ones), total(twos), total(x), emit_on<ebb::op::prod>({0, 1}, ones).id, total(narrow)});
  REQUIRE(p.reduces.size() == 5);
  CHECK(p.reduces[0].counts);
  for (int i = 1; i < 5; ++i) CHECK_FALSE(p.reduces[i].counts);  // float16 cannot count far
}

TEST_CASE("unrelated values share a nest if they have one shape") {
  builder b;
  const auto x = b.argument({8}), y = b.argument({8}), z = b.argument({9});
  const plan p = b.planned({(-x).id, (y * y).id, (-z).id});
  CHECK(p.steps.size() == 2);
}

TEST_CASE("products and moves are steps of their own") {
  builder b;
  const auto x = b.argument({3, 4}), w = b.argument({4, 5});
  const auto h = emit_on<ebb::op::matmul>({}, x, w);
  const plan p = b.planned({emit_on<ebb::op::tanh>({}, h).id});
  REQUIRE(p.steps.size() == 2);
  CHECK(p.steps[0].what == kind::contract);
  CHECK(p.steps[0].nest == -1);
  CHECK(p.steps[1].nest == 0);
  CHECK(p.places.empty());  // the product is written to the result's memory, and tanh works in place
}

TEST_CASE("a literal or a broadcast that is an operand of a product gets memory") {
  builder b;
  const auto x = b.argument({3, 4}), row = b.argument({5});
  const auto w = b.repeated(row, {4, 5}, 1);
  const auto ones = ebb::literal_like(x, 1);
  const auto h = emit_on<ebb::op::matmul>({}, x, w), k = emit_on<ebb::op::matmul>({}, ones, w);
  const plan p = b.planned({h.id, k.id});
  REQUIRE(p.steps.size() == 4);
  CHECK(count(p, role::temporary) == 2);
  CHECK(p.steps[2].what == kind::contract);
  CHECK(p.steps[3].what == kind::contract);
}

TEST_CASE("temporaries whose lives do not overlap share a place or the memory of a result") {
  builder b;
  auto x = b.argument({6, 6});
  for (int i = 0; i < 6; ++i) x = emit_on<ebb::op::matmul>({}, x, x);
  const plan p = b.planned({x.id});
  CHECK(p.steps.size() == 6);
  CHECK(count(p, role::temporary) == 3);  // the second and the fourth product are in the memory of the result; the first one is not,
  CHECK(count(p, role::result) == 3);     // because the result could then not be written over the argument
  CHECK(p.places.size() == 1);
}

TEST_CASE("a nest hands a temporary's memory on only if it reads each element where it writes the new one") {
  builder b;
  const auto x = b.argument({7, 7}), y = b.argument({7});
  const auto product = emit_on<ebb::op::matmul>({}, x, x), e = emit_on<ebb::op::exp>({}, product);
  const auto again = emit_on<ebb::op::matmul>({}, e, e);
  const plan p = b.planned({emit_on<ebb::op::sum>({0, 2}, again).id, y.id});
  REQUIRE(p.steps.size() == 4);
  const int first = p.steps[0].out, second = p.stores[nest_of(p, 1).stores.first].buffer, third = p.steps[2].out;
  CHECK(p.buffers[first].number == p.buffers[second].number);
  CHECK(p.buffers[second].number != p.buffers[third].number);
  CHECK(p.places.size() == 2);
}

TEST_CASE("a temporary does not keep a result from being written over an argument") {
  builder b;
  const auto weight = b.argument({6, 6}), x = b.argument({6, 9});
  const auto slope = emit_on<ebb::op::matmul>({ebb::right_transposed}, x, x);
  const plan p = b.planned({(weight - slope).id});
  CHECK(p.places.size() == 1);
  CHECK(count(p, role::result) == 1);
}

TEST_CASE("temporaries of other shapes and sizes have places of their own") {
  builder b;
  const auto x = b.argument({6, 6});
  const auto y = emit_on<ebb::op::matmul>({}, x, x);                        // 6 x 6 floats
  const auto wide = ebb::cast_to<double>(y);
  const auto z = emit_on<ebb::op::matmul>({}, wide, wide);                  // 6 x 6 doubles
  const auto part = ebb::slice_as(z, {0, 0, 1}, b.g.intern(b.of({3, 6})));  // 3 x 6 doubles
  const auto all = emit_on<ebb::op::matmul>({ebb::right_transposed}, part, part);
  const plan p = b.planned({all.id});
  CHECK(p.places.size() == count(p, role::temporary));
}

TEST_CASE("an argument that is a result is copied, and a loop stores a value that is several results in all of them") {
  builder b;
  const auto x = b.argument({4, 2});
  const auto y = -x;
  const auto view = ebb::reshape_to(y, b.g.intern(b.of({8})));
  const plan p = b.planned({x.id, y.id, y.id, view.id, ebb::reshape_to(x, b.g.intern(b.of({8}))).id});
  CHECK(p.steps.size() == 1);
  REQUIRE(p.copies.size() == 2);
  CHECK(p.buffers[p.copies[0].buffer].is == role::argument);
  CHECK(p.copies[0].result == 0);
  CHECK(p.buffers[p.copies[1].buffer].is == role::argument);
  CHECK(p.copies[1].result == 4);
  REQUIRE(p.stores.size() == 3);
  int results = 0;
  for (const ebb::nest_store& s : p.stores) {
    CHECK(p.buffers[s.buffer].is == role::result);
    results += 1 << p.buffers[s.buffer].number;
  }
  CHECK(results == 0b1110);
}

TEST_CASE("a product that is two results is copied") {
  builder b;
  const auto x = b.argument({4, 4});
  const auto y = emit_on<ebb::op::matmul>({}, x, x);
  const plan p = b.planned({y.id, y.id});
  REQUIRE(p.copies.size() == 1);
  CHECK(p.copies[0].result == 1);
}

TEST_CASE("literals, indices and broadcasts can be results") {
  builder b;
  const auto x = b.argument({5});
  const auto wide = b.repeated(x, {4, 5}, 1);
  const auto two = ebb::literal_like(wide, 2);
  const int index = ebb::emit_as<ebb::op::index, std::int64_t>(b.g, b.g.intern(b.of({4, 5})), {}, {0});
  const plan p = b.planned({wide.id, two.id, index});
  CHECK(p.copies.empty());
  int stores = 0;
  for (const ebb::nest& n : p.nests) stores += n.stores.count;
  CHECK(stores == 3);
  CHECK(count(p, role::result) == 3);
}

TEST_CASE("a reshape is a view: it has no step, and its reader loops over its own shape") {
  builder b;
  const auto x = b.argument({4, 6}), y = b.argument({24});
  const plan p = b.planned({(ebb::reshape_to(x, b.g.intern(b.of({24}))) + y).id});
  CHECK(p.steps.size() == 1);
  CHECK(count(p, role::temporary) == 0);
}

TEST_CASE("a scalar graph is a loop of one") {
  builder b;
  const auto x = b.argument({});
  const plan p = b.planned({(x * x).id});
  REQUIRE(p.steps.size() == 1);
  CHECK(nest_of(p, 0).loops == 1);
}

TEST_CASE("row numbers are checked before the first step if they are an argument, else once they are computed") {
  builder b;
  const auto x = b.argument({10, 3});
  const auto given = b.argument<std::int32_t>({4, 1});
  const auto flat = ebb::cast_to<std::int64_t>(ebb::reshape_to(given, b.g.intern(b.of({4}))));
  const auto counted = emit_on<ebb::op::add>({}, flat, flat);
  const auto a = emit_on<ebb::op::gather<std::int64_t>, float>({}, x, flat);
  const auto c = emit_on<ebb::op::gather<std::int64_t>, float>({}, x, counted);
  const plan p = b.planned({a.id, c.id});
  REQUIRE(p.checks.size() == 2);
  CHECK(p.checks[0].after == -1);
  CHECK(p.buffers[p.checks[0].buffer].is == role::argument);
  CHECK(p.buffers[p.checks[0].buffer].number == 1);
  CHECK(p.checks[0].places == 10);
  CHECK(p.checks[1].after >= 0);
  CHECK(p.steps[p.checks[1].after].nest >= 0);
}

TEST_CASE("an extremum is checked if its axis may be empty") {
  builder b;
  const int n = b.dynamic(0, 0);
  const auto x = b.argument({n, 3});
  const auto columns = emit_on<ebb::op::max>({0, 1}, x), rows = emit_on<ebb::op::max>({1, 2}, x);
  const plan p = b.planned({columns.id, rows.id});
  REQUIRE(p.checks.size() == 1);
  CHECK(p.checks[0].equation == columns.id);
  CHECK(p.checks[0].buffer == -1);
}

namespace {

constexpr plan small_plan() {
  ebb::graph g;
  ebb::shape s;
  s.push(7);
  const operand<float> x{&g, ebb::emit_as<ebb::op::input, float>(g, g.intern(s), {}, {0})};
  g.inputs = 1;
  g.out.push((x * x).id);
  g.out.push(emit_on<ebb::op::sum>({0, 1}, x * x).id);
  return ebb::make_plan(g);
}
constexpr ebb::plan_size small_size = size_of(small_plan());
constexpr ebb::frozen_plan<small_size> small = ebb::freeze<small_size>(small_plan());

}  // namespace

TEST_CASE("plans are constants too") {
  STATIC_REQUIRE(small_size.steps == 1);
  STATIC_REQUIRE(small.nests[0].reduces.count == 1);
  CHECK(small.buffers[0].is == role::result);
}

TEST_CASE("two products with one large matrix are a band, and a reader of a sum over its rows comes after it") {
  const auto bands_of = [](int rows) {
    builder b;
    const auto x = b.argument({rows, 50}), w = b.argument({50, 1}), t = b.argument({rows});
    const auto z = ebb::reshape_to(emit_on<ebb::op::matmul>({}, x, w), b.g.intern(b.of({rows})));
    const auto g = emit_on<ebb::op::exp>({}, z) * (t + t);
    const auto total = emit_on<ebb::op::sum>({0, 1}, g);
    const auto column = ebb::reshape_to(g, b.g.intern(b.of({rows, 1})));
    const auto slope = emit_on<ebb::op::matmul>({ebb::left_transposed}, x, column);
    return b.planned({(total * total).id, slope.id});
  };
  const plan p = bands_of(1000);
  REQUIRE(p.bands.size() == 1);
  CHECK(p.bands[0].first == 0);
  CHECK(p.bands[0].count == p.steps.size() - 1);
  CHECK(p.steps[p.bands[0].count - 1].what == kind::contract);
  CHECK(nest_of(p, p.steps.size() - 1).banded == false);
  CHECK(nest_of(p, p.bands[0].count - 2).banded);
  CHECK(bands_of(100).bands.empty());  // the matrix stays in the first-level cache
}
