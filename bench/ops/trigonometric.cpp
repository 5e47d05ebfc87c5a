// bench/ops/trigonometric.cpp — trigonometric functions, their inverses, and functions of pi x by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::trigonometric(table& t) {
  add(t, "sin", {-20, 20}, [](auto x) { return ebb::sin(x); });
  add(t, "cos", {-20, 20}, [](auto x) { return ebb::cos(x); });
  add(t, "tan", {-20, 20}, [](auto x) { return ebb::tan(x); });
  add(t, "asin", {-0.99, 0.99}, [](auto x) { return ebb::asin(x); });
  add(t, "acos", {-0.99, 0.99}, [](auto x) { return ebb::acos(x); });
  add(t, "atan", {-9, 9}, [](auto x) { return ebb::atan(x); });
  add<2>(t, "atan2", {-9, 9}, [](auto x, auto y) { return ebb::atan2(x, y); });
  add<2>(t, "hypot", {-9, 9}, [](auto x, auto y) { return ebb::hypot(x, y); });
  add(t, "sinpi", {-9, 9}, [](auto x) { return ebb::sinpi(x); });
  add(t, "cospi", {-9, 9}, [](auto x) { return ebb::cospi(x); });
  add(t, "tanpi", {-0.4, 0.4}, [](auto x) { return ebb::tanpi(x); });
  add(t, "sinc", {0.5, 9}, [](auto x) { return ebb::sinc(x); });
}
