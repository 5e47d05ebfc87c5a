// bench/ops/moments.cpp — norms, variances and logarithms of sums by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "matrix.hpp"

#include <ebb/reductions.hpp>

void ops::moments(table& t) {
  add_matrix<0>(t, "norm", {-1, 1}, [](auto x) { return ebb::norm(x); });
  add_matrix<1>(t, "norm<1>", {-1, 1}, [](auto x) { return ebb::norm<1>(x); });
  add_matrix<1>(t, "var<1>", {-1, 1}, [](auto x) { return ebb::var<1>(x); });
  add_matrix<1>(t, "stddev<1>", {-1, 1}, [](auto x) { return ebb::stddev<1>(x); });
  add_matrix<1>(t, "moment<4>", {-1, 1}, [](auto x) { return ebb::moment<4, 1>(x); });
  add_matrix<1>(t, "logsumexp<1>", {-5, 5}, [](auto x) { return ebb::logsumexp<1>(x); });
}
