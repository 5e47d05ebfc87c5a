// ebb/pass/differentiate.hpp — graphs with their gradients, and with their pull-backs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "custom.hpp"
#include "loop.hpp"
#include "pull_back.hpp"

namespace ebb::inline EBB_ABI {

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
