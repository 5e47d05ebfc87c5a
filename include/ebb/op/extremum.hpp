// ebb/op/extremum.hpp — elementwise extrema and bounds: maximum, minimum, clamp, relu.
// SPDX-License-Identifier: BSL-1.0
//
// Values: a NaN in any operand is the result. Derivatives at kinks are PyTorch's: equal operands of maximum share the gradient evenly,
// clamp passes it to x at its bounds, and relu passes nothing at 0.
#pragma once

#include "compare.hpp"

namespace ebb::inline EBB_ABI::op {

/// The gradient of one operand: g, half of it if both are equal, 0 if the operand loses.
constexpr auto winner_gets(auto g, auto loses, auto equals) {
  const auto shared = emit_on<where>({}, equals, g / 2, g);
  return emit_on<where>({}, loses, literal_like(g, 0), shared);
}

/// The larger of two.   Saves: x, y.   Error: exact.
struct maximum : elementwise<2> {
  static constexpr std::string_view name = "maximum";
  static constexpr auto value(auto x, auto y) { return lane::maximum(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) {
    const auto same = emit_on<equal>({}, x, y);
    return grads(winner_gets(g, emit_on<less>({}, x, y), same), winner_gets(g, emit_on<greater>({}, x, y), same));
  }
};

/// The smaller of two.   Saves: x, y.   Error: exact.
struct minimum : elementwise<2> {
  static constexpr std::string_view name = "minimum";
  static constexpr auto value(auto x, auto y) { return lane::minimum(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) {
    const auto same = emit_on<equal>({}, x, y);
    return grads(winner_gets(g, emit_on<greater>({}, x, y), same), winner_gets(g, emit_on<less>({}, x, y), same));
  }
};

/// x, but at least `low`; of equal ones x, so that -0 stays.   Saves: x, low.   Error: exact.
struct clamp_min : elementwise<2> {
  static constexpr std::string_view name = "clamp_min";
  static constexpr auto value(auto x, auto low) { return lane::maximum(low, x); }
  static constexpr auto pull(auto g, auto x, auto low, auto) {
    const auto zero = literal_like(g, 0);
    return grads(emit_on<where>({}, emit_on<greater_equal>({}, x, low), g, zero), emit_on<where>({}, emit_on<less>({}, x, low), g, zero));
  }
};

/// x, but at most `high`.   Saves: x, high.   Error: exact.
struct clamp_max : elementwise<2> {
  static constexpr std::string_view name = "clamp_max";
  static constexpr auto value(auto x, auto high) { return lane::minimum(high, x); }
  static constexpr auto pull(auto g, auto x, auto high, auto) {
    const auto zero = literal_like(g, 0);
    return grads(emit_on<where>({}, emit_on<less_equal>({}, x, high), g, zero), emit_on<where>({}, emit_on<greater>({}, x, high), g, zero));
  }
};

/// x between two bounds; if low is above high, the result is high.   Saves: x, low, high.   Error: exact.
struct clamp : elementwise<3> {
  static constexpr std::string_view name = "clamp";
  static constexpr auto value(auto x, auto low, auto high) { return lane::minimum(high, lane::maximum(low, x)); }
  static constexpr auto pull(auto g, auto x, auto low, auto high, auto) {
    const auto zero = literal_like(g, 0);
    const auto both = [](auto a, auto b) { return emit_on<logical_and>({}, a, b); };
    const auto either = [](auto a, auto b) { return emit_on<logical_or>({}, a, b); };
    const auto inside = both(emit_on<greater_equal>({}, x, low), emit_on<less_equal>({}, x, high));
    const auto below = both(emit_on<less>({}, x, low), emit_on<less>({}, low, high));
    const auto above = either(emit_on<greater>({}, x, high), emit_on<greater>({}, low, high));
    return grads(emit_on<where>({}, inside, g, zero), emit_on<where>({}, below, g, zero), emit_on<where>({}, above, g, zero));
  }
};

/// 0 where x is below 0, else x; -0 stays.   Saves: out.   Error: exact.
struct relu : elementwise<1> {
  static constexpr std::string_view name = "relu";
  static constexpr auto value(auto x) { return lane::at_least(x, lane::all<decltype(x)>(0)); }
  static constexpr auto pull(auto g, auto, auto out) {
    const auto zero = literal_like(g, 0);
    return grads(emit_on<where>({}, emit_on<less_equal>({}, out, zero), zero, g));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::maximum> maximum{};
inline constexpr call<op::minimum> minimum{};
inline constexpr call<op::clamp_min> clamp_min{};
inline constexpr call<op::clamp_max> clamp_max{};
inline constexpr call<op::clamp> clamp{};
inline constexpr call<op::relu> relu{};

}  // namespace ebb::inline EBB_ABI
