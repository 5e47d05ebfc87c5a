// test/consumer/lapack.cpp — a user's program with ebb::lapack: LAPACK's factor and ebb's in one program, almost the same numbers.
// SPDX-License-Identifier: BSL-1.0
#include "cholesky.hpp"

#include <cmath>
#include <cstdio>

static_assert(ebb::kernel::lapack::linked);

std::vector<double> by_ebb(std::size_t n);

int main() {
  const std::vector<double> l = factor_of(200), own = by_ebb(200);
  double worst = 0;
  for (std::size_t i = 0; i < l.size(); ++i) worst = std::fmax(worst, std::fabs(l[i] - own[i]));
  std::printf("largest difference: %g\n", worst);
  return worst > 0 && worst < 1e-13 ? 0 : 1;
}
