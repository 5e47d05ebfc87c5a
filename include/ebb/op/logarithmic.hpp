// ebb/op/logarithmic.hpp — logarithms of sums and differences, and products with logarithms: logaddexp, log1mexp, xlogy, xlog1py, entr.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compare.hpp"
#include "exponential.hpp"

#include "../num/logarithmic.hpp"

namespace ebb::inline EBB_ABI::op {

/// e^x / (e^x + e^y): the share of x in logaddexp. 1/2 if both are the same infinity.   Saves: x, y, out.   Error: 3 ulp.
struct share_of_exp : elementwise<2> {
  static constexpr std::string_view name = "share_of_exp";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::share_of_exp(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) {
    const auto slope = g * (out * emit_on<share_of_exp>({}, y, x));
    return grads(slope, -slope);
  }
};

/// log(e^x + e^y), without overflow. Two equal infinities give that infinity and share the gradient evenly; PyTorch's gradient is NaN.
/// Saves: x, y.   Error: 3 ulp of the largest of |x|, |y| and |out|.   Source: as num/logarithmic.hpp.
struct logaddexp : elementwise<2> {
  static constexpr std::string_view name = "logaddexp";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) { return lane::logaddexp(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) {
    return grads(g * emit_on<share_of_exp>({}, x, y), g * emit_on<share_of_exp>({}, y, x));
  }
};

/// -1 / (e^-x - 1), the derivative of log1mexp.   Saves: out.   Error: 2.5 ulp.
struct log1mexp_slope : transcendental {
  static constexpr std::string_view name = "log1mexp_slope";
  static constexpr auto value(auto x) { return lane::all<decltype(x)>(-1) / lane::expm1(-x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (out * (1 - out))); }
};

/// log(1 - e^x).   Saves: x.   Error: 4 ulp.   Domain: x <= 0; log1mexp(0) is -inf.   Source: as num/logarithmic.hpp.
struct log1mexp : transcendental {
  static constexpr std::string_view name = "log1mexp";
  static constexpr auto value(auto x) { return lane::log1mexp(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<log1mexp_slope>({}, x)); }
};

/// x Log(y), where Log is log(y - End), and 0 for x = 0 unless y is NaN. At End the logarithm is infinite, at End + 1 it is 0.
template <class Log, int End>
struct x_log : elementwise<2> {
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto x, auto y) {
    using V = decltype(x);
    V zero = lane::all<V>(0);
    auto flat = x == zero && y == y;
    return lane::select(flat, zero, x * Log::value(lane::select(flat, lane::all<V>(End + 1), y)));
  }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> x, operand<T> y, operand<T>) {
    // Operands are selected, not results: the derivatives of these are finite where a result is not selected.
    const auto zero = literal_like(g, 0), end = literal_like(g, End), root = literal_like(g, End + 1);
    const auto flat = emit_on<logical_and>({}, emit_on<equal>({}, x, zero), emit_on<less_equal>({}, y, end));
    const auto corner = emit_on<logical_and>({}, emit_on<equal>({}, x, zero), emit_on<equal>({}, y, end));
    auto distance = emit_on<where>({}, corner, root, y);
    if constexpr (End != 0) distance = -End + distance;
    const auto by_y = x / distance;
    return grads(g * emit_on<Log>({}, emit_on<where>({}, flat, root, y)), g * emit_on<where>({}, corner, zero, by_y));
  }
};

/// x log y, and 0 for x = 0 unless y is NaN.   Saves: x, y.   Error: 2 ulp.
/// At x = 0 and y <= 0 the gradient of x is 0; at (0, 0) that of y is 0, where PyTorch's is NaN.
struct xlogy : x_log<log, 0> {
  static constexpr std::string_view name = "xlogy";
};

/// x log(1 + y), and 0 for x = 0 unless y is NaN.   Saves: x, y.   Error: 2.5 ulp.
/// At x = 0 and y <= -1 the gradient of x is 0; at (0, -1) that of y is 0, where PyTorch's is NaN.
struct xlog1py : x_log<log1p, -1> {
  static constexpr std::string_view name = "xlog1py";
};

/// -x log x: 0 at 0, -inf below 0.   Saves: x.   Error: 2 ulp; of the derivative -(1 + log x): 2 ulp of max(|out|, 1).
/// The derivative is inf at 0 and NaN below.
struct entr : transcendental {
  static constexpr std::string_view name = "entr";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    V zero = lane::all<V>(0), low = lane::all<V>(-infinity<lane::element_of<V>>);
    V product = -x * lane::log(lane::select(x <= zero, lane::all<V>(1), x));
    return lane::select(x == zero, zero, lane::select(x < zero, low, product));
  }
  static constexpr auto pull(auto g, auto x, auto) { return grads(-g * (emit_on<log>({}, x) + 1)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::logaddexp> logaddexp{};
inline constexpr call<op::log1mexp> log1mexp{};
inline constexpr call<op::xlogy> xlogy{};
inline constexpr call<op::xlog1py> xlog1py{};
inline constexpr call<op::entr> entr{};

}  // namespace ebb::inline EBB_ABI
