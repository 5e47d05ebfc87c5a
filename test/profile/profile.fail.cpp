// test/profile/profile.fail.cpp — a profile is refused in a file that has no probes.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/profile.hpp>

int main() {
#if EBB_CASE == 1  // EBB_PROFILE was forgotten
  // EXPECT: E0299 ebb::profile: this file has no probes: compile it with -DEBB_PROFILE
  const ebb::profile p;  // LINE
#endif
}
