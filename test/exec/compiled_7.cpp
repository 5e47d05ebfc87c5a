// test/exec/compiled_7.cpp — gradients of random programs, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: gradients of random programs 1042 to 1048 have the bits of scalar runs") {
  test::check_compiled_gradients(test::seeds<1042, 1044, 1046, 1047, 1048>{});
}
