// test/random/quantile.cpp — the normal quantile and its logarithm, against the long double functions of the standard library.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/random/quantile.hpp>

#include "../catch.hpp"

#include <algorithm>
#include <cmath>

using namespace ebb;

TEST_CASE("the normal quantile inverts the distribution function") {
  for (double q : {1e-300, 1e-20, 1e-3, 0.1, 0.3, 0.42, 0.425, 0.43, 0.48, 0.4999, 0.5 - 1e-7, 0.5 - 1e-10, 0.5 - 1e-15, 0.5 - 0x1p-54}) {
    const long double x = normal_quantile(q), tail = std::erfc(x / std::sqrt(2.0L)) / 2;
    const long double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
    const long double error = (tail - (0.5L - q)) / density;  // error of x, to first order
    CHECK(std::abs(static_cast<double>(error)) <= 1e-15 * std::max(1.0, static_cast<double>(x)));
    CHECK(normal_quantile(-q) == -normal_quantile(q));
  }
  CHECK(normal_quantile(0) == 0);
  for (double x = 1e-18; x < 4; x *= 1.0137) {
    const long double exact = std::log(static_cast<long double>(x));
    CHECK(std::abs(static_cast<double>((portable_log(x) - exact) / exact)) < 4e-16);
  }
}
