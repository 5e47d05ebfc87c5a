// test/num/lane.static.cpp — the lane functions in constant expressions.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/lane.hpp>

namespace lane = ebb::lane;

static_assert(lane::lane_type<float> && lane::lane_type<double> && !lane::lane_type<int>);
static_assert(std::is_same_v<lane::element_of<float>, float> && std::is_same_v<lane::mask_of<double>, bool>);
static_assert(std::is_same_v<lane::bits_of<float>, std::uint32_t> && std::is_same_v<lane::bits_of<double>, std::uint64_t>);

static_assert(lane::all<float>(1.5f) == 1.5f && lane::select(true, 1, 2) == 1 && lane::select(false, 1., 2.) == 2);
static_assert(lane::sqrt(4.) == 2 && lane::sqrt(2.) == 1.4142135623730951);
static_assert(lane::sqrt(2.f) == 1.41421356f && lane::sqrt(0x1p-1074) == 0x1p-537);
static_assert(lane::fma(2., 3., 4.) == 10 && lane::fma(2, 3, 4) == 10);
static_assert(lane::fma(1 + 0x1p-30, 1 + 0x1p-30, -(1 + 0x1p-29)) == (lane::fused ? 0x1p-60 : 0));
static_assert(lane::fma(1 + 0x1p-20f, 1 + 0x1p-20f, -(1 + 0x1p-19f)) == (lane::fused ? 0x1p-40f : 0));
static_assert(lane::rint(2.5) == 2 && lane::rint(3.5f) == 4 && lane::rint(-0.5) == 0 && lane::rint(1e300) == 1e300);
static_assert(lane::floor(-0.5) == -1 && lane::ceil(-0.5f) == 0 && lane::trunc(-1.5) == -1);
static_assert(lane::to_bits(lane::ceil(-0.5)) == lane::format<double>::sign);
static_assert(lane::abs(-3) == 3 && lane::abs(-0.) == 0 && lane::copysign(1.f, -0.f) == -1);
static_assert(lane::maximum(1., 2.) == 2 && lane::minimum(1, 2) == 1);
static_assert(lane::power_of_two(-126.f) == 0x1p-126f && lane::power_of_two(-127.f) == 0 && lane::power_of_two(1023.) == 0x1p1023);
static_assert(lane::scale(1.5, -1074.) == 0x1p-1073 && lane::scale(1., -1075.) == 0 && lane::scale(1.f, 200.f) > 3.402e38f);
static_assert(lane::split(1.5f).significand == 0.75f && lane::split(1.5f).exponent == 1 && lane::split(-0x1p-1074).exponent == -1074);
static_assert(lane::format<float>::one == 0x3f800000u && lane::format<double>::rounder == 0x1.8p+52);
