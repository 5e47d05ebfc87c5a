// test/exec/compiled_6.cpp — gradients of random programs 1026 to 1030, compiled.
// SPDX-License-Identifier: BSL-1.0
#include "compiled.hpp"

TEST_CASE("compiled: gradients of random programs 1026 to 1030 have the bits of scalar runs") {
  test::check_compiled_gradients(test::seeds<1026, 1027, 1028, 1029, 1030>{});
}
