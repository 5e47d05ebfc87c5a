// ebb/plan/onto.hpp — products that are added to an array as they are computed.
// SPDX-License-Identifier: BSL-1.0
//
// [note: products onto arrays]
// The gradient of a matrix that all steps of a loop multiply by is a sum of products: a product is computed, then a nest adds it to the sum
// so far. Its array is written once and read once for nothing else. So a nest that does nothing but add products to arrays of its shape
// becomes part of the products' steps, which add each tile as it leaves the registers. The array may be written over, as by a nest. Bits
// stay the same: the product is summed as before, then added. Steps in bands and in blocks of rows stay as they are: there the product
// is in a cache.
#pragma once

#include "../graph/graph.hpp"
#include "../op/arithmetic.hpp"
#include "../tensor/product_order.hpp"
#include "memory.hpp"

namespace ebb::inline EBB_ABI::detail {

class onto_planner {
 public:
  constexpr onto_planner(const graph& g, plan& p) : g_(g), p_(p) {}

  EBB_COLD constexpr void run() {
    bool any = false;
    for (const plan_step& s : p_.steps) any = any || may_add(s);
    if (!any) return;
    count_reads();
    for (int t = p_.steps.size() - 1; t >= 0; --t)
      if (p_.steps[t].nest >= 0 && find_sums(t)) replace(t);
  }

 private:
  /// Whether s is a product that is worth it: not of vectors, and not of matrices that fit into registers.
  constexpr bool may_add(const plan_step& s) const {
    if (s.nest >= 0 || s.what != kind::contract || s.onto >= 0) return false;
    const equation& e = g_.eq.data()[s.equation];
    if ((e.attr[0] & in_lanes) != 0 || (e.op->result != dtype::f32 && e.op->result != dtype::f64)) return false;
    const shape& r = g_.shapes.data()[e.shape];
    const int rows = r.e[r.rank - 2], columns = r.e[r.rank - 1];
    constexpr int least = 64;
    return columns != 1 && (rows < 0 || columns < 0 || rows * columns >= least);
  }
  constexpr void count_reads() {
    reads_ = vec<int>(p_.buffers.size(), 0);
    for (const plan_step& s : p_.steps) each_buffer(p_, s, [&](int b) { ++reads_[owner_of(p_.buffers, b)]; });
    for (const plan_copy& c : p_.copies) ++reads_[owner_of(p_.buffers, c.buffer)];
  }
  /// Whether step s takes turns with others.
  constexpr bool takes_turns(int s) const {
    for (const plan_band& b : p_.bands)
      if (s >= b.first && s < b.first + b.count) return true;
    return s >= p_.blocks.first && s < p_.blocks.first + p_.blocks.count;
  }
  /// A product and the array to which it is added.
  struct added {
    int product = -1, onto = -1, out = -1;  // a step, and buffers
  };
  /// Finds the sums that step t computes. Whether it does nothing else.
  constexpr bool find_sums(int t) {
    const nest& n = p_.nests.data()[p_.steps.data()[t].nest];
    sums_.shrink(0);
    if (n.reduces.count != 0 || n.loads.count != 2 * n.computes.count || n.stores.count != n.computes.count || takes_turns(t)) return false;
    for (int k = 0; k < g_.size(); ++k)
      if (p_.group_of[k] == t && g_.op(k).family != family_of<op::add>) return false;
    for (int c = n.computes.first; c < n.computes.first + n.computes.count; ++c) {
      const nest_compute& add = p_.computes.data()[c];
      const int a = array_in(n, add.in[0]), b = array_in(n, add.in[1]), out = result_in(n, add.to);
      if (a < 0 || b < 0 || out < 0) return false;
      if (const int s = product_in(n, b, t); s >= 0) sums_.push({s, a, out});
      else if (const int r = product_in(n, a, t); r >= 0) sums_.push({r, b, out});
      else return false;
    }
    return sums_.size() > 0;
  }
  static constexpr bool is_same(slot a, slot b) { return a.type == b.type && a.number == b.number; }
  /// The buffer of the nest's shape that is loaded into a slot, element after element; -1 if there is none.
  constexpr int array_in(const nest& n, slot to) const {
    for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i)
      if (const nest_load& x = p_.loads.data()[i]; is_same(x.to, to))
        return x.source == nest_load::from::array && x.along == (1 << n.loops) - 1 && x.view < 0 && p_.buffers[x.buffer].shape == n.shape
                   ? x.buffer : -1;
    return -1;
  }
  /// The buffer that takes a slot; -1: none, or it lies in another array.
  constexpr int result_in(const nest& n, slot from) const {
    for (int i = n.stores.first; i < n.stores.first + n.stores.count; ++i)
      if (const nest_store& x = p_.stores.data()[i]; is_same(x.from, from))
        return x.view < 0 && p_.buffers[x.buffer].is != plan_buffer::role::part ? x.buffer : -1;
    return -1;
  }
  /// The step before t that writes b, if it is a product that t alone reads; else -1.
  constexpr int product_in(const nest& n, int b, int t) const {
    if (p_.buffers[b].is != plan_buffer::role::temporary || p_.buffers[b].shape != n.shape || reads_[b] != 2) return -1;
    for (int s = 0; s < t; ++s)
      if (const plan_step& x = p_.steps.data()[s]; x.nest < 0 && x.out == b) return may_add(x) && !takes_turns(s) ? s : -1;
    return -1;
  }
  /// The products take the place of step t.
  constexpr void replace(int t) {
    vec<plan_step> steps;
    vec<int> number;  // of each step before, among the steps now
    for (int s = 0; s < p_.steps.size(); ++s) {
      number.push(steps.size());
      bool is_moved = false;
      for (const added& x : sums_) is_moved = is_moved || x.product == s;
      if (is_moved) continue;
      if (s != t) {
        steps.push(p_.steps[s]);
        continue;
      }
      for (const added& x : sums_) {
        plan_step product = p_.steps[x.product];
        p_.buffers[product.out].is = plan_buffer::role::unused;
        product.onto = x.onto;
        product.out = x.out;
        product.joined = {p_.joined.size(), 3};
        for (int b : {product.in[0], product.in[1], x.onto}) p_.joined.push(b);
        steps.push(product);
      }
    }
    int moved = 0;
    for (int& of : p_.group_of) {
      if (of < 0) continue;
      int now = number[of];
      for (int i = 0; i < sums_.size(); ++i)
        if (sums_[i].product == of) now = number[t] + i;
      if (of == t) now = number[t] + moved++;
      of = now;
    }
    for (plan_band& b : p_.bands) b.first = number[b.first];
    if (p_.blocks.count > 0) p_.blocks.first = number[p_.blocks.first];
    p_.steps.swap(steps);
  }

  const graph& g_;
  plan& p_;
  vec<int> reads_;  // how often steps read or write each buffer
  vec<added> sums_;  // of the present step
};

}  // namespace ebb::inline EBB_ABI::detail
