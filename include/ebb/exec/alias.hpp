// ebb/exec/alias.hpp — which argument a result may be written over while it is still being read.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Result `o` may stand in the very memory of argument `a`: every step reads a before o is written, and the step that writes o reads a
/// element by element, at the place it writes. So p = p - lr * g needs no copy of p.
/// `p` is a plan or a frozen one, n says how much of each list there is.
constexpr bool may_overwrite(const auto& p, const plan_size& n_of, int o, int a) {
  int result = -1, source = -1;
  const auto in_result = [&](int b) {  // temporaries may be there before it, see [note: memory is handed over]
    const plan_buffer& x = p.buffers.data()[b];
    return x.is == plan_buffer::role::result && x.number == o;
  };
  for (int b = 0; b < n_of.buffers; ++b) {
    const plan_buffer& x = p.buffers.data()[b];
    if (in_result(b)) result = b;
    if (x.is == plan_buffer::role::argument && x.number == a) source = b;
  }
  if (source < 0) return true;   // never read
  if (result < 0) return false;  // a copy at the end
  const plan_buffer &to = p.buffers.data()[result], &from = p.buffers.data()[source];
  if (to.shape != from.shape || size_of(to.type) != size_of(from.type)) return false;
  for (int c = 0; c < n_of.copies; ++c)
    if (p.copies.data()[c].buffer == source) return false;
  // The steps of a band take turns: what one of them writes, another one has not read to the end.
  const auto any_of = [](part list, auto&& f) {
    for (int i = list.first; i < list.first + list.count; ++i)
      if (f(i)) return true;
    return false;
  };
  const auto reads_it = [&](const plan_step& s) {
    if (s.nest < 0) return any_of(s.joined, [&](int i) { return p.joined.data()[i] == source; });
    return any_of(p.nests.data()[s.nest].loads, [&](int i) { return p.loads.data()[i].buffer == source; });
  };
  const auto writes_over = [&](const plan_step& s) {
    if (s.nest < 0) return in_result(s.out);
    const nest& n = p.nests.data()[s.nest];
    return any_of(n.stores, [&](int i) { return in_result(p.stores.data()[i].buffer); }) ||
           any_of(n.reduces, [&](int i) { return in_result(p.reduces.data()[i].buffer); });
  };
  for (int i = 0; i < n_of.bands; ++i) {
    const plan_band& b = p.bands.data()[i];
    const auto member = [&](int s) -> const plan_step& { return p.steps.data()[b.first + s]; };
    for (int s = 0; s < b.count; ++s)
      for (int t = 0; t < b.count; ++t)
        if (s != t && reads_it(member(s)) && writes_over(member(t))) return false;
  }
  int first_write = n_of.steps;
  for (int s = 0; s < n_of.steps; ++s) {
    const plan_step& step = p.steps.data()[s];
    if (step.nest < 0) {
      for (int j = 0; j < step.joined.count; ++j)
        if (p.joined.data()[step.joined.first + j] == source && s >= first_write) return false;
      if (!in_result(step.out)) continue;
      if (s < first_write) first_write = s;
      for (int j = 0; j < step.joined.count; ++j)
        if (p.joined.data()[step.joined.first + j] == source) return false;
      continue;
    }
    const nest& n = p.nests.data()[step.nest];
    bool stored = false, whole = true, reads = false;
    for (int i = 0; i < n.stores.count; ++i)
      stored = stored || in_result(p.stores.data()[n.stores.first + i].buffer);
    for (int i = 0; i < n.reduces.count; ++i)
      if (in_result(p.reduces.data()[n.reduces.first + i].buffer)) stored = true, whole = false;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& l = p.loads.data()[n.loads.first + i];
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
      for (int a = 0; a < P::arguments; ++a) t[static_cast<std::size_t>(o * P::arguments + a)] = may_overwrite(P::plan, P::plan.size, o, a);
    return t;
  }();
};

}  // namespace ebb::inline EBB_ABI::detail
