// test/num/power.static.cpp — pow as a constant expression.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/power.hpp>

namespace lane = ebb::lane;

static_assert(lane::pow(2., 10.) == 1024 && lane::pow(-2.f, 3.f) == -8 && lane::pow(9., 0.5) == 3 && lane::pow(5., 0.) == 1);
static_assert(lane::pow(2, 10) == 1024 && lane::pow(-3, 3) == -27 && lane::pow(7, 0) == 1 && lane::pow(0, 0) == 1 && lane::pow(0, 5) == 0);
static_assert(lane::pow(3, 40) == 689956897, "wraps around");
static_assert(lane::pow(2, -1) == 0 && lane::pow(1, -7) == 1 && lane::pow(-1, -3) == -1 && lane::pow(-1, -2) == 1 && lane::pow(0, -3) == 0);
static_assert(lane::pow(std::int64_t{3}, std::int64_t{40}) == -6289078614652622815);
static_assert(lane::pow(std::int64_t{-1}, std::int64_t{1} << 62) == 1 && lane::pow(-1, 2147483647) == -1);
static_assert(lane::pow(2., -1074.) == 0x1p-1074 && lane::pow(2.f, -149.f) == 0x1p-149f && lane::pow(2., 1023.) == 0x1p1023);
