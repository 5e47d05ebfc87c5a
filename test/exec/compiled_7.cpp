// test/exec/compiled_7.cpp — gradients of random programs 1031 to 1035, compiled.
// SPDX-License-Identifier: BSL-1.0
#include "compiled.hpp"

TEST_CASE("compiled: gradients of random programs 1031 to 1035 have the bits of scalar runs") {
  test::check_compiled_gradients(test::seeds<1031, 1032, 1033, 1034, 1035>{});
}
