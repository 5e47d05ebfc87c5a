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

/// The shape of the derivatives of y with respect to x, or -1 if it has too many axes.
constexpr int shape_of_derivatives(graph& g, int y, int x) {
  shape s = g.shape_of(y);
  const shape behind = g.shape_of(x);
  if (s.rank + behind.rank > max_rank) return -1;
  for (int a = 0; a < behind.rank; ++a) s.push(behind.e[a]);
  return g.intern(s);
}

/// Appends the derivatives of out `number` of g, of dtype T, to the outs of r, in which it is equation y: a negative number where they
/// have too many axes, or an op between takes no leading one.
template <class T>
constexpr void append_jacobian(graph& r, int y, const graph& g, int number, const vec<int>& arguments, maybe_context context) {
  vec<int> in;
  for (int i = 0; i < g.inputs; ++i) in.push(r.input(i));
  vec<int> derivatives;  // their shapes
  for (int i : arguments) derivatives.push(shape_of_derivatives(r, y, in[i]));
  const bool fit = r.shape_of(y).rank < max_rank;
  if (!fit || !is_real(r.op(y).result)) {
    for (int i = 0; i < arguments.size(); ++i)
      r.out.push(fit && derivatives[i] >= 0 ? r.op(in[arguments[i]]).kit->literal(r, derivatives[i], 0) : -1);
    return;
  }
  graph one = g;
  one.out = {};
  one.out.push(g.out[number]);
  graph pulled = joint(one, arguments, context);
  r.asked.ask(pulled.asked);
  vec<int> gradients;
  for (int o = 1; o < pulled.out.size(); ++o) gradients.push(pulled.out[o]);
  pulled.out = gradients;

  const int seeds = unit_seeds<T>(r, y);
  vec<char> batched(in.size(), 0);
  in.push(seeds);
  batched.push(1);
  const vec<int> rows = splice_batched(r, prune(pulled), in, batched, r.shape_of(seeds).e[0]);
  for (int i = 0; i < rows.size(); ++i)
    r.out.push(rows[i] < 0 || derivatives[i] < 0 ? -1 : r.op(rows[i]).kit->reshape(r, rows[i], derivatives[i]));
}

/// The derivatives of each out, of dtypes T..., with respect to each of the given arguments, by pulls in the given autocast context.
/// Shapes: that of the out, then that of the argument. Those of integers are zeros.
template <class... T>
constexpr graph jacobian(const graph& g, const vec<int>& arguments, maybe_context context = context_of<off>) {
  graph r = prune(g);
  const vec<int> values = r.out;
  r.out = {};
  int number = 0;
  ((append_jacobian<T>(r, values[number], g, number, arguments, context), ++number), ...);
  return prune(simplify(r));
}

}  // namespace ebb::inline EBB_ABI
