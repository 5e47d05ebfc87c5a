// ebb/autograd/accumulate.hpp — a gradient that arrives at a leaf becomes, or is added to, the leaf's own.
// SPDX-License-Identifier: BSL-1.0
//
// [note: stealing is sharing]
// Where a leaf has no gradient yet it takes the array that arrives; who else holds that array (a hook that kept it, another leaf) is
// not disturbed by what is added later, because nothing is written that has a second owner. So there is one rule where PyTorch has
// seven: add in place if the leaf is the only owner, else into a new array. With a graph of the backward the sum is recorded.
#pragma once

#include "higher.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Two gradients of one thing. If it throws, both are as they were.
inline gradient meet(const vertex& v, std::uint32_t output, gradient& a, gradient& b, const higher_order* graph) {
  const dtype type = dtype_at(v, output);
  if (graph) return graph->sum(type, extents_of(v, output), a, b);
  return {sum_of(type, a.value, b.value), nullptr, 0, true};
}

/// Adds g to the gradient of `to`. Other threads may do the same.
inline void accumulate(leaf& to, gradient g, const higher_order* graph) {
  const exclusive alone(to);
  if (!to.grad.defined) to.grad = std::move(g);
  else to.grad = meet(to, 0, to.grad, g, graph);
}

}  // namespace ebb::inline EBB_ABI::detail
