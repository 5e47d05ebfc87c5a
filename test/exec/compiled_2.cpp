// test/exec/compiled_2.cpp — random programs 1006 to 1010, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs 1006 to 1010 have the bits of scalar runs") {
  test::check_compiled(test::seeds<1006, 1007, 1008, 1009, 1010>{});
}
