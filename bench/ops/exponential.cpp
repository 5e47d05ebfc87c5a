// bench/ops/exponential.cpp — exp, log and hyperbolic functions by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::exponential(table& t) {
  add(t, "exp", {-5, 5}, [](auto x) { return ebb::exp(x); });
  add(t, "exp2", {-5, 5}, [](auto x) { return ebb::exp2(x); });
  add(t, "exp10", {-5, 5}, [](auto x) { return ebb::exp10(x); });
  add(t, "expm1", {-5, 5}, [](auto x) { return ebb::expm1(x); });
  add(t, "log", {0.01, 20}, [](auto x) { return ebb::log(x); });
  add(t, "log2", {0.01, 20}, [](auto x) { return ebb::log2(x); });
  add(t, "log10", {0.01, 20}, [](auto x) { return ebb::log10(x); });
  add(t, "log1p", {-0.9, 20}, [](auto x) { return ebb::log1p(x); });
  add(t, "tanh", {-5, 5}, [](auto x) { return ebb::tanh(x); });
  add(t, "sigmoid", {-8, 8}, [](auto x) { return ebb::sigmoid(x); });
  add(t, "softplus", {-8, 8}, [](auto x) { return ebb::softplus(x); });
  add(t, "log_sigmoid", {-8, 8}, [](auto x) { return ebb::log_sigmoid(x); });
  add(t, "sinh", {-5, 5}, [](auto x) { return ebb::sinh(x); });
  add(t, "cosh", {-5, 5}, [](auto x) { return ebb::cosh(x); });
  add(t, "asinh", {-9, 9}, [](auto x) { return ebb::asinh(x); });
  add(t, "acosh", {1.01, 20}, [](auto x) { return ebb::acosh(x); });
  add(t, "atanh", {-0.95, 0.95}, [](auto x) { return ebb::atanh(x); });
}
