// ebb/plan/plan.hpp — makes a plan of a graph: steps in order, loop nests, numbered buffers, lifetimes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "band.hpp"
#include "columns.hpp"
#include "fuse.hpp"
#include "memory.hpp"
#include "onto.hpp"
#include "quotients.hpp"
#include "rows.hpp"
#include "sums_apart.hpp"

#include "../graph/box.hpp"
#include "../op/shaping.hpp"

#include <bit>

namespace ebb::inline EBB_ABI {

namespace detail {

class planner {
 public:
  EBB_COLD_CTOR constexpr explicit planner(const graph& g, bool sums_apart = false)
      : g_(g), fused_(fuse(g, sums_apart)), buffer_(g.size(), -1), stamp_(g.size(), -1) {
    at_ = vec<slot>(g.size(), slot{});
    p_.group_of = vec<int>(g.size(), -1);
    assign_results();
    for (int f : in_order()) {
      const group& x = fused_.groups[f];
      for (int k : x.members) p_.group_of[k] = p_.steps.size();
      if (x.whole >= 0) p_.group_of[x.whole] = p_.steps.size();
      if (x.whole >= 0) plan_whole(x.whole);
      else plan_nest(x);
    }
    band_planner(g_, p_).run();
    row_planner(g_, p_).run([&](int k) {
      if (const int x = viewed(g_, k); x != k) return x;
      if (fused_.is_view(k)) return g_.operand(k, 0);
      return g_.op(k).what == kind::broadcast && !fused_.stored[k] ? g_.operand(k, 0) : -1;
    });
    onto_planner(g_, p_).run();
    column_finder(g_, p_).run();
    memory_planner(p_).run();
    for (int k = 0; k < g_.size(); ++k) plan_checks(k);
  }
  constexpr plan take() { return static_cast<plan&&>(p_); }

 private:
  EBB_COLD constexpr vec<int> in_order() const {
    int top = -1;
    for (const group& x : fused_.groups)
      if (x.level > top) top = x.level;
    vec<vec<int>> by_level(top + 2, vec<int>{});
    for (int f = 0; f < fused_.groups.size(); ++f) by_level[fused_.groups[f].level + 1].push(f);
    vec<int> r;
    for (const vec<int>& level : by_level)
      for (int f : level) r.push(f);
    return r;
  }

  EBB_COLD constexpr void assign_results() {
    for (int o = 0; o < g_.out.size(); ++o) {
      const int k = viewed(g_, g_.out[o]);
      const op_info& op = g_.op(k);
      const bool in_loop = fused_.stored[k] && (op.what == kind::elementwise || op.what == kind::literal);
      const plan_buffer result{plan_buffer::role::result, o, op.result, g_.eq[k].shape};
      if (buffer_[k] < 0 && op.what != kind::input) buffer_[k] = p_.buffers.push(result);
      else if (in_loop) again_.push({p_.buffers.push(result), buffer_of(k)});
      else p_.copies.push({o, buffer_of(k)});
    }
  }
  /// The buffer of the equation whose memory k shows; a new temporary if it has none yet.
  EBB_COLD constexpr int buffer_of(int k) {
    k = viewed(g_, k);
    if (buffer_[k] >= 0) return buffer_[k];
    const equation& e = g_.eq[k];
    if (const array_part& x = fused_.part[k]; x.whole >= 0) {
      const int whole = buffer_of(x.whole);
      return buffer_[k] = p_.buffers.push({plan_buffer::role::part, -1, e.op->result, e.shape, row_use::none, whole, x.at});
    }
    const bool argument = e.op->what == kind::input;
    return buffer_[k] = p_.buffers.push({argument ? plan_buffer::role::argument : plan_buffer::role::temporary,
                                         argument ? static_cast<int>(e.attr[0]) : -1, e.op->result, e.shape});
  }

  /// The part that k is of another array, for a step that reads k where it lies: see [note: operands of products], [note: rows apart].
  EBB_COLD constexpr int view_of(int k) {
    if (view_.empty()) view_ = vec<int>(g_.size(), -1);
    if (view_[k] >= 0) return view_[k];
    plan_view v;
    find_view(g_, k, [&](int i) { return is_shown(i); }, v);
    const equation& e = g_.eq[k];
    const part_place at{.shape = e.shape, .whole = e.shape, .apart = true};
    const int whole = buffer_of(fused_.shown(g_, k));
    return view_[k] = p_.buffers.push({plan_buffer::role::part, -1, e.op->result, e.shape, row_use::none, whole, at, p_.views.push(v)});
  }
  /// The buffer of a product's result, with its strides if it is written in another array, rows apart.
  EBB_COLD constexpr int buffer_of_product(int k) {
    const int b = buffer_of(k);
    if (!fused_.part[k].at.apart) return b;
    plan_view v;
    find_strides(g_, fused_, k, v);
    p_.buffers[b].view = p_.views.push(v);
    return b;
  }

  constexpr void plan_whole(int k) {
    plan_step s;
    s.what = g_.op(k).what;
    s.equation = k;
    s.why = fused_.copies[k];
    const bool product = s.what == kind::contract, strides = product || joins_parts(g_.op(k));
    if (s.what != kind::loop) s.out = product ? buffer_of_product(k) : buffer_of(k);
    s.joined = {p_.joined.size(), g_.eq[k].count};
    for (int j = 0; j < g_.eq[k].count; ++j) {
      const int x = g_.operand(k, j), b = strides && fused_.is_shown_apart(g_, x) ? view_of(x) : buffer_of(x);
      if (j < 2) s.in[j] = b;
      p_.joined.push(b);
    }
    if (s.what == kind::loop) {
      s.made.first = p_.joined.size();
      each_result(g_, k, [&](int result) {
        p_.joined.push(buffer_of(result));
        p_.group_of[result] = p_.steps.size();
      });
      s.made.count = p_.joined.size() - s.made.first;
    }
    p_.steps.push(s);
  }

  /// Axes of the iteration space at which the group's arrays differ: each starts a loop.
  constexpr void find_loops(const group& x, nest& n) const {
    const int rank = g_.shapes[x.shape].rank;
    std::int64_t starts = 1;
    const auto boundary_at_changes = [&](std::int64_t mask) { starts |= mask ^ (mask << 1); };
    const equation* const eq = g_.eq.data();
    for (int k : x.members) {
      const equation& e = eq[k];
      const kind what = e.op->what;
      if (what == kind::broadcast) {
        boundary_at_changes(e.attr[0]);
        const int y = g_.operand(k, 0);
        if (plan_view v; finds_strides(y, v)) starts |= starts_of(g_, g_.shape_of(y), v, e.attr[0]);
        continue;
      }
      if (what == kind::reduce) starts |= std::int64_t{1} << e.attr[0] | std::int64_t{1} << e.attr[1];
      if (what == kind::index) starts |= std::int64_t{3} << e.attr[0];
      if (plan_view v; what == kind::elementwise && finds_strides(k, v)) starts |= starts_of(g_, g_.shape_of(k), v, 0);
      if (plan_view v; what == kind::move && find_joined_strides(g_, k, x.shape, v)) starts |= starts_of(g_, g_.shapes[x.shape], v, 0);
      const int* const in = g_.pool.data() + e.first;
      for (int j = 0; j < e.count; ++j) {
        const int i = what == kind::move ? piece_over(g_, k, j, x.shape) : in[j];
        const equation& operand = eq[i];
        const kind read = operand.op->what;
        if (read == kind::broadcast) boundary_at_changes(operand.attr[0]);
        else if (read == kind::index) starts |= std::int64_t{3} << operand.attr[0];
        const int y = is_read_repeated(i) ? g_.operand(i, 0) : i;
        if (plan_view v; finds_strides(y, v)) starts |= starts_of(g_, g_.shape_of(y), v, y == i ? 0 : operand.attr[0]);
      }
    }
    for (int axis = 0; axis < rank; ++axis)
      if (starts >> axis & 1) n.axis[n.loops++] = axis;
    n.axis[n.loops] = rank;
    if (rank == 0) n.loops = 1;  // one element is a loop of one
    for (int l = n.loops + 1; l <= max_rank; ++l) n.axis[l] = rank;
  }
  /// The strides along the loops of n of an array of shape s. An axis of extent 1 has no stride.
  EBB_COLD constexpr int strides_by_loop(const nest& n, const shape& s, const plan_view& v, std::int64_t repeated) {
    plan_view r;
    for (extent_product& x : r.along) x.factor = 0;
    for (int a = 0, axis = 0; a < s.rank; ++a, ++axis) {
      for (; repeated >> axis & 1;) ++axis;
      if (g_.syms.find(s.e[a]) == 1) continue;
      int l = 0;
      while (n.axis[l + 1] <= axis) ++l;
      r.along[l] = v.along[a];  // the last axis of the loop stays
      r.placed[l] = v.placed[a];
    }
    return p_.views.push(r);
  }
  /// Finds the strides of k if it lies in another array with other elements between its own. False if it does not.
  EBB_COLD constexpr bool finds_strides(int k, plan_view& v) const {
    if (fused_.is_shown_apart(g_, k)) return find_view(g_, k, [&](int i) { return is_shown(i); }, v);
    const int x = viewed(g_, k);
    if (!fused_.part.data()[x].at.apart || fused_.is_view(x)) return false;
    return find_strides(g_, fused_, x, v) && restride(g_, g_.shape_of(x), g_.shape_of(k), v);
  }
  constexpr bool is_shown(int k) const { return g_.op(k).what == kind::reshape || fused_.is_view(k); }
  /// Whether a nest reads the operand of k, a broadcast, instead of k.
  constexpr bool is_read_repeated(int k) const {
    return g_.op(k).what == kind::broadcast && !(p_.group_of[k] != step_ && fused_.stored[k]);
  }
  constexpr int loop_of_axis(const nest& n, int axis) const {
    for (int l = 0; l < n.loops; ++l)
      if (n.axis[l] >= axis) return l;
    return n.loops;
  }
  /// The loops along which an array varies that repeats along the axes `repeated`.
  constexpr int loops_along(const nest& n, std::int64_t repeated) const {
    int mask = 0;
    for (int l = 0; l < n.loops; ++l)
      if (n.axis[l + 1] > n.axis[l] ? !(repeated >> n.axis[l] & 1) : true) mask |= 1 << l;
    return mask;
  }

  constexpr slot new_slot(nest& n, int k, dtype type) {
    stamp_[k] = step_;
    return at_[k] = slot{type, n.slots[static_cast<int>(type)]++};
  }
  EBB_COLD constexpr slot load(nest& n, int k) {
    const equation& e = g_.eq[k];
    nest_load x;
    x.to = new_slot(n, k, e.op->result);
    if (e.op->what == kind::literal) x.source = nest_load::from::literal;
    else if (e.op->what == kind::index) {
      x.source = nest_load::from::index;
      x.along = 1 << loop_of_axis(n, static_cast<int>(e.attr[0]));
    } else {
      const bool repeats = is_read_repeated(k);
      const int y = repeats ? g_.operand(k, 0) : k;
      const std::int64_t repeated = repeats ? e.attr[0] : 0;
      x.along = loops_along(n, repeated);
      if (plan_view v; finds_strides(y, v)) x.view = strides_by_loop(n, g_.shape_of(y), v, repeated);
      if (fused_.is_placed_literal(g_, y)) x.source = nest_load::from::placed;
      else x.buffer = fused_.is_shown_apart(g_, y) ? view_of(y) : buffer_of(y);
    }
    const bool is_made = x.source == nest_load::from::literal || x.source == nest_load::from::placed;
    if (is_made) x.bits = static_cast<cell>(g_.eq[fused_.shown(g_, k)].attr[0]);
    p_.loads.push(x);
    return x.to;
  }
  constexpr slot operand_slot(nest& n, int k) { return stamp_.data()[k] == step_ ? at_.data()[k] : load(n, k); }

  EBB_COLD constexpr void plan_nest(const group& x) {
    step_ = p_.steps.size();
    nest n;
    n.shape = x.shape;
    find_loops(x, n);
    n.run_from = n.loops;
    n.loads.first = p_.loads.size(), n.computes.first = p_.computes.size();
    n.reduces.first = p_.reduces.size(), n.stores.first = p_.stores.size();
    exchange_ = exchanged_quotients(x, n);
    n.small = x.members.size() <= 16 && exchange_ == 0;
    for (int k : x.members) {
      const equation& e = g_.eq[k];
      if (e.op->what == kind::reduce) plan_reduce(n, k);
      else if (e.op->what == kind::move) store_joined(n, k);
      else {
        if (e.op->what == kind::elementwise) plan_compute(n, k);
        else load(n, k);
        if (fused_.stored[k]) store(n, k);
      }
      if (e.op->heavy && e.op->what == kind::elementwise) n.small = false;
    }
    n.loads.count = p_.loads.size() - n.loads.first, n.computes.count = p_.computes.size() - n.computes.first;
    n.reduces.count = p_.reduces.size() - n.reduces.first, n.stores.count = p_.stores.size() - n.stores.first;
    plan_step s;
    s.nest = p_.nests.push(n);
    p_.steps.push(s);
  }
  constexpr void store(const nest& n, int k) {
    nest_store x{at_[k], buffer_of(k), -1, {}};
    if (plan_view v; finds_strides(k, v)) x.view = strides_by_loop(n, g_.shape_of(k), v, 0);
    p_.stores.push(x);
    for (const plan_copy& c : again_)
      if (c.buffer == x.buffer) p_.stores.push({x.from, c.result, -1, {}});
  }
  EBB_COLD constexpr void store_joined(nest& n, int k) {
    nest_store x{{}, buffer_of(k), -1, {p_.joined.size(), g_.eq[k].count}};
    for (int j = 0; j < g_.eq[k].count; ++j) {
      x.from = operand_slot(n, piece_over(g_, k, j, n.shape));
      p_.joined.push(x.from.number);
    }
    plan_view v;
    find_joined_strides(g_, k, n.shape, v);
    x.view = strides_by_loop(n, g_.shapes[n.shape], v, 0);
    p_.stores.push(x);
  }
  EBB_COLD constexpr void plan_compute(nest& n, int k) {
    const equation& e = g_.eq.data()[k];
    const int* const in = g_.pool.data() + e.first;
    nest_compute c;
    c.vector = e.op->kernels.vector;
    c.block = e.op->kernels.block;
    c.scalar = e.op->scalar;
    c.count = e.count, c.heavy = e.op->heavy, c.branch_free = e.op->branch_free;
    for (int j = 0; j < e.count; ++j) c.in[j] = operand_slot(n, in[j]);
    if (exchange_ > 0 && e.op->kernels.divided && is_repeated(n, in[1])) {
      --exchange_;
      int load = n.loads.first;
      while (p_.loads[load].to.type != c.in[1].type || p_.loads[load].to.number != c.in[1].number) ++load;
      int& slots = n.slots[static_cast<int>(e.op->result)];
      slot& reciprocal = p_.loads[load].reciprocal;
      if (reciprocal.number < 0) reciprocal = {e.op->result, slots}, slots += 2;
      c.divided = e.op->kernels.divided;
      c.reciprocal = reciprocal;
    }
    c.to = new_slot(n, k, e.op->result);
    p_.computes.push(c);
  }
  /// Whether k is loaded as one number for each row of the nest: a literal, or an array that is repeated along rows.
  constexpr bool is_repeated(const nest& n, int k) const {
    const equation& e = g_.eq[k];
    if (e.op->what == kind::literal) return true;
    const bool stored = p_.group_of[k] != step_ && fused_.stored[k];
    return e.op->what == kind::broadcast && !stored && !(loops_along(n, e.attr[0]) >> (n.loops - 1) & 1);
  }
  /// How many of the group's quotients by repeated numbers are corrected products. Short rows have none.
  constexpr int exchanged_quotients(const group& x, const nest& n) const {
    constexpr int least_row = 64;
    if (n.loops == 0) return 0;
    int row = 1;  // 0: not known
    for (int a = n.axis[n.loops - 1]; a < n.axis[n.loops]; ++a) row *= std::max(g_.shapes[n.shape].e[a], 0);
    if (row > 0 && row < least_row) return 0;
    return quotients_to_exchange(g_, x.members, [&](int k) { return is_repeated(n, k); });
  }
  EBB_COLD constexpr void plan_reduce(nest& n, int k) {
    const equation& e = g_.eq[k];
    nest_reduce r;
    r.combine = e.op->kernels.vector;
    r.ordered = e.op->kernels.ordered;
    r.block = e.op->kernels.block;
    r.accumulate = e.op->kernels.accumulate;
    r.in = operand_slot(n, g_.operand(k, 0));
    r.type = e.op->result;
    r.identity = e.op->identity;
    r.buffer = buffer_of(k);
    r.first = loop_of_axis(n, static_cast<int>(e.attr[0]));
    r.last = loop_of_axis(n, static_cast<int>(e.attr[1]));
    r.run = e.attr[1] == g_.shapes[n.shape].rank;
    r.counts = e.op->family == family_of<op::sum> && size_of(r.type) >= 4 && is_one(g_.operand(k, 0));
    if (r.run) n.run_from = r.first;
    p_.reduces.push(r);
  }

  constexpr bool is_one(int k) const {
    return g_.op(k).what == kind::literal && with_dtype(g_.op(k).result, [&]<class T>(T) {
      return static_cast<cell>(g_.eq[k].attr[0]) == literal_bits<T>(1);
    });
  }

  /// Integers that are an argument in another shape, repeated or widened, are checked at the argument.
  constexpr int origin_of_places(int k) const {
    for (;;) {
      const op_info& op = g_.op(k);
      const bool widens = op.what == kind::elementwise && op.arity == 1 && op.result == dtype::i64 && op.operands[0] == dtype::i32;
      if (op.what != kind::reshape && op.what != kind::broadcast && !widens) return k;
      k = g_.operand(k, 0);
    }
  }
  EBB_COLD constexpr void plan_checks(int k) {
    const equation& e = g_.eq[k];
    if (e.op->needs_elements) {
      const shape& x = g_.shape_of(g_.operand(k, 0));
      part left = axes_dropped(e.op->what, e.attr, x.rank);
      while (left.count > 0 && x.e[left.first] > 0) ++left.first, --left.count;
      if (left.count > 0) p_.checks.push({k, -1, g_.eq[g_.operand(k, 0)].shape, 0, -1});
    }
    if (!e.op->names_places) return;
    if (is_box(*e.op)) return each_number_of_box(g_, k, [&](int j, int places, int box) { plan_check_of(k, j, places, box); });
    const int rows = g_.shape_of(e.op->what == kind::gather ? g_.operand(k, 0) : k).e[axis_of_places(e)];
    plan_check_of(k, e.op->what == kind::broadcast ? 0 : 1, rows, 1);
  }
  /// Operand j of k names places along an axis with the extent `places`, where something with the extent `box` begins.
  EBB_COLD constexpr void plan_check_of(int k, int j, int places, int box) {
    int named = g_.operand(k, j);
    const int origin = origin_of_places(named);
    if (g_.op(origin).what == kind::input) named = origin;
    const int buffer = buffer_of(named);
    for (const plan_check& c : p_.checks)
      if (c.buffer == buffer && c.places == places && c.box == box) return;
    p_.checks.push({k, buffer, g_.eq[named].shape, places, p_.group_of[fused_.shown(g_, named)], box});
  }
  constexpr int axis_of_places(const equation& e) const {
    return e.op->what == kind::broadcast ? std::countr_zero(static_cast<std::uint64_t>(e.attr[0])) : static_cast<int>(e.attr[0]);
  }

  const graph& g_;
  grouping fused_;
  plan p_;
  vec<int> buffer_, stamp_;
  vec<int> view_;  // the buffer of each equation as products read it; empty if there is none
  vec<plan_copy> again_;  // the buffers of results that a loop stores beside another buffer
  vec<slot> at_;
  int step_ = -1, exchange_ = 0;  // exchange_: divisions that are still to be exchanged in the present nest
};

}  // namespace detail

EBB_COLD constexpr plan make_plan(const graph& g) {
  plan p = detail::planner(g).take();
  const std::int64_t outside = detail::sums_beside_stores(g, p) ? detail::volume_outside_blocks(g, p) : 0;
  if (outside == 0) return p;
  if (plan apart = detail::planner(g, true).take(); detail::volume_outside_blocks(g, apart) < outside) return apart;
  return p;
}

}  // namespace ebb::inline EBB_ABI
