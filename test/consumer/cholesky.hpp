// test/consumer/cholesky.hpp — a factor of a matrix that is large enough for LAPACK, as an inline function of ebb.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/functional.hpp>

#include <vector>

using matrix = ebb::view<double, ebb::dyn, ebb::dyn>;

namespace {

std::vector<double> factor_of(std::size_t n) {
  std::vector<double> a(n * n, 0.3), l(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i * (n + 1)] = 1.0 + 0.01 * static_cast<double>(i);
  static constexpr auto factor = ebb::compile([](auto x) { return ebb::cholesky(x); });
  factor(ebb::into(matrix(l.data(), n, n)), matrix(a.data(), n, n));
  return l;
}

}  // namespace
