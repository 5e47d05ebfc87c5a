// ebb/plan/onto.hpp — products that are added to an array as they are computed.
// SPDX-License-Identifier: BSL-1.0
//
// [note: products onto arrays]
// The gradient of a matrix that all steps of a loop multiply by is a sum of products: a product is computed, then a nest adds it to the sum
// so far. The product's array is written once, and read once by that nest. So a nest that does nothing but add products to arrays of its
// shape becomes part of the products' steps, which add each tile as it leaves the registers. The array may be written over, as by a nest.
// Bits stay the same: the product is summed as before, then added. Steps in bands and in blocks of rows stay as they are: there the product
// is in a cache. The gradient of a matrix that a batch shares is a batch of products, summed along the batch. A nest that does nothing but
// this sum becomes part of the product's step, too: each product is added to the sum so far, in their order, from 0. The batch is never in
// memory.
#pragma once

#include "../graph/graph.hpp"
#include "../op/arithmetic.hpp"
#include "../op/shaping.hpp"
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
    find_products();
    sums_what_ = vec<char>(p_.steps.size(), 0);
    for (int t = 0; t < p_.steps.size(); ++t)
      if (p_.steps.data()[t].nest >= 0) sums_what_[t] = find_sums(t) ? of_arrays : find_sum_of_batch(t) ? of_batch : none;
    if (sums_.empty()) return;
    for (int k = 0; k < g_.size(); ++k)
      if (const int t = p_.group_of.data()[k]; t >= 0 && sums_what_.data()[t] != none) check_op(t, k);
    replace();
  }

 private:
  /// Whether s is a product that is worth it: not of vectors, and not of matrices that fit into registers.
  constexpr bool may_add(const plan_step& s) const {
    if (s.nest >= 0 || s.what != kind::contract || s.onto >= 0) return false;
    const equation& e = g_.eq.data()[s.equation];
    if ((e.attr[0] & in_lanes) != 0 || (e.op->result != dtype::f32 && e.op->result != dtype::f64)) return false;
    const shape& r = g_.shapes.data()[e.shape];
    return r.e[r.rank - 1] != 1 && has_elements(r, 64);
  }
  /// Whether the matrices of s have so many elements, or as many as only the call knows.
  static constexpr bool has_elements(const shape& s, int least) {
    const int rows = s.e[s.rank - 2], columns = s.e[s.rank - 1];
    return rows < 0 || columns < 0 || std::int64_t{rows} * columns >= least;
  }
  /// Counts how often steps read or write each buffer, and finds the products that write them.
  constexpr void find_products() {
    uses_ = vec<int>(p_.buffers.size(), 0);
    product_ = vec<int>(p_.buffers.size(), -1);
    for (int s = 0; s < p_.steps.size(); ++s) {
      const plan_step& x = p_.steps.data()[s];
      each_buffer(p_, x, [&](int b) { ++uses_[owner_of(p_.buffers, b)]; });
      if (may_add(x) && !takes_turns(s)) product_[x.out] = s;
    }
    for (const plan_copy& c : p_.copies) ++uses_[owner_of(p_.buffers, c.buffer)];
  }
  /// Whether step s takes turns with others.
  constexpr bool takes_turns(int s) const {
    for (const plan_band& b : p_.bands)
      if (s >= b.first && s < b.first + b.count) return true;
    return run_with(p_.blocks, p_.blocks.size(), s) >= 0;
  }
  /// A product and the array to which it is added.
  struct added {
    int product = -1, onto = -1, out = -1;  // a step, and buffers
    int in_place_of = -1;                   // the step that adds them
    part summed{};                          // the axes along which a batch is summed; onto is -1 then
  };
  /// Finds the sums that step t computes. False if it computes something else; `run` looks at the ops.
  constexpr bool find_sums(int t) {
    const nest& n = p_.nests.data()[p_.steps.data()[t].nest];
    const int before = sums_.size();
    if (n.reduces.count != 0 || n.loads.count != 2 * n.computes.count || n.stores.count != n.computes.count || takes_turns(t)) return false;
    for (int c = n.computes.first; c < n.computes.first + n.computes.count; ++c) {
      const nest_compute& add = p_.computes.data()[c];
      const int a = array_in(n, add.in[0]), b = array_in(n, add.in[1]), out = result_in(n, add.to);
      const bool second = b >= 0 && is_product(n, b);
      if (a < 0 || b < 0 || out < 0 || (!second && !is_product(n, a))) {
        sums_.shrink(before);
        return false;
      }
      if (second) sums_.push({product_[b], a, out, t});
      else sums_.push({product_[a], b, out, t});
    }
    return sums_.size() > before;
  }
  /// Finds the product whose batch step t sums. False if it does something else; `run` looks at the op.
  constexpr bool find_sum_of_batch(int t) {
    const nest& n = p_.nests.data()[p_.steps.data()[t].nest];
    if (n.reduces.count != 1 || n.loads.count != 1 || n.computes.count != 0 || n.stores.count != 0 || takes_turns(t)) return false;
    const nest_reduce& r = p_.reduces.data()[n.reduces.first];
    const int b = array_in(n, r.in);
    if (b < 0 || !is_product(n, b) || r.run || p_.buffers[r.buffer].is == plan_buffer::role::part) return false;
    if (!has_elements(g_.shapes.data()[n.shape], 256)) return false;  // below, a batch of products and its sum take less time
    sums_.push({product_[b], -1, r.buffer, t});
    return true;
  }
  /// Equation k of step t adds, or sums along a batch; else the step stays as it is.
  constexpr void check_op(int t, int k) {
    const equation& e = g_.eq.data()[k];
    if (sums_what_[t] == of_arrays) {
      if (e.op->family != family_of<op::add>) sums_what_[t] = none;
      return;
    }
    const int rank = e.op->family == family_of<op::sum> ? g_.shape_of(g_.operand(k, 0)).rank : 0;
    if (e.attr[1] > rank - 2) sums_what_[t] = none;
    for (added& x : sums_)
      if (x.in_place_of == t) x.summed = {static_cast<int>(e.attr[0]), static_cast<int>(e.attr[1] - e.attr[0])};
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
  /// Whether b is a product of the nest's shape that this nest alone reads.
  constexpr bool is_product(const nest& n, int b) const {
    return product_[b] >= 0 && p_.buffers[b].is == plan_buffer::role::temporary && p_.buffers[b].shape == n.shape && uses_[b] == 2;
  }
  /// The products take the places of the steps that add them.
  constexpr void replace() {
    vec<char> is_moved(p_.steps.size(), 0);
    for (const added& x : sums_)
      if (sums_what_[x.in_place_of]) is_moved[x.product] = 1;
    vec<plan_step> steps;
    vec<int> number;  // of each step before, among the steps now
    const added* x = sums_.begin();
    for (int s = 0; s < p_.steps.size(); ++s) {
      number.push(steps.size());
      if (is_moved[s]) continue;
      if (!sums_what_[s]) steps.push(p_.steps[s]);
      for (; x != sums_.end() && x->in_place_of == s; ++x) {
        if (!sums_what_[s]) continue;
        plan_step product = p_.steps[x->product];
        p_.buffers[product.out].is = plan_buffer::role::unused;
        p_.buffers[product.out].rows = row_use::none;
        product.onto = x->onto;
        product.out = x->out;
        product.summed = x->summed;
        if (x->onto >= 0) {
          product.joined = {p_.joined.size(), 3};
          for (int b : {product.in[0], product.in[1], x->onto}) p_.joined.push(b);
        }
        number[x->product] = steps.size();
        steps.push(product);
      }
    }
    for (plan_band& b : p_.bands) b.first = number[b.first];
    for (part& run : p_.blocks) run.first = number[run.first];
    for (plan_step& s : steps)
      if (s.repeats >= 0) s.repeats = number[s.repeats];
    for (int& of : p_.group_of)
      if (of >= 0) of = sums_what_[of] ? number[of]++ : number[of];
    p_.steps.swap(steps);
  }

  const graph& g_;
  plan& p_;
  vec<int> uses_;      // how often steps read or write each buffer
  vec<int> product_;   // the step that writes it, if it is a product that may add; else -1
  vec<added> sums_;    // in the order of the steps that add
  enum : char { none, of_arrays, of_batch };
  vec<char> sums_what_;  // each step, if it adds products, or sums a batch of them, and does nothing else
};

}  // namespace ebb::inline EBB_ABI::detail
