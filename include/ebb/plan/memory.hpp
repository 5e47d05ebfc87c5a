// ebb/plan/memory.hpp — where temporaries are: in the memory of a result that is not written yet, or in a place they share.
// SPDX-License-Identifier: BSL-1.0
//
// [note: memory is handed over]
// A buffer may follow another one of its shape and element size in the same memory: after the step that used that one last, or in this
// very step if it is a nest that reads the one element by element at the place where it stores the other. A result's memory is free until
// the result itself is written; a temporary there is one array less to walk through the caches. But it must not be taken so early that
// the result can no longer be written over an argument, see exec/alias.hpp. The steps of a band take turns and count as one.
#pragma once

#include "step.hpp"

namespace ebb::inline EBB_ABI::detail {

class memory_planner {
 public:
  constexpr explicit memory_planner(plan& p) : p_(p), first_(p.buffers.size(), p.steps.size()), last_(p.buffers.size(), -1) {}

  constexpr void run() {
    for (int s = 0; s < p_.steps.size(); ++s)
      for (int b : buffers_of(p_.steps[s])) {
        if (s < first_[b]) first_[b] = s;
        last_[b] = s;
      }
    for (const plan_copy& c : p_.copies) last_[c.buffer] = p_.steps.size();
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].is == plan_buffer::role::result) rooms_.push({p_.buffers[b], b, -1});
    for (const plan_step& s : p_.steps)
      for (int b : buffers_of(s))
        if (p_.buffers[b].is == plan_buffer::role::temporary && p_.buffers[b].number < 0) settle(b);
  }

 private:
  /// Memory for one buffer at a time.
  struct room {
    plan_buffer of;
    int result = -1;  // the buffer that is there in the end; -1: a place
    int owner = -1;   // the one that was there last
  };

  constexpr vec<int> buffers_of(const plan_step& s) const {
    vec<int> r;
    if (s.nest < 0) {
      for (int j = 0; j < s.joined.count; ++j) r.push(p_.joined[s.joined.first + j]);
      r.push(s.out);
      return r;
    }
    const nest& n = p_.nests[s.nest];
    for (int i = 0; i < n.loads.count; ++i)
      if (p_.loads[n.loads.first + i].buffer >= 0) r.push(p_.loads[n.loads.first + i].buffer);
    for (int i = 0; i < n.reduces.count; ++i) r.push(p_.reduces[n.reduces.first + i].buffer);
    for (int i = 0; i < n.stores.count; ++i) r.push(p_.stores[n.stores.first + i].buffer);
    return r;
  }

  constexpr void settle(int b) {
    plan_buffer& x = p_.buffers[b];
    int found = -1;
    for (int i = 0; i < rooms_.size() && found < 0; ++i)
      if (fits(b, rooms_[i])) found = i;
    if (found < 0) {
      found = rooms_.size();
      rooms_.push({{plan_buffer::role::temporary, p_.places.push({x.type, x.shape}), x.type, x.shape}, -1, -1});
    }
    x.is = rooms_[found].of.is;
    x.number = rooms_[found].of.number;
    rooms_[found].owner = b;
  }
  constexpr bool fits(int b, const room& r) const {
    if (!is_alike(p_.buffers[b], r.of) || (r.owner >= 0 && !hands_over(r.owner, b))) return false;
    if (r.result < 0) return true;
    if (!hands_over(b, r.result)) return false;
    for (int a = 0; a < p_.buffers.size(); ++a)
      if (p_.buffers[a].is == plan_buffer::role::argument && hands_over(a, r.result) && !hands_over(a, b)) return false;
    return true;
  }
  static constexpr bool is_alike(const plan_buffer& x, const plan_buffer& y) {
    return x.shape == y.shape && size_of(x.type) == size_of(y.type);
  }
  constexpr bool hands_over(int from, int to) const {
    if (!is_alike(p_.buffers[from], p_.buffers[to])) return false;
    return band_of(last_[from]) < band_of(first_[to]) || (last_[from] == first_[to] && is_in_place(p_.steps[first_[to]], from, to));
  }
  /// The first step of the band that step s belongs to; s itself if there is none.
  constexpr int band_of(int s) const {
    for (const plan_band& b : p_.bands)
      if (s >= b.first && s < b.first + b.count) return b.first;
    return s;
  }
  constexpr bool is_in_place(const plan_step& s, int from, int to) const {
    if (s.nest < 0) return false;
    const nest& n = p_.nests[s.nest];
    bool loaded = false, stored = false;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& x = p_.loads[n.loads.first + i];
      if (x.buffer != from) continue;
      if (x.along != (1 << n.loops) - 1) return false;
      loaded = true;
    }
    for (int i = 0; i < n.reduces.count; ++i)
      if (p_.reduces[n.reduces.first + i].buffer == from) return false;
    for (int i = 0; i < n.stores.count; ++i) {
      if (p_.stores[n.stores.first + i].buffer == from) return false;
      stored = stored || p_.stores[n.stores.first + i].buffer == to;
    }
    return loaded && stored;
  }

  plan& p_;
  vec<int> first_, last_;  // of each buffer: the steps that use it
  vec<room> rooms_;
};

}  // namespace ebb::inline EBB_ABI::detail
