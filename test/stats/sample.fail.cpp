// test/stats/sample.fail.cpp — samples of vectors for an array without an axis.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/stats.hpp>

[[maybe_unused]] inline auto fits() { return ebb::sample<double, 2>(1, ebb::dirichlet_distribution{{1, 2}}); }

#if EBB_CASE == 1
// EXPECT: E0491 sample: the vectors of this distribution lie along the last axis, and there is none
inline auto refused() {
  return ebb::sample<double>(1, ebb::dirichlet_distribution{{1, 2}});  // LINE
}
#endif
