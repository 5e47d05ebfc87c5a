// test/exec/compiled.hpp — random programs compiled: kernels against scalar runs. Each compiled_<n>.cpp runs some seeds.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/exec/run.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/pass/pipeline.hpp>

#include "../catch.hpp"
#include "run_random.hpp"

namespace test {

/// A random program; every fourth one has all dtypes. Some arrays are longer than a leaf of the reduction tree. From 5000 on the last axes
/// are short, from 7000 on there are more moves.
template <std::uint64_t Seed>
constexpr random_program make_sample() {
  return make_random<Seed % 4 == 3>(Seed, {.equations = 18, .short_axes = Seed >= 5000 && Seed < 8000, .moves = Seed >= 7000});
}

template <std::uint64_t Seed>
struct sample {
  static constexpr ebb::graph make() { return ebb::simplify(make_sample<Seed>().g); }
};

/// The gradients of a random program's last real scalar. A seed without one does not compile.
template <std::uint64_t Seed>
struct sample_gradient {
  static constexpr ebb::graph make() {
    const random_program p = make_sample<Seed>();
    ebb::graph g = p.g;
    ebb::vec<int> wrt, scalar;
    for (int i = 0; i < p.types.size(); ++i)
      if (ebb::is_real(p.types[i])) wrt.push(i);
    for (int o : g.out)
      if (g.shape_of(o).rank == 0 && g.op(o).result >= dtype::f32) scalar = {o};
    g.out = scalar;
    return ebb::value_and_gradient(g, wrt);
  }
};

/// The arguments of a sample as a constant: the generator is evaluated at compile time and emits no code.
template <std::uint64_t Seed, random_program (*Make)() = &make_sample<Seed>>
struct sample_arguments {
  static constexpr int most = 20;
  struct list {
    int count = 0;
    ebb::extent_list extents[most];
    dtype types[most] = {};
    std::size_t places[most] = {};
  };
  static constexpr list make() {
    const random_program p = Make();
    list r;
    for (; r.count < p.types.size(); ++r.count) {
      r.extents[r.count] = p.arguments[r.count];
      r.types[r.count] = p.types[r.count];
      r.places[r.count] = p.places[r.count];
    }
    return r;
  }
  static constexpr list all = make();

  static random_program thaw() {
    random_program p;
    for (int i = 0; i < all.count; ++i) {
      p.arguments.push(all.extents[i]);
      p.types.push(all.types[i]);
      p.places.push(all.places[i]);
    }
    return p;
  }
};

template <class Make>
std::string compiled_against_scalar(std::uint64_t seed, const random_program& p) {
  using program = ebb::executable<ebb::frozen<Make>>;
  const ebb::graph g = ebb::frozen<Make>::g.thaw(), lowered = program::g.thaw();
  const ebb::vec<cells> arguments = random_arguments(p, seed);
  const ebb::vec<std::size_t> symbols = ebb::symbol_values(lowered, p.arguments);
  bool guarded = true;
  const auto run = [&](void* const* from, void* const* to) { ebb::run_program<program>(from, to, symbols.data()); };
  const ebb::vec<cells> scalar = run_scalar(g, arguments, ebb::symbol_values(g, p.arguments));
  std::string d = difference(run_on_memory(lowered, p.types, arguments, symbols, guarded, run), scalar);
  if (d.empty() && guarded) {
    ebb::block_program blocked(lowered, 100);
    const auto blocks = [&](void* const* from, void* const* to) { blocked.run(from, to, symbols.data()); };
    d = difference(run_on_memory(lowered, p.types, arguments, symbols, guarded, blocks), scalar);
  }
  if (d.empty() && guarded) return "";
  return "seed " + std::to_string(seed) + ": " + (d.empty() ? "memory beside the results was written" : d) + "\n" + ebb::to_string(lowered);
}

template <std::uint64_t... Seed>
void check_compiled(std::integer_sequence<std::uint64_t, Seed...>) {
  for (const std::string& said : {compiled_against_scalar<sample<Seed>>(Seed, sample_arguments<Seed>::thaw())...}) {
    INFO(said);
    CHECK(said.empty());
  }
}
template <std::uint64_t... Seed>
void check_compiled_gradients(std::integer_sequence<std::uint64_t, Seed...>) {
  for (const std::string& said : {compiled_against_scalar<sample_gradient<Seed>>(Seed, sample_arguments<Seed>::thaw())...}) {
    INFO(said);
    CHECK(said.empty());
  }
}
template <std::uint64_t... Seed>
using seeds = std::integer_sequence<std::uint64_t, Seed...>;

}  // namespace test
