// test/exec/operands.cpp — products of parts of arrays: which of them copy nothing, and random programs of them.
// SPDX-License-Identifier: BSL-1.0
// covers: blocks.hpp plan/view.hpp plan/fuse.hpp plan/plan.hpp op/whole.hpp
#include <ebb/exec/blocks.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/plan/print.hpp>

#include "../build.hpp"
#include "../catch.hpp"
#include "random_product.hpp"
#include "run_random.hpp"

#include <ostream>
#include <string>

namespace {

using test::n;

struct found {
  int programs = 0, read = 0, repeated = 0, written = 0, copies = 0, blocks = 0;
};

void check(const test::random_program& p, const ebb::graph& g, std::uint64_t seed, found& counts) {
  const ebb::vec<test::cells> arguments = test::random_arguments(p, seed);
  const ebb::vec<std::size_t> symbols = ebb::symbol_values(g, p.arguments);
  const ebb::vec<test::cells> known = test::run_scalar(g, arguments, symbols);
  const ebb::graph simple = ebb::lower(ebb::prune(ebb::simplify(g)));
  for (const ebb::graph& same : {g, simple, ebb::unpack(simple, true)}) {
    CAPTURE(ebb::to_string(same));
    const ebb::plan plan = ebb::make_plan(same);
    ++counts.programs;
    counts.blocks += !plan.blocks.empty();
    for (const ebb::plan_step& s : plan.steps) {
      if (s.nest >= 0) continue;
      if (s.what == ebb::kind::move) counts.copies += s.why != ebb::copy_reason::none;
      if (s.what != ebb::kind::contract) continue;
      for (int b : s.in) {
        if (plan.buffers[b].view < 0) continue;
        ++counts.read;
        const ebb::shape& whole = same.shapes[plan.buffers[b].shape];
        bool repeats = false;
        for (int a = 0; a < whole.rank - 2; ++a) repeats = repeats || (whole.e[a] != 1 && plan.views[plan.buffers[b].view].along[a].is(0));
        counts.repeated += repeats;
      }
      counts.written += plan.buffers[s.out].view >= 0;
    }
    const ebb::vec<std::size_t> more = ebb::symbol_values(same, p.arguments);
    ebb::block_program program(same, plan, 64);
    const auto run = [&](void* const* from, void* const* to) { program.run(from, to, more.data()); };
    bool guarded = true;
    REQUIRE(test::difference(test::run_on_memory(same, p.types, arguments, more, guarded, run), known) == "");
    REQUIRE(guarded);
  }
}

ebb::plan plan_of(auto&& f) {
  return ebb::make_plan(test::build([&](test::builder& b) { return b.returns(f(b)); }));
}
/// The numbers of steps that move elements, of those that are needed no more, and of views.
struct counts_of {
  int moves = 0, in_place = 0, views = 0;
  bool operator==(const counts_of&) const = default;
  explicit counts_of(const ebb::plan& p) : views(p.views.size()) {
    for (const ebb::plan_step& s : p.steps) {
      if (s.nest >= 0 || s.what != ebb::kind::move) continue;
      ++moves;
      in_place += s.why == ebb::copy_reason::none;
    }
  }
  counts_of(int m, int i, int v) : moves(m), in_place(i), views(v) {}
};
std::ostream& operator<<(std::ostream& o, const counts_of& c) { return o << c.moves << ' ' << c.in_place << ' ' << c.views; }

constexpr auto sliced = [](auto x, ebb::stride s, auto... extents) {
  ebb::shape r;
  (r.push(extents), ...);
  return ebb::slice_as(x, s, x.g->intern(r));
};
constexpr auto shaped = [](auto x, auto... extents) {
  ebb::shape r;
  (r.push(extents), ...);
  return ebb::reshape_to(x, x.g->intern(r));
};
constexpr auto turned = [](auto x, auto... axes) {
  const int order[] = {axes...};
  return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(order, sizeof...(axes))}, x);
};
constexpr auto repeated = [](auto x, int axis, int extent) {
  return ebb::broadcast_to(x, x.g->intern(ebb::with_axis(x.extents(), axis, extent)), std::int64_t{1} << axis);
};
constexpr auto times = [](auto x, auto y) { return ebb::emit_on<ebb::op::matmul>({ebb::with_order(x, y, 0)}, x, y); };

}  // namespace

TEST_CASE("products read slices and permutations where they lie, unless no axis of the matrix is adjacent") {
  const auto check = [](auto&& f, int moves, int views) { CHECK(counts_of(plan_of(f)) == counts_of(moves, 0, views)); };
  check([](auto& b) { return times(sliced(b.in({6, 9}), {1, 2}, 6, 3), b.in({3, 4})); }, 0, 1);
  check([](auto& b) { return times(sliced(b.in({n, 9}), {1, -4}, n, 3), sliced(b.in({4, 7}), {0, 1}, 3, 7)); }, 0, 1);  // adjacent rows
  check([](auto& b) { return times(sliced(b.in({9, 6}), {0, 0, 2}, 5, 6), b.in({6, 4})); }, 0, 1);
  check([](auto& b) { return times(sliced(b.in({9, 6}), {0, -1, -1}, 9, 6), b.in({6, 4})); }, 1, 0);  // from the last row
  check([](auto& b) { return times(sliced(b.in({5, 9, 6}), {0, -1, -1}, 5, 9, 6), b.in({5, 6, 4})); }, 0, 1);
  check([](auto& b) { return times(sliced(b.in({9, 6}), {1, 0, 2}, 9, 3), b.in({3, 4})); }, 1, 0);
  check([](auto& b) { return times(b.in({4, 6}), sliced(b.in({6, 9}), {1, 2}, 6, 1)); }, 1, 0);  // a column
  check([](auto& b) { return times(sliced(b.in({6, 9}), {1, 2}, 6, 1), b.in({1, 4})); }, 1, 0);
  check([](auto& b) { return times(turned(b.in({3, 6}), 1, 0), b.in({3, 4})); }, 0, 1);
  // Heads: rows of [n, 4, 16] with the heads first; a part of the last axis; the batches of two axes as one.
  const auto heads = [](auto x) { return turned(shaped(x, x.extent(0), 4, 16), 1, 0, 2); };
  check([&](auto& b) { return times(heads(b.in({n, 64})), turned(heads(b.in({n, 64})), 0, 2, 1)); }, 0, 2);
  check([&](auto& b) { const auto x = b.in({n, 64}); return times(heads(x), turned(heads(x), 0, 2, 1)); }, 0, 2);
  check([](auto& b) { return times(turned(b.in({n, 4, 16}), 2, 0, 1), b.in({16, 4, 3})); }, 1, 0);  // adjacent along the batch
  check([](auto& b) {
    const auto x = b.in({5, n, 9});
    const auto rows = b.g.syms.derive(ebb::extent_rule::product, 5, x.extent(1));
    return times(shaped(sliced(x, {2, 3}, 5, x.extent(1), 6), rows, 6), b.in({6, 4}));
  }, 0, 1);
  check([](auto& b) {  // rows of a part of the rows have no common stride
    const auto x = sliced(b.in({5, 7, 9}), {1, 1}, 5, 4, 9);
    return times(shaped(x, 20, 9), b.in({9, 4}));
  }, 1, 0);
}

TEST_CASE("products read an array that repeats along batches where it lies, and nothing fills an array with copies") {
  struct read {
    int nests = 0, moves = 0, views = 0;
    bool operator==(const read&) const = default;
  };
  const auto check = [](auto&& f, const read& expected) {
    const ebb::plan p = ebb::make_plan(test::build([&](test::builder& b) { return f(b); }));
    read found{p.nests.size(), counts_of(p).moves, p.views.size()};
    CAPTURE(found.nests, found.moves, found.views, expected.nests, expected.moves, expected.views);
    CHECK(found == expected);
  };
  check([](auto& b) { return b.returns(times(repeated(b.in({6, 4}), 0, 5), b.in({5, 4, 1}))); }, {0, 0, 1});
  check([](auto& b) { return b.returns(times(b.in({5, 6, 4}), repeated(b.in({4, 3}), 0, 5))); }, {0, 0, 1});
  check([](auto& b) { const auto x = b.in({n, 6, 4}); return b.returns(times(x, repeated(b.in({4, 3}), 0, x.extent(0)))); }, {0, 0, 1});
  check([](auto& b) { return b.returns(times(b.in({2, 5, 6, 4}), repeated(b.in({2, 4, 3}), 1, 5))); }, {0, 0, 1});  // the second batch
  check([](auto& b) { return b.returns(times(b.in({2, 5, 6, 4}), turned(repeated(b.in({2, 3, 4}), 1, 5), 0, 1, 3, 2))); }, {0, 0, 1});
  // Both batches as one axis, if both repeat; a part of a row is not a matrix.
  check([](auto& b) {
    const auto w = ebb::broadcast_to(b.in({4, 3}), b.g.intern(ebb::shape{4, {2, 5, 4, 3}}), 3);
    return b.returns(times(b.in({10, 6, 4}), shaped(w, 10, 4, 3)));
  }, {0, 0, 1});
  check([](auto& b) { return b.returns(times(b.in({10, 6, 4}), shaped(repeated(b.in({2, 4, 3}), 1, 5), 10, 4, 3))); }, {1, 0, 0});
  check([](auto& b) { return b.returns(times(b.in({5, 6, 4}), sliced(repeated(b.in({4, 9}), 0, 5), {2, 3}, 5, 4, 3))); }, {0, 0, 1});
  check([](auto& b) { return b.returns(times(b.in({5, 6, 4}), repeated(sliced(b.in({4, 9}), {1, 3}, 4, 3), 0, 5))); }, {0, 0, 1});
  check([](auto& b) { return b.returns(times(b.in({6, 4}), repeated(b.in({4}), 1, 3))); }, {1, 0, 0});  // along a row: no matrix
  // Other readers: a loop reads the operand itself, whatever is a step of its own, or a result, needs the copies.
  check([](auto& b) { const auto w = repeated(b.in({4, 3}), 0, 5); return b.returns(times(b.in({5, 6, 4}), w), -w); }, {1, 0, 1});
  check(
      [](auto& b) {
        const auto w = repeated(b.in({4, 3}), 0, 5);
        return b.returns(times(b.in({5, 6, 4}), w), ebb::sum_over(w, 6));
      },
      {1, 0, 1});
  check([](auto& b) { const auto w = repeated(b.in({4, 3}), 0, 5); return b.returns(times(b.in({5, 6, 4}), w), w); }, {1, 0, 0});
  check([](auto& b) {
    const auto w = repeated(b.in({4, 3}), 0, 5);
    return b.returns(times(b.in({5, 6, 4}), w), ebb::emit_on<ebb::op::concat>({0}, w, b.in({5, 4, 3})));
  }, {1, 1, 0});
  check([](auto& b) {  // a loop reads a part of it
    const auto w = repeated(b.in({4, 20}), 0, 5);
    return b.returns(times(b.in({5, 6, 4}), w), -sliced(w, {1, 2}, 5, 2, 20));
  }, {2, 0, 2});
}

TEST_CASE("who else reads an operand decides whether it is copied") {
  const auto check = [](auto&& f, int moves, int views) {
    const ebb::plan p = ebb::make_plan(test::build([&](test::builder& b) { return f(b); }));
    CHECK(counts_of(p) == counts_of(moves, 0, views));
  };
  check([](auto& b) { const auto x = sliced(b.in({6, 40}), {1, 2}, 6, 20); return b.returns(times(x, b.in({20, 4})), -x); }, 0, 2);
  check([](auto& b) { const auto x = sliced(b.in({6, 20}), {1, 2}, 6, 3); return b.returns(times(x, b.in({3, 4})), -x); }, 1, 0);
  check([](auto& b) { const auto x = sliced(b.in({6, 20}), {1, 2}, 6, 3); return b.returns(times(x, b.in({3, 4})), x); }, 1, 0);
  check([](auto& b) { const auto x = turned(b.in({3, 6}), 1, 0); return b.returns(times(x, b.in({3, 4})), -x); }, 1, 0);
  check([](auto& b) {  // both products, one through another permutation
    const auto x = sliced(b.in({6, 20}), {1, 2}, 6, 3);
    return b.returns(times(x, b.in({3, 4})), times(turned(x, 1, 0), b.in({6, 4})));
  }, 0, 2);
}

TEST_CASE("products write pieces of joined arrays, and permutations, where they lie") {
  const auto check = [](auto&& f, int moves, int in_place, int views) {
    CHECK(counts_of(plan_of(f)) == counts_of(moves, in_place, views));
  };
  const auto beside = [](auto... x) { return ebb::emit_on<ebb::op::concat>({1}, x...); };
  check([&](auto& b) { return beside(times(b.in({6, 5}), b.in({5, 3})), times(b.in({6, 7}), b.in({7, 2}))); }, 1, 1, 2);
  check([&](auto& b) { const auto x = b.in({n, 20}); return beside(times(x, b.in({20, 3})), -x); }, 1, 1, 2);
  check([&](auto& b) { return beside(times(b.in({6, 5}), b.in({5, 1})), times(b.in({6, 7}), b.in({7, 2}))); }, 1, 0, 1);  // a column
  check([&](auto& b) { const auto x = times(b.in({6, 5}), b.in({5, 3})); return beside(x, x); }, 1, 0, 0);
  check([&](auto& b) { const auto x = times(b.in({6, 5}), b.in({5, 3})); return beside(x, -x); }, 1, 0, 0);  // a loop reads it
  check([](auto& b) {
    return ebb::place_in(times(b.in({n, 5}), b.in({5, 3})), {1, 1}, b.g.intern(ebb::shape{2, {b.in({n, 2}).extent(0), 5}}));
  }, 1, 1, 1);
  // Heads side by side, and joined with others.
  const auto heads = [](auto x, auto y) { return shaped(turned(times(x, y), 1, 0, 2), x.extent(1), 64); };
  check([&](auto& b) { return heads(b.in({4, n, 5}), b.in({4, 5, 16})); }, 1, 1, 1);
  check([&](auto& b) {
    return beside(heads(b.in({4, n, 5}), b.in({4, 5, 16})), heads(b.in({4, n, 3}), b.in({4, 3, 16})));
  }, 3, 3, 2);
  check([](auto& b) { return turned(times(b.in({6, 5}), b.in({5, 3})), 1, 0); }, 1, 0, 0);  // its rows would be columns
}

TEST_CASE("random products of parts of arrays have the bits of scalar runs") {
  found counts;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    const test::random_program p = test::random_product_maker(seed).take();
    REQUIRE(test::error_text(p.g) == "");
    check(p, p.g, seed, counts);
  }
  CHECK(counts.read > 3000);
  CHECK(counts.repeated > 500);
  CHECK(counts.written > 1000);
  CHECK(counts.blocks > 100);
}

TEST_CASE("their gradients have the bits of scalar runs") {
  found counts;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    if (test::random_product_maker(seed).take().types[0] != ebb::dtype::f32) continue;
    const test::random_program p = test::random_product_maker(seed).take_sum();
    ebb::vec<int> wrt;
    for (int i = 0; i < p.types.size(); ++i) wrt.push(i);
    check(p, ebb::value_and_gradient(p.g, wrt), seed, counts);
  }
  CHECK(counts.read > 2000);
  CHECK(counts.repeated > 300);
  CHECK(counts.written > 500);
  CHECK(counts.blocks > 50);
}
