// ebb/pass/pull_back.hpp — the reverse walk: cotangents of all equations, from those of the outputs to those of the arguments.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cuts.hpp"
#include "simplify.hpp"

#include "../graph/custom.hpp"
#include "../op/context.hpp"

namespace ebb::inline EBB_ABI {

/// Marks the equations that depend on `wrt` through real numbers: only these have a cotangent.
constexpr vec<char> active_equations(const graph& g, const vec<int>& wrt) {
  vec<char> active(g.size(), 0);
  for (int w : wrt) active[w] = 1;
  const equation* eq = g.eq.data();
  for (int k = 0; k < g.size(); ++k)
    if (is_real(eq[k].op->result) && !eq[k].op->stops)
      for (int j = 0; j < eq[k].count; ++j) active.data()[k] |= active.data()[g.pool.data()[eq[k].first + j]];
  return active;
}

/// The equations of all real arguments.
constexpr vec<int> real_inputs(const graph& g) {
  vec<int> r;
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).what == kind::input && is_real(g.op(k).result)) r.push(k);
  return r;
}

/// Whether a cotangent has arrived at some result of k, a loop or a custom equation.
constexpr bool is_pulled(const graph& g, int k, const int* cotangent, int count) {
  bool any = false;
  for (int r = k + 1; r < count; ++r) any = any || (cotangent[r] >= 0 && g.op(r).what == kind::result && g.operand(r, 0) == k);
  return any;
}

/// c, or zeros of the shape of equation k if c is -1.
constexpr int or_zeros(graph& g, int c, int k) { return c >= 0 ? c : g.op(k).kit->literal(g, g.eq[k].shape, 0); }

/// Appends the equations of the pull-back of `outs` at `seeds` and returns the cotangents of `wrt`, -1 for one that gets none.
/// Several cotangents of one equation are added, those from later equations first; those of its pieces are joined, see
/// [note: gradients of pieces]. A pull runs in the context of its equation if that has
/// one, else in the given autocast context. If that is null, pulls are traced as functions are: the caller of g answers their questions.
/// Rules::pull_structured(g, k, cotangent, count, active, out) appends the pull-back of k, a loop or a custom equation, from the cotangents
/// of all its results. cotangent: of the first `count` equations, or -1; active: whether an equation has one. out: the cotangents of its
/// operands; those of a loop's wholes that have one already are added to it at once.
template <class Rules>
constexpr vec<int> pull_back_by(graph& g, const vec<int>& wrt, const vec<int>& outs, const vec<int>& seeds, maybe_context context) {
  const int n = g.size();
  const vec<char> active = active_equations(g, wrt);
  vec<int> cotangents(n, -1), given(4, -1);
  int* cotangent = cotangents.data();
  const detail::array_cuts cuts(g, active.data());
  const auto arrive = [&, is_active = active.data()](int k, int c) {
    // This cast represents one cast at each use: each cotangent is converted before the sum.
    while (c >= 0 && is_active[k] && is_cast_of_each_use(g.eq.data()[k])) {
      int converted = -1;
      g.op(k).pull(g, c, k, &converted);
      c = converted;
      k = g.operand(k, 0);
    }
    if (c >= 0 && is_active[k]) cotangent[k] = cotangent[k] < 0 ? c : g.op(k).kit->add(g, cotangent[k], c);
  };
  for (int i = 0; i < outs.size(); ++i) arrive(outs[i], seeds[i]);
  for (int k = n - 1; k >= 0; --k) {
    const equation e = g.eq.data()[k];
    if (const auto turn = cuts.turn_of(k); turn != detail::array_cuts::none) {
      if (turn == detail::array_cuts::last_to_come) arrive(g.operand(k, 0), cuts.join(g, k, cotangent));
      continue;
    }
    const bool structured = e.op->what == kind::loop || e.op->what == kind::custom;
    if (structured ? !active[k] || !is_pulled(g, k, cotangent, n) : cotangent[k] < 0 || e.op->what == kind::result) continue;
    if (!e.op->differentiable) continue;
    if (e.count > given.size()) given.extend(e.count - given.size());
    int* c = given.data();
    for (int j = 0; j < e.count; ++j) c[j] = -1;
    const bool as_called = !e.pulled_in || (e.pulled_in->of_call && !context);
    g.context = as_called ? context : e.pulled_in;
    g.pulled_in = e.pulled_in;
    const bool may_ask = g.context && g.context->assumed && !g.casts.in_pulls[g.context->number].by_name;
    const int before = g.size();
    if (structured) Rules::pull_structured(g, k, cotangent, n, active.data(), c);
    else e.op->pull(g, cotangent[k], k, c);
    if (may_ask && g.casts.in_pulls[g.context->number].by_name)
      g.note(detail::first_computed(g, before, -1), cast_question::by_name(g.context->number));
    for (int j = 0; j < e.count; ++j) arrive(g.pool.data()[e.first + j], c[j]);
  }
  g.context = g.pulled_in = nullptr;
  vec<int> r;
  for (int w : wrt) r.push(cotangent[w]);
  return r;
}

}  // namespace ebb::inline EBB_ABI
