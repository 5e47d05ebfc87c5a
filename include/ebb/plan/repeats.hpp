// ebb/plan/repeats.hpp — steps that a later run of blocks repeats, so that it need not read what they wrote from memory.
// SPDX-License-Identifier: BSL-1.0
//
// [note: repeated in later blocks]
// The gradient of a map has two runs of blocks, its forward and its backward: see [note: blocks of rows]. Products of both may read the
// same array, such as `x - mu`. The first run would write all of its rows to memory for the second one. So the second run repeats the loop
// that computes the array: a block's rows stay in the cache. A loop is repeated if it writes one array, and if its few functions are light
// and read arguments only.
#pragma once

#include "../graph/graph.hpp"
#include "memory.hpp"
#include "step.hpp"

namespace ebb::inline EBB_ABI::detail {

/// For each buffer, the step that writes it if a later run may repeat that step; else -1.
EBB_COLD constexpr vec<int> steps_to_repeat(const graph& g, const plan& p) {
  constexpr int most_functions = 8;
  vec<int> by_buffer(p.buffers.size(), -1), functions(p.steps.size(), 0);
  for (int k = 0; k < g.size(); ++k)
    if (const int s = p.group_of.data()[k]; s >= 0) functions[s] += g.op(k).heavy ? most_functions + 1 : 1;
  for (int s = 0; s < p.steps.size(); ++s) {
    if (p.steps.data()[s].nest < 0 || functions[s] > most_functions) continue;
    const nest& n = p.nests.data()[p.steps.data()[s].nest];
    bool may = n.reduces.count == 0 && n.stores.count == 1 && p.stores.data()[n.stores.first].view < 0;
    for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i)
      if (const int b = p.loads.data()[i].buffer; b >= 0)
        may = may && p.buffers.data()[owner_of(p.buffers, b)].is == plan_buffer::role::argument;
    if (may) by_buffer[p.stores.data()[n.stores.first].buffer] = s;
  }
  for (const plan_buffer& x : p.buffers)
    if (x.whole >= 0) by_buffer[x.whole] = -1;  // its parts are read
  return by_buffer;
}

/// A copy of step s, which writes a buffer of its own instead of `buffer`. Steps for which reads(step) is true read that one then.
EBB_COLD constexpr plan_step repeat_step(plan& p, int s, int buffer, auto&& reads) {
  const int own = p.buffers.push(p.buffers[buffer]);
  const auto exchange = [&](int& b) {
    if (b == buffer) b = own;
  };
  for (int t = 0; t < p.steps.size(); ++t) {
    if (!reads(t)) continue;
    plan_step& x = p.steps[t];
    exchange(x.in[0]);
    exchange(x.in[1]);
    exchange(x.onto);
    for (int j = x.joined.first; j < x.joined.first + x.joined.count; ++j) exchange(p.joined[j]);
    if (x.nest < 0) continue;
    const nest& n = p.nests[x.nest];
    for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i) exchange(p.loads[i].buffer);
  }
  plan_step copy = p.steps[s];
  nest n = p.nests[copy.nest];
  nest_store store = p.stores[n.stores.first];
  store.buffer = own;
  n.stores = {p.stores.push(store), 1};
  copy.nest = p.nests.push(n);
  copy.repeats = s;
  return copy;
}

}  // namespace ebb::inline EBB_ABI::detail
