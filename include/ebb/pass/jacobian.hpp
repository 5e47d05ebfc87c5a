// ebb/pass/jacobian.hpp — all derivatives of all elements: the pull-back or the push-forward, batched over unit seeds.
// SPDX-License-Identifier: BSL-1.0
//
// [note: pulled or pushed]
// A pulled jacobian costs one pull-back for each element of the results, a pushed one costs one push for each element of the arguments.
// They add the same products in different orders, so they agree to rounding and not bit for bit. The mode is part of the program: it
// follows from types or from the name that is called, never from values, so one call has the same bits on every run and every machine.
#pragma once

#include "pipeline.hpp"

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

/// A seed for each element of y: one at that element, zero elsewhere. Shape: [elements of y, shape of y...].
template <class T, class Index = std::int64_t>  // see [note: ops on a fixed dtype]
constexpr int unit_seeds(graph& g, int y) {
  const int n = elements_of(g, y);
  shape pairs, seeds = g.shape_of(y);
  pairs.push(n);
  pairs.push(n);
  for (int i = seeds.rank; i > 0; --i) seeds.e[i] = seeds.e[i - 1];
  seeds.e[0] = n;
  ++seeds.rank;
  const int at = g.intern(pairs);
  const int row = emit_as<op::index, Index>(g, at, {}, {0}), column = emit_as<op::index, Index>(g, at, {}, {1});
  const operand<bool> same{&g, emit<op::equal, Index>(g, {row, column})};
  return reshape_to(cast_to<T>(same), g.intern(seeds)).id;
}

/// The shape of the derivatives of y with respect to x, or -1 if it has too many axes.
constexpr int shape_of_derivatives(graph& g, int y, int x) {
  shape s = g.shape_of(y);
  const shape of_x = g.shape_of(x);
  if (s.rank + of_x.rank > max_rank) return -1;
  for (int a = 0; a < of_x.rank; ++a) s.push(of_x.e[a]);
  return g.intern(s);
}

/// Appends the derivatives of output `number` of g, of dtype T, to the outputs of r, where that output is equation y. A negative number
/// means that the derivatives have too many axes, or that an op between cannot be batched.
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
  r.casts.asked.ask(pulled.casts.asked);
  vec<int> gradients;
  for (int o = 1; o < pulled.out.size(); ++o) gradients.push(pulled.out[o]);

  const int seeds = unit_seeds<T>(r, y);
  vec<char> batched(in.size(), 0);
  in.push(seeds);
  batched.push(1);
  const vec<int> rows = splice_batched(r, with_outputs(static_cast<graph&&>(pulled), gradients), in, batched, r.shape_of(seeds).e[0]);
  for (int i = 0; i < rows.size(); ++i)
    r.out.push(rows[i] < 0 || derivatives[i] < 0 ? -1 : r.op(rows[i]).kit->reshape(r, rows[i], derivatives[i]));
}

/// The derivatives of each output, of dtypes T..., with respect to each of the given arguments, by pulls in the given autocast context.
/// Shape: that of the output, then that of the argument. Derivatives of integers are zeros.
template <class... T>
constexpr graph jacobian(const graph& g, const vec<int>& arguments, maybe_context context = context_of<off>) {
  graph r = prune(g);
  const vec<int> values = r.out;
  r.out = {};
  int number = 0;
  ((append_jacobian<T>(r, values[number], g, number, arguments, context), ++number), ...);
  return exact(r);
}

/// The tangents along each element of an argument, [n, y...], as derivatives of dtype U, [y..., x...].
template <class Y, class U>
constexpr int derivatives_of_push(graph& r, int rows, int shape) {
  if (rows < 0 || shape < 0) return -1;
  int axes[max_rank] = {};
  const int rank = r.shape_of(rows).rank;
  for (int i = 0; i < rank; ++i) axes[i] = (i + 1) % rank;
  const operand<Y> last{&r, rank > 1 ? r.op(rows).kit->permute(r, rows, axes) : rows};
  return reshape_to(cast_to<U>(last), shape).id;
}

/// The derivatives of each output of g, of dtypes Y..., with respect to argument `number`, of dtype U: as equations of r, where the outputs
/// are `values`. Negative numbers as in append_jacobian.
template <class U, class... Y>
constexpr vec<int> pushed_jacobian(graph& r, const vec<int>& values, const graph& g, int number, maybe_context context) {
  vec<int> in, derivatives;
  for (int i = 0; i < g.inputs; ++i) in.push(r.input(i));
  const int x = in[number];
  for (int y : values) derivatives.push(shape_of_derivatives(r, y, x));
  vec<int> rows(values.size(), -1);
  if constexpr (real_element<U>) {
    graph pushed = push_forward(g, {number}, context);
    r.casts.asked.ask(pushed.casts.asked);
    vec<int> tangents;
    for (int o = values.size(); o < pushed.out.size(); ++o) tangents.push(pushed.out[o]);
    vec<char> batched(in.size(), 0);
    in.push(r.shape_of(x).rank < max_rank ? unit_seeds<U>(r, x) : -1);
    batched.push(1);
    if (in.back() >= 0)
      rows = splice_batched(r, with_outputs(static_cast<graph&&>(pushed), tangents), in, batched, r.shape_of(in.back()).e[0]);
  }
  vec<int> result;
  int o = 0;
  const auto next = [&]<class T>(std::type_identity<T>) {
    if (real_element<T> && real_element<U>) result.push(derivatives_of_push<T, U>(r, rows[o], derivatives[o]));
    else result.push(derivatives[o] < 0 ? -1 : r.op(x).kit->literal(r, derivatives[o], 0));
    ++o;
  };
  (next(std::type_identity<Y>{}), ...);
  return result;
}

/// The derivatives of `jacobian`, in its order, by pushes: of outputs of dtypes Y... with respect to arguments of dtypes U....
template <class... Y, class... U>
constexpr graph pushed_jacobian(const graph& g, const vec<int>& arguments, std::type_identity<std::tuple<Y...>>,
                                std::type_identity<std::tuple<U...>>, maybe_context context = context_of<off>) {
  graph r = prune(g);
  const vec<int> values = r.out;
  r.out = {};
  vec<int> by_argument[sizeof...(U) + 1];
  int i = 0;
  ((by_argument[i] = pushed_jacobian<U, Y...>(r, values, g, arguments[i], context), ++i), ...);
  for (int o = 0; o < values.size(); ++o)
    for (int a = 0; a < arguments.size(); ++a) r.out.push(by_argument[a][o]);
  return exact(r);
}

}  // namespace ebb::inline EBB_ABI
