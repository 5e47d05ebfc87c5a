// ebb/op/remainder.hpp — remainders, quotients rounded down, fractions, and rounding to decimals.
// SPDX-License-Identifier: BSL-1.0
//
// Integers stay integers. An integer divided by 0 has quotient and remainder 0, as in NumPy: a loop over lanes has no way to report it.
#pragma once

#include "rounding.hpp"

#include "../num/remainder.hpp"

namespace ebb::inline EBB_ABI::op {

/// trunc(x / y) of the exact quotient. It is NaN where fmod is; integers divided by 0 give 0.   Dtype: bool is refused.
/// Saves: nothing: its derivative is 0.   Error: with fma exact below 2^24, in double 2^53; else 2 ulp.
struct whole_quotient : elementwise<2> {
  static constexpr std::string_view name = "whole_quotient";
  static constexpr domain accepts = domain::signed_number;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::whole_quotient(x, y); }
  static constexpr auto pull(auto, auto, auto, auto) { return grads(nothing, nothing); }
};

/// x - n y with n = trunc(x / y): the sign is that of x, as for % in C++. For y = 0 and for infinite x NaN, for integers 0.
/// Dtype: bool is refused.   Saves: x, y.   Error: exact. The gradient of y is -n; n has the derivative 0.
struct fmod : elementwise<2> {
  static constexpr std::string_view name = "fmod";
  static constexpr domain accepts = domain::signed_number;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::fmod(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return grads(g, -g * emit_on<whole_quotient>({}, x, y)); }
};

/// The largest integer not above x / y, of the exact quotient. By 0: x / y, for integers 0.   Dtype: bool is refused.
/// Saves: nothing: its derivative is 0.   Error: with fma exact below 2^24, in double 2^53; else 2 ulp.
struct floor_divide : elementwise<2> {
  static constexpr std::string_view name = "floor_divide";
  static constexpr domain accepts = domain::signed_number;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::floor_quotient(x, y); }
  static constexpr auto pull(auto, auto, auto, auto) { return grads(nothing, nothing); }
};

/// x - n y with n = floor(x / y): the sign is that of y, as for % in Python. For y = 0 and for infinite x NaN, for integers 0.
/// Dtype: bool is refused.
/// Saves: x, y.   Error: 0.5 ulp. The gradient of y is -n.
struct remainder : elementwise<2> {
  static constexpr std::string_view name = "remainder";
  static constexpr domain accepts = domain::signed_number;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::floor_remainder(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return grads(g, -g * emit_on<floor_divide>({}, x, y)); }
};

/// x - trunc(x). NaN at infinity.   Saves: nothing.   Error: exact.
struct frac : elementwise<1> {
  static constexpr std::string_view name = "frac";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) { return x - lane::trunc(x); }
  static constexpr auto pull(auto g, auto, auto) { return grads(g); }
};

/// The multiple of 1 / unit that is nearest to x; of -unit, if unit is negative.   Saves: nothing: its derivative is 0.
/// Error: 1.5 ulp; if the product x unit is between two integers, the tie is decided after rounding it.
struct round_at : elementwise<2> {
  static constexpr std::string_view name = "round_at";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto unit) {
    using V = decltype(x);
    V size = lane::abs(unit), integral = lane::all<V>(lane::format<lane::element_of<V>>::ulp_one);
    auto tens = unit < lane::all<V>(0);
    V quotient = lane::select(tens, x, lane::rint(x * size)) / size;  // one division, whichever it is
    V places = lane::select(lane::abs(x) < integral, quotient, x);
    return lane::select(tens, lane::rint(quotient) * size, places);
  }
  static constexpr auto pull(auto, auto, auto, auto) { return grads(nothing, nothing); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

namespace functions {

template <int Decimals>
struct round_to {
  static constexpr std::string_view name = "round_to";
  static constexpr double unit = [] {
    double power = 1;
    for (int i = 0; i < (Decimals < 0 ? -Decimals : Decimals) && i < 10; ++i) power *= 10;
    return Decimals < 0 ? -power : power;
  }();
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using R = decltype(detail::accepted<op::round_at, T>());
    // float16 has no number 10^5.
    const auto y = cast_to<detail::computed_in<R>>(cast_to<R>(x));
    return cast_to<R>(emit_on<op::round_at>({}, y, literal_like(y, unit)));
  }
};

}  // namespace functions

inline constexpr call<op::fmod> fmod{};
inline constexpr call<op::remainder> remainder{};
inline constexpr call<op::floor_divide> floor_divide{};
inline constexpr call<op::frac> frac{};

/// x rounded to a number of decimals; a negative number rounds to tens, hundreds, ...; a tie goes to the even digit. PyTorch's and NumPy's
/// round with decimals.   round_to<2>(x)
/// Dtype: integers are converted to float first.   Saves: nothing: its derivative is 0.   Error: as op::round_at.
template <int Decimals, class X>
constexpr auto round_to(X&& x) {
  static_assert(Decimals >= -10 && Decimals <= 10, "[ebb E0236] round_to<Decimals>: from -10 to 10 decimals");
  if constexpr (number<std::remove_cvref_t<X>>) {
    using R = std::conditional_t<std::is_floating_point_v<std::remove_cvref_t<X>>, std::remove_cvref_t<X>, double>;
    return op::round_at::value(static_cast<R>(x), static_cast<R>(functions::round_to<Decimals>::unit));
  } else return apply_function(functions::round_to<Decimals>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
