// ebb/plan/frozen.hpp — a plan as a constant; see [note: one constant per stage].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "plan.hpp"

#include <array>

namespace ebb::inline EBB_ABI {

struct plan_size {
  int steps = 0, nests = 0, loads = 0, computes = 0, reduces = 0, stores = 0, buffers = 0, places = 0, copies = 0, checks = 0, bands = 0,
      joined = 0;
};

constexpr plan_size size_of(const plan& p) {
  return {p.steps.size(),  p.nests.size(),   p.loads.size(),  p.computes.size(), p.reduces.size(),
          p.stores.size(), p.buffers.size(), p.places.size(), p.copies.size(),   p.checks.size(),   p.bands.size(),
          p.joined.size()};
}

template <plan_size Size>
struct frozen_plan {
  template <class T, int N>
  using items = std::array<T, static_cast<std::size_t>(N > 0 ? N : 1)>;

  static constexpr plan_size size = Size;
  items<plan_step, Size.steps> steps{};
  items<nest, Size.nests> nests{};
  items<nest_load, Size.loads> loads{};
  items<nest_compute, Size.computes> computes{};
  items<nest_reduce, Size.reduces> reduces{};
  items<nest_store, Size.stores> stores{};
  items<plan_buffer, Size.buffers> buffers{};
  items<plan_place, Size.places> places{};
  items<plan_copy, Size.copies> copies{};
  items<plan_check, Size.checks> checks{};
  items<plan_band, Size.bands> bands{};
  items<int, Size.joined> joined{};
};

template <plan_size Size>
constexpr frozen_plan<Size> freeze(const plan& p) {
  frozen_plan<Size> f;
  const auto copy = [](const auto& from, auto& to) {
    for (int i = 0; i < from.size(); ++i) to[static_cast<std::size_t>(i)] = from[i];
  };
  copy(p.steps, f.steps);
  copy(p.nests, f.nests);
  copy(p.loads, f.loads);
  copy(p.computes, f.computes);
  copy(p.reduces, f.reduces);
  copy(p.stores, f.stores);
  copy(p.buffers, f.buffers);
  copy(p.places, f.places);
  copy(p.copies, f.copies);
  copy(p.checks, f.checks);
  copy(p.bands, f.bands);
  copy(p.joined, f.joined);
  return f;
}

}  // namespace ebb::inline EBB_ABI
