// ebb/plan/frozen.hpp — a plan as a constant; see [note: one constant per stage].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "plan.hpp"

#include <array>

namespace ebb::inline EBB_ABI {

struct plan_size {
  int steps = 0, nests = 0, loads = 0, computes = 0, reduces = 0, stores = 0, buffers = 0, places = 0, copies = 0, checks = 0, bands = 0,
      joined = 0;

  constexpr bool holds(const plan_size& s) const {
    return s.steps <= steps && s.nests <= nests && s.loads <= loads && s.computes <= computes && s.reduces <= reduces &&
           s.stores <= stores && s.buffers <= buffers && s.places <= places && s.copies <= copies && s.checks <= checks &&
           s.bands <= bands && s.joined <= joined;
  }
  /// A guess for a graph of this many equations: more, and the plan is made twice.
  static constexpr plan_size room_for(int equations) {
    const int all = equations + 16, some = equations / 4 + 16;
    return {some, some, all, all, some, some, some, some, some, some, some, some};
  }
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

/// p: a plan, or a frozen one. `used`: how much of it there is.
template <plan_size Size>
constexpr frozen_plan<Size> freeze(const auto& p, const plan_size& used = Size) {
  frozen_plan<Size> f;
  const auto copy = [](auto from, auto to, int count) {
    for (int i = 0; i < count; ++i) to[i] = from[i];
  };
  copy(p.steps.data(), f.steps.data(), used.steps);
  copy(p.nests.data(), f.nests.data(), used.nests);
  copy(p.loads.data(), f.loads.data(), used.loads);
  copy(p.computes.data(), f.computes.data(), used.computes);
  copy(p.reduces.data(), f.reduces.data(), used.reduces);
  copy(p.stores.data(), f.stores.data(), used.stores);
  copy(p.buffers.data(), f.buffers.data(), used.buffers);
  copy(p.places.data(), f.places.data(), used.places);
  copy(p.copies.data(), f.copies.data(), used.copies);
  copy(p.checks.data(), f.checks.data(), used.checks);
  copy(p.bands.data(), f.bands.data(), used.bands);
  copy(p.joined.data(), f.joined.data(), used.joined);
  return f;
}

/// The plan of G::g as a constant, made once if its size can be guessed: see [note: one constant per stage].
template <class G>
class planned {
  static constexpr plan_size room = plan_size::room_for(G::g.size());
  struct attempt {
    plan_size size;
    frozen_plan<room> p;
    constexpr explicit attempt(const plan& made) : size(size_of(made)) {
      if (room.holds(size)) p = freeze<room>(made, size);
    }
  };
  static constexpr attempt first{make_plan(G::g.thaw())};

 public:
  static constexpr frozen_plan<first.size> p = [] {
    if constexpr (room.holds(first.size)) return freeze<first.size>(first.p);
    else return freeze<first.size>(make_plan(G::g.thaw()));
  }();
};

}  // namespace ebb::inline EBB_ABI
