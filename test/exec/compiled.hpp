// test/exec/compiled.hpp — random programs compiled: kernels against scalar runs. Each compiled_<n>.cpp takes some seeds.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/exec/run.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/pass/differentiate.hpp>

#include "../catch.hpp"
#include "run_random.hpp"

namespace test {

/// Arrays longer than a leaf of the reduction tree are among them.
template <std::uint64_t Seed>
struct sample {
  static constexpr random_options options{.equations = 18, .narrow = Seed % 4 == 3};
  static constexpr ebb::graph make() { return ebb::simplify(make_random(Seed, options).g); }
};

/// The gradients of a random program's first real scalar.
template <std::uint64_t Seed>
struct sample_gradient {
  static constexpr ebb::graph make() {
    const random_program p = make_random(Seed, sample<Seed>::options);
    ebb::graph g = p.g;
    ebb::vec<int> wrt, scalar;
    for (int i = 0; i < p.types.size(); ++i)
      if (ebb::is_real(p.types[i])) wrt.push(i);
    for (int o : g.out)
      if (g.shape_of(o).rank == 0 && g.op(o).result >= dtype::f32) scalar = {o};
    if (scalar.empty()) return p.g;
    g.out = scalar;
    return ebb::value_and_gradient(g, wrt);
  }
};

template <class Make>
std::string compiled_against_scalar(std::uint64_t seed, random_options options) {
  using program = ebb::executable<ebb::frozen<Make>>;
  const random_program p = make_random(seed, options);
  const ebb::graph g = ebb::frozen<Make>::g.thaw(), lowered = program::g.thaw();
  const ebb::vec<cells> arguments = random_arguments(p, seed);
  const ebb::vec<std::size_t> symbols = ebb::symbol_values(lowered, p.arguments);
  bool guarded = true;
  const auto run = [&](void* const* from, void* const* to) { ebb::run_program<program>(from, to, symbols.data()); };
  const ebb::vec<cells> scalar = run_scalar(g, arguments, ebb::symbol_values(g, p.arguments));
  std::string d = difference(run_on_memory(lowered, p.types, arguments, symbols, guarded, run), scalar);
  if (d.empty() && guarded) {
    const auto blocks = [&](void* const* from, void* const* to) { ebb::run_blocks(lowered, ebb::make_plan(lowered), from, to, symbols.data(), 100); };
    d = difference(run_on_memory(lowered, p.types, arguments, symbols, guarded, blocks), scalar);
  }
  if (d.empty() && guarded) return "";
  return "seed " + std::to_string(seed) + ": " + (d.empty() ? "memory beside the results was written" : d) + "\n" + ebb::to_string(lowered);
}

template <std::uint64_t... Seed>
void check_compiled(std::integer_sequence<std::uint64_t, Seed...>) {
  for (const std::string& said : {compiled_against_scalar<sample<Seed>>(Seed, sample<Seed>::options)...}) {
    INFO(said);
    CHECK(said.empty());
  }
}
template <std::uint64_t... Seed>
void check_compiled_gradients(std::integer_sequence<std::uint64_t, Seed...>) {
  for (const std::string& said : {compiled_against_scalar<sample_gradient<Seed>>(Seed, sample<Seed>::options)...}) {
    INFO(said);
    CHECK(said.empty());
  }
}
template <std::uint64_t... Seed>
using seeds = std::integer_sequence<std::uint64_t, Seed...>;

}  // namespace test
