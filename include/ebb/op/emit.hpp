// ebb/op/emit.hpp — adding equations to a graph: infers the shape, interns it, and reuses an equal equation.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "table.hpp"

#include <initializer_list>

namespace ebb::inline EBB_ABI {

// [note: a refusal is a number]
// If a shape rule refuses its operands, the result is equation number -code, and so is every result computed from it. The front end finds
// the code when it determines the type of a call, and reports the error at the user's line.

template <class T>
constexpr operand<T> refuse(graph& g, int code) {
  return {&g, -code};
}

struct attributes {
  std::int64_t a = 0, b = 0;
};

namespace detail {

// One function for all ops, since the op tables of every op that can be recorded refer to it. Not cold: a backward with a graph of itself
// emits equations in each pass (0.68 us instead of 0.61 for 16 elements, bench/compiled_autograd recorded).

EBB_ONCE constexpr int emit_equation(graph& g, const op_info& op, bool pulled_as_called, int shape, number_range in, attributes attr) {
  for (int j = 0; j < in.count; ++j)
    if (in.data[j] < 0) return in.data[j];
  if (shape < 0) return -119;
  equation e{.op = &op, .shape = shape, .attr = {attr.a, attr.b}};
  if (pulled_as_called) e.pulled_in = g.context && g.context->known ? g.context->known : &known_off;
  return g.add(e, in);
}

EBB_ONCE constexpr int emit_inferred(graph& g, const op_info& op, bool pulled_as_called, number_range in, attributes attr) {
  if (op.what == kind::elementwise) {
    // Operands of one shape need no shape rule: these are most equations of a derivative.
    const equation* eq = g.eq.data();
    const int first = in.data[0] < 0 ? -1 : eq[in.data[0]].shape;
    bool same = first >= 0;
    for (int j = 1; j < in.count; ++j) same = same && in.data[j] >= 0 && eq[in.data[j]].shape == first;
    if (same) return emit_equation(g, op, pulled_as_called, first, in, attr);
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
  const shape r = op.infer(g.syms, s, in.size(), a);
  if (r.is_refused()) return -r.code();
  return emit_equation(g, op, pulled_as_called, g.intern(r), in, attr);
}

}  // namespace detail

/// Adds Op for dtype T on operands, with a result of the given shape.
template <class Op, class T>
constexpr int emit_as(graph& g, int shape, number_range in, attributes attr = {}) {
  return detail::emit_equation(g, info<Op, T>, Op::pulled_as_called, shape, in, attr);
}
template <class Op, class T>
constexpr int emit_as(graph& g, int shape, std::initializer_list<int> in, attributes attr = {}) {
  return emit_as<Op, T>(g, shape, number_range{in.begin(), static_cast<int>(in.size())}, attr);
}

/// emit_as with the shape from the op's shape rule.
template <class Op, class T>
constexpr int emit(graph& g, number_range in, attributes attr = {}) {
  return detail::emit_inferred(g, info<Op, T>, Op::pulled_as_called, in, attr);
}
template <class Op, class T>
constexpr int emit(graph& g, std::initializer_list<int> in, attributes attr = {}) {
  return emit<Op, T>(g, number_range{in.begin(), static_cast<int>(in.size())}, attr);
}

namespace detail {
template <class Op, class T, class... A>
using dtype_used = std::conditional_t<std::is_void_v<T>, std::tuple_element_t<Op::dtype_from, std::tuple<A...>>, T>;
}

/// Inside rules: Op on operands. The result type is spelled out, not deduced, so that the pulls of two ops can use each other.
template <class Op, class T = void, class A, class... B>
constexpr auto emit_on(attributes attr, operand<A> a, operand<B>... b)
    -> operand<typename Op::template result<detail::dtype_used<Op, T, A, B...>>> {
  return {a.g, emit<Op, detail::dtype_used<Op, T, A, B...>>(*a.g, {a.id, b.id...}, attr)};
}

}  // namespace ebb::inline EBB_ABI
