// test/num/exponential.static.cpp — the exponentials as constant expressions.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/exponential.hpp>

namespace lane = ebb::lane;

static_assert(lane::exp(0.) == 1 && lane::exp(-0.f) == 1);
static_assert(lane::exp(1.) - 2.718281828459045 < 5e-16 && 2.718281828459045 - lane::exp(1.) < 5e-16);
static_assert(lane::exp(1000.f) > 3.402e38f && lane::exp(1000.) > 1.79e308);
static_assert(lane::exp(-104.f) == 0 && lane::exp(-103.9f) == 0x1p-149f && lane::exp(-745.) == 0x1p-1074);
static_assert(lane::expm1(0.) == 0 && lane::expm1(1e-30) == 1e-30 && lane::expm1(-100.f) == -1);
static_assert(lane::tanh(0.) == 0 && lane::tanh(100.) == 1 && lane::tanh(-100.f) == -1 && lane::tanh(1e-20f) == 1e-20f);
static_assert(lane::sigmoid(0.) == 0.5 && lane::sigmoid(1000.f) == 1 && lane::sigmoid(-1000.) == 0);
