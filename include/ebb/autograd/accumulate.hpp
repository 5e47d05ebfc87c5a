// ebb/autograd/accumulate.hpp — adds an arriving gradient to the gradient of a leaf.
// SPDX-License-Identifier: BSL-1.0
//
// [note: stealing is sharing]
// A leaf without a gradient shares the array that arrives. Later gradients are added in place if the leaf is the only owner of that
// array, else into a new array: other owners (a hook that kept it, another leaf) never see their array change. PyTorch needs seven rules
// for this. With create_graph the sum is recorded.
#pragma once

#include "higher.hpp"
#include "hook_list.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Adds g to `there`, two gradients of one value. If it throws, both are unchanged. `known`: the elements of the sum, if they have been
/// computed already and need only be recorded, else null.
EBB_INLINE void meet(dtype type, const vertex& v, std::uint32_t output, gradient& a, gradient& b, const higher_order* graph,
                     storage* known = nullptr) {
  if (graph) return static_cast<void>(a = graph->sum(type, extents_of(v, output), a, b, known));
  add_to(type, a.value, b.value);
  if (a.from) a.from = nullptr, a.output = 0;
}

EBB_ONCE_APART void convert_gradient(dtype from, dtype to, const extent_list& x, gradient& g, const higher_order* graph) {
  if (graph) g = graph->convert(from, to, x, std::move(g));
  else g = {converted_elements(from, to, g.value), nullptr, 0, true};
}
/// Converts a gradient on its way into a leaf that widens, and out of it: see [note: gradients of another dtype].
EBB_ONCE_APART void widen(const vertex& at, gradient& g, const higher_order* graph) {
  const leaf& l = static_cast<const leaf&>(at);
  convert_gradient(l.type, l.gradient_type, l.extents, g, graph);
}
EBB_ONCE_APART void narrow(const vertex& at, gradient& g, const higher_order* graph) {
  const leaf& l = static_cast<const leaf&>(at);
  convert_gradient(l.gradient_type, l.type, l.extents, g, graph);
}

/// Adds g to the gradient of `to`. Other threads may do the same.
EBB_INLINE void accumulate(leaf& to, gradient& g, const higher_order* graph) {
  {
    const exclusive alone(to);
    if (!to.grad.defined) return to.grad.take(g);
    meet(to.gradient_type, to, 0, to.grad, g, graph);
  }
  g = {};
}

/// Adds g to the gradient that v keeps because of retain_grad. Other threads may do the same.
EBB_ONCE void retain_arrived(vertex& v, std::uint32_t output, gradient g, const higher_order* graph) {
  const exclusive alone(v);
  gradient& kept = v.hooks->retained[output].value;
  if (kept.defined) meet(gradient_type_at(v, output), v, output, kept, g, graph);
  else kept.take(g);
}

}  // namespace ebb::inline EBB_ABI::detail
