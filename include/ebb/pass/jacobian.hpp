// ebb/pass/jacobian.hpp — all derivatives of all elements: the pull-back, batched over unit seeds.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "differentiate.hpp"

#include "../graph/batch.hpp"
#include "../op/compare.hpp"

namespace ebb::inline EBB_ABI {

/// The number of elements of an array, as an extent.
constexpr int elements_of(graph& g, int k) {
  int n = 1;
  const shape s = g.shape_of(k);
  for (int i = 0; i < s.rank; ++i) n = g.syms.derive(extent_rule::product, n, s.e[i]);
  return n;
}

/// One seed for each element of y, all zero but for a one at that element: shape [elements of y, shape of y...].
/// (Place depends on the template, so that clang looks up the op's table when kernels are known, not here.)
template <class T, class Place = std::int64_t>
constexpr int unit_seeds(graph& g, int y) {
  const int n = elements_of(g, y);
  shape pairs, seeds = g.shape_of(y);
  pairs.push(n);
  pairs.push(n);
  for (int i = seeds.rank; i > 0; --i) seeds.e[i] = seeds.e[i - 1];
  seeds.e[0] = n;
  ++seeds.rank;
  const int at = g.intern(pairs);
  const int row = emit_as<op::index, Place>(g, at, {}, {0}), column = emit_as<op::index, Place>(g, at, {}, {1});
  const operand<bool> same{&g, emit<op::equal, Place>(g, {row, column})};
  return reshape_to(cast_to<T>(same), g.intern(seeds)).id;
}

/// The derivatives of out 0, of dtype T, with respect to the given arguments, by pulls in the given autocast context.
/// Shape: that of out 0, then that of the argument.
template <class T>
constexpr graph jacobian(const graph& g, const vec<int>& arguments, maybe_context context = context_of<off>) {
  graph one = g;
  one.out = {};
  one.out.push(g.out[0]);
  graph pulled = joint(one, arguments, context);
  one.asked = pulled.asked;
  vec<int> gradients;
  for (int o = 1; o < pulled.out.size(); ++o) gradients.push(pulled.out[o]);
  pulled.out = gradients;

  graph r = prune(one);
  const int y = r.out[0];
  vec<int> in;
  vec<char> batched;
  for (int i = 0; i < g.inputs; ++i) {
    in.push(r.input(i));
    batched.push(0);
  }
  const int seeds = unit_seeds<T>(r, y);
  in.push(seeds);
  batched.push(1);
  const vec<int> rows = splice_batched(r, prune(pulled), in, batched, r.shape_of(seeds).e[0]);
  r.out = {};
  for (int i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) {
      r.out.push(rows[i]);
      continue;
    }
    shape s = r.shape_of(y);
    const shape x = r.shape_of(in[arguments[i]]);
    for (int a = 0; a < x.rank; ++a) s.push(x.e[a]);
    r.out.push(r.op(rows[i]).kit->reshape(r, rows[i], r.intern(s)));
  }
  return prune(simplify(r));
}

}  // namespace ebb::inline EBB_ABI
