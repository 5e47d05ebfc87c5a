// ebb/op/convert.hpp — casts between dtypes, and stop_gradient.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "operators.hpp"

namespace ebb::inline EBB_ABI {

/// attr 0 of a cast made by autocast: it represents a separate cast at each use. Its cotangents are converted one by one and added in the
/// dtype of its operand; those of a cast that the user wrote are added first.
inline constexpr std::int64_t each_use = 1;

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// Converts from one dtype to another.   Saves: nothing.   Error: rounded to nearest even; to an integer: towards zero.
/// attr 0: each_use, or 0.
template <class From>
struct cast : elementwise<1> {
  static constexpr std::string_view name = "cast";
  static constexpr domain accepts = domain::any;
  template <class T, int>
  using operand_type = From;
  template <class To>
  static constexpr auto value(auto x) {
    if constexpr (std::is_arithmetic_v<decltype(x)>) return static_cast<To>(x);
    else return convert<To>(x);
  }
  template <class To>
  static constexpr auto pull(operand<To> g, auto, auto) {
    if constexpr (real_element<From>) return grads(emit_on<cast<To>, From>({}, g));
    else return grads(nothing);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// All casts are one family, so that a rule can match any of them.
template <class From>
inline constexpr std::uint64_t family_of<op::cast<From>> = hash_text("ebb::op::cast");

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// x as a constant: it gets no gradient.
struct stop_gradient : elementwise<1> {
  static constexpr std::string_view name = "stop_gradient";
  static constexpr domain accepts = domain::any;
  static constexpr bool stops = true;
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

constexpr bool is_cast_of_each_use(const equation& e) { return e.op->family == family_of<op::cast<float>> && e.attr[0] == each_use; }

/// Inside rules: x in dtype To.
template <class To, class From>
constexpr operand<To> cast_to(operand<From> x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else return emit_on<op::cast<From>, To>({}, x);
}

/// Inside rules: a number or an operand in dtype T. A number remains one, computed in T, or in float if T is narrow: the op that takes it
/// makes a literal of it, in the shape of its operands.
template <class T>
constexpr auto in_dtype(number auto x) {
  return static_cast<detail::computed_in<T>>(x);
}
template <class T, class From>
constexpr operand<T> in_dtype(operand<From> x) {
  return cast_to<T>(x);
}
/// Inside rules: a number or an operand as an operand of dtype T. A number becomes a scalar literal.
template <class T>
constexpr operand<T> to_operand(graph& g, number auto x) {
  return literal_in<T>(g, g.intern({}), x);
}
template <class T, class From>
constexpr operand<T> to_operand(graph&, operand<From> x) {
  return cast_to<T>(x);
}

namespace functions {

template <class To>
struct cast {
  static constexpr auto apply(auto x) { return cast_to<To>(x); }
  /// Numbers of elements are counted in To: no integer of 64 bits is converted.
  template <std::integral I>
    requires(std::floating_point<To> && !std::same_as<I, bool>)
  static constexpr operand<To> apply(operand<I> x) {
    const bool counts = !x.is_refused() && x.g->op(x.id).what == kind::index;
    return counts ? index_along<To>(*x.g, x.shape_number(), static_cast<int>(x.attribute(0))) : cast_to<To>(x);
  }
};

}  // namespace functions

}  // namespace ebb::inline EBB_ABI
