// ebb/graph/valid.hpp — the rules that each graph keeps: tests check them between passes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a valid graph]
//   order      operands come before the equation that uses them, outputs exist, there are as many operands as the op takes
//   dtypes     each operand has the dtype that the op says
//   shapes     each result has the shape that the op's rule gives, and the rule finds nothing that was not known to be equal
//   arguments  each has one number, in range, and at most one equation
//   sub-graphs are valid themselves, and are given as many operands as they have arguments
//   customs    the arguments of the sub-graph are the saved values and then the cotangents, see [note: custom pulls]
//   loops      operands and results have the dtypes and shapes that the body says, see [note: loops]
// Passes keep all of it.
#pragma once

#include "custom.hpp"
#include "loop.hpp"

#include <string_view>

namespace ebb::inline EBB_ABI {

/// A broken rule and the equation that breaks it; an empty `what` means that there is none.
struct graph_error {
  std::string_view what;
  int equation = -1;
  constexpr explicit operator bool() const { return !what.empty(); }
};

/// Whether two extents are the same number at every call: equal, or the same arithmetic on the same extents.
constexpr bool same_extent(const symbols& s, int a, int b) {
  a = s.find(a);
  b = s.find(b);
  if (a == b) return true;
  if (a >= 0 || b >= 0) return false;
  const extent_origin &x = s.origin(~a), &y = s.origin(~b);
  if (x.rule != y.rule || x.rule == extent_rule::argument) return false;
  return same_extent(s, x.a, y.a) && same_extent(s, x.b, y.b);
}
constexpr bool same_shape(const symbols& s, const shape& a, const shape& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (!same_extent(s, a.e[i], b.e[i])) return false;
  return true;
}

namespace detail {

/// A broadcast repeats along the axes of its mask, and along no others.
constexpr bool is_broadcast(const symbols& s, const shape& from, const shape& to, std::int64_t mask) {
  int at = 0;
  for (int axis = 0; axis < to.rank; ++axis) {
    if (mask >> axis & 1) continue;
    if (at == from.rank || !same_extent(s, from.e[at++], to.e[axis])) return false;
  }
  return at == from.rank && mask >> to.rank == 0;
}

/// The product of the extents that are numbers, if the others are the same ones on both sides; else nothing can be said.
constexpr bool may_be_reshaped(const symbols& s, const shape& from, const shape& to) {
  std::int64_t a = 1, b = 1;
  for (int i = 0; i < from.rank; ++i) {
    if (s.find(from.e[i]) < 0) return true;
    a *= s.find(from.e[i]);
  }
  for (int i = 0; i < to.rank; ++i) {
    if (s.find(to.e[i]) < 0) return true;
    b *= s.find(to.e[i]);
  }
  return a == b;
}

/// Whether an extent of a body is that of the graph around it, as far as it is a number in both.
constexpr bool may_be_equal(const graph& g, int here, const graph& body, int there) {
  const int a = g.syms.find(here), b = body.syms.find(there);
  return a < 0 || b < 0 || a == b;
}
constexpr bool may_be_equal(const graph& g, const shape& here, const graph& body, const shape& there) {
  bool equal = here.rank == there.rank;
  for (int i = 0; equal && i < here.rank; ++i) equal = may_be_equal(g, here.e[i], body, there.e[i]);
  return equal;
}

constexpr std::string_view loop_error(const graph& g, int k) {
  const equation& e = g.eq[k];
  const loop_parts p = loop_parts::of(e);
  if (e.sub < 0 || g.shape_of(k).rank != 1) return "a loop without a body or without a number of steps";
  const graph& body = g.subs[e.sub];
  const int guard = e.count > 0 ? g.operand(k, e.count - 1) : -1;
  if (p.guarded && (e.count <= p.carries + p.rows || g.op(guard).result != dtype::boolean || g.shape_of(guard).rank != 0))
    return "a guarded loop whose last operand is not a bool";
  const bool has_carries_only = p.carries > 0 && p.rows == 0 && body.out.size() == p.carries && !p.guarded;
  if (p.open && (!has_carries_only || g.op(g.operand(k, 0)).result != dtype::boolean))
    return "an open loop that does not begin with bools, or has rows";
  if (p.carries + p.rows > e.count || body.out.size() < p.carries) return "a loop with more parts than operands";
  for (int j = 0; j < e.count; ++j) {
    const int in = body.input(j), x = g.operand(k, j);
    if (in < 0) continue;
    const shape s = g.shape_of(x);
    if (p.is_row(j) && (s.rank == 0 || !same_extent(g.syms, s.e[0], g.shape_of(k).e[0]))) return "an array without a row for each step";
    if (body.op(in).result != g.op(x).result || !may_be_equal(g, p.is_row(j) ? row_of_shape(s) : s, body, body.shape_of(in)))
      return "an operand that is not the argument of the body";
    if (!p.is_carry(j)) continue;
    const int out = body.out[j];
    if (body.op(out).result != g.op(x).result || !same_shape(body.syms, body.shape_of(out), body.shape_of(in)))
      return "a carry that a step changes in dtype or shape";
  }
  return "";
}
constexpr std::string_view custom_error(const graph& g, int k) {
  const equation& e = g.eq[k];
  const custom_parts p = custom_parts::of(e);
  if (e.sub < 0 || p.first_saved() > e.count) return "a custom equation without a pull, or with more parts than operands";
  const graph& pull = g.subs[e.sub];
  if (pull.inputs != e.count - p.arguments || pull.out.size() != p.arguments) return "a pull that does not fit its function";
  for (int i = 0; i < pull.inputs; ++i) {
    const int in = pull.input(i), saved = e.count - p.first_saved();
    const int x = g.operand(k, i < saved ? p.first_saved() + i : p.arguments + i - saved);
    if (in >= 0 && (pull.op(in).result != g.op(x).result || !may_be_equal(g, g.shape_of(x), pull, pull.shape_of(in))))
      return "an operand that is not the argument of the pull";
  }
  for (int j = 0; j < p.arguments; ++j) {
    const int o = pull.out[j], x = g.operand(k, j);
    if (o >= 0 && (pull.op(o).result != g.op(x).result || !may_be_equal(g, g.shape_of(x), pull, pull.shape_of(o))))
      return "a gradient that does not fit its argument";
  }
  return "";
}
constexpr std::string_view result_of_custom_error(const graph& g, int k) {
  const equation& e = g.eq[k];
  if (e.attr[0] < 0 || e.attr[0] >= custom_parts::of(g.eq[g.operand(k, 0)]).values) return "a result that its function does not have";
  const int x = value_of_custom(g, k);
  return g.op(x).result == e.op->result && same_shape(g.syms, g.shape_of(x), g.shape_of(k)) ? "" : "a result that is not its value";
}
constexpr std::string_view result_error(const graph& g, int k) {
  const equation &e = g.eq[k], &loop = g.eq[g.operand(k, 0)];
  if (loop.op->what == kind::custom) return result_of_custom_error(g, k);
  if (loop.op->what != kind::loop || loop.sub < 0) return "a result of what is no loop";
  const loop_parts p = loop_parts::of(loop);
  const graph& body = g.subs[loop.sub];
  const bool row = kind_of_result(e) == loop_result::row;
  const std::int64_t number = e.attr[0] + (row ? p.carries : 0);
  if (e.attr[0] < 0 || number >= (row ? body.out.size() : p.carries)) return "a result that its loop does not have";
  const int o = body.out[static_cast<int>(number)];
  if (o >= 0 && body.op(o).result != e.op->result) return "a result of another dtype";
  const bool all = kind_of_result(e) == loop_result::carry;
  const shape& s = g.shape_of(k);
  if (!all && p.open) return "rows of an open loop";
  if (!all && (s.rank == 0 || !same_extent(g.syms, s.e[0], g.shapes[loop.shape].e[0]))) return "a result without a row for each step";
  return o < 0 || may_be_equal(g, all ? s : row_of_shape(s), body, body.shape_of(o)) ? "" : "a result of another shape";
}

constexpr std::string_view shape_error(const graph& g, int k) {
  const equation& e = g.eq[k];
  const shape& out = g.shape_of(k);
  switch (e.op->what) {
    case kind::loop: return loop_error(g, k);
    case kind::custom: return custom_error(g, k);
    case kind::result: return result_error(g, k);
    case kind::input: case kind::literal: return "";
    case kind::index: return e.attr[0] >= 0 && e.attr[0] < out.rank ? "" : "an index along an axis that is not there";
    case kind::broadcast:
      return is_broadcast(g.syms, g.shape_of(g.operand(k, 0)), out, e.attr[0]) ? "" : "the mask of a broadcast does not fit its shapes";
    case kind::reshape:
      return may_be_reshaped(g.syms, g.shape_of(g.operand(k, 0)), out) ? "" : "a reshape changes the number of elements";
    case kind::scatter: return "";  // its shape is given
    default: break;
  }
  if (e.op->infer == nullptr) return "";
  vec<shape> in;
  for (int i : g.operands(k)) in.push(g.shape_of(i));
  symbols syms = g.syms;
  const shape r = e.op->infer(syms, in.data(), in.size(), e.attr);
  if (r.is_refused()) return "the op's shape rule refuses the operands";
  for (int i = 0; i < g.syms.count(); ++i)
    if (syms.find(~i) != g.syms.find(~i)) return "the op's shape rule finds extents equal that were not";
  return same_shape(syms, r, out) ? "" : "the shape is not what the op's rule gives";
}

}  // namespace detail

/// The first thing that is wrong with g: see [note: a valid graph].
constexpr graph_error first_error(const graph& g) {
  vec<char> seen(g.inputs, 0);
  for (int k = 0; k < g.size(); ++k) {
    const equation& e = g.eq[k];
    if (e.op == nullptr) return {"an equation without an op", k};
    if (e.shape < 0 || e.shape >= g.shapes.size()) return {"a shape that is not there", k};
    if (e.first < 0 || e.count < 0 || e.first + e.count > g.pool.size()) return {"operands outside of the pool", k};
    if (e.op->arity >= 0 && e.count != e.op->arity) return {"the wrong number of operands", k};
    for (int j = 0; j < e.count; ++j) {
      const int i = g.operand(k, j);
      if (i < 0 || i >= k) return {"an operand that does not come before", k};
      const bool typed = e.sub < 0 && e.op->what != kind::loop && e.op->what != kind::custom;
      if (typed && g.op(i).result != e.op->operands[j < 3 ? j : 3]) return {"an operand of the wrong dtype", k};
    }
    if (e.op->what == kind::input) {
      if (e.attr[0] < 0 || e.attr[0] >= g.inputs) return {"an argument that is not there", k};
      if (seen[static_cast<int>(e.attr[0])]++) return {"two equations for one argument", k};
    }
    if (e.sub >= g.subs.size()) return {"a sub-graph that is not there", k};
    if (e.sub >= 0 && e.op->what != kind::custom && g.subs[e.sub].inputs != e.count)
      return {"operands that are not the arguments of the sub-graph", k};
    if (const std::string_view error = detail::shape_error(g, k); !error.empty()) return {error, k};
  }
  for (int o : g.out)
    if (o < -1 || o >= g.size()) return {"an output that is not there", -1};
  for (int i = 0; i < g.syms.count(); ++i) {
    const extent_origin& o = g.syms.origin(i);
    if (o.rule == extent_rule::argument ? o.a < 0 || o.a >= g.inputs : ~o.a >= i || ~o.b >= i) return {"a symbol from nowhere", -1};
  }
  for (const graph& sub : g.subs)
    if (const graph_error error = first_error(sub)) return error;
  return {};
}

}  // namespace ebb::inline EBB_ABI
