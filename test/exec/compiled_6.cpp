// test/exec/compiled_6.cpp — gradients of random programs, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: gradients of random programs 1026 to 1034 have the bits of scalar runs") {
  test::check_compiled_gradients(test::seeds<1026, 1031, 1032, 1033, 1034>{});
}
