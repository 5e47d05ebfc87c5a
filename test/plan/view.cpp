// test/plan/view.cpp — arrays that lie in other arrays: which moves copy nothing, why the others copy, and random programs of moves.
// SPDX-License-Identifier: BSL-1.0
// covers: view.hpp readers.hpp
#include <ebb/exec/blocks.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/plan/print.hpp>

#include "../build.hpp"
#include "../catch.hpp"
#include "../exec/run_random.hpp"

#include <string>

namespace {

using test::n, test::m;
using role = ebb::plan_buffer::role;
using why = ebb::copy_reason;

ebb::plan plan_of(auto&& f) {
  return ebb::make_plan(test::build([&](test::builder& b) { return b.returns(f(b)); }));
}
int parts(const ebb::plan& p) {
  int count = 0;
  for (const ebb::plan_buffer& b : p.buffers) count += b.is == role::part;
  return count;
}
/// The reason of the only step that is a move; `axis` if there are several, none if there is no such step.
why reason(const ebb::plan& p, int& moves) {
  why r = why::none;
  moves = 0;
  for (const ebb::plan_step& s : p.steps)
    if (s.nest < 0 && s.what == ebb::kind::move) r = moves++ ? why::axis : s.why;
  return r;
}
void check_move(auto&& f, int expected_moves, why expected, int expected_parts) {
  const ebb::plan p = plan_of(f);
  int moves = 0;
  CHECK(reason(p, moves) == expected);
  CHECK(moves == expected_moves);
  CHECK(parts(p) == expected_parts);
}
constexpr auto sliced = [](auto x, ebb::stride s, auto... extents) {
  ebb::shape r;
  (r.push(extents), ...);
  return ebb::slice_as(x, s, x.g->intern(r));
};

}  // namespace

TEST_CASE("slices of leading rows are no steps, others copy and say why") {
  check_move([](auto& b) { return -sliced(b.in({6, 5}), {0, 2}, 3, 5); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({6, 5}), {0, -3}, 3, 5); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({6, 5}), {0, 4, 7}, 1, 5); }, 0, why::none, 1);  // one row has no step
  check_move([](auto& b) { return -sliced(b.in({1, 6, 5}), {1, 2}, 1, 3, 5); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({6, 5}), {1, 2}, 6, 3); }, 1, why::axis, 0);
  check_move([](auto& b) { return -sliced(b.in({6, 15}), {1, 2}, 6, 8); }, 0, why::none, 1);  // rows are long enough for lanes
  check_move([](auto& b) { return -sliced(b.in({6, 15}), {1, 2}, 6, 7); }, 1, why::axis, 0);
  // Sums that go across the ends of rows need longer ones.
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({0, 2}, -sliced(b.in({6, 25}), {1, 2}, 6, 15)); }, 1, why::axis, 0);
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({1, 2}, -sliced(b.in({6, 25}), {1, 2}, 6, 15)); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({6, 5, n}), {1, -2}, 6, 2, n); }, 0, why::none, 1);
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({0, 2}, -sliced(b.in({6, 25}), {1, 2}, 6, 16)); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({6, 5}), {0, 0, 2}, 3, 5); }, 1, why::step, 0);
  check_move([](auto& b) { return -sliced(b.in({6, 16}), {0, 0, 2}, 3, 16); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({m, n, 16}), {1, -1, -1}, m, n, 16); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({n, 16}), {1, -1, -1}, n, 16); }, 0, why::none, 1);  // lanes are loaded backwards
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({0, 1}, -sliced(b.in({n}), {0, -1, -1}, n)); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({6, 32}), {1, 0, 2}, 6, 16); }, 0, why::none, 1);  // lanes take every second element
  check_move([](auto& b) { return -sliced(b.in({6, 32}), {1, 0, 2}, 6, 15); }, 1, why::step, 0);  // too short for lanes
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({0, 2}, -sliced(b.in({n, 16}), {1, -1, -1}, n, 16)); }, 0, why::none, 1);
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({0, 2}, -sliced(b.in({n, 16}), {0, -1, -1}, n, 16)); }, 0, why::none, 1);
  check_move([](auto& b) { return ebb::emit_on<ebb::op::sum>({1, 2}, -sliced(b.in({n, 16}), {0, -1, -1}, n, 16)); }, 0, why::none, 1);
  check_move([](auto& b) { return sliced(b.in({6, 5}), {0, 2}, 3, 5); }, 1, why::result, 0);
  check_move([](auto& b) {
    const auto x = sliced(b.in({6, 5}), {0, 1}, 5, 5);
    return -sliced(x, {0, 1}, 4, 5);
  }, 0, why::none, 2);
}

TEST_CASE("loops read columns, steps and permutations where they lie, as often as the rule allows") {
  const auto turned = [](auto x, auto... axes) {
    const int order[] = {axes...};
    return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(order, sizeof...(axes))}, x);
  };
  const auto sum = [](auto x) { return ebb::emit_on<ebb::op::sum>({0, x.rank()}, x); };
  const auto everywhere = [](auto number, auto x) {
    return ebb::broadcast_to(number, x.shape_number(), (std::int64_t{1} << x.rank()) - 1);
  };
  check_move([](auto& b) { return -sliced(b.in({n, 64}), {1, 5}, n, 1); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({n, m}), {1, 5}, n, 1); }, 0, why::none, 1);
  check_move([](auto& b) { return -sliced(b.in({15, 64}), {1, 5}, 15, 1); }, 1, why::axis, 0);  // too short for lanes
  check_move([&](auto& b) { return sum(sliced(b.in({n, 64}), {1, 5}, n, 1)); }, 0, why::none, 1);
  check_move([](auto& b) {
    const auto x = sliced(b.in({n, 64}), {1, 5}, n, 1);
    return -ebb::reshape_to(x, b.g.intern(ebb::shape{1, {n}}));
  }, 0, why::none, 1);
  check_move([](auto& b) {  // one number for each row
    const auto x = b.in({n, 64});
    const auto column = ebb::reshape_to(sliced(x, {1, 5}, n, 1), b.g.intern(ebb::shape{1, {n}}));
    return x - ebb::broadcast_to(column, x.shape_number(), 2);
  }, 0, why::none, 1);
  check_move([](auto& b) {  // a row for each number would be read with a step each time
    const auto x = b.in({m, n});
    const auto column = ebb::reshape_to(sliced(b.in({n, 64}), {1, 5}, n, 1), b.g.intern(ebb::shape{1, {n}}));
    return x - ebb::broadcast_to(column, x.shape_number(), 1);
  }, 1, why::axis, 0);
  check_move([&](auto& b) {  // a column in two loops
    const auto x = sliced(b.in({n, 64}), {1, 5}, n, 1);
    return x * everywhere(sum(x), x);
  }, 1, why::often, 0);
  check_move([&](auto& b) {  // a short step in two loops
    const auto x = sliced(b.in({32}), {0, 0, 2}, 16);
    return x * everywhere(sum(x), x);
  }, 0, why::none, 1);
  check_move([&](auto& b) {  // in three
    const auto x = sliced(b.in({32}), {0, 0, 2}, 16), y = x * everywhere(sum(x), x);
    return x * everywhere(sum(y), x);
  }, 1, why::often, 0);
  check_move([&](auto& b) {  // a step reads it, too
    const auto x = sliced(b.in({n, 64}), {1, 5}, n, 1);
    return x + ebb::emit_on<ebb::op::concat>({0}, x);
  }, 2, why::axis, 1);
  check_move([&](auto& b) { return -turned(b.in({n, 3}), 1, 0); }, 0, why::none, 1);
  check_move([&](auto& b) { return -turned(b.in({n, 4}), 1, 0); }, 1, why::permutation, 0);
  check_move([&](auto& b) { return -turned(b.in({n, m}), 1, 0); }, 1, why::permutation, 0);
  check_move([&](auto& b) { return -turned(b.in({n, 5, 16}), 1, 0, 2); }, 0, why::none, 1);
  check_move([&](auto& b) { return -turned(b.in({n, 5, 7}), 1, 0, 2); }, 1, why::permutation, 0);
  check_move([&](auto& b) { return turned(b.in({n, 5, 16}), 1, 0, 2); }, 1, why::permutation, 0);  // a result
  check_move([&](auto& b) {  // a component of what is taken apart
    const auto x = turned(b.in({n, 3}), 1, 0), y = sliced(x, {0, 0}, 1, n), z = sliced(x, {0, 2}, 1, n);
    return y * z;
  }, 0, why::none, 2);
}

TEST_CASE("the pieces of a concat are written where they belong, or copied with a reason") {
  using ebb::op::concat;
  const auto join = [](auto... x) { return ebb::emit_on<concat>({0}, x...); };
  check_move([&](auto& b) { const auto x = b.in({3, 4}); return join(-x, x * x); }, 1, why::none, 2);
  check_move([&](auto& b) { const auto x = b.in({n, 4}), y = b.in({m, 4}); return join(-x, -y); }, 1, why::none, 2);
  check_move([&](auto& b) { const auto x = b.in({3, 4}); return join(-x, x); }, 1, why::argument, 1);
  check_move([&](auto& b) { const auto x = -b.in({3, 4}); return join(x, x); }, 1, why::twice, 1);
  check_move([&](auto& b) {
    const auto x = b.in({n, 4}), y = b.in({m, 4});
    const auto first = join(-x, -y);
    return join(first, x * x);  // a concat in a concat
  }, 2, why::axis, 4);
  check_move([](auto& b) { const auto x = b.in({3, 4}); return ebb::emit_on<concat>({1}, -x, x * x); }, 1, why::axis, 0);
  const auto beside = [](auto... x) { return ebb::emit_on<concat>({1}, x...); };
  check_move([&](auto& b) { const auto x = b.in({n, 16}), y = b.in({n, m}); return beside(-x, -y, x * x); }, 1, why::none, 3);
  check_move([&](auto& b) { const auto x = b.in({n, 16}); return beside(-x, x, x * x); }, 1, why::argument, 2);
  check_move([&](auto& b) { const auto x = b.in({n, 15}); return beside(-x, x * x); }, 1, why::axis, 0);  // too short for lanes
  check_move([&](auto& b) { const auto x = b.in({n, 16}), y = -x; return beside(y, y * x); }, 1, why::none, 2);  // y is in a register
  check_move([&](auto& b) {  // a loop over another shape reads all of y
    const auto x = b.in({n, 16}), y = -x;
    return beside(ebb::reshape_to(-ebb::reshape_to(y, b.g.intern(ebb::shape{3, {n, 4, 4}})), x.shape_number()), y);
  }, 1, why::axis, 0);
  check_move([&](auto& b) {  // rows of a stack
    const auto x = b.in({n, m});
    const auto row = [&](auto y) { return ebb::reshape_to(y, b.g.intern(ebb::shape{3, {n, 1, m}})); };
    return beside(row(-x), row(x * x));
  }, 1, why::none, 2);
  check_move([&](auto& b) {  // rows are copied from where they lie
    const auto x = b.in({n, 5});
    return beside(sliced(x, {1, 2}, n, 3), sliced(x, {1, 0}, n, 2));
  }, 1, why::argument, 2);
  check_move([&](auto& b) {  // a loop needs the second one in memory, and no loop steps over such short rows
    const auto x = b.in({n, 5}), y = sliced(x, {1, 0}, n, 2);
    return beside(sliced(x, {1, 2}, n, 3), y, -y);
  }, 2, why::axis, 1);
  check_move([&](auto& b) {  // columns are copied first: they are joined in registers
    const auto x = b.in({n, 5});
    return beside(sliced(x, {1, 2}, n, 1), sliced(x, {1, 0}, n, 1));
  }, 3, why::axis, 0);
  check_move([](auto& b) {
    const auto x = b.in({n, 32});
    return ebb::place_in(sliced(x, {1, 3}, n, 29), {1, 0}, x.shape_number());
  }, 1, why::argument, 1);
  check_move([](auto& b) {
    const auto x = b.in({n, 32});
    return ebb::place_in(-x, {1, -33}, b.g.intern(ebb::with_extent(x.extents(), 1, 40)));
  }, 1, why::none, 1);
  check_move([](auto& b) {
    const auto x = b.in({n, 4});
    ebb::shape wide = x.extents();
    wide.e[0] = b.g.syms.derive(ebb::extent_rule::sum, wide.e[0], 3);
    return ebb::place_in(-x, {0, 2}, b.g.intern(wide));
  }, 1, why::none, 1);
  const ebb::plan two = ebb::make_plan(test::build([&](test::builder& b) {
    const auto x = b.in({3, 4}), y = -x;
    return b.returns(y, join(y, x * x));
  }));
  int moves = 0;
  CHECK(reason(two, moves) == why::result);
}

TEST_CASE("a printed plan names each step that copies, and why") {
  const auto text = [](auto&& f) {
    const ebb::graph g = test::build([&](test::builder& b) { return b.returns(f(b)); });
    return ebb::plan_text(g, ebb::make_plan(g)).text();
  };
  const auto has = [](const std::string& s, const char* part) { return s.find(part) != std::string::npos; };
  const std::string after = text([](auto& b) { return -sliced(b.in({6, 5}), {1, 2}, 6, 3); });
  CHECK(has(after, "slice, which copies: rows along this axis are not adjacent"));
  CHECK(has(text([](auto& b) { return sliced(b.in({6, 5}), {0, 2}, 3, 5); }), "slice, which copies: a result has memory of its own"));
  const std::string joined = text([](auto& b) { const auto x = b.in({3, 4}); return ebb::emit_on<ebb::op::concat>({0}, -x, x * x); });
  CHECK(has(joined, "concat, in place"));
  CHECK(has(joined, "writes a part of result 0, a part of result 0"));
  CHECK(has(text([](auto& b) {
    const int axes[] = {1, 0};
    return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, 2)}, b.in({3, 4}));
  }), "permute, which copies: elements in another order"));
}

TEST_CASE("a place that only loops read is no step if its operand is in memory") {
  const auto placed = [](auto x, ebb::stride s, auto... extents) {
    ebb::shape r;
    (r.push(extents), ...);
    return ebb::place_in(x, s, x.g->intern(r));
  };
  check_move([&](auto& b) { return -placed(b.in({40}), {0, 2}, 50); }, 0, why::none, 1);
  check_move([&](auto& b) { return -placed(b.in({6, 40}), {0, 2}, 9, 40); }, 0, why::none, 1);
  check_move([&](auto& b) { return -placed(b.in({6, 5}), {1, 2}, 6, 8); }, 0, why::none, 1);
  check_move([&](auto& b) { return -placed(b.in({6, 60}), {1, 2}, 6, 65); }, 0, why::none, 1);
  check_move([&](auto& b) { return -placed(placed(b.in({6, 60}), {1, 2}, 6, 65), {0, 1}, 8, 65); }, 0, why::none, 1);
  check_move([&](auto& b) { return -sliced(placed(b.in({40}), {0, 2}, 50), {0, 1}, 45); }, 0, why::none, 1);
  // It is a step if it is a result, if a product or a copy reads it, if rows are short, or if there is no loop along its axis.
  check_move([&](auto& b) { return placed(b.in({40}), {0, 2}, 50); }, 1, why::argument, 0);
  check_move([&](auto& b) { return -placed(b.in({6, 5}), {1, 2}, 6, 7); }, 1, why::argument, 0);
  check_move([&](auto& b) { return -placed(b.in({40}), {0, -45}, 50); }, 1, why::argument, 0);
  check_move([&](auto& b) { return -placed(b.in({20}), {0, 2, 2}, 50); }, 1, why::argument, 0);
  check_move([&](auto& b) { return -sliced(placed(b.in({40}), {0, 2}, 50), {0, 1}, 1); }, 1, why::argument, 1);
  // It is a step if a loop reads one number of it for each row, also of a slice.
  const auto for_each_row = [](auto x) { return ebb::broadcast_to(x, x.g->intern(ebb::with_axis(x.extents(), 1, 9)), 2); };
  check_move([&](auto& b) { return -for_each_row(placed(b.in({40}), {0, 2}, 50)); }, 1, why::argument, 0);
  check_move([&](auto& b) { return -for_each_row(sliced(placed(b.in({40}), {0, 2}, 50), {0, 1}, 45)); }, 1, why::argument, 1);
  // An operand that a loop computes for the place alone is written into it.
  check_move([&](auto& b) { return -placed(-b.in({40}), {0, 2}, 50); }, 1, why::none, 1);
}

TEST_CASE("random programs of moves have the bits of scalar runs") {
  int found = 0, views = 0, joined = 0, blocks = 0, apart = 0, stepped = 0, written_apart = 0, read_by_moves = 0, around = 0;
  for (std::uint64_t i = 0; i <= 1200; ++i) {
    const std::uint64_t seed = i < 1200 ? i : 27125;  // blocks of rows write an index, and a concat reads one row of it
    CAPTURE(seed);
    const test::random_program p =
        test::make_random(seed, {.equations = 30, .largest = 700, .longest = 300, .short_axes = seed % 3 == 0, .moves = true});
    const ebb::vec<test::cells> arguments = test::random_arguments(p, seed);
    const ebb::vec<std::size_t> symbols = ebb::symbol_values(p.g, p.arguments);
    const ebb::vec<test::cells> known = test::run_scalar(p.g, arguments, symbols);
    const ebb::graph simple = ebb::lower(ebb::prune(ebb::simplify(p.g)));
    for (const ebb::graph& g : {p.g, simple, ebb::unpack(simple, true)}) {
      CAPTURE(ebb::to_string(g));
      const ebb::plan plan = ebb::make_plan(g);
      found += parts(plan);
      for (const ebb::plan_step& s : plan.steps) joined += s.nest < 0 && s.what == ebb::kind::move && s.why == why::none;
      for (const ebb::plan_buffer& b : plan.buffers) views += b.is == role::part && plan.buffers[b.whole].is == role::argument;
      blocks += !plan.blocks.empty();
      for (const ebb::nest_load& x : plan.loads) {
        if (x.view < 0) continue;
        ++apart;
        around += ebb::detail::has_zeros(plan.views[x.view]);
        for (const ebb::extent_product& e : plan.views[x.view].along) stepped += !e.is(0) && !e.is(1);
      }
      for (const ebb::nest_store& x : plan.stores) written_apart += x.view >= 0;
      for (const ebb::plan_step& x : plan.steps)
        for (int j = 0; x.nest < 0 && x.what == ebb::kind::move && j < x.joined.count; ++j)
          read_by_moves += plan.buffers[plan.joined[x.joined.first + j]].view >= 0;
      const ebb::vec<std::size_t> more = ebb::symbol_values(g, p.arguments);
      ebb::block_program program(g, plan, 64);
      const auto run = [&](void* const* from, void* const* to) { program.run(from, to, more.data()); };
      bool guarded = true;
      REQUIRE(test::difference(test::run_on_memory(g, p.types, arguments, more, guarded, run), known) == "");
      REQUIRE(guarded);
    }
  }
  CHECK(found > 4000);
  CHECK(views > 500);
  CHECK(joined > 500);
  CHECK(blocks > 5);
  CHECK(apart > 30);
  CHECK(stepped > 10);
  CHECK(written_apart > 30);
  CHECK(read_by_moves > 30);
  CHECK(around > 30);
}
