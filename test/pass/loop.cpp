// test/pass/loop.cpp — random loops against their steps one by one: values, gradients, halves, batches, what is left of them.
// SPDX-License-Identifier: BSL-1.0
// covers: loop.hpp live.hpp graph/loop.hpp op/loop.hpp
#include "../catch.hpp"
#include "random_loop.hpp"

#include <ebb/graph/batch.hpp>

using test::graph;

namespace {

/// Results that are compared: the bits, any NaN equals any other. Zeros: their sign does not count.
std::string difference(const graph& g, const ebb::vec<int>& out, const ebb::vec<ebb::cell_array>& a, const ebb::vec<ebb::cell_array>& b,
                       bool zeros = false) {
  if (a.size() != b.size()) return "another number of results";
  for (int i = 0; i < a.size(); ++i) {
    const ebb::dtype d = g.op(out[i]).result;
    if (a[i].size() != b[i].size()) return "another size of result " + std::to_string(i);
    for (int j = 0; j < a[i].size(); ++j) {
      const bool zero = zeros && ebb::with_dtype(d, [&]<class T>(T) {
        return static_cast<float>(ebb::from_cell<T>(a[i][j])) == 0 && static_cast<float>(ebb::from_cell<T>(b[i][j])) == 0;
      });
      if (!zero && !test::same_cell(d, a[i][j], b[i][j]))
        return "result " + std::to_string(i) + " element " + std::to_string(j) + ": " + ebb::literal_text(d, a[i][j]) + " and " +
               ebb::literal_text(d, b[i][j]);
    }
  }
  return "";
}
ebb::vec<ebb::cell_array> part(const ebb::vec<ebb::cell_array>& all, int first, int last) {
  ebb::vec<ebb::cell_array> r;
  for (int i = first; i < last; ++i) r.push(all[i]);
  return r;
}
ebb::vec<int> part(const ebb::vec<int>& all, int first, int last) {
  ebb::vec<int> r;
  for (int i = first; i < last; ++i) r.push(all[i]);
  return r;
}
ebb::vec<int> all_arguments(const graph& g) {
  ebb::vec<int> r;
  for (int i = 0; i < g.inputs; ++i) r.push(i);
  return r;
}
/// The number of steps: 0, 1, some, or an extent of the call, which is 3.
constexpr int counts[] = {0, 1, 2, 4, -1};

}  // namespace

TEST_CASE("random loops give what their steps give one by one") {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    const int count = counts[seed % 5];
    const test::random_loop l = test::make_random_loop(seed, count);
    INFO("seed " << seed << "\n" << ebb::to_string(l.g));
    REQUIRE(test::error_text(l.g) == "");
    const test::call c = test::random_call(l.g, seed, 3, seed % 2 == 0);
    const test::by_steps oracle(l, c.arguments, count < 0 ? 3 : count, 3);
    REQUIRE(difference(l.g, l.g.out, ebb::evaluate(l.g, c.arguments, c.symbols), oracle.results) == "");

    const graph simple = ebb::exact(l.g);
    REQUIRE(test::error_text(simple) == "");
    REQUIRE(difference(simple, simple.out, ebb::evaluate(simple, c.arguments, c.symbols), oracle.results) == "");

    // Less is asked for: the same of that.
    const int one = static_cast<int>(seed) % l.given();
    const graph less = ebb::with_outputs(l.g, {l.g.out[one]});
    REQUIRE(test::error_text(less) == "");
    REQUIRE(less.subs.size() <= 1);
    REQUIRE((less.subs.empty() || less.subs[0].out.size() <= l.given()));
    REQUIRE(difference(less, less.out, ebb::evaluate(less, c.arguments, c.symbols), {oracle.results[one]}) == "");
  }
}

TEST_CASE("gradients of random loops have the bits of steps that are pulled back in falling order") {
  int gradients = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    const int count = counts[seed % 5], steps = count < 0 ? 3 : count;
    const test::random_loop l = test::make_random_loop(seed, count);
    const graph j = ebb::joint(l.g, all_arguments(l.g));
    INFO("seed " << seed << "\n" << ebb::to_string(j));
    REQUIRE(test::error_text(j) == "");
    const test::call c = test::random_call(j, seed, 3, seed % 2 == 0);
    const test::by_steps oracle(l, c.arguments, steps, 3);
    const int given = l.given();
    const auto out = ebb::evaluate(j, c.arguments, c.symbols);
    REQUIRE(difference(j, part(j.out, 0, given), part(out, 0, given), oracle.results) == "");
    const auto expected = oracle.gradients(part(c.arguments, l.g.inputs, c.arguments.size()));
    REQUIRE(difference(j, part(j.out, given, j.out.size()), part(out, given, out.size()), expected, steps == 0) == "");
    gradients += expected.size();

    // Both halves together are the whole.
    const ebb::halves h = ebb::partition(j, l.g.inputs, given);
    REQUIRE(test::error_text(h.forward) == "");
    REQUIRE(test::error_text(h.backward) == "");
    const auto forward = ebb::evaluate(h.forward, part(c.arguments, 0, l.g.inputs), c.symbols);
    ebb::vec<ebb::cell_array> in = part(c.arguments, 0, l.g.inputs);
    for (int i = given; i < forward.size(); ++i) in.push(forward[i]);
    for (int i = l.g.inputs; i < c.arguments.size(); ++i) in.push(c.arguments[i]);
    REQUIRE(difference(j, part(j.out, 0, given), part(forward, 0, given), oracle.results) == "");
    const auto backward = ebb::evaluate(h.backward, in, c.symbols);
    REQUIRE(difference(j, part(j.out, given, j.out.size()), backward, part(out, given, out.size())) == "");
    // No loop runs twice.
    int loops = 0;
    for (int k = 0; k < h.backward.size(); ++k) loops += h.backward.op(k).what == ebb::kind::loop && !h.backward.subs.empty();
    REQUIRE(loops <= 1);
  }
  CHECK(gradients > 500);
}

TEST_CASE("a batch of random loops has the bits of each loop alone") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const int count = counts[seed % 5];
    const test::random_loop l = test::make_random_loop(seed, count);
    graph j = seed % 2 ? ebb::joint(l.g, all_arguments(l.g)) : l.g;
    bool computed = false;  // a seed for a result whose extents are computed is no argument of its own
    for (int k = 0; k < j.size(); ++k)
      for (int axis = 0; j.op(k).what == ebb::kind::input && axis < j.shape_of(k).rank; ++axis)
        if (const int e = j.syms.find(j.shape_of(k).e[axis]); e < 0) computed |= j.syms.origin(~e).rule != ebb::extent_rule::argument;
    if (computed) j = l.g;
    test::random r{seed};
    constexpr int rows = 2;
    graph many;
    ebb::vec<int> in, of_symbol(j.syms.count(), 0);
    ebb::vec<char> batched;
    for (int i = 0; i < j.inputs; ++i) {
      const int x = j.input(i);
      batched.push(i == 0 || r.chance(2));
      ebb::shape s;
      if (batched.back()) s.push(rows);
      for (int axis = 0; axis < j.shape_of(x).rank; ++axis) {
        const int e = j.syms.find(j.shape_of(x).e[axis]);
        if (e < 0 && of_symbol[~e] == 0) of_symbol[~e] = many.syms.fresh({ebb::extent_rule::argument, i, s.rank});
        s.push(e < 0 ? of_symbol[~e] : e);
      }
      in.push(j.op(x).kit->input(many, many.intern(s), many.inputs++));
    }
    many.out = ebb::splice_batched(many, j, in, batched, rows);
    INFO("seed " << seed << "\n" << ebb::to_string(j));
    bool fits = true;
    for (int o : many.out) fits = fits && o >= 0;
    if (!fits) continue;  // too many axes
    many = ebb::prune(ebb::canonical_shapes(many));
    REQUIRE(test::error_text(many) == "");
    const test::call c = test::random_call(many, seed, 3, false), one = test::random_call(j, seed, 3, false);
    const auto together = ebb::evaluate(many, c.arguments, c.symbols);
    for (int row = 0; row < rows; ++row) {
      ebb::vec<ebb::cell_array> own, expected;
      for (int i = 0; i < j.inputs; ++i) own.push(batched[i] ? test::row_of(c.arguments[i], row, rows) : c.arguments[i]);
      for (const ebb::cell_array& all : together) expected.push(test::row_of(all, row, rows));
      REQUIRE(difference(j, j.out, ebb::evaluate(j, own, one.symbols), expected) == "");
    }
  }
}

TEST_CASE("a loop is printed with its body, and a graph that breaks its rules is not valid") {
  const test::random_loop l = test::make_random_loop(5, 4);
  const std::string text = ebb::to_string(l.g);
  CHECK(text.find(" : 4 steps\n") != std::string::npos);
  CHECK(text.find("= result ") != std::string::npos);
  CHECK(test::error_text(l.g) == "");
  for (int k = 0; k < l.g.size(); ++k) {
    graph broken = l.g;
    if (l.g.op(k).what == ebb::kind::loop) {
      broken.eq[k].sub = -1;
      CHECK(ebb::first_error(broken).what == "a loop without a body or without a number of steps");
      broken = l.g;
      broken.subs[0].out.shrink(0);
      CHECK((l.parts.carries == 0 || ebb::first_error(broken).what == "a loop with more parts than operands"));
    }
    if (l.g.op(k).what == ebb::kind::result) {
      broken.eq[k].attr[0] = 99;
      CHECK(ebb::first_error(broken).what == "a result that its loop does not have");
    }
  }
}
