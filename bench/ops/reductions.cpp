// bench/ops/reductions.cpp — sums, products and extrema by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "matrix.hpp"

void ops::reductions(table& t) {
  add_matrix<0>(t, "sum", {-1, 1}, [](auto x) { return ebb::sum(x); });
  add_matrix<1>(t, "sum<0>", {-1, 1}, [](auto x) { return ebb::sum<0>(x); });
  add_matrix<1>(t, "sum<1>", {-1, 1}, [](auto x) { return ebb::sum<1>(x); });
  add_matrix<0>(t, "mean", {-1, 1}, [](auto x) { return ebb::mean(x); });
  add_matrix<1>(t, "prod<1>", {0.9, 1.1}, [](auto x) { return ebb::prod<1>(x); });
  add_matrix<0>(t, "max", {-1, 1}, [](auto x) { return ebb::max(x); });
  add_matrix<1>(t, "max<1>", {-1, 1}, [](auto x) { return ebb::max<1>(x); });
  add_matrix<1>(t, "min<0>", {-1, 1}, [](auto x) { return ebb::min<0>(x); });
}
