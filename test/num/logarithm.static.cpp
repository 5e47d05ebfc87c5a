// test/num/logarithm.static.cpp — the logarithms as constant expressions.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/logarithm.hpp>

namespace lane = ebb::lane;

static_assert(lane::log(1.) == 0 && lane::log(1.f) == 0 && lane::log(0.) < -1.79e308);
static_assert(lane::log(2.) == 0.6931471805599453 && lane::log(0.5f) == -0.6931472f);
static_assert(lane::log(0x1p-1074) < -744.44 && lane::log(0x1p-1074) > -744.45);
static_assert(lane::log1p(0.) == 0 && lane::log1p(1.) == 0.6931471805599453 && lane::log1p(1e-30) == 1e-30);
