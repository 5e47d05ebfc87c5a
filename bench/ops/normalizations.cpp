// bench/ops/normalizations.cpp — softmax, layer_norm and scans by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "matrix.hpp"

void ops::normalizations(table& t) {
  add_matrix<2>(t, "softmax", {-5, 5}, [](auto x) { return ebb::softmax(x); });
  add_matrix<2>(t, "log_softmax", {-5, 5}, [](auto x) { return ebb::log_softmax(x); });
  add_matrix<2>(t, "layer_norm", {-5, 5}, [](auto x) { return ebb::layer_norm(x); });
  add_matrix<2>(t, "cumsum", {-1, 1}, [](auto x) { return ebb::cumsum(x); });
  add_matrix<2>(t, "cumprod", {0.9, 1.1}, [](auto x) { return ebb::cumprod(x); });
}
