// bench/ops/activation.cpp — smooth activations by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::activation(table& t) {
  add(t, "silu", {-8, 8}, [](auto x) { return ebb::silu(x); });
  add(t, "quick_gelu", {-8, 8}, [](auto x) { return ebb::quick_gelu(x); });
  add(t, "mish", {-8, 8}, [](auto x) { return ebb::mish(x); });
  add(t, "gelu", {-5, 5}, [](auto x) { return ebb::gelu(x); });
  add(t, "gelu_tanh", {-5, 5}, [](auto x) { return ebb::gelu_tanh(x); });
  add(t, "elu", {-5, 5}, [](auto x) { return ebb::elu(x); });
  add(t, "selu", {-5, 5}, [](auto x) { return ebb::selu(x); });
  add(t, "celu", {-5, 5}, [](auto x) { return ebb::celu(x); });
  add(t, "softsign", {-5, 5}, [](auto x) { return ebb::softsign(x); });
  add(t, "tanhshrink", {-5, 5}, [](auto x) { return ebb::tanhshrink(x); });
  add(t, "squareplus", {-5, 5}, [](auto x) { return ebb::squareplus(x); });
}
