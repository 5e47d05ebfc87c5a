// test/exec/compiled_5.cpp — random programs 1021 to 1025, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs 1021 to 1025 have the bits of scalar runs") {
  test::check_compiled(test::seeds<1021, 1022, 1023, 1024, 1025>{});
}
