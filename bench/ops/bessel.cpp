// bench/ops/bessel.cpp — modified Bessel functions and cube roots by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "by_ebb.hpp"

#include <ebb/special.hpp>

void ops::bessel(table& t) {
  add(t, "cbrt", {0.1, 9}, [](auto x) { return ebb::cbrt(x); });
  add(t, "i0", {-5, 5}, [](auto x) { return ebb::i0(x); });
  add(t, "i0e", {-5, 5}, [](auto x) { return ebb::i0e(x); });
  add(t, "i1", {0.1, 5}, [](auto x) { return ebb::i1(x); });
  add(t, "i1e", {0.1, 5}, [](auto x) { return ebb::i1e(x); });
}
