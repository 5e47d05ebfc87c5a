// test/exec/guarded_loop.cpp — random guarded loops: as without a guard, or nothing happens; by the evaluator and from tables.
// SPDX-License-Identifier: BSL-1.0
// covers: loop.hpp pass/live.hpp pass/loop.hpp
#include <ebb/exec/blocks.hpp>

#include "../catch.hpp"
#include "../pass/random_loop.hpp"

#include <cstring>
#include <vector>

namespace {

/// A loop with one more argument, which guards it.
ebb::graph guarded(const ebb::graph& g) {
  ebb::graph r = ebb::shell_of(g);
  const int guard = ebb::emit_as<ebb::op::input, bool>(r, r.intern({}), {}, {g.inputs});
  r.inputs = g.inputs + 1;
  ebb::vec<int> to(g.size(), -1);
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what != ebb::kind::loop) {
      to[k] = r.append_renumbered(g, k, to.data());
      continue;
    }
    ebb::equation e = g.eq[k];
    ebb::loop_parts p = ebb::loop_parts::of(e);
    p.guarded = true;
    e.attr[0] = p.attribute();
    ebb::graph body = g.subs[e.sub];
    ebb::emit_as<ebb::op::input, bool>(body, body.intern({}), {}, {body.inputs});
    ++body.inputs;
    e.sub = r.subs.push(body);
    ebb::vec<int> in;
    for (int i : g.operands(k)) in.push(to[i]);
    in.push(guard);
    to[k] = r.append(e, ebb::range_of(in));
  }
  r.out = ebb::outputs_at(g, to);
  return r;
}
/// Runs g from tables.
ebb::vec<ebb::cell_array> run_from_tables(const ebb::graph& g, const test::call& c, const ebb::vec<ebb::cell_array>& expected) {
  std::vector<std::vector<std::byte>> memory;
  const auto place = [&](ebb::dtype type, const ebb::cell_array& cells) -> void* {
    memory.emplace_back(static_cast<std::size_t>(cells.size()) * ebb::size_of(type) + 1, std::byte{0x7F});
    ebb::with_dtype(type, [&]<class T>(T) {
      for (int i = 0; i < cells.size(); ++i) {
        const T x = ebb::from_cell<T>(cells[i]);
        std::memcpy(memory.back().data() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof x);
      }
    });
    return memory.back().data();
  };
  memory.reserve(static_cast<std::size_t>(g.inputs + g.out.size()));
  std::vector<void*> from, to;
  for (int i = 0; i < g.inputs; ++i) from.push_back(place(g.op(g.input(i)).result, c.arguments[i]));
  for (int o = 0; o < g.out.size(); ++o) to.push_back(place(g.op(g.out[o]).result, ebb::cell_array(expected[o].size(), 1)));
  ebb::block_program(g).run(from.data(), to.data(), c.symbols.data());
  ebb::vec<ebb::cell_array> r;
  for (int o = 0; o < g.out.size(); ++o) {
    ebb::cell_array cells;
    ebb::with_dtype(g.op(g.out[o]).result, [&]<class T>(T) {
      for (int i = 0; i < expected[o].size(); ++i) {
        T x;
        std::memcpy(&x, static_cast<const char*>(to[static_cast<std::size_t>(o)]) + static_cast<std::size_t>(i) * sizeof(T), sizeof x);
        cells.push(ebb::to_cell(x));
      }
    });
    r.push(cells);
  }
  return r;
}

bool holds_same(const ebb::graph& g, const ebb::vec<ebb::cell_array>& a, const ebb::vec<ebb::cell_array>& b) {
  bool same = a.size() == b.size();
  for (int o = 0; same && o < a.size(); ++o) {
    same = a[o].size() == b[o].size();
    for (int i = 0; same && i < a[o].size(); ++i) same = test::same_cell(g.op(g.out[o]).result, a[o][i], b[o][i]);
  }
  return same;
}

}  // namespace

TEST_CASE("random guarded loops: as without a guard, or nothing happens; by the evaluator and from tables") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    constexpr int counts[] = {0, 1, 5, -1};
    const test::random_loop l = test::make_random_loop(seed, counts[seed % 4]);
    ebb::vec<int> wrt;
    for (int i = 0; i < l.g.inputs; ++i) wrt.push(i);
    const ebb::graph plain = ebb::joint(l.g, wrt), with_guard = ebb::joint(guarded(l.g), wrt);
    INFO("seed " << seed << "\n" << ebb::to_string(with_guard));
    REQUIRE(test::error_text(with_guard) == "");
    test::call c = test::random_call(plain, seed, 3, seed % 3 == 0), d = c;
    d.arguments = {};
    for (int i = 0; i < l.g.inputs; ++i) d.arguments.push(c.arguments[i]);
    d.arguments.push(ebb::cell_array(1, ebb::to_cell(true)));
    for (int i = l.g.inputs; i < plain.inputs; ++i) d.arguments.push(c.arguments[i]);
    const auto taken = ebb::evaluate(with_guard, d.arguments, d.symbols);
    REQUIRE(holds_same(plain, taken, ebb::evaluate(plain, c.arguments, c.symbols)));
    REQUIRE(holds_same(plain, run_from_tables(ebb::lower(with_guard), d, taken), taken));

    d.arguments[l.g.inputs] = ebb::cell_array(1, ebb::to_cell(false));
    const auto skipped = ebb::evaluate(with_guard, d.arguments, d.symbols);
    REQUIRE(holds_same(plain, run_from_tables(ebb::lower(with_guard), d, skipped), skipped));
    for (int i = 0; i < l.given(); ++i)
      if (l.parts.is_carry(i)) REQUIRE(skipped[i] == c.arguments[i]);
      else
        for (const ebb::cell x : skipped[i]) REQUIRE(x == 0);
  }
}
