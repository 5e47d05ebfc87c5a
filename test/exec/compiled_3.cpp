// test/exec/compiled_3.cpp — random programs 1011 to 1015, compiled.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp kernel/nest.hpp kernel/nest_step.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs 1011 to 1015 have the bits of scalar runs") {
  test::check_compiled(test::seeds<1011, 1012, 1013, 1014, 1015>{});
}
