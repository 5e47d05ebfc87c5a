// bench/ops/shrinking.cpp — activations made of pieces of lines by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::shrinking(table& t) {
  add(t, "relu", {-5, 5}, [](auto x) { return ebb::relu(x); });
  add(t, "relu6", {-9, 9}, [](auto x) { return ebb::relu6(x); });
  add(t, "leaky_relu", {-5, 5}, [](auto x) { return ebb::leaky_relu(x); });
  add(t, "prelu", {-5, 5}, [](auto x) { return ebb::prelu(x, 0.25); });
  add(t, "hardtanh", {-5, 5}, [](auto x) { return ebb::hardtanh(x); });
  add(t, "hardsigmoid", {-5, 5}, [](auto x) { return ebb::hardsigmoid(x); });
  add(t, "hardswish", {-5, 5}, [](auto x) { return ebb::hardswish(x); });
  add(t, "softshrink", {-5, 5}, [](auto x) { return ebb::softshrink(x); });
  add(t, "hardshrink", {-5, 5}, [](auto x) { return ebb::hardshrink(x); });
  add(t, "threshold", {-5, 5}, [](auto x) { return ebb::threshold(x, 0.5, 0.0); });
}
