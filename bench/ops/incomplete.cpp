// bench/ops/incomplete.cpp — incomplete gamma and beta functions by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::incomplete(table& t) {
  add<2>(t, "gammainc", {0.5, 20}, [](auto a, auto x) { return ebb::gammainc(a, x); });
  add<2>(t, "gammaincc", {0.5, 20}, [](auto a, auto x) { return ebb::gammaincc(a, x); });
  add<3>(t, "betainc", {0.5, 20}, [](auto a, auto b, auto x) { return ebb::betainc(a, b, x); }, {0.5, 20}, {0.01, 0.99});
}
