// bench/ops/logarithmic.cpp — logarithms of sums and products by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::logarithmic(table& t) {
  add<2>(t, "logaddexp", {-8, 8}, [](auto x, auto y) { return ebb::logaddexp(x, y); });
  add<2>(t, "logaddexp2", {-8, 8}, [](auto x, auto y) { return ebb::logaddexp2(x, y); });
  add<2>(t, "logsubexp", {1, 8}, [](auto x, auto y) { return ebb::logsubexp(x, y); }, {-8, 0.5});
  add(t, "log1mexp", {-5, -0.01}, [](auto x) { return ebb::log1mexp(x); });
  add<2>(t, "xlogy", {0.1, 5}, [](auto x, auto y) { return ebb::xlogy(x, y); });
  add<2>(t, "xlog1py", {0.1, 5}, [](auto x, auto y) { return ebb::xlog1py(x, y); });
  add(t, "entr", {0.01, 5}, [](auto x) { return ebb::entr(x); });
  add(t, "logit", {0.01, 0.99}, [](auto x) { return ebb::logit(x); });
  add(t, "logcosh", {-8, 8}, [](auto x) { return ebb::logcosh(x); });
}
