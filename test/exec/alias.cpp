// test/exec/alias.cpp — the arguments that a result may overwrite: the rule of may_overwrite against a look at each step and against a
// simulation, for random graphs.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/exec/alias.hpp>

#include "../catch.hpp"
#include "../plan/random_plan.hpp"
#include "../plan/simulate.hpp"

namespace {

using ebb::plan, ebb::part, ebb::plan_buffer;

bool any_of(part list, auto&& f) {
  for (int i = list.first; i < list.first + list.count; ++i)
    if (f(i)) return true;
  return false;
}

/// The plain rule: every step reads argument a before result o is written, and the step that writes o reads a element by element.
/// It knows nothing of blocks of rows.
bool rule(const plan& p, int o, int a) {
  int result = -1, source = -1;
  const auto owner = [&](int b) { return b < 0 ? b : ebb::owner_of(p.buffers, b); };
  const auto is_part = [&](int b) { return p.buffers[b].is == plan_buffer::role::part; };
  const auto in_result = [&](int b) {
    b = owner(b);
    return b >= 0 && p.buffers[b].is == plan_buffer::role::result && p.buffers[b].number == o;
  };
  for (int b = 0; b < p.buffers.size(); ++b) {
    if (in_result(b) && !is_part(b)) result = b;
    if (p.buffers[b].is == plan_buffer::role::argument && p.buffers[b].number == a) source = b;
  }
  if (source < 0) return true;
  if (result < 0) return false;
  const plan_buffer &to = p.buffers[result], &from = p.buffers[source];
  if (to.shape != from.shape || size_of(to.type) != size_of(from.type)) return false;
  for (const ebb::plan_copy& c : p.copies)
    if (owner(c.buffer) == source) return false;
  const auto reads_it = [&](const ebb::plan_step& s) {
    if (s.nest < 0) return any_of(s.joined, [&](int i) { return owner(p.joined[i]) == source; });
    return any_of(p.nests[s.nest].loads, [&](int i) { return owner(p.loads[i].buffer) == source; });
  };
  const auto writes_over = [&](const ebb::plan_step& s) {
    if (s.nest < 0) return in_result(s.out);
    const ebb::nest& n = p.nests[s.nest];
    return any_of(n.stores, [&](int i) { return in_result(p.stores[i].buffer); }) ||
           any_of(n.reduces, [&](int i) { return in_result(p.reduces[i].buffer); });
  };
  for (const ebb::plan_band& b : p.bands)
    for (int s = b.first; s < b.first + b.count; ++s)
      for (int t = b.first; t < b.first + b.count; ++t)
        if (s != t && reads_it(p.steps[s]) && writes_over(p.steps[t])) return false;
  int first_write = p.steps.size();
  for (int s = 0; s < p.steps.size(); ++s) {
    const ebb::plan_step& step = p.steps[s];
    const bool reads = reads_it(step), writes = writes_over(step);
    bool in_place = step.nest >= 0 || (step.onto == source && owner(step.in[0]) != source && owner(step.in[1]) != source);
    if (step.nest >= 0) {
      const ebb::nest& n = p.nests[step.nest];
      in_place = !any_of(n.reduces, [&](int i) { return in_result(p.reduces[i].buffer); }) &&
                 !any_of(n.stores, [&](int i) { return in_result(p.stores[i].buffer) && is_part(p.stores[i].buffer); }) &&
                 !any_of(n.loads, [&](int i) {
                   const int b = p.loads[i].buffer;
                   return owner(b) == source && (b != source || p.loads[i].along != (1 << n.loops) - 1);
                 });
    }
    if (reads && (s > first_write || (writes && !in_place))) return false;
    if (writes && s < first_write) first_write = s;
  }
  return true;
}

}  // namespace

TEST_CASE("may_overwrite agrees with a look at each step and with a simulation, for random graphs") {
  int pairs = 0, may = 0, in_bands = 0, in_blocks = 0, simulated = 0;
  for (std::uint64_t seed = 1; seed <= 9000; ++seed) {
    const ebb::graph g = test::graph_for_plans(seed);
    const plan p = ebb::make_plan(g);
    const ebb::detail::memory_uses uses(p, size_of(p), g.out.size(), g.inputs);
    INFO("seed " << seed);
    for (int o = 0; o < g.out.size(); ++o)
      for (int a = 0; a < g.inputs; ++a) {
        INFO("result " << o << ", argument " << a);
        const bool expected = ebb::detail::may_overwrite(uses.written[o], uses.read[a]);
        if (p.blocks.empty()) REQUIRE(rule(p, o, a) == expected);
        if (p.bands.empty() && uses.read[a].shape >= 0) {
          const bool alike = uses.written[o].shape == uses.read[a].shape && uses.written[o].bytes == uses.read[a].bytes;
          REQUIRE((alike && test::plan_simulation(p).keeps_values(o, a)) == expected);
          ++simulated;
          in_blocks += expected && !p.blocks.empty();
        }
        ++pairs;
        may += expected;
        in_bands += expected && !p.bands.empty() && uses.read[a].shape >= 0;
      }
  }
  CHECK(pairs > 50000);
  CHECK(may > 5000);
  CHECK(in_bands > 1000);
  CHECK(in_blocks > 300);
  CHECK(simulated > 10000);
}
