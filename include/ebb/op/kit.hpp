// ebb/op/kit.hpp — the table of equations that passes emit for a dtype without naming an op.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "convert.hpp"
#include "loop.hpp"
#include "move.hpp"

namespace ebb::inline EBB_ABI {

template <class T>
struct kit_of {
  static constexpr int add(graph& g, int a, int b) {
    if constexpr (std::is_same_v<T, bool>) return a;
    else return emit<op::add, T>(g, {a, b});
  }
  static constexpr int sub(graph& g, int a, int b) {
    if constexpr (std::is_same_v<T, bool>) return a;
    else return emit<op::sub, T>(g, {a, b});
  }
  static constexpr int neg(graph& g, int a) {
    if constexpr (std::is_same_v<T, bool>) return a;
    else return emit<op::neg, T>(g, {a});
  }
  static constexpr int literal(graph& g, int shape, double value) {
    return literal_in<T>(g, shape, value).id;
  }
  static constexpr int constant(graph& g, int shape, cell bits) {
    return emit_as<op::literal, T>(g, shape, {}, {static_cast<std::int64_t>(bits)});
  }
  static constexpr int input(graph& g, int shape, int number) { return emit_as<op::input, T>(g, shape, {}, {number}); }
  static constexpr int broadcast(graph& g, int x, int shape, std::int64_t mask) { return broadcast_to(operand<T>{&g, x}, shape, mask).id; }
  static constexpr int sum(graph& g, int x, std::int64_t mask) {
    if constexpr (std::is_same_v<T, bool>) return x;
    else return sum_over(operand<T>{&g, x}, mask).id;
  }
  static constexpr int reshape(graph& g, int x, int shape) { return reshape_to(operand<T>{&g, x}, shape).id; }
  static constexpr int permute(graph& g, int x, const int* axes) {
    return emit<op::permute, T>(g, {x}, {pack_axes(axes, g.shape_of(x).rank)});
  }
  static constexpr int widen(graph& g, int x) { return cast_to<detail::computed_in<T>>(operand<T>{&g, x}).id; }
  static constexpr int slice(graph& g, int x, int axis, std::int64_t start, int shape) {
    return slice_as(operand<T>{&g, x}, {axis, start}, shape).id;
  }
  static constexpr int place(graph& g, int x, int axis, std::int64_t start, int shape) {
    return place_in(operand<T>{&g, x}, {axis, start}, shape).id;
  }
  static constexpr int concat(graph& g, number_range in, int axis, int shape) { return emit_as<op::concat, T>(g, shape, in, {axis}); }
  static constexpr int result(graph& g, int loop, int shape, attributes_of_result which) {
    return emit_as<op::result_of_loop, T>(g, shape, {loop}, {which.number, which.kind});
  }
  static constexpr dtype_kit table{&add, &sub, &neg, &literal, &constant, &input, &broadcast, &sum, &reshape, &permute, &slice, &place,
                                   &concat, &result, &widen};
};

}  // namespace ebb::inline EBB_ABI
