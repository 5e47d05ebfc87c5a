// ebb/pass/hoist.hpp — values that are the same in all steps of a loop are computed once, ahead of it.
// SPDX-License-Identifier: BSL-1.0
//
// [note: hoisted out of loops]
//   fixed      an equation of a body that depends on wholes and literals alone: it has the same value in each step
//   costly     a fixed equation that a step would pay for: a product, a reduction, a heavy function, elements of a whole that move; and all
//              fixed equations that depend on one. Moved literals are written as quickly as a hoisted array of them is read. Slices,
//              reshapes and broadcasts are read where they lie, and other functions cost little more than the load of their result, which
//              a large result would make a load from a slower cache.
//   hoisted    a costly equation that others read, which are not fixed. It is computed around the loop, and becomes a whole.
// A product with the transpose of a fixed matrix reads rows where its kernel wants columns, so the kernel packs them in each step. The
// transpose is hoisted instead, and takes as much memory as the matrix while the loop runs. Products of vectors are summed along rows:
// they read the matrix as it is.
//
// Inner loops come first: what they hoist is an equation of the outer body, and may be hoisted from there. Loops of one step and guarded
// loops, which may not run at all, keep their equations. Equations that may refuse a call stay where they are: a loop without steps
// refuses nothing. Bits stay the same: the equations are the same, and the order of a product's sums does not depend on how its operands
// lie. Large products by LAPACK are the exception: their order is the library's.
#pragma once

#include "prune.hpp"

#include "../graph/loop.hpp"
#include "../op/contract.hpp"
#include "../op/move.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

constexpr graph hoist(graph g);

namespace detail {

/// The body of a loop, and the same without the hoisted equations.
class hoisted_body {
 public:
  constexpr hoisted_body(const graph& body, const loop_parts& parts)
      : body_(body), fixed_(body.size(), 0), of_whole_(body.size(), 0), costly_(body.size(), 0), seen_(body.size(), 0),
        turned_(body.size(), -1) {
    for (int k = 0; k < body.size(); ++k) see(k, parts);
    for (int k = 0; k < body.size(); ++k) {
      if (fixed_[k]) continue;
      if (turns(k)) turned_[body.operand(k, 1)] = 0;
      for (int j = 0; j < body.eq[k].count; ++j)
        if (j != 1 || !turns(k)) need(body.operand(k, j));
    }
    for (int o : body.out)
      if (o >= 0) need(o);
  }

  /// Calls f(k, turned) for each equation k that becomes a whole, or whose transpose does.
  constexpr void each_hoisted(auto&& f) const {
    for (int k = 0; k < body_.size(); ++k) {
      if (seen_[k] && costly_[k]) f(k, false);
      if (turned_[k] >= 0) f(k, true);
    }
  }
  constexpr bool any() const {
    bool r = false;
    each_hoisted([&](int, bool) { r = true; });
    return r;
  }
  constexpr bool is_fixed(int k) const { return fixed_[k] != 0; }

  /// The body with further arguments after its own, in the order of each_hoisted.
  constexpr graph rest() {
    graph r = shell_of(body_);
    vec<int> at(body_.size(), -1);
    each_hoisted([&](int k, bool turned) {
      (turned ? turned_ : at)[k] = body_.op(k).kit->input(r, turned ? transposed_shape(r, body_.shape_of(k)) : body_.eq[k].shape, r.inputs);
      ++r.inputs;
    });
    for (int k = 0; k < body_.size(); ++k) {
      if (at[k] >= 0) continue;
      if (!turns(k)) {
        at[k] = r.append_renumbered(body_, k, at.data());
        continue;
      }
      equation e = body_.eq[k];
      e.attr[0] &= ~right_transposed;
      const int in[] = {at[body_.operand(k, 0)], turned_[body_.operand(k, 1)]};
      at[k] = r.append(e, {in, 2});
    }
    r.out = outputs_at(body_, at);
    return prune(r);
  }
  static constexpr int transposed_shape(graph& g, shape s) {
    std::swap(s.e[s.rank - 2], s.e[s.rank - 1]);
    return g.intern(s);
  }

 private:
  constexpr void see(int k, const loop_parts& parts) {
    const equation& e = body_.eq[k];
    const op_info& op = *e.op;
    if (op.what == kind::input) {
      const int number = static_cast<int>(e.attr[0]);
      fixed_[k] = of_whole_[k] = !parts.is_carry(number) && !parts.is_row(number);
      return;
    }
    bool fixed = is_kind_of_fixed(op.what) && !op.needs_elements && !op.names_places, costly = false;
    for (int i : body_.operands(k)) {
      fixed = fixed && fixed_[i];
      of_whole_[k] = of_whole_[k] || of_whole_[i];
      costly = costly || costly_[i];
    }
    costly = costly || is_costly(k);
    fixed_[k] = fixed;
    costly_[k] = fixed && costly && e.count > 0 && !spreads(k);
  }
  static constexpr bool is_kind_of_fixed(kind what) {
    return what == kind::literal || what == kind::index || what == kind::elementwise || what == kind::broadcast ||
           what == kind::reduce || what == kind::contract || what == kind::reshape || what == kind::move;
  }
  constexpr bool is_costly(int k) const {
    const op_info& op = body_.op(k);
    return op.what == kind::reduce || op.what == kind::contract || (op.what == kind::elementwise && op.heavy) ||
           (op.what == kind::move && op.family != family_of<op::slice> && of_whole_[k]);
  }
  /// Whether k, or an operand of it, repeats elements along an axis: then its result is larger than what it is computed from.
  constexpr bool spreads(int k) const {
    if (body_.op(k).what == kind::broadcast) return true;
    if (body_.op(k).what == kind::contract || body_.op(k).what == kind::reduce) return false;
    for (int i : body_.operands(k))
      if (spreads_from_array(i)) return true;
    return false;
  }
  constexpr bool spreads_from_array(int i) const {
    while (body_.op(i).what == kind::reshape) i = body_.operand(i, 0);
    return body_.op(i).what == kind::broadcast && body_.shape_of(body_.operand(i, 0)).rank > 0;
  }
  /// Whether k is a product with the transpose of a fixed matrix that is worth a copy.
  constexpr bool turns(int k) const {
    const equation& e = body_.eq[k];
    if (e.op->what != kind::contract || fixed_[k] || !fixed_[body_.operand(k, 1)]) return false;
    if (!(e.attr[0] & right_transposed) || e.attr[0] & in_lanes || (e.op->result != dtype::f32 && e.op->result != dtype::f64)) return false;
    const shape& s = body_.shape_of(body_.operand(k, 1));
    const int rows = s.e[s.rank - 2], columns = s.e[s.rank - 1];
    constexpr int least = 64;  // elements: the kernels of smaller matrices turn them in registers
    return rows < 0 || columns < 0 || (rows > 1 && columns > 1 && std::int64_t{rows} * columns >= least);
  }
  /// x is read in each step: it is hoisted, or what it is made of.
  constexpr void need(int x) {
    if (!fixed_[x] || seen_[x]) return;
    seen_[x] = 1;
    if (costly_[x]) return;
    for (int i : body_.operands(x)) need(i);
  }

  const graph& body_;
  vec<char> fixed_, of_whole_, costly_, seen_;
  vec<int> turned_;  // the argument that is the transpose of an equation; before `rest` 0, and -1 for none
};

/// Copies a graph, with its loops as `rest` leaves them.
class hoister {
 public:
  constexpr explicit hoister(const graph& g) : g_(g), r_(shell_without_subs(g)), at_(g.size(), -1) {
    for (int k = 0; k < g.size(); ++k) {
      const equation& e = g.eq[k];
      if (e.op->what == kind::loop) at_[k] = loop(k);
      else {
        at_[k] = r_.append_renumbered(g, k, at_.data());
        if (e.sub >= 0) r_.eq.back().sub = add_sub(r_.subs, g.subs[e.sub]);
      }
    }
    r_.out = outputs_at(g, at_);
  }
  constexpr graph take() { return static_cast<graph&&>(r_); }

 private:
  constexpr int loop(int k) {
    equation e = g_.eq[k];
    const loop_parts parts = loop_parts::of(e);
    const graph body = hoist(g_.subs[e.sub]);
    vec<int> in = renumbered(g_, k, at_);
    const bool repeats = parts.open || (!parts.guarded && g_.shapes[e.shape].e[0] != 1);
    if (hoisted_body rest(body, parts); repeats && rest.any()) {
      const vec<int> symbol = symbols_in(r_, body, [&](const extent_origin& o) { return extent_around(r_, in[o.a], parts, o); });
      vec<int> at(body.size(), -1);
      const auto shape_here = [&](const shape& s) { return r_.intern(shape_in(r_, s, symbol)); };
      for (int i = 0; i < body.size(); ++i) {
        if (!rest.is_fixed(i)) continue;
        if (body.op(i).what == kind::input) at[i] = in[static_cast<int>(body.eq[i].attr[0])];
        else {
          equation x = body.eq[i];
          x.shape = shape_here(body.shape_of(i));
          at[i] = r_.add(x, range_of(renumbered(body, i, at)));
        }
      }
      rest.each_hoisted([&](int i, bool turned) {
        const int rank = body.shape_of(i).rank;
        int axes[max_rank] = {};
        for (int a = 0; a < rank; ++a) axes[a] = a < rank - 2 ? a : 2 * rank - 3 - a;
        in.push(turned ? body.op(i).kit->permute(r_, at[i], axes) : at[i]);
      });
      e.sub = add_sub(r_.subs, rest.rest());
    } else e.sub = add_sub(r_.subs, body);
    return r_.append(e, range_of(in));
  }

  const graph& g_;
  graph r_;
  vec<int> at_;
};

}  // namespace detail

/// g with what its loops compute in each step from wholes alone ahead of them: see [note: hoisted out of loops].
constexpr graph hoist(graph g) {
  for (const equation& e : g.eq)
    if (e.op->what == kind::loop) return prune(detail::hoister(g).take());
  return g;
}

}  // namespace ebb::inline EBB_ABI
