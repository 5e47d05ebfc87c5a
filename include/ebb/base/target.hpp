// ebb/base/target.hpp — constants that describe the compiler's target; code asks them and no macro.
// SPDX-License-Identifier: BSL-1.0
//
// [note: instruction sets]
// Another instruction set needs its name in base/config.hpp and its constants here. Lanes that are faster by its instructions have them in
// kernel/batch.hpp, kernel/under_mask.hpp (loads and stores of some lanes) and kernel/instructions.hpp (arithmetic), numbers in
// base/instruction.hpp: each function there has a portable form. The width of a register is xsimd's: see simd::register_bytes.
// The constants are in base, since tensor, num and op ask them too, which are below kernel.
#pragma once

#include "config.hpp"

namespace ebb::inline EBB_ABI::target_has {

/// Vector registers that a kernel can keep values in.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int registers = 32;
#else
inline constexpr int registers = 16;
#endif

/// a * b + c rounded once, in one instruction.
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
inline constexpr bool fma = true;
#else
inline constexpr bool fma = false;
#endif

/// Registers of 32 bytes beside those of 64, with masks and fused products.
#if defined(__AVX512VL__) && defined(__AVX512F__) && defined(__FMA__)
inline constexpr bool halves = true;
#else
inline constexpr bool halves = false;
#endif

/// floor, and the nearest integer with ties to even.
#if defined(__SSE4_1__) || defined(__aarch64__)
inline constexpr bool rounding = true;
#else
inline constexpr bool rounding = false;
#endif

/// x * 2^n rounded once; the significand and the exponent of x.
#if defined(__AVX512F__)
inline constexpr bool scaling = true;
#else
inline constexpr bool scaling = false;
#endif

// An operation on registers can be rounded in another direction than that of the thread.
#if defined(__AVX512F__)
inline constexpr bool directed_rounding = true;
#else
inline constexpr bool directed_rounding = false;
#endif

/// Integers of eight bytes from and to real numbers and shorter integers.
#if defined(__AVX512DQ__) || defined(__aarch64__)
inline constexpr bool wide_conversions = true;
#else
inline constexpr bool wide_conversions = false;
#endif

/// Any lanes of a register, in any order.
#if defined(__AVX2__)
inline constexpr bool permutations = true;
#else
inline constexpr bool permutations = false;
#endif

/// Any lanes of two registers of four-byte elements or more, in any order.
#if defined(__AVX512F__)
inline constexpr bool lanes_of_two = true;
#else
inline constexpr bool lanes_of_two = false;
#endif

/// A branch on the lanes of a mask takes few instructions.
#if defined(__SSE2__)
inline constexpr bool quick_masks = true;
#else
inline constexpr bool quick_masks = false;
#endif

/// acc + a0 * b0 + a1 * b1 for pairs of bfloat16. The instruction flushes subnormal numbers to zero.
#if defined(__AVX512BF16__) && defined(__AVX512F__)
inline constexpr bool bfloat16_dot = true;
#else
inline constexpr bool bfloat16_dot = false;
#endif

/// How many fused products take as long as the division of a register of floats, or of doubles; 0: not known, so none are exchanged. AMD's
/// processors take the time of seven and of ten, Intel's take longer, the more the wider the register is.
struct division_time {
  int floats = 0, doubles = 0;
};
#if !defined(__FMA__)
inline constexpr division_time division{};
#elif EBB_DIVIDES_QUICKLY
inline constexpr division_time division{7, 10};
#elif defined(__AVX512F__)
inline constexpr division_time division{20, 32};
#else
inline constexpr division_time division{10, 16};
#endif

}  // namespace ebb::inline EBB_ABI::target_has
