// test/exec/blocks.cpp — fused, unfused and scalar runs of random programs have the same bits, before and after the passes.
// SPDX-License-Identifier: BSL-1.0
// covers: blocks.hpp block_nest.hpp block_run.hpp evaluate.hpp op/vectorized.hpp
#include <ebb/exec/blocks.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/pass/lower.hpp>

#include "../catch.hpp"
#include "run_random.hpp"

namespace {

using test::cells;

std::string blocks_against_scalar(const ebb::graph& g, const test::random_program& p, const ebb::vec<cells>& arguments,
                                  const ebb::vec<std::size_t>& symbols, const ebb::vec<cells>& scalar) {
  const ebb::plan plan = ebb::make_plan(g);
  for (const std::size_t block : {std::size_t{7}, std::size_t{64}, std::size_t{512}, std::size_t{1000}, std::size_t{5000}}) {
    if (test::is_only_compiled && block != 64) continue;
    bool guarded = true;
    ebb::block_program program(g, plan, block);
    const auto run = [&](void* const* from, void* const* to) { program.run(from, to, symbols.data()); };
    for (int again = 0; again < (block == 512 ? 2 : 1); ++again) {
      const std::string d = test::difference(test::run_on_memory(g, p.types, arguments, symbols, guarded, run), scalar);
      if (!d.empty()) return "blocks of " + std::to_string(block) + (again ? ", second run: " : ": ") + d;
      if (!guarded) return "blocks of " + std::to_string(block) + ": memory beside the results was written";
    }
  }
  return "";
}

/// The first real scalar among the outputs; -1 if there is none.
int scalar_output(const ebb::graph& g) {
  for (int o : g.out)
    if (g.shape_of(o).rank == 0 && (g.op(o).result == ebb::dtype::f32 || g.op(o).result == ebb::dtype::f64)) return o;
  return -1;
}

int equations = 0, gradients = 0;

/// A hash of all results in their order.
std::uint64_t bits = 0;
std::uint64_t mixed(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}
void note_bits(const ebb::vec<cells>& results) {
  for (const cells& r : results)
    for (const ebb::cell c : r) bits = mixed(bits, c);
}

std::string check(std::uint64_t seed) {
  const test::random_program p = test::make_random(seed);
  const ebb::vec<cells> arguments = test::random_arguments(p, seed);
  const ebb::vec<std::size_t> symbols = ebb::symbol_values(p.g, p.arguments);
  const ebb::vec<cells> scalar = test::run_scalar(p.g, arguments, symbols);
  equations += p.g.size();
  note_bits(scalar);
  const auto said = [&](const char* what, const ebb::graph& g, const std::string& d) {
    return "seed " + std::to_string(seed) + ", " + what + ": " + d + "\n" + ebb::to_string(g);
  };
  if (const std::string d = blocks_against_scalar(p.g, p, arguments, symbols, scalar); !d.empty()) return said("as it is", p.g, d);
  const std::string apart = test::difference(test::run_unfused(p.g, arguments, symbols), scalar);
  if (!apart.empty()) return said("unfused", p.g, apart);

  const ebb::graph simple = ebb::prune(ebb::simplify(p.g));
  if (const std::string d = blocks_against_scalar(simple, p, arguments, symbols, scalar); !d.empty()) return said("simplified", simple, d);

  const int y = scalar_output(p.g);
  ebb::vec<int> wrt;
  for (int i = 0; i < p.types.size(); ++i)
    if (ebb::is_real(p.types[i])) wrt.push(i);
  if (y < 0 || wrt.empty()) return "";
  ebb::graph g = p.g;
  g.out = {y};
  g = ebb::lower(ebb::value_and_gradient(g, wrt));
  ++gradients;
  const ebb::vec<std::size_t> more = ebb::symbol_values(g, p.arguments);
  const ebb::vec<cells> expected = test::run_scalar(g, arguments, more);
  note_bits(expected);
  if (const std::string d = blocks_against_scalar(g, p, arguments, more, expected); !d.empty()) return said("gradient", g, d);
  const std::string gradient_apart = test::difference(test::run_unfused(g, arguments, more), expected);
  return gradient_apart.empty() ? "" : said("gradient, unfused", g, gradient_apart);
}

}  // namespace

TEST_CASE("fused blocks, unfused and scalar runs of random programs have the same bits") {
  for (std::uint64_t seed = 0; seed < 320; ++seed) {
    const std::string said = check(seed);
    INFO(said);
    CHECK(said.empty());
  }
  CHECK(equations > 4000);
  CHECK(gradients > 60);
  // The hash is the same for every compiler and instruction set with fma; without it vector functions and products round differently.
  if (ebb::lane::fused) CHECK(bits == 0x104d3469cda9f46du);
}
