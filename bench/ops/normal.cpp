// bench/ops/normal.cpp — error functions, the normal distribution and its quantiles by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::normal(table& t) {
  add(t, "erf", {-3, 3}, [](auto x) { return ebb::erf(x); });
  add(t, "erfc", {-3, 3}, [](auto x) { return ebb::erfc(x); });
  add(t, "erfcx", {-1, 3}, [](auto x) { return ebb::erfcx(x); });
  add(t, "erfinv", {-0.99, 0.99}, [](auto x) { return ebb::erfinv(x); });
  add(t, "erfcinv", {0.01, 1.99}, [](auto x) { return ebb::erfcinv(x); });
  add(t, "ndtr", {-3, 3}, [](auto x) { return ebb::ndtr(x); });
  add(t, "log_ndtr", {-3, 3}, [](auto x) { return ebb::log_ndtr(x); });
  add(t, "ndtri", {0.01, 0.99}, [](auto x) { return ebb::ndtri(x); });
}
