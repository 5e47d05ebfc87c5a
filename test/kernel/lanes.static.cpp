// test/kernel/lanes.static.cpp — batches satisfy the requirements of numeric code and are plain data.
// SPDX-License-Identifier: BSL-1.0
// covers: lanes.hpp base/target.hpp
#include <ebb/kernel/fold.hpp>

using ebb::lanes;

static_assert(ebb::lane::lane_type<lanes<float>> && ebb::lane::lane_type<lanes<double>>);
static_assert(!ebb::lane::lane_type<lanes<std::int32_t>>);
static_assert(lanes<double>::parts == 2 * lanes<float>::parts && lanes<std::int64_t>::parts == 2 * lanes<std::int32_t>::parts);
static_assert(sizeof(lanes<float>) == ebb::lane_count * sizeof(float) && sizeof(lanes<double>) == ebb::lane_count * sizeof(double));
static_assert(std::is_trivially_copyable_v<lanes<bool>> && std::is_trivially_copyable_v<lanes<double>>);
static_assert(std::is_trivial_v<lanes<float>> && std::is_trivial_v<lanes<ebb::bfloat16>>);
static_assert(std::is_convertible_v<lanes<double>::mask, lanes<bool>> && std::is_convertible_v<lanes<bool>, lanes<double>::mask>);

// Lanes offer the instructions that the target has; lane.hpp computes the rest.
template <class V>
constexpr bool rounds = requires(V x) { V::floor(x), V::trunc(x), V::rint(x); };
template <class V>
constexpr bool scales = requires(V x) { V::scale(x, x), V::split(x); };
static_assert(rounds<lanes<float>> == ebb::target_has::rounding && rounds<lanes<double>> == ebb::target_has::rounding);
static_assert(scales<lanes<float>> == ebb::target_has::scaling && scales<lanes<double>> == ebb::target_has::scaling);
static_assert(!rounds<lanes<int>> && !scales<lanes<int>>);
static_assert(ebb::lane::fused == ebb::target_has::fma);
static_assert(ebb::simd::register_bytes < 64 || ebb::target_has::registers == 32);  // AVX-512 has both

static_assert(ebb::accumulators * ebb::lane_count == ebb::logical_lanes);
