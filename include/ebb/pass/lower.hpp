// ebb/pass/lower.hpp — the last pass before planning: removes what only differentiation reads.
// SPDX-License-Identifier: BSL-1.0
//
// [note: gradients may be taken again]
// The gradient of an inner function is spliced into an outer trace, which may itself be differentiated. So stop_gradient must stay while
// there can be an outer trace: simplify keeps it, and `lower` removes it, which runs once, on the graph that is planned.
#pragma once

#include "simplify.hpp"

#include "../graph/custom.hpp"

namespace ebb::inline EBB_ABI::rewriting {

inline constexpr applied<op::stop_gradient> stop_gradient{};

inline constexpr auto lowering_rules = exact_rules + rule_list({rule(stop_gradient(x), x)});

}  // namespace ebb::inline EBB_ABI::rewriting

namespace ebb::inline EBB_ABI {

/// A copy without the contexts of pulls and the marks of casts: equal programs then have equal graphs.
constexpr graph without_contexts(const graph& g) {
  bool any = !g.subs.empty();
  for (int k = 0; k < g.size(); ++k) any = any || g.eq.data()[k].pulled_in || is_cast_of_each_use(g.eq.data()[k]);
  if (!any) return g;
  graph r = copied<equal_equations::become_one>(g, all_equations, [](int, equation& e) {
    e.pulled_in = nullptr;
    if (is_cast_of_each_use(e)) e.attr[0] = 0;
  });
  for (graph& body : r.subs) body = without_contexts(body);
  return r;
}

/// Removes stop_gradient, custom equations and contexts, and applies the exact rules again if that changed the graph.
constexpr graph lower(const graph& g) {
  // The exact rules match nothing in a simplified graph. Without a stop or a context they may match again.
  bool as_simplified = g.simplified == g.size();
  for (int k = 0; k < g.size(); ++k) {
    const equation& e = g.eq.data()[k];
    if (e.op->what == kind::custom) return lower(prune(without_customs(g)));
    as_simplified = as_simplified && !e.op->stops && !e.pulled_in && !is_cast_of_each_use(e);
  }
  if (as_simplified) return prune(g);
  return prune(rewriting::rewrite(without_contexts(g), rewriting::lowering_rules));
}

}  // namespace ebb::inline EBB_ABI
