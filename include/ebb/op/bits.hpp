// ebb/op/bits.hpp — the bits of integers: and, or, exclusive or, not, and shifts.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "arithmetic.hpp"

namespace ebb::inline EBB_ABI::op {

/// x & y, x | y, x ^ y, bit by bit.   Dtype: integers, or bools, promoted; floats are refused; no gradient.
/// Saves: nothing.   Error: exact.
struct bitwise : elementwise<2> {
  static constexpr domain accepts = domain::bits;
};
/// x & y, bit by bit. Other fields as bitwise.
struct bitwise_and : bitwise {
  static constexpr std::string_view name = "bitwise_and";
  static constexpr auto value(auto x, auto y) { return static_cast<decltype(x)>(x & y); }
};
/// x | y, bit by bit. Other fields as bitwise.
struct bitwise_or : bitwise {
  static constexpr std::string_view name = "bitwise_or";
  static constexpr auto value(auto x, auto y) { return static_cast<decltype(x)>(x | y); }
};
/// x ^ y, bit by bit. Other fields as bitwise.
struct bitwise_xor : bitwise {
  static constexpr std::string_view name = "bitwise_xor";
  static constexpr auto value(auto x, auto y) { return static_cast<decltype(x)>(x ^ y); }
};
/// All bits of x turned round: -x - 1, and !x for bools. All fields as bitwise.
struct bitwise_not : elementwise<1> {
  static constexpr std::string_view name = "bitwise_not";
  static constexpr domain accepts = domain::bits;
  static constexpr auto value(auto x) {
    if constexpr (std::is_same_v<lane::element_of<decltype(x)>, bool>) return !x;
    else return ~x;
  }
};

/// x << n and x >> n.   Dtype: integers, promoted; floats and bools are refused; no gradient.   Saves: nothing.   Error: exact.
/// As in NumPy, a count below 0 or not below the width shifts all bits out: that leaves 0, or -1 to the right of a negative number.
struct shift : elementwise<2> {
  static constexpr domain accepts = domain::integer;

 protected:
  template <class V>
  static constexpr int width = 8 * sizeof(lane::element_of<V>);
  template <class V>
  static constexpr auto is_within(V n) {
    return n >= lane::all<V>(0) && n < lane::all<V>(width<V>);
  }
};
/// x << n. Other fields as shift.
struct shift_left : shift {
  static constexpr std::string_view name = "shift_left";
  static constexpr auto value(auto x, auto n) {
    using V = decltype(x);
    V zero = lane::all<V>(0), count = lane::select(is_within(n), n, zero);
    if constexpr (lane::scalar<V>) return is_within(n) ? static_cast<V>(static_cast<std::make_unsigned_t<V>>(x) << count) : zero;
    else return lane::select(is_within(n), x << count, zero);
  }
};
/// x >> n, which keeps the sign. Other fields as shift.
struct shift_right : shift {
  static constexpr std::string_view name = "shift_right";
  static constexpr auto value(auto x, auto n) {
    using V = decltype(x);
    return static_cast<V>(x >> lane::select(is_within(n), n, lane::all<V>(width<V> - 1)));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::bitwise_and> bitwise_and{};
inline constexpr call<op::bitwise_or> bitwise_or{};
inline constexpr call<op::bitwise_xor> bitwise_xor{};
inline constexpr call<op::bitwise_not> bitwise_not{};
inline constexpr call<op::shift_left> shift_left{};
inline constexpr call<op::shift_right> shift_right{};

}  // namespace ebb::inline EBB_ABI
