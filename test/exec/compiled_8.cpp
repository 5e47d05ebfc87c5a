// test/exec/compiled_8.cpp — gradients of random programs 1036 to 1040, compiled.
// SPDX-License-Identifier: BSL-1.0
#include "compiled.hpp"

TEST_CASE("compiled: gradients of random programs 1036 to 1040 have the bits of scalar runs") {
  test::check_compiled_gradients(test::seeds<1036, 1037, 1038, 1039, 1040>{});
}
