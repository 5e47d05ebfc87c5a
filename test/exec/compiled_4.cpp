// test/exec/compiled_4.cpp — random programs 1016 to 1020, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs 1016 to 1020 have the bits of scalar runs") {
  test::check_compiled(test::seeds<1016, 1017, 1018, 1019, 1020>{});
}
