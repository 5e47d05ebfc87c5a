// ebb/op/source.hpp — equations without operands: arguments, literals, indices.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "emit.hpp"

#include <string_view>

namespace ebb::inline EBB_ABI::op {

struct source : op_base {
  static constexpr int arity = 0;
  static constexpr domain accepts = domain::any;
};

/// Argument number attr 0.
struct input : source {
  static constexpr std::string_view name = "input";
  static constexpr kind what = kind::input;
};

/// One value in every element; attr 0 holds its bits.
struct literal : source {
  static constexpr std::string_view name = "literal";
  static constexpr kind what = kind::literal;
};

/// The index of each element along axis attr 0.
struct index : source {
  static constexpr std::string_view name = "index";
  static constexpr kind what = kind::index;
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class T>
constexpr cell literal_bits(auto value) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) return to_cell(static_cast<T>(static_cast<float>(value)));
  else return to_cell(static_cast<T>(value));
}

/// A number as it is beside arrays of dtype T: beside bf16, 0.3 is the nearest bf16, also in a function that computes in float.
template <class T>
constexpr auto beside(auto number) {
  constexpr bool narrow = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;
  if constexpr (narrow) return static_cast<float>(static_cast<T>(static_cast<float>(number)));
  else return static_cast<T>(number);
}

/// A literal of the shape with the given number in g.
template <class T>
constexpr operand<T> literal_in(graph& g, int shape, auto value) {
  return {&g, emit_as<op::literal, T>(g, shape, {}, {static_cast<std::int64_t>(literal_bits<T>(value))})};
}
/// A literal of the dtype and shape of `like`: literals are weak, so that 2 * x has the dtype of x.
template <class T>
constexpr operand<T> literal_like(operand<T> like, auto value) {
  if (like.is_refused()) return like;
  return literal_in<T>(*like.g, like.g->eq[like.id].shape, value);
}

/// The index of each element along `axis`.
template <class T>
constexpr operand<T> index_along(graph& g, int shape, int axis) {
  return {&g, emit_as<op::index, T>(g, shape, {}, {axis})};
}

}  // namespace ebb::inline EBB_ABI
