// ebb/plan/frozen.hpp — a plan as a constant; see [note: one constant per stage].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "plan.hpp"

#include "../graph/frozen.hpp"

#include <array>

namespace ebb::inline EBB_ABI {

/// f(x.steps...), and so on for all lists of plans, of frozen plans and of their sizes.
constexpr void each_list(auto&& f, auto&... x) {
  f(x.steps...);
  f(x.nests...);
  f(x.loads...);
  f(x.computes...);
  f(x.reduces...);
  f(x.stores...);
  f(x.buffers...);
  f(x.places...);
  f(x.copies...);
  f(x.checks...);
  f(x.bands...);
  f(x.views...);
  f(x.columns...);
  f(x.blocks...);
  f(x.joined...);
}

struct plan_size {
  int steps = 0, nests = 0, loads = 0, computes = 0, reduces = 0, stores = 0, buffers = 0, places = 0, copies = 0, checks = 0, bands = 0,
      views = 0, columns = 0, blocks = 0, joined = 0;

  constexpr bool holds(const plan_size& s) const {
    bool all = true;
    each_list([&](int room, int needed) { all = all && needed <= room; }, *this, s);
    return all;
  }
  constexpr bool is_long() const { return loads >= 400; }
  static constexpr plan_size none() { return {}; }
  /// An estimate for the plan of g, a graph or a frozen one. In most programs an equation outside of loops begins at most two nests.
  static constexpr plan_size room_for(const auto& g) {
    const equation* const eq = g.eq.data();
    int boundaries = 0, arguments = 0, products = 0, moves = 0;
    plan_size r;
    for (int k = 0; k < g.size(); ++k) {
      const op_info& op = *eq[k].op;
      if (op.names_places || op.needs_elements) r.checks += op.what == kind::own ? eq[k].count : 1;
      if (op.what == kind::input) ++arguments;
      else if (op.what == kind::elementwise) {
        ++r.computes;
        r.loads += eq[k].count;
      } else if (op.what != kind::literal && op.what != kind::index) {
        ++boundaries;
        if (op.what == kind::reduce) ++r.reduces;
        else r.joined += eq[k].count;
        if (op.what == kind::contract) products += 3;
        if (op.what == kind::move) ++moves;
      }
    }
    const int outs = static_cast<int>(g.out.size()), some = 2 * boundaries + 16;
    r.steps = r.nests = r.places = r.bands = some;
    r.blocks = 2;
    r.loads += some;
    if (moves > 0) {
      r.views = products + moves;
      r.columns = moves;
    }
    r.stores = r.copies = some + outs;
    r.buffers = some + outs + arguments;
    return r;
  }
};

constexpr plan_size size_of(const plan& p) {
  plan_size r;
  each_list([](int& n, const auto& list) { n = list.size(); }, r, p);
  return r;
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
  items<plan_view, Size.views> views{};
  items<nest_columns, Size.columns> columns{};
  items<part, Size.blocks> blocks{};
  items<int, Size.joined> joined{};
  int row_symbol = 0;

  template <plan_size Less>
  constexpr frozen_plan<Less> cut_to() const {
    frozen_plan<Less> r;
    each_list([](auto& to, const auto& from, int n) {
      for (int i = 0; i < n; ++i) to.data()[i] = from.data()[i];
    }, r, *this, Less);
    r.row_symbol = row_symbol;
    return r;
  }
};

template <plan_size Size>
constexpr frozen_plan<Size> freeze(const plan& p) {
  frozen_plan<Size> r;
  each_list([](auto& to, const auto& from) {
    for (int i = 0; i < from.size(); ++i) to.data()[i] = from.data()[i];
  }, r, p);
  r.row_symbol = p.row_symbol;
  return r;
}

/// Makes the plan of the constant G::g, to be frozen.
template <class G>
struct plan_of {
  static constexpr plan_size room = plan_size::room_for(G::g);
  static constexpr plan make() { return make_plan(G::g.thaw()); }
};

}  // namespace ebb::inline EBB_ABI
