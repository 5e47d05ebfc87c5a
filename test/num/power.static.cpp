// test/num/power.static.cpp — pow as a constant expression.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/power.hpp>

namespace lane = ebb::lane;

static_assert(lane::pow(2., 10.) == 1024 && lane::pow(-2.f, 3.f) == -8 && lane::pow(9., 0.5) == 3 && lane::pow(5., 0.) == 1);
static_assert(lane::pow(2., -1074.) == 0x1p-1074 && lane::pow(2.f, -149.f) == 0x1p-149f && lane::pow(2., 1023.) == 0x1p1023);
