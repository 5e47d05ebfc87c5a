// test/num/float16.cpp — float16, bit for bit.
// SPDX-License-Identifier: BSL-1.0
#include "rounding.hpp"

#include <ebb/num/float16.hpp>

using ebb::float16;

TEST_CASE("every float16 survives the conversion to float and back") { test::check_round_trip<float16>(0x200); }

TEST_CASE("float16 rounds to nearest, ties to even") { test::check_ties<float16>(11, -24, 16); }

TEST_CASE("float16 agrees with PyTorch") { test::check_recorded<float16>(1, "float16"); }

TEST_CASE("float16 compares as numbers do") {
  CHECK(float16(0.f) == float16(-0.f));
  CHECK(!(float16(NAN) == float16(NAN)));
}
