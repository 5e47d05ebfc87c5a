// ebb/graph/loop.hpp — loops as equations: one sub-graph for all steps, its operands and its results.
// SPDX-License-Identifier: BSL-1.0
//
// [note: loops]
// A loop is one equation, however many steps it has. Its sub-graph, the body, is one step: it is traced, differentiated, planned and
// compiled once.
//   operands   carries | rows | wholes      the carries before the first step; arrays of which each step reads one row; other arrays
//   body       carries, rows, wholes -> carries, rows
//   shape      [n]: the number of steps
//   attr[0]    the numbers of carries and rows, the direction, the kept values, and whether it is guarded: see loop_parts
// A loop has many results, and an equation has one shape. So each result that is read is another equation, of kind result:
//   carry      carry i after the last step
//   row        row i of each step, as one array with a leading axis
//   history    carry i before each step, as one array with a leading axis
// Other values are not kept: `prune` removes them from the body, so that they are not computed. Row t of an array belongs to step t. A
// reversed loop begins with the last row.
//
// A guarded loop has one more operand, the last one: a bool without axes. If it is false no step runs, the carries stay as they are, and
// the rows are zeros.
//
// An open loop runs while an element of carry 0, an array of bools, is true. It has neither rows nor histories, and its shape [1] says
// nothing. It has no pull-back: see [note: open loops].
//
// The pull-back of a loop is another loop in the other direction: see [note: a loop pulled back]. A batched loop is a loop over arrays with
// one more axis: see [note: batching]. exec/loop.hpp runs loops: the body is a separate program, called with other pointers in each step.
#pragma once

#include "splice.hpp"

namespace ebb::inline EBB_ABI {

/// attr[1] of an equation of kind result.
enum class loop_result : std::int64_t { carry, row, history };

/// attr[0] of a loop.
struct loop_parts {
  int carries = 0, rows = 0;
  bool reversed = false;
  bool recomputes = false;  // its pull-back keeps carries, and recomputes the other values of a step
  bool extended = false;    // it has been pulled back: another pull-back may read its rows, and adds none
  bool guarded = false;     // it runs only if its last operand is true
  bool open = false;        // it runs while an element of its first carry is true

  static constexpr loop_parts of(const equation& e) {
    return {static_cast<int>(e.attr[0] & 0xFFFFF), static_cast<int>(e.attr[0] >> 20 & 0xFFFFF), (e.attr[0] >> 40 & 1) != 0,
            (e.attr[0] >> 41 & 1) != 0, (e.attr[0] >> 42 & 1) != 0, (e.attr[0] >> 43 & 1) != 0,
            (e.attr[0] >> 44 & 1) != 0};
  }
  constexpr std::int64_t attribute() const {
    return std::int64_t{carries} | std::int64_t{rows} << 20 | static_cast<std::int64_t>(reversed) << 40 |
           static_cast<std::int64_t>(recomputes) << 41 | static_cast<std::int64_t>(extended) << 42 |
           static_cast<std::int64_t>(guarded) << 43 | static_cast<std::int64_t>(open) << 44;
  }
  constexpr bool is_carry(int operand) const { return operand < carries; }
  constexpr bool is_row(int operand) const { return operand >= carries && operand < carries + rows; }
};

constexpr loop_result kind_of_result(const equation& e) { return static_cast<loop_result>(e.attr[1]); }

/// Calls f(k) for each equation k that names a result of the loop.
constexpr void each_result(const graph& g, int loop, auto&& f) {
  for (int k = loop + 1; k < g.size(); ++k)
    if (g.eq.data()[k].op->what == kind::result && g.operand(k, 0) == loop) f(k);
}

/// Whether both graphs have the same equations, shapes and symbols, with the same contexts and questions of autocast.
EBB_COLD constexpr bool are_equal(const graph& a, const graph& b) {
  const auto are_alike = [](const auto& x, const auto& y, auto is_same) {
    if (x.size() != y.size()) return false;
    for (int i = 0; i < x.size(); ++i)
      if (!is_same(x.data()[i], y.data()[i])) return false;
    return true;
  };
  constexpr auto same = [](const auto& x, const auto& y) { return x == y; };
  constexpr auto same_context = [](const maybe_context& x, const maybe_context& y) {
    if (!x || !y) return !x && !y;
    return x->number == y->number && x->assumed == y->assumed && x->of_call == y->of_call;
  };
  return a.inputs == b.inputs && are_alike(a.out, b.out, same) && are_alike(a.pool, b.pool, same) &&
         are_alike(a.eq, b.eq, [=](const equation& x, const equation& y) {
           return x.op->id == y.op->id && x.first == y.first && x.count == y.count && x.shape == y.shape && x.sub == y.sub &&
                  x.attr[0] == y.attr[0] && x.attr[1] == y.attr[1] && x.asked.code == y.asked.code &&
                  same_context(x.pulled_in, y.pulled_in);
         }) &&
         are_alike(a.shapes, b.shapes, same) &&
         are_alike(a.syms.items(), b.syms.items(), [](const symbols::item& x, const symbols::item& y) {
           return x.parent == y.parent && x.bound == y.bound && x.origin == y.origin && x.by == y.by;
         }) &&
         are_alike(a.subs, b.subs, [](const graph& x, const graph& y) { return are_equal(x, y); });
}
/// Appends a sub-graph, or finds the equal one that is there already: a body is compiled once for all equations that name it.
EBB_COLD constexpr int add_sub(vec<graph>& subs, const graph& body) {
  for (int i = 0; i < subs.size(); ++i)
    if (are_equal(subs[i], body)) return i;
  return subs.push(body);
}

/// The shape of n rows of the given shape. Not for shapes with max_rank axes.
constexpr shape rows_of_shape(int n, const shape& row) {
  shape s;
  s.push(n);
  for (int i = 0; i < row.rank; ++i) s.push(row.e[i]);
  return s;
}
/// The shape of one row.
constexpr shape row_of_shape(const shape& rows) {
  shape s;
  for (int i = 1; i < rows.rank; ++i) s.push(rows.e[i]);
  return s;
}

/// Argument i of g gets the number number[i]; g gets `count` arguments.
EBB_COLD constexpr void renumber_arguments(graph& g, const vec<int>& number, int count) {
  for (equation& e : g.eq)
    if (e.op->what == kind::input) e.attr[0] = number[static_cast<int>(e.attr[0])];
  symbols syms;
  for (symbols::item item : g.syms.items()) {
    if (item.origin.rule == extent_rule::argument) item.origin.a = number[item.origin.a];
    syms.push(item);
  }
  g.syms = static_cast<symbols&&>(syms);
  g.inputs = count;
}

/// The axis of a loop's operand that axis b of the body's argument `a` is.
constexpr int axis_of_operand(const loop_parts& p, const extent_origin& o) { return o.b + (p.is_row(o.a) ? 1 : 0); }
/// The extent around a loop that o is in its body, where operand o.a of the loop is equation x of g. The value of an argument is the same
/// in each step.
constexpr int extent_around(graph& g, int x, const loop_parts& p, const extent_origin& o) {
  if (o.is_value() && (p.is_carry(o.a) || p.is_row(o.a))) return computed_extent;
  return extent_in(g, x, o, p.is_row(o.a) ? 1 : 0);
}

}  // namespace ebb::inline EBB_ABI
