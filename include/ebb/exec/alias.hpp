// ebb/exec/alias.hpp — which argument a result may be written over while it is still being read.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Result `o` may stand in the very memory of argument `a`: every step reads a before o is written, and the step that writes o reads a
/// element by element, at the place it writes. So p = p - lr * g needs no copy of p.
template <class P>
constexpr bool may_overwrite(int o, int a) {
  int result = -1, source = -1;
  const auto in_result = [&](int b) {  // temporaries may be there before it, see [note: memory is handed over]
    const plan_buffer& x = P::plan.buffers[static_cast<std::size_t>(b)];
    return x.is == plan_buffer::role::result && x.number == o;
  };
  for (int b = 0; b < P::plan.size.buffers; ++b) {
    const plan_buffer& x = P::plan.buffers[static_cast<std::size_t>(b)];
    if (in_result(b)) result = b;
    if (x.is == plan_buffer::role::argument && x.number == a) source = b;
  }
  if (source < 0) return true;   // never read
  if (result < 0) return false;  // a copy at the end
  const plan_buffer &to = P::plan.buffers[static_cast<std::size_t>(result)], &from = P::plan.buffers[static_cast<std::size_t>(source)];
  if (to.shape != from.shape || size_of(to.type) != size_of(from.type)) return false;
  for (int c = 0; c < P::plan.size.copies; ++c)
    if (P::plan.copies[static_cast<std::size_t>(c)].buffer == source) return false;
  // The steps of a band take turns: what one of them writes, another one has not read to the end.
  const auto any_of = [](part list, auto&& f) {
    for (int i = list.first; i < list.first + list.count; ++i)
      if (f(static_cast<std::size_t>(i))) return true;
    return false;
  };
  const auto reads_it = [&](const plan_step& s) {
    if (s.nest < 0) return any_of(s.joined, [&](std::size_t i) { return P::plan.joined[i] == source; });
    return any_of(P::plan.nests[static_cast<std::size_t>(s.nest)].loads, [&](std::size_t i) { return P::plan.loads[i].buffer == source; });
  };
  const auto writes_over = [&](const plan_step& s) {
    if (s.nest < 0) return in_result(s.out);
    const nest& n = P::plan.nests[static_cast<std::size_t>(s.nest)];
    return any_of(n.stores, [&](std::size_t i) { return in_result(P::plan.stores[i].buffer); }) ||
           any_of(n.reduces, [&](std::size_t i) { return in_result(P::plan.reduces[i].buffer); });
  };
  for (int i = 0; i < P::plan.size.bands; ++i) {
    const plan_band& b = P::plan.bands[static_cast<std::size_t>(i)];
    const auto member = [&](int s) -> const plan_step& { return P::plan.steps[static_cast<std::size_t>(b.first + s)]; };
    for (int s = 0; s < b.count; ++s)
      for (int t = 0; t < b.count; ++t)
        if (s != t && reads_it(member(s)) && writes_over(member(t))) return false;
  }
  int first_write = P::plan.size.steps;
  for (int s = 0; s < P::plan.size.steps; ++s) {
    const plan_step& step = P::plan.steps[static_cast<std::size_t>(s)];
    if (step.nest < 0) {
      for (int j = 0; j < step.joined.count; ++j)
        if (P::plan.joined[static_cast<std::size_t>(step.joined.first + j)] == source && s >= first_write) return false;
      if (!in_result(step.out)) continue;
      if (s < first_write) first_write = s;
      for (int j = 0; j < step.joined.count; ++j)
        if (P::plan.joined[static_cast<std::size_t>(step.joined.first + j)] == source) return false;
      continue;
    }
    const nest& n = P::plan.nests[static_cast<std::size_t>(step.nest)];
    bool stored = false, whole = true, reads = false;
    for (int i = 0; i < n.stores.count; ++i)
      stored = stored || in_result(P::plan.stores[static_cast<std::size_t>(n.stores.first + i)].buffer);
    for (int i = 0; i < n.reduces.count; ++i)
      if (in_result(P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].buffer)) stored = true, whole = false;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& l = P::plan.loads[static_cast<std::size_t>(n.loads.first + i)];
      if (l.source != nest_load::from::array || l.buffer != source) continue;
      reads = true;
      whole = whole && l.along == (1 << n.loops) - 1;
    }
    if (reads && (s > first_write || (stored && !whole))) return false;
    if (stored && s < first_write) first_write = s;
  }
  return true;
}

template <class P>
struct overwrites {
  static constexpr auto table = [] {
    std::array<bool, static_cast<std::size_t>(P::results * P::arguments + 1)> t{};
    for (int o = 0; o < P::results; ++o)
      for (int a = 0; a < P::arguments; ++a) t[static_cast<std::size_t>(o * P::arguments + a)] = may_overwrite<P>(o, a);
    return t;
  }();
};

}  // namespace ebb::inline EBB_ABI::detail
