// test/exec/compiled_8.cpp — gradients of random programs, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: gradients of random programs 1052 to 1079 have the bits of scalar runs") {
  test::check_compiled_gradients(test::seeds<1052, 1054, 1063, 1069, 1079>{});
}
