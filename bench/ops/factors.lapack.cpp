// bench/ops/factors.lapack.cpp — the functions of factors.hpp with the target ebb::lapack: EBB_LAPACK is defined for this file alone.
// SPDX-License-Identifier: BSL-1.0
#if defined(OPS_BLAS) && defined(OPS_LAPACKE)
#define EBB_LAPACK  // as the target ebb::lapack does
#endif
#include "factors.hpp"

std::vector<ops::factor_row> ops::factors_by_lapack() {
#if defined(EBB_LAPACK)
  return all_factors();
#else
  return {};
#endif
}
