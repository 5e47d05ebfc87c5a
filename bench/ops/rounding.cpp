// bench/ops/rounding.cpp — rounding, remainders, signs and comparisons by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::rounding(table& t) {
  add_value(t, "floor", {-9, 9}, [](auto x) { return ebb::floor(x); });
  add_value(t, "ceil", {-9, 9}, [](auto x) { return ebb::ceil(x); });
  add_value(t, "trunc", {-9, 9}, [](auto x) { return ebb::trunc(x); });
  add_value(t, "round", {-9, 9}, [](auto x) { return ebb::round(x); });
  add(t, "frac", {-9, 9}, [](auto x) { return ebb::frac(x); });
  add_value(t, "round_to", {-9, 9}, [](auto x) { return ebb::round_to<2>(x); });
  add<2>(t, "fmod", {1, 9}, [](auto x, auto y) { return ebb::fmod(x, y); });
  add<2>(t, "remainder", {1, 9}, [](auto x, auto y) { return ebb::remainder(x, y); });
  add_value<void, 2>(t, "floor_divide", {1, 9}, [](auto x, auto y) { return ebb::floor_divide(x, y); });
  add_value<void, 2>(t, "copysign", {-9, 9}, [](auto x, auto y) { return ebb::copysign(x, y); });
  add(t, "ldexp", {-9, 9}, [](auto x) { return ebb::ldexp(x, 3); });
  add(t, "nan_to_num", {-9, 9}, [](auto x) { return ebb::nan_to_num(x); });
  add_value<void, 2>(t, "nextafter", {1, 9}, [](auto x, auto y) { return ebb::nextafter(x, y); });
  add_value<bool, 2>(t, "less", {-9, 9}, [](auto x, auto y) { return ebb::less(x, y); });
  add_value<bool, 2>(t, "less_equal", {-9, 9}, [](auto x, auto y) { return ebb::less_equal(x, y); });
  add_value<bool, 2>(t, "greater", {-9, 9}, [](auto x, auto y) { return ebb::greater(x, y); });
  add_value<bool, 2>(t, "greater_equal", {-9, 9}, [](auto x, auto y) { return ebb::greater_equal(x, y); });
  add_value<bool, 2>(t, "equal", {-9, 9}, [](auto x, auto y) { return ebb::equal(x, y); });
  add_value<bool, 2>(t, "not_equal", {-9, 9}, [](auto x, auto y) { return ebb::not_equal(x, y); });
  add_value<bool>(t, "isnan", {-9, 9}, [](auto x) { return ebb::isnan(x); });
  add_value<bool>(t, "isinf", {-9, 9}, [](auto x) { return ebb::isinf(x); });
  add_value<bool>(t, "isfinite", {-9, 9}, [](auto x) { return ebb::isfinite(x); });
  add_value<bool>(t, "isposinf", {-9, 9}, [](auto x) { return ebb::isposinf(x); });
  add_value<bool>(t, "isneginf", {-9, 9}, [](auto x) { return ebb::isneginf(x); });
  add_value<bool>(t, "signbit", {-9, 9}, [](auto x) { return ebb::signbit(x); });
}
