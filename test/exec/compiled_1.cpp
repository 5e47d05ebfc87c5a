// test/exec/compiled_1.cpp — random programs 1001 to 1005, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs 1001 to 1005 have the bits of scalar runs") {
  test::check_compiled(test::seeds<1001, 1002, 1003, 1004, 1005>{});
}
