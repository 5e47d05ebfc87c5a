// ebb/plan/work.hpp — the bytes and operations of a plan's steps, counted from the plan.
// SPDX-License-Identifier: BSL-1.0
//
// [note: counted work]
// The count assumes that a step reads each array that it uses once and writes each of its results once: it is the least traffic, and
// ignores caches. A gather reads each row that an index names once; what lies in a result already is neither read nor written by the step
// that joins it, and an operand of a product that repeats along batches counts once. An operation is one element of an equation: a sum of
// n elements is n operations, a product of matrices is 2 m n k. An element of exp, log and the like counts as `operations_of_heavy`: about
// the length of their polynomials.
#pragma once

#include "plan.hpp"

#include "../base/probe.hpp"
#include "../op/contract.hpp"

namespace ebb::inline EBB_ABI {

/// The number of operations that an element of exp, tanh and the like counts as.
inline constexpr double operations_of_heavy = 16;

/// A part of a step's work: `each` for each element of the shape `over`, times the extent `times`, which may be a symbol.
struct work_term {
  shape over;
  probed_work each;
  int times = 1;
};

/// The sum of the terms for the extents of a call.
EBB_COLD probed_work work_of(const vec<work_term>& terms, const std::size_t* symbol) {
  probed_work all;
  for (const work_term& t : terms) {
    const double n = static_cast<double>(volume(t.over, symbol)) * static_cast<double>(extent_value(t.times, symbol));
    all += {n * t.each.read, n * t.each.written, n * t.each.operations};
  }
  return all;
}

namespace detail {

constexpr double bytes_of_element(dtype type) { return static_cast<double>(size_of(type)); }

/// Whether operand j of a move lies in the result already. A piece that is joined twice lies where it is first.
constexpr bool is_in_place(const plan& p, const plan_step& s, int j) {
  const int* const in = p.joined.data() + s.joined.first;
  for (int i = 0; i < j; ++i)
    if (in[i] == in[j]) return false;
  return p.buffers.data()[in[j]].whole == s.out;
}

/// Appends the work of a step that moves elements. An operand that lies in the result already is neither read nor written.
EBB_COLD void push_work_of_move(vec<work_term>& terms, const graph& g, const plan& p, const plan_step& s) {
  const double bytes = bytes_of_element(g.op(s.equation).result);
  const shape& result = g.shape_of(s.equation);
  const auto in_place = [&](int j) { return is_in_place(p, s, j); };
  const auto count = [&](const shape& x, double read, double written) { terms.push({x, {read * bytes, written * bytes, 0}}); };
  if (g.op(s.equation).family == family_of<op::place>) {  // zeros around the operand
    count(result, 0, 1);
    count(g.shape_of(g.operand(s.equation, 0)), in_place(0) ? 0 : 1, in_place(0) ? -1 : 0);
  } else if (g.eq[s.equation].count == 1) count(result, in_place(0) ? 0 : 1, in_place(0) ? 0 : 1);
  else
    for (int j = 0; j < g.eq[s.equation].count; ++j)
      if (!in_place(j)) count(g.shape_of(g.operand(s.equation, j)), 1, 1);
}

/// The elements in memory of operand j of a whole equation: one of each axis along which it repeats.
constexpr shape shape_in_memory(const graph& g, const plan& p, const plan_step& s, int j) {
  shape r = g.shape_of(g.operand(s.equation, j));
  if (const int view = p.buffers.data()[p.joined.data()[s.joined.first + j]].view; view >= 0 && s.what == kind::contract)
    for (int a = 0; a < r.rank; ++a)
      if (p.views.data()[view].along[a].is(0)) r.e[a] = 1;
  return r;
}

/// Whether operand j of a whole equation lies in the buffer of an operand before it, as both sides of matmul(x, x) do.
constexpr bool is_read_before(const plan& p, const plan_step& s, int j) {
  const int* const in = p.joined.data() + s.joined.first;
  for (int i = 0; i < j; ++i)
    if (in[i] == in[j]) return true;
  return false;
}

/// Appends the work of a step that is a whole equation. A loop adds none here.
EBB_COLD void push_work_of_whole(vec<work_term>& terms, const graph& g, const plan& p, const plan_step& s) {
  const int k = s.equation;
  const equation& e = g.eq[k];
  const shape& result = g.shape_of(k);
  if (e.op->what == kind::loop) return;
  if (e.op->what == kind::move) return push_work_of_move(terms, g, p, s);
  const bool is_rows = e.op->what == kind::gather || (is_box(*e.op) && part_of_box(g, k) == k);
  if (is_rows) terms.push({result, {bytes_of_element(g.op(g.operand(k, 0)).result), 0, 0}});
  for (int j = is_rows ? 1 : 0; j < e.count; ++j)
    if (!is_read_before(p, s, j)) terms.push({shape_in_memory(g, p, s, j), {bytes_of_element(g.op(g.operand(k, j)).result), 0, 0}});
  terms.push({s.what == kind::contract ? g.shapes[p.buffers[s.out].shape] : result, {0, bytes_of_element(e.op->result), 0}});
  if (s.summed.count > 0) terms.push({result, {0, 0, 1}});
  if (s.onto >= 0) terms.push({result, {bytes_of_element(e.op->result), 0, 1}});
  const shape& first = g.shape_of(g.operand(k, 0));
  const auto count = [&](const shape& over, double operations, int times = 1) { terms.push({over, {0, 0, operations}, times}); };
  switch (e.op->what) {
    case kind::contract: count(result, 2, first.e[summed_axis(e.attr[0], 0, first.rank)]); break;
    case kind::solve:
      count(result, e.attr[1] ? 1 : 2, first.e[first.rank - 1]);
      if (!e.attr[1]) count(first, 2.0 / 3, first.e[first.rank - 1]);
      break;
    case kind::triangle: count(result, 1, first.e[first.rank - (e.attr[0] == (from_product | triangle_right) ? 2 : 1)]); break;
    case kind::factor: count(first, 1.0 / 3, first.e[first.rank - 1]); break;
    case kind::scan: count(result, 1); break;
    case kind::scatter: count(first, 1); break;
    default: break;
  }
}

}  // namespace detail

/// The work of one step of p, a plan of g.
EBB_COLD vec<work_term> work_of_step(const graph& g, const plan& p, int step) {
  vec<work_term> terms;
  const plan_step& s = p.steps[step];
  if (s.nest < 0) {
    detail::push_work_of_whole(terms, g, p, s);
    return terms;
  }
  const nest& n = p.nests[s.nest];
  vec<int> seen;
  const auto move = [&](int buffer, bool is_read) {
    for (int b : seen)
      if (b == buffer) return;
    seen.push(buffer);
    const plan_buffer& b = p.buffers[buffer];
    const double bytes = detail::bytes_of_element(b.type);
    terms.push({g.shapes[b.shape], is_read ? probed_work{bytes, 0, 0} : probed_work{0, bytes, 0}});
  };
  for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i)
    if (p.loads[i].source == nest_load::from::array) move(p.loads[i].buffer, true);
  seen.shrink(0);
  for (int i = n.stores.first; i < n.stores.first + n.stores.count; ++i) move(p.stores[i].buffer, false);
  for (int i = n.reduces.first; i < n.reduces.first + n.reduces.count; ++i) move(p.reduces[i].buffer, false);
  for (int k = 0; k < g.size(); ++k) {
    if (p.group_of[k] != step_with_equations(p, step)) continue;
    const op_info& op = g.op(k);
    if (op.what == kind::elementwise) terms.push({g.shape_of(k), {0, 0, op.heavy ? operations_of_heavy : 1}});
    else if (op.what == kind::reduce) terms.push({g.shape_of(g.operand(k, 0)), {0, 0, 1}});
  }
  return terms;
}

/// The number of operations for an element of a graph that is elementwise.
EBB_COLD double operations_of_element(const graph& g) {
  double n = 0;
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).what == kind::elementwise) n += g.op(k).heavy ? operations_of_heavy : 1;
  return n;
}

}  // namespace ebb::inline EBB_ABI
