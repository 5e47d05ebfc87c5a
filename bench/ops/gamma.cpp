// bench/ops/gamma.cpp — gamma and beta functions by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::gamma(table& t) {
  add(t, "lgamma", {0.1, 20}, [](auto x) { return ebb::lgamma(x); });
  add(t, "digamma", {0.1, 20}, [](auto x) { return ebb::digamma(x); });
  add(t, "polygamma", {0.5, 20}, [](auto x) { return ebb::polygamma<1>(x); });
  add(t, "tgamma", {0.1, 20}, [](auto x) { return ebb::tgamma(x); });
  add<2>(t, "lbeta", {0.5, 20}, [](auto x, auto y) { return ebb::lbeta(x, y); });
  add<2>(t, "beta", {0.5, 5}, [](auto x, auto y) { return ebb::beta(x, y); });
  add<2>(t, "lchoose", {10, 20}, [](auto x, auto y) { return ebb::lchoose(x, y); }, {1, 9});
  add(t, "mvlgamma", {2, 20}, [](auto x) { return ebb::mvlgamma<3>(x); });
}
