// ebb/pass/push_forward.hpp — derivatives along a direction, and gradients of gradients, from pull rules alone.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a push is a pull of a pull]
// The pull-back of f at x is linear in its seed u: u -> J(x)' u. Pulling that back once more, with respect to u, gives v -> J(x) v, the
// derivative along v. Equations that depend on u alone are pruned. So an op needs no second rule: each op with a pull has a push.
#pragma once

#include "differentiate.hpp"

namespace ebb::inline EBB_ABI {

/// Leaves out the arguments [first, last) and what depends on them, and renumbers those after them. An output that depends on them becomes
/// -1. So does the derivative along a direction of a function whose pull is not linear.
constexpr graph drop_inputs(const graph& g, int first, int last) {
  vec<char> dropped(g.size(), 0);
  for (int k = 0; k < g.size(); ++k) {
    const equation& e = g.eq[k];
    dropped[k] = e.op->what == kind::input && e.attr[0] >= first && e.attr[0] < last;
    for (int i : g.operands(k)) dropped[k] = dropped[k] || dropped[i];
  }
  graph r = copied(g, [&](int k) { return !dropped[k]; }, [&](int, equation& e) {
    if (e.op->what == kind::input && e.attr[0] >= last) e.attr[0] -= last - first;
  });
  r.inputs -= last - first;
  return r;
}

/// The outputs of g, then their derivatives along tangents of the given arguments. Seeds of the outputs and then the tangents are new
/// arguments, after those of g; once the graph is pruned, nothing uses the seeds. Not simplified, see pipeline.hpp.
constexpr graph with_push(graph g, const vec<int>& arguments, maybe_context context) {
  const vec<int> wrt = equations_of_inputs(g, arguments);
  const int outs = g.out.size();
  vec<int> values, seeds;
  for (int o : g.out) {
    values.push(o);
    seeds.push(g.op(o).kit->input(g, g.eq[o].shape, g.inputs++));
  }
  const vec<int> cotangents = pull_back(g, wrt, values, seeds, context);
  vec<int> pulled, tangents;
  for (int i = 0; i < wrt.size(); ++i) {
    const int v = g.op(wrt[i]).kit->input(g, g.eq[wrt[i]].shape, g.inputs++);
    if (cotangents[i] < 0) continue;
    pulled.push(cotangents[i]);
    tangents.push(v);
  }
  const vec<int> pushed = pull_back(g, seeds, pulled, tangents, context);
  for (int o = 0; o < outs; ++o) g.out.push(or_zeros(g, pushed[o], values[o]));
  return g;
}

/// The gradients of <gradient of output 0, v>: a Hessian times v, without the Hessian. v are new arguments, after those of g. Not
/// simplified.
constexpr graph with_hessian_product(graph g, const vec<int>& arguments, maybe_context context) {
  const vec<int> wrt = equations_of_inputs(g, arguments);
  const int y = g.out[0];
  const vec<int> d = pull_back(g, wrt, {y}, {g.op(y).kit->literal(g, g.eq[y].shape, 1)}, context);
  vec<int> gradients, directions;
  for (int i = 0; i < wrt.size(); ++i) {
    const int v = g.op(wrt[i]).kit->input(g, g.eq[wrt[i]].shape, g.inputs++);
    if (d[i] < 0) continue;
    gradients.push(d[i]);
    directions.push(v);
  }
  const vec<int> products = pull_back(g, wrt, gradients, directions, context);
  g.out = {};
  for (int i = 0; i < wrt.size(); ++i) g.out.push(or_zeros(g, products[i], wrt[i]));
  return g;
}

}  // namespace ebb::inline EBB_ABI
