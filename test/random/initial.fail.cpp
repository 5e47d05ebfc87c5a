// test/random/initial.fail.cpp — arrays that have no fans.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/random.hpp>

[[maybe_unused]] inline auto fits() { return ebb::initial<float, 8>(ebb::random_key(1), ebb::truncated_normal{}); }

#if EBB_CASE == 1  // a bias
// EXPECT: E0487 xavier, kaiming and lecun are for weights
inline auto refused() {
  return ebb::initial<float, 8>(ebb::random_key(1), ebb::kaiming_uniform{});  // LINE
}
#endif
