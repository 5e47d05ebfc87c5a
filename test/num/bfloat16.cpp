// test/num/bfloat16.cpp — bfloat16, bit for bit.
// SPDX-License-Identifier: BSL-1.0
#include "rounding.hpp"

#include <ebb/num/bfloat16.hpp>

using ebb::bfloat16;

TEST_CASE("every bfloat16 survives the conversion to float and back") { test::check_round_trip<bfloat16>(0x40); }

TEST_CASE("bfloat16 rounds to nearest, ties to even") { test::check_ties<bfloat16>(8, -133, 128); }

TEST_CASE("bfloat16 agrees with PyTorch") { test::check_recorded<bfloat16>(0, "bfloat16"); }

TEST_CASE("bfloat16 compares as numbers do") {
  CHECK(bfloat16(0.f) == bfloat16(-0.f));
  CHECK(!(bfloat16(NAN) == bfloat16(NAN)));
}
