// bench/ops/arithmetic.cpp — arithmetic, powers, extrema and comparisons by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

void ops::arithmetic(table& t) {
  add<2>(t, "add", {-2, 2}, [](auto x, auto y) { return x + y; });
  add<2>(t, "sub", {-2, 2}, [](auto x, auto y) { return x - y; });
  add<2>(t, "mul", {-2, 2}, [](auto x, auto y) { return x * y; });
  add<2>(t, "div", {0.5, 2}, [](auto x, auto y) { return x / y; });
  add(t, "neg", {-2, 2}, [](auto x) { return -x; });
  add(t, "abs", {-2, 2}, [](auto x) { return ebb::abs(x); });
  add(t, "sign", {-2, 2}, [](auto x) { return ebb::sign(x); });
  add(t, "square", {-2, 2}, [](auto x) { return ebb::square(x); });
  add(t, "reciprocal", {0.5, 2}, [](auto x) { return ebb::reciprocal(x); });
  add(t, "sqrt", {0.1, 9}, [](auto x) { return ebb::sqrt(x); });
  add(t, "rsqrt", {0.1, 9}, [](auto x) { return ebb::rsqrt(x); });
  add<2>(t, "pow", {0.5, 4}, [](auto x, auto y) { return ebb::pow(x, y); }, {-3, 3});
  add<2>(t, "maximum", {-2, 2}, [](auto x, auto y) { return ebb::maximum(x, y); });
  add<2>(t, "minimum", {-2, 2}, [](auto x, auto y) { return ebb::minimum(x, y); });
  add<2>(t, "fmax", {-2, 2}, [](auto x, auto y) { return ebb::fmax(x, y); });
  add<2>(t, "fmin", {-2, 2}, [](auto x, auto y) { return ebb::fmin(x, y); });
  add(t, "clamp", {-2, 2}, [](auto x) { return ebb::clamp(x, -1, 1); });
  add(t, "clamp_min", {-2, 2}, [](auto x) { return ebb::clamp_min(x, -1); });
  add(t, "clamp_max", {-2, 2}, [](auto x) { return ebb::clamp_max(x, 1); });
  add<2>(t, "where", {-2, 2}, [](auto x, auto y) { return ebb::where(x > 0, x, y); });
  add<3>(t, "lerp", {-2, 2}, [](auto x, auto y, auto w) { return ebb::lerp(x, y, w); });
}
