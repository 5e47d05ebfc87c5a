// ebb/op/compare.hpp — comparisons, logic, selection.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "arithmetic.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::op {

template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();

/// Whether x is less than, greater than or equal to y.   Dtype: operands are promoted; the result is bool, no gradient.   Saves: nothing.
/// Error: exact. With a NaN all but not_equal are false; zeros of either sign are equal.
struct comparison : elementwise<2> {
  template <class T>
  using result = bool;
  static constexpr domain accepts = domain::any;
};

/// x < y. Other fields as comparison.
struct less : comparison {
  static constexpr std::string_view name = "less";
  static constexpr auto value(auto x, auto y) { return x < y; }
};
/// x <= y. Other fields as comparison.
struct less_equal : comparison {
  static constexpr std::string_view name = "less_equal";
  static constexpr auto value(auto x, auto y) { return x <= y; }
};
/// x > y. Other fields as comparison.
struct greater : comparison {
  static constexpr std::string_view name = "greater";
  static constexpr auto value(auto x, auto y) { return x > y; }
};
/// x >= y. Other fields as comparison.
struct greater_equal : comparison {
  static constexpr std::string_view name = "greater_equal";
  static constexpr auto value(auto x, auto y) { return x >= y; }
};
/// x == y. Other fields as comparison.
struct equal : comparison {
  static constexpr std::string_view name = "equal";
  static constexpr auto value(auto x, auto y) { return x == y; }
};
/// x != y. Other fields as comparison.
struct not_equal : comparison {
  static constexpr std::string_view name = "not_equal";
  static constexpr auto value(auto x, auto y) { return x != y; }
};

/// Whether x is NaN, infinite, or finite.   Dtype: integers are converted to float first; the result is bool, no gradient.
/// Saves: nothing.   Error: exact.
struct classification : elementwise<1> {
  template <class T>
  using result = bool;
  static constexpr domain accepts = domain::real;
};

/// Whether x is NaN. Other fields as classification.
struct isnan : classification {
  static constexpr std::string_view name = "isnan";
  static constexpr auto value(auto x) { return lane::isnan(x); }
};
/// Whether x is inf or -inf. Other fields as classification.
struct isinf : classification {
  static constexpr std::string_view name = "isinf";
  static constexpr auto value(auto x) { return lane::abs(x) == lane::all<decltype(x)>(infinity<lane::element_of<decltype(x)>>); }
};
/// Whether x is neither NaN nor infinite. Other fields as classification.
struct isfinite : classification {
  static constexpr std::string_view name = "isfinite";
  static constexpr auto value(auto x) { return lane::abs(x) < lane::all<decltype(x)>(infinity<lane::element_of<decltype(x)>>); }
};

/// Logic on bools.   Dtype: others are converted, nonzero is true; the result is bool, no gradient.   Saves: nothing.   Error: exact.
struct logic : elementwise<2> {
  static constexpr domain accepts = domain::boolean;
};
/// x and y.
struct logical_and : logic {
  static constexpr std::string_view name = "logical_and";
  static constexpr auto value(auto x, auto y) { return x && y; }
};
/// x or y.
struct logical_or : logic {
  static constexpr std::string_view name = "logical_or";
  static constexpr auto value(auto x, auto y) { return x || y; }
};
/// Not x. All fields as logic.
struct logical_not : elementwise<1> {
  static constexpr std::string_view name = "logical_not";
  static constexpr domain accepts = domain::boolean;
  static constexpr auto value(auto x) { return !x; }
};

/// condition ? x : y.   Dtype: that of x and y; of numbers alone float, or int64.   Saves: condition.   Error: exact.
/// A value that is not selected has no effect on the result, not even a NaN. Its gradient is 0 times its derivative, which may be NaN: for
/// where(x > 0, sqrt(x), 0) it is 0 / 0 at x = 0. Select the operand as well: where(x > 0, sqrt(where(x > 0, x, 1)), 0). detect_anomaly
/// finds such a call on the tape.
struct where : elementwise<3> {
  static constexpr std::string_view name = "where";
  static constexpr domain accepts = domain::any;
  template <class T, int J>
  using operand_type = std::conditional_t<J == 0, bool, T>;
  static constexpr int dtype_from = 1;
  static constexpr auto value(auto condition, auto x, auto y) {
    if constexpr (std::is_arithmetic_v<decltype(condition)>) return lane::select(condition != 0, x, y);  // of plain numbers it has x's type
    else return lane::select(condition, x, y);
  }
  static constexpr auto pull(auto g, auto condition, auto, auto, auto) {
    const auto zero = literal_like(g, 0);
    return grads(nothing, emit_on<where>({}, condition, g, zero), emit_on<where>({}, condition, zero, g));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::less> less{};
inline constexpr call<op::less_equal> less_equal{};
inline constexpr call<op::greater> greater{};
inline constexpr call<op::greater_equal> greater_equal{};
inline constexpr call<op::equal> equal{};
inline constexpr call<op::not_equal> not_equal{};
inline constexpr call<op::isnan> isnan{};
inline constexpr call<op::isinf> isinf{};
inline constexpr call<op::isfinite> isfinite{};
inline constexpr call<op::logical_and> logical_and{};
inline constexpr call<op::logical_or> logical_or{};
inline constexpr call<op::logical_not> logical_not{};

inline constexpr call<op::where> where{};

}  // namespace ebb::inline EBB_ABI
