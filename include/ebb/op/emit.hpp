// ebb/op/emit.hpp — the one way into a graph: infer the shape, intern it, share the equation.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "op.hpp"

#include <initializer_list>

namespace ebb::inline EBB_ABI {

// [note: a refusal is a number]
// Where a shape rule refuses its operands, the result is equation number -code, and so is everything that is computed from it. The
// front end finds the code when it asks for the type of a call, and turns it into the sentence at the user's line.

template <class T>
constexpr operand<T> refuse(graph& g, int code) {
  return {&g, -code};
}

struct attributes {
  std::int64_t a = 0, b = 0;
};

/// Op for dtype T on operands, with a result of the given shape. Cold at run time, where it is only called for derivatives of derivatives:
/// the op tables of all that can be recorded name it, and compilers then make it small and are done with it sooner.
template <class Op, class T>
[[gnu::cold]] constexpr int emit_as(graph& g, int shape, number_range in, attributes attr = {}) {
  for (int j = 0; j < in.count; ++j)
    if (in.data[j] < 0) return in.data[j];
  if (shape < 0) return -119;
  equation e{.op = &info<Op, T>, .shape = shape, .attr = {attr.a, attr.b}};
  if constexpr (Op::pulled_as_called) e.pulled_in = g.context && g.context->known ? g.context->known : &known_off;
  return g.add(e, in);
}
template <class Op, class T>
constexpr int emit_as(graph& g, int shape, std::initializer_list<int> in, attributes attr = {}) {
  return emit_as<Op, T>(g, shape, number_range{in.begin(), static_cast<int>(in.size())}, attr);
}

/// The same, with the shape that the op's rule gives.
template <class Op, class T>
[[gnu::cold]] constexpr int emit(graph& g, number_range in, attributes attr = {}) {
  if constexpr (Op::what == kind::elementwise) {
    // Operands of one shape need no rule: most equations of a derivative.
    const equation* eq = g.eq.data();
    const int first = in.data[0] < 0 ? -1 : eq[in.data[0]].shape;
    bool same = first >= 0;
    for (int j = 1; j < in.count; ++j) same = same && in.data[j] >= 0 && eq[in.data[j]].shape == first;
    if (same) return emit_as<Op, T>(g, first, in, attr);
  }
  shape shapes[4];
  vec<shape> many;
  if (in.size() > 4) many = vec<shape>(in.size(), shape{});
  shape* s = in.size() > 4 ? many.data() : shapes;
  for (int j = 0; j < in.size(); ++j) {
    if (in[j] < 0) return in[j];
    s[j] = g.shape_of(in[j]);
  }
  const std::int64_t a[2] = {attr.a, attr.b};
  const shape r = Op::infer(g.syms, s, in.size(), a);
  if (r.is_refused()) return -r.code();
  return emit_as<Op, T>(g, g.intern(r), in, attr);
}
template <class Op, class T>
constexpr int emit(graph& g, std::initializer_list<int> in, attributes attr = {}) {
  return emit<Op, T>(g, number_range{in.begin(), static_cast<int>(in.size())}, attr);
}

namespace detail {
template <class Op, class T, class... A>
using dtype_used = std::conditional_t<std::is_void_v<T>, std::tuple_element_t<Op::dtype_from, std::tuple<A...>>, T>;
}

/// Op on operands: what a rule writes. Its type is spelled out, not deduced, so that ops can pull into each other.
template <class Op, class T = void, class A, class... B>
constexpr auto emit_on(attributes attr, operand<A> a, operand<B>... b)
    -> operand<typename Op::template result<detail::dtype_used<Op, T, A, B...>>> {
  return {a.g, emit<Op, detail::dtype_used<Op, T, A, B...>>(*a.g, {a.id, b.id...}, attr)};
}

}  // namespace ebb::inline EBB_ABI
