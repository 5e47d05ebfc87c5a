// ebb/base/instruction.hpp — instructions of the target for one number, where the compilers' functions take more.
// SPDX-License-Identifier: BSL-1.0
//
// A function that is only declared is not for this target: see target.hpp. There are intrinsics for them, but compilers clear the unused
// lanes of their operands first, and their header declares thousands.
#pragma once

#include "config.hpp"

namespace ebb::inline EBB_ABI::instruction {

// The compilers' sqrt calls the C library's function for negative numbers: values that live across the call are kept in memory.
#if defined(__AVX__)
EBB_INLINE float sqrt(float x) {
  float r;
  asm("vsqrtss {%1, %1, %0|%0, %1, %1}" : "=x"(r) : "x"(x));
  return r;
}
EBB_INLINE double sqrt(double x) {
  double r;
  asm("vsqrtsd {%1, %1, %0|%0, %1, %1}" : "=x"(r) : "x"(x));
  return r;
}
#else
EBB_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
EBB_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
#endif

#if defined(__AVX512F__)

/// x * 2^n, rounded once.
EBB_INLINE float scale(float x, float n) {
  float r;
  asm("vscalefss {%2, %1, %0|%0, %1, %2}" : "=v"(r) : "v"(x), "v"(n));
  return r;
}
EBB_INLINE double scale(double x, double n) {
  double r;
  asm("vscalefsd {%2, %1, %0|%0, %1, %2}" : "=v"(r) : "v"(x), "v"(n));
  return r;
}
/// The m with |x| = m * 2^n and 0.75 <= m < 1.5.
EBB_INLINE float significand(float x) {
  float r;
  asm("vgetmantss {$7, %1, %1, %0|%0, %1, %1, 7}" : "=v"(r) : "v"(x));
  return r;
}
EBB_INLINE double significand(double x) {
  double r;
  asm("vgetmantsd {$7, %1, %1, %0|%0, %1, %1, 7}" : "=v"(r) : "v"(x));
  return r;
}
/// The n with x = m * 2^n and 1 <= m < 2.
EBB_INLINE float exponent(float x) {
  float r;
  asm("vgetexpss {%1, %1, %0|%0, %1, %1}" : "=v"(r) : "v"(x));
  return r;
}
EBB_INLINE double exponent(double x) {
  double r;
  asm("vgetexpsd {%1, %1, %0|%0, %1, %1}" : "=v"(r) : "v"(x));
  return r;
}

#else

template <class T>
T scale(T x, T n);
template <class T>
T significand(T x);
template <class T>
T exponent(T x);

#endif

}  // namespace ebb::inline EBB_ABI::instruction
