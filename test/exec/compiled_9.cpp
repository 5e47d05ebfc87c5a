// test/exec/compiled_9.cpp — random programs with short axes, compiled: components, and blocks of rows.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp pass/unpack.hpp plan/rows.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs with short axes have the bits of scalar runs") {
  test::check_compiled(test::seeds<5014, 5038, 5145, 5179, 5278, 5345, 5376, 5416, 5437, 5501>{});
  test::check_compiled_gradients(test::seeds<5003, 5046, 5425, 5584>{});
}
