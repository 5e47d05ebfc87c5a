// ebb/plan/band.hpp — steps that take turns on some rows of a matrix at a time.
// SPDX-License-Identifier: BSL-1.0
//
// [note: bands of rows]
// The gradient of a linear model reads its matrix twice: y = X w, something of each y, then X^T g. If X is larger than the first-level
// cache, these steps take turns: each runs on so many rows that X is still in the cache when the next one reads it. Every sum keeps its
// order: the sum of X^T g continues where the band before ended, and bands begin at multiples of the logical lanes.
// A step between the two products is a member of the band if it reads its rows one by one, where they are: not row i + 1, nor the rows in
// reverse order, which a later turn computes. A step that reads a sum over all rows runs after the band; a step that needs none of its
// results runs before it.
#pragma once

#include "../graph/graph.hpp"
#include "../num/precision.hpp"
#include "../tensor/product_order.hpp"
#include "step.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The bytes of a matrix that stay in the first-level cache. A matrix of known size that is no larger needs no band.
inline constexpr std::size_t banded_bytes = 28 * 1024;

class band_planner {
 public:
  constexpr band_planner(const graph& g, plan& p) : g_(g), p_(p) {}

  EBB_COLD constexpr void run() {
    for (int s = 0; s < p_.steps.size(); ++s)
      if (is_product(p_.steps[s], false) && is_worth_it(p_.steps[s]))
        for (int t = s + 1; t < p_.steps.size(); ++t)
          if (is_product(p_.steps[t], true) && p_.steps[t].in[0] == p_.steps[s].in[0]) {
            if (join(s, t)) s = t;
            break;
          }
  }

 private:
  /// The state of a buffer while the band runs.
  enum class state : char { whole, rows, late };
  constexpr void reaches(int b, state s) {
    if (state& x = state_[owner_of(p_.buffers, b)]; x < s) x = s;
  }
  constexpr state state_of(int b) const { return state_[owner_of(p_.buffers, b)]; }

  /// X w, or X^T g. A sum over rows can continue in the next band if it is a chain, see [note: order of a product].
  constexpr bool is_product(const plan_step& s, bool transposed) const {
    if (s.nest >= 0 || s.what != kind::contract) return false;
    const equation& e = g_.eq[s.equation];
    const dtype type = e.op->result;
    const shape &x = g_.shape_of(g_.operand(s.equation, 0)), &r = g_.shapes[e.shape];
    return p_.buffers[s.in[0]].view < 0 && type != dtype::f16 && type != dtype::bf16 && x.rank == 2 && r.rank == 2 && r.e[1] == 1 &&
           ((e.attr[0] & left_transposed) != 0) == transposed && !(transposed && (e.attr[0] & in_lanes));
  }
  constexpr bool is_worth_it(const plan_step& s) const {
    const plan_buffer& x = p_.buffers[s.in[0]];
    const shape& e = g_.shapes[x.shape];
    return e.e[0] < 0 || e.e[1] < 0 || static_cast<std::size_t>(e.e[0]) * static_cast<std::size_t>(e.e[1]) * size_of(x.type) > banded_bytes;
  }

  EBB_COLD constexpr bool join(int first, int last) {
    const int matrix = p_.steps[first].in[0];
    rows_ = g_.shapes[p_.buffers[matrix].shape].e[0];
    state_ = vec<state>(p_.buffers.size(), state::whole);
    vec<int> before, members, after;
    for (int s = first; s <= last; ++s) {
      const plan_step& x = p_.steps[s];
      const state least = least_complete(x);
      const bool sums = s == last && least != state::late && state_of(x.in[0]) == state::whole &&
                        (state_of(x.in[1]) == state::whole || has_own_rows(x.in[1]));
      if (s == first || sums) {
        members.push(s);
        reaches(x.out, s == first ? state::rows : state::late);
      } else if (least != state::late && takes_rows(x)) {
        members.push(s);
        mark(x, state::rows, state::late);
      } else if (least == state::whole) {
        before.push(s);
      } else {
        after.push(s);
        mark(x, state::late, state::late);
      }
    }
    if (members[members.size() - 1] != last) return false;
    for (int s : members)
      if (p_.steps[s].nest >= 0) p_.nests[p_.steps[s].nest].banded = true;
    p_.bands.push({first + before.size(), members.size(), p_.buffers[matrix].shape});
    for (const vec<int>* part : {&members, &after})
      for (int s : *part) before.push(s);
    reorder(first, before);
    return true;
  }
  /// Whether row i of b is row i of the array in memory. A part may begin at another row, or have its rows in reverse order.
  constexpr bool has_own_rows(int b) const { return p_.buffers[b].is != plan_buffer::role::part; }
  constexpr state least_complete(const plan_step& s) const {
    state r = state::whole;
    const auto see = [&](int b) {
      if (b >= 0 && state_of(b) > r) r = state_of(b);
    };
    if (s.nest < 0)
      for (int j = 0; j < s.joined.count; ++j) see(p_.joined[s.joined.first + j]);
    else
      for (int i = 0; i < p_.nests[s.nest].loads.count; ++i) see(p_.loads[p_.nests[s.nest].loads.first + i].buffer);
    return r;
  }
  constexpr bool takes_rows(const plan_step& s) const {
    if (s.nest < 0) return false;
    const nest& n = p_.nests[s.nest];
    const shape& x = g_.shapes[n.shape];
    if (n.loops != 1 || x.rank != 1 || g_.syms.find(x.e[0]) != g_.syms.find(rows_)) return false;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& l = p_.loads[n.loads.first + i];
      if (l.buffer >= 0 && (l.along == 0 || !has_own_rows(l.buffer)) && state_of(l.buffer) != state::whole) return false;
    }
    return true;
  }
  /// The states of the buffers that a step stores and reduces to.
  constexpr void mark(const plan_step& s, state stored, state reduced) {
    if (s.nest < 0) {
      for (int j = 0; j < s.made.count; ++j) reaches(p_.joined[s.made.first + j], stored);
      if (s.out >= 0) reaches(s.out, stored);
      return;
    }
    const nest& n = p_.nests[s.nest];
    for (int i = 0; i < n.stores.count; ++i) reaches(p_.stores[n.stores.first + i].buffer, stored);
    for (int i = 0; i < n.reduces.count; ++i) reaches(p_.reduces[n.reduces.first + i].buffer, reduced);
  }
  constexpr void reorder(int first, const vec<int>& order) {
    vec<plan_step> steps;
    vec<int> number(p_.steps.size(), -1);
    for (int i = 0; i < order.size(); ++i) {
      steps.push(p_.steps[order[i]]);
      number[order[i]] = first + i;
    }
    for (int i = 0; i < order.size(); ++i) p_.steps[first + i] = steps[i];
    for (int& k : p_.group_of)
      if (k >= 0 && number[k] >= 0) k = number[k];
  }

  const graph& g_;
  plan& p_;
  int rows_ = 0;
  vec<state> state_;
};

}  // namespace ebb::inline EBB_ABI::detail
