// test/plan/operands.cpp — products of parts of arrays: which of them copy nothing, and random programs of them.
// SPDX-License-Identifier: BSL-1.0
// covers: view.hpp fuse.hpp plan.hpp exec/blocks.hpp op/whole.hpp
#include <ebb/exec/blocks.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/plan/print.hpp>

#include "../build.hpp"
#include "../catch.hpp"
#include "../exec/random_product.hpp"
#include "../exec/run_random.hpp"

#include <string>

namespace {

struct found {
  int programs = 0, read = 0, written = 0, copies = 0, blocks = 0;
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
    counts.blocks += plan.blocks.count > 0;
    for (const ebb::plan_step& s : plan.steps) {
      if (s.nest >= 0) continue;
      if (s.what == ebb::kind::move) counts.copies += s.why != ebb::copy_reason::none;
      if (s.what != ebb::kind::contract) continue;
      for (int b : s.in) counts.read += plan.buffers[b].view >= 0;
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

}  // namespace

TEST_CASE("random products of parts of arrays have the bits of scalar runs") {
  found counts;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    const test::random_program p = test::random_product_maker(seed).take();
    REQUIRE(test::error_text(p.g) == "");
    check(p, p.g, seed, counts);
  }
  CHECK(counts.read > 1500);
  CHECK(counts.written > 300);
  WARN(counts.programs << " " << counts.read << " " << counts.written << " " << counts.copies << " " << counts.blocks);
}
