// ebb/pass/outputs.hpp — results that are arguments or other results, and arguments that nobody reads: what a caller need not move.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "prune.hpp"

namespace ebb::inline EBB_ABI {

/// A graph whose outputs are all computed, each once, and where the outputs of the one it was made from are found.
struct distinct_results {
  graph g;
  vec<int> from;  // for each output: the number of an output of g, or ~ the number of an argument
};

/// An output that is an argument, or the same elements as one in another shape, needs no program: the caller shares the memory.
EBB_COLD constexpr distinct_results distinct_outputs(const graph& f) {
  distinct_results r{shell_of(f), {}};
  r.g = f;
  r.g.out = {};
  for (int o : f.out) {
    while (f.op(o).what == kind::reshape) o = f.operand(o, 0);
    if (f.op(o).what == kind::input) {
      r.from.push(~static_cast<int>(f.eq[o].attr[0]));
      continue;
    }
    int number = -1;
    for (int i = 0; i < r.g.out.size(); ++i)
      if (r.g.out[i] == o) number = i;
    r.from.push(number >= 0 ? number : r.g.out.push(o));
  }
  r.g = prune(r.g);
  return r;
}

/// A graph that takes only the arguments it reads, and which of the arguments of the one it was made from those are.
struct fewer_arguments {
  graph g;
  vec<int> kept;
};

/// Symbols still say which axis of which *old* argument they are: who calls the graph sets them by that.
EBB_COLD constexpr fewer_arguments used_arguments(const graph& f) {
  vec<char> used(f.size(), 0);
  for (int o : f.out) used[o] = 1;
  for (int k = 0; k < f.size(); ++k)
    for (int i : f.operands(k)) used[i] = 1;
  fewer_arguments r;
  vec<int> number(f.inputs, -1);
  for (int i = 0; i < f.inputs; ++i)
    if (const int k = f.input(i); k >= 0 && used[k]) number[i] = r.kept.push(i);
  const auto is_read = [&](int k) { return used[k] || f.op(k).what != kind::input; };
  r.g = copied(f, is_read, [&](int, equation& e) {
    if (e.op->what == kind::input) e.attr[0] = number[static_cast<int>(e.attr[0])];
  });
  r.g.inputs = r.kept.size();
  return r;
}

/// For each output of f the arguments that it depends on, among the `count` from `first` on, as bits.
EBB_COLD constexpr vec<std::uint64_t> dependences(const graph& f, int first, int count) {
  vec<std::uint64_t> of(f.size(), 0);
  for (int k = 0; k < f.size(); ++k) {
    if (f.op(k).what == kind::input) {
      const auto i = static_cast<int>(f.eq[k].attr[0]) - first;
      if (i >= 0 && i < count) of[k] = std::uint64_t{1} << (i < 63 ? i : 63);
    }
    for (int i : f.operands(k)) of[k] |= of[i];
  }
  vec<std::uint64_t> r;
  for (int o : f.out) r.push(of[o]);
  return r;
}

}  // namespace ebb::inline EBB_ABI
