// ebb/op/arithmetic.hpp — sums, products, quotients, and what keeps or flips a sign.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "call.hpp"
#include "kit.hpp"

namespace ebb::inline EBB_ABI::op {

/// x + y.   Saves: nothing.   Error: 0.5 ulp.
struct add : elementwise<2> {
  static constexpr std::string_view name = "add";
  static constexpr auto value(auto x, auto y) { return x + y; }
  static constexpr auto pull(auto g, auto, auto, auto) { return grads(g, g); }
};

/// x - y.   Saves: nothing.   Error: 0.5 ulp.
struct sub : elementwise<2> {
  static constexpr std::string_view name = "sub";
  static constexpr auto value(auto x, auto y) { return x - y; }
  static constexpr auto pull(auto g, auto, auto, auto) { return grads(g, -g); }
};

/// x * y.   Saves: x, y.   Error: 0.5 ulp.
struct mul : elementwise<2> {
  static constexpr std::string_view name = "mul";
  static constexpr auto value(auto x, auto y) { return x * y; }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return grads(g * y, g * x); }
};

/// x / y.   Dtype: integers are converted to float first.   Saves: y, out.   Error: 0.5 ulp.
struct div : elementwise<2> {
  static constexpr std::string_view name = "div";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto y) { return x / y; }
  static constexpr auto pull(auto g, auto, auto y, auto out) { return grads(g / y, -g * (out / y)); }
};

/// -x, the sign of zero included.   Saves: nothing.   Error: exact.
struct neg : elementwise<1> {
  static constexpr std::string_view name = "neg";
  static constexpr auto value(auto x) { return -x; }
  static constexpr auto pull(auto g, auto, auto) { return grads(-g); }
};

}  // namespace ebb::inline EBB_ABI::op
