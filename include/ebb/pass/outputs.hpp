// ebb/pass/outputs.hpp — leaves out outputs that are arguments or other outputs, and arguments that nothing reads.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "prune.hpp"

namespace ebb::inline EBB_ABI {

/// A graph that computes each of its outputs once, and the places of the original outputs.
struct distinct_results {
  graph g;
  vec<int> from;  // for each output: the number of an output of g, or ~ the number of an argument
};

/// Leaves out outputs that have the elements of an argument or of another output, in any shape: the caller shares their memory.
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

/// A graph that takes only arguments that it reads, and their numbers in the original graph.
struct fewer_arguments {
  graph g;
  vec<int> kept;
};

/// Leaves out arguments that nothing reads. Symbols still name axes of the original arguments: the caller sets them.
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

/// For each output of f: the arguments that it depends on, of the `count` arguments from `first` on, as bits. Bit 63 is for all from number
/// 63 on.
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
