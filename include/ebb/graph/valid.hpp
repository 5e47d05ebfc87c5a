// ebb/graph/valid.hpp — what every graph must be: the check that tests run between passes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a valid graph]
//   order      operands come before the equation that uses them, outputs exist, there are as many operands as the op takes
//   dtypes     each operand has the dtype that the op says
//   shapes     each result has the shape that the op's rule gives, and the rule finds nothing that was not known to be equal
//   arguments  each has one number, in range, and at most one equation
//   sub-graphs are valid themselves, and are given as many operands as they have arguments
// Passes keep all of it.
#pragma once

#include "graph.hpp"

#include <string_view>

namespace ebb::inline EBB_ABI {

/// What is wrong with a graph, and at which equation; nothing if `what` is empty.
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

/// What a broadcast repeats is what the mask says, and nothing else.
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

constexpr std::string_view shape_error(const graph& g, int k) {
  const equation& e = g.eq[k];
  const shape& out = g.shape_of(k);
  switch (e.op->what) {
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
      if (e.sub < 0 && g.op(i).result != e.op->operands[j < 3 ? j : 3]) return {"an operand of the wrong dtype", k};
    }
    if (e.op->what == kind::input) {
      if (e.attr[0] < 0 || e.attr[0] >= g.inputs) return {"an argument that is not there", k};
      if (seen[static_cast<int>(e.attr[0])]++) return {"two equations for one argument", k};
    }
    if (e.sub >= g.subs.size()) return {"a sub-graph that is not there", k};
    if (e.sub >= 0 && g.subs[e.sub].inputs != e.count) return {"operands that are not the arguments of the sub-graph", k};
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
