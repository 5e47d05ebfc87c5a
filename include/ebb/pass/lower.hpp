// ebb/pass/lower.hpp — the last rules before planning: what only differentiation reads goes, products of repeated rows are of one row.
// SPDX-License-Identifier: BSL-1.0
//
// [note: gradients may be taken again]
// The gradient of an inner function is spliced into an outer trace, which may itself be differentiated. So stop_gradient must stay while
// there can be an outer trace: simplify keeps it, and `lower` removes it, which runs once, on the graph that is planned.
//
// [note: products of repeated rows]
// The gradient of a sum of a product has products with a matrix that repeats one row, or one number: each row of the result is the same sum
// in the same order. So one row is computed, in the order that the product has, and repeated; so is one column, or one matrix of a batch.
// Small matrices, with static extents, are multiplied as they are: their kernels take less time than further steps.
// Bits stay the same. Only here: a derivative of the product with one row has sums in another order.
#pragma once

#include "simplify.hpp"

#include "../graph/custom.hpp"

namespace ebb::inline EBB_ABI::rewriting {

inline constexpr applied<op::stop_gradient> stop_gradient{};

/// The axes along which all elements of the result of e, a product of `in`, are equal: operands repeat there what they are made of.
constexpr std::int64_t repeated_axes(const graph& g, const equation& e, const int* in) {
  const int rank = g.shapes[e.shape].rank;
  std::int64_t batch = axis_run(0, rank - 2), own = 0;
  for (int j = 0; j < 2; ++j) {
    const equation& of = g.eq[in[j]];
    const bool all = of.op->what == kind::literal, some = of.op->family == family_of<op::broadcast>;
    const std::int64_t along = all ? axis_run(0, rank) : some ? of.attr[0] : 0;
    batch &= along;
    own |= (along >> kept_axis(e.attr[0], j, rank) & 1) << (rank - 2 + j);
  }
  std::int64_t r = has_few_links(g, e, in) ? batch : batch | own;
  for (int a = 0; a < rank; ++a)
    if (g.syms.find(g.shapes[e.shape].e[a]) == 1) r &= ~axis_run(a, a + 1);
  return r;
}
/// Operand j of the product of e with one row, one column or one matrix where its result repeats them along `axes`.
constexpr int without_repeats(match& m, int j, std::int64_t axes) {
  graph& g = m.g;
  const equation given = g.eq[m.in[j]];
  shape s = g.shapes[given.shape];
  const int rank = s.rank;
  std::int64_t ones = axes & axis_run(0, rank - 2);
  if (axes >> (rank - 2 + j) & 1) ones |= std::int64_t{1} << kept_axis(m.e.attr[0], j, rank);
  if (ones == 0) return m.in[j];
  bool repeats = false;
  for (int a = 0; a < rank; ++a) {
    if (ones >> a & 1) s.e[a] = 1;
    repeats = repeats || ((given.attr[0] >> a & 1) && g.syms.find(s.e[a]) != 1);
  }
  const int to = g.intern(s);
  if (given.op->what == kind::literal) return given.op->kit->constant(g, to, static_cast<cell>(given.attr[0]));
  const int from = g.operand(m.in[j], 0);
  return repeats ? given.op->kit->broadcast(g, from, to, given.attr[0]) : given.op->kit->reshape(g, from, to);
}

/// Right sides: a product without repeats, repeated: see [note: products of repeated rows]. Rewriting ends, since no such rule matches that
/// product: its weight is said to be that of the operands P.
template <class... P>
struct repeated_product : pattern {
  static constexpr weight weighs = (weight{0} + ... + P::weighs);
  static constexpr int build(match& m) {
    const std::int64_t axes = repeated_axes(m.g, m.e, m.in);
    const int in[] = {without_repeats(m, 0, axes), without_repeats(m, 1, axes)};
    const shape whole = m.g.shapes[m.e.shape];
    shape ones = whole;
    for (int a = 0; a < whole.rank; ++a)
      if (axes >> a & 1) ones.e[a] = 1;
    equation e = m.e;
    e.shape = m.g.intern(ones);
    const dtype_kit& kit = *e.op->kit;
    const int product = m.g.add(e, {in, 2});
    return kit.broadcast(m.g, kit.reshape(m.g, product, m.g.intern(without_axes(whole, axes))), m.e.shape, axes);
  }
};
inline constexpr auto repeats = [](const match& m) { return repeated_axes(m.g, m.e, m.in) != 0; };
template <is_pattern X, is_pattern Y>
constexpr erased_rule repeated(X, Y) {
  return rule(matmul(X{}, Y{}), repeated_product<X, Y>{}, repeats);
}

inline constexpr auto lowering_rules = exact_rules + rule_list({
    rule(stop_gradient(x), x),
    repeated(broadcast(x), y),
    repeated(x, broadcast(y)),
    repeated(c0, y),
    repeated(x, c0),
});

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
    as_simplified = as_simplified && !e.op->stops && !e.pulled_in && !is_cast_of_each_use(e) &&
                    !(e.op->family == family_of<op::matmul> && rewriting::repeated_axes(g, e, g.operands(k).data));
  }
  if (as_simplified) return prune(g);
  return prune(rewriting::rewrite(without_contexts(g), rewriting::lowering_rules));
}

}  // namespace ebb::inline EBB_ABI
