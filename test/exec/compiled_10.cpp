// test/exec/compiled_10.cpp — random programs of moves, compiled: arrays that lie in other arrays.
// SPDX-License-Identifier: BSL-1.0
// covers: run.hpp plan/view.hpp plan/rows.hpp
#include "compiled.hpp"

TEST_CASE("compiled: random programs of moves have the bits of scalar runs") {
  test::check_compiled(test::seeds<7001, 7002, 7004, 7006, 7008, 7009, 8001, 8002, 8004, 8005>{});
}
