// ebb/pass/differentiate.hpp — graphs with their derivatives: the reverse walk with the rules of loops and custom equations.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "custom.hpp"
#include "loop.hpp"
#include "pull_back.hpp"

namespace ebb::inline EBB_ABI {

/// The first equation between `wrt` and the outputs that has no pull, or -1. If it is in the body of a loop, the loop. Equations that
/// compute the values of a custom equation need no pull.
/// along: asks for derivatives along a direction; an open loop has these alone.
constexpr int first_without_pull(const graph& g, const vec<int>& wrt, bool along = false) {
  const vec<char> active = active_equations(g, wrt);
  vec<char> needed(g.size(), 0);
  for (int o : g.out) needed[o] = 1;
  for (int k = g.size() - 1; k >= 0; --k)
    if (needed[k] && active[k])
      for (int j = 0; j < (g.op(k).what == kind::custom ? custom_parts::of(g.eq[k]).arguments : g.eq[k].count); ++j)
        needed[g.operand(k, j)] = 1;
  for (int k = 0; k < g.size(); ++k)
    if (active[k] && needed[k] && g.op(k).what != kind::input) {
      if (!g.op(k).differentiable) return k;
      if (!along && g.op(k).what == kind::custom && custom_parts::of(g.eq[k]).forward) return k;
      if (g.op(k).what != kind::loop) continue;
      const graph& body = g.subs[g.eq[k].sub];
      if (loop_parts::of(g.eq[k]).open || first_without_pull(body, real_inputs(body), along) >= 0) return k;
    }
  return -1;
}
/// Whether k, an equation without a pull, is a while loop or contains one.
constexpr bool is_open_loop(const graph& g, int k, bool along) {
  const equation& e = g.eq[k];
  if (e.op->what == kind::custom) return custom_parts::of(e).forward;
  if (e.op->what != kind::loop || loop_parts::of(e).open) return e.op->what == kind::loop;
  const graph& body = g.subs[e.sub];
  return is_open_loop(body, first_without_pull(body, real_inputs(body), along), along);
}

namespace detail {

/// The rules of equations with sub-graphs. The body of a loop is pulled back by the same rules: so they are a type.
struct structured_rules {
  static constexpr void pull_structured(graph& g, int k, int* cotangent, int count, const char* active, int* out) {
    if (g.op(k).what != kind::loop) pull_custom(g, k, cotangent, count, active, out);
    else if (!loop_parts::of(g.eq[k]).open) pulled_loop<structured_rules>(g, k, cotangent, count, active).run(out);
  }
};

}  // namespace detail

/// The reverse walk, see pull_back_by.
constexpr vec<int> pull_back(graph& g, const vec<int>& wrt, const vec<int>& outs, const vec<int>& seeds,
                             maybe_context context = context_of<off>) {
  return pull_back_by<detail::structured_rules>(g, wrt, outs, seeds, context);
}

constexpr vec<int> equations_of_inputs(const graph& g, const vec<int>& numbers) {
  vec<int> r;
  for (int i : numbers) r.push(g.input(i));
  return r;
}

/// The outputs of g, then the gradients of out 0, a scalar, with respect to the given arguments; not simplified, see pipeline.hpp.
constexpr graph with_gradient(graph g, const vec<int>& arguments, maybe_context context) {
  const vec<int> wrt = equations_of_inputs(g, arguments);
  const int y = g.out[0];
  const int one = g.op(y).kit->literal(g, g.eq[y].shape, 1);
  const vec<int> d = pull_back(g, wrt, {y}, {one}, context);
  for (int i = 0; i < d.size(); ++i) g.out.push(or_zeros(g, d[i], wrt[i]));
  return g;
}

/// The outputs of g, then the pull-back of seeds. Seeds are new arguments at the end, one for each real output: of all outputs, or of the
/// first `seeded` ones. Not simplified.
constexpr graph with_pull_back(graph g, const vec<int>& arguments, maybe_context context, int seeded = -1) {
  const vec<int> wrt = equations_of_inputs(g, arguments);
  vec<int> outs, seeds;
  for (int i = 0; i < (seeded < 0 ? g.out.size() : seeded); ++i) {
    const int o = g.out[i];
    if (!is_real(g.op(o).result)) continue;
    outs.push(o);
    seeds.push(g.op(o).kit->input(g, g.eq[o].shape, g.inputs++));
  }
  const vec<int> d = pull_back(g, wrt, outs, seeds, context);
  for (int i = 0; i < d.size(); ++i) g.out.push(or_zeros(g, d[i], wrt[i]));
  return g;
}

}  // namespace ebb::inline EBB_ABI
