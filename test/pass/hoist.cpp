// test/pass/hoist.cpp — equations that are hoisted out of loops and equations that stay, and that no bit changes.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/pass/hoist.hpp>

#include "../catch.hpp"
#include "random_loop.hpp"

#include <ebb/op/compare.hpp>
#include <ebb/op/gather.hpp>
#include <ebb/op/shaping.hpp>

using ebb::emit_on, ebb::operand;
using test::graph;

namespace {

int count(const graph& g, ebb::kind what) {
  int r = 0;
  for (int k = 0; k < g.size(); ++k) r += g.op(k).what == what;
  return r;
}
/// Equations that are neither arguments, literals, loops nor what loops give.
int computes(const graph& g) {
  int r = 0;
  for (int k = 0; k < g.size(); ++k) {
    const ebb::kind what = g.op(k).what;
    r += what != ebb::kind::input && what != ebb::kind::literal && what != ebb::kind::loop && what != ebb::kind::result;
  }
  return r;
}
/// The graph after the pass. It is valid, and its results have the bits of those before.
graph hoisted(const graph& g, std::uint64_t seeds = 6) {
  const graph r = ebb::hoist(g);
  INFO("before:\n" << ebb::to_string(g) << "after:\n" << ebb::to_string(r));
  REQUIRE(test::error_text(r) == "");
  for (std::uint64_t seed = 0; seed < seeds; ++seed) REQUIRE(test::difference(g, r, test::random_call(g, seed, 3)) == "");
  return r;
}

/// A loop of five steps with a carry [n, 16], rows [n, 16], and the wholes w [16, 16], v [16], c of no axes.
graph loop_of(auto step, int steps = 5, bool reversed = false) {
  const graph body = test::build([&](test::builder& b) {
    const auto h = b.in({test::n, 16}), x = b.in({test::n, 16}), w = b.in({16, 16}), v = b.in({16}), c = b.in({});
    return b.returns(step(b, h, x, w, v, c));
  });
  return ebb::prune(test::loop_around(body, {.carries = 1, .rows = 1, .reversed = reversed}, steps).g);
}
/// How many equations the pass moves ahead of such a loop.
int moved(auto step) {
  const graph g = loop_of(step);
  return computes(hoisted(g)) - computes(g);
}
#define EBB_MOVED(...)                                                         \
  moved([&](test::builder& b, auto h, auto x, auto w, auto v, auto c) {        \
    (void)b, (void)h, (void)x, (void)w, (void)v, (void)c; return __VA_ARGS__;  \
  })

auto product(auto x, auto y, std::int64_t attr = 0) { return emit_on<ebb::op::matmul>({attr}, x, y); }
auto over(test::builder& b, auto x, auto like, std::int64_t mask) { return ebb::broadcast_to(x, b.g.eq[like.id].shape, mask); }

}  // namespace

TEST_CASE("products, sums and heavy functions of wholes are computed ahead of the loop") {
  CHECK(EBB_MOVED(product(h, product(w, w)) + x) == 1);
  CHECK(EBB_MOVED(h * over(b, ebb::tanh(c), h, 3) + x) == 1);
  CHECK(EBB_MOVED(h * over(b, ebb::tanh(c) * c + c, h, 3) + x) == 3);
  CHECK(EBB_MOVED(h * over(b, emit_on<ebb::op::sum>({0, 1}, v), h, 3) + x) == 1);
  CHECK(EBB_MOVED(product(h, w + product(w, w)) + product(x, product(w, w))) == 2);
}

TEST_CASE("what a step hardly pays for stays in it") {
  CHECK(EBB_MOVED(product(h, w) + x) == 0);
  CHECK(EBB_MOVED(product(h, w + w) + x) == 0);
  CHECK(EBB_MOVED(h * over(b, v, h, 1) + x) == 0);
  CHECK(EBB_MOVED(h * over(b, c * c - c, h, 3) + x) == 0);
  CHECK(EBB_MOVED(product(h, ebb::tanh(h * x * over(b, v, h, 1)), ebb::right_transposed) * 0.5f + product(h, w)) == 0);
}

TEST_CASE("moved elements of a whole are hoisted, moved literals are not") {
  const auto padded = [](test::builder& b, auto v, bool literal) {
    const auto some = ebb::slice_as(v, {0, 2}, b.shape({12}));
    return ebb::place_in(literal ? ebb::literal_like(some, 2) : some, {0, 2}, b.shape({16}));
  };
  CHECK(EBB_MOVED(h * over(b, padded(b, v, false), h, 1) + x) == 2);  // with the slice
  CHECK(EBB_MOVED(h * over(b, padded(b, v, true), h, 1) + x) == 0);
}

TEST_CASE("an array that repeats elements is not hoisted, but what it repeats is") {
  const auto spread = [](test::builder& b, auto, auto x, auto w, auto v, auto c) {
    const auto rows = ebb::broadcast_to(ebb::tanh(v), b.g.eq[w.id].shape, 1);
    return x * ebb::broadcast_to(c, b.g.eq[x.id].shape, 3) + product(x, w * rows + rows);
  };
  const graph g = loop_of(spread), r = hoisted(g);
  CHECK(computes(r) - computes(g) == 1);  // tanh(v) alone
}

TEST_CASE("a product with the transpose of a whole reads a transpose that is made once") {
  const auto step = [](test::builder&, auto h, auto x, auto w, auto, auto) { return product(h, w, ebb::right_transposed) + x; };
  for (const bool reversed : {false, true}) {
    const graph g = loop_of(step, 5, reversed), r = hoisted(g);
    CHECK(count(r, ebb::kind::move) == 1);
    REQUIRE(r.subs.size() == 1);
    for (int k = 0; k < r.subs[0].size(); ++k)
      if (r.subs[0].op(k).what == ebb::kind::contract) CHECK(r.subs[0].eq[k].attr[0] == 0);
    CHECK(r.subs[0].inputs == 3);
  }
  CHECK(EBB_MOVED(product(h, w, ebb::right_transposed) + product(x, w)) == 1);
  CHECK(EBB_MOVED(product(h, product(w, w), ebb::right_transposed) + x) == 2);
  CHECK(EBB_MOVED(product(h, w + w, ebb::right_transposed) + x) == 2);
  CHECK(EBB_MOVED(product(h, product(w, h, ebb::right_transposed)) + x) == 0);  // not fixed
}

TEST_CASE("loops that may not run, or run once, compute what they did, and errors stay in their step") {
  const auto step = [](test::builder&, auto h, auto x, auto w, auto, auto) { return product(h, product(w, w)) + x; };
  CHECK(computes(hoisted(loop_of(step, 1))) == 0);
  CHECK(computes(hoisted(loop_of(step, 0))) == 1);
  CHECK(computes(hoisted(loop_of(step, -1))) == 1);
  CHECK(EBB_MOVED(h * over(b, emit_on<ebb::op::max>({0, 1}, ebb::tanh(v)), h, 3) + x) == 1);  // a maximum may refuse
}

TEST_CASE("inner loops hoist through the loops around them") {
  const graph inner = loop_of([](test::builder&, auto h, auto x, auto w, auto, auto) {
    return product(h, product(w, w), ebb::right_transposed) + x;
  }, 3);
  const graph body = test::build([&](test::builder& b) {
    const auto h = b.in({test::n, 16}), x = b.in({3, test::n, 16}), w = b.in({16, 16});
    const auto made = ebb::splice(b.g, inner, {h.id, x.id, w.id, b.in({16}).id, b.in({}).id});
    return b.returns(operand<float>{&b.g, made[0]});
  });
  const graph g = ebb::prune(test::loop_around(body, {.carries = 1, .rows = 1}, 4).g), r = hoisted(g);
  CHECK(count(r, ebb::kind::contract) == 1);
  CHECK(count(r, ebb::kind::move) == 1);
  REQUIRE(r.subs.size() == 1);
  CHECK(computes(r.subs[0]) == 0);
}

TEST_CASE("random loops and their gradients keep their bits") {
  constexpr int counts[] = {0, 1, 2, 4, -1};
  int changed = 0, made = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    INFO("seed " << seed);
    const test::random_loop l = test::make_random_loop(seed, counts[seed % 5]);
    ebb::vec<int> arguments;
    for (int i = 0; i < l.g.inputs; ++i) arguments.push(i);
    for (const graph& g : {ebb::exact(l.g), ebb::lower(ebb::joint(l.g, arguments))}) {
      const graph r = hoisted(g, 2);
      const int here = computes(r) - computes(g);
      changed += here != 0;
      made += here;
    }
  }
  CHECK(changed > 40);
  CHECK(made > changed);
}
