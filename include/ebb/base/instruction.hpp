// ebb/base/instruction.hpp — instructions of the target for one number, where the compilers' functions take more.
// SPDX-License-Identifier: BSL-1.0
//
// A function that is only declared is not for this target: see target.hpp. There are intrinsics for them, but compilers clear the unused
// lanes of their operands first, and their header declares thousands.
#pragma once

#include "config.hpp"

namespace ebb::inline EBB_ABI::instruction {

// T is float or double.

// The compilers' sqrt calls the C library's function for negative numbers: values that live across the call are kept in memory.
template <class T>
EBB_INLINE T sqrt(T x) {
#if defined(__AVX__)
  T r;
  if constexpr (sizeof(T) == 4) asm("vsqrtss {%1, %1, %0|%0, %1, %1}" : "=x"(r) : "x"(x));
  else asm("vsqrtsd {%1, %1, %0|%0, %1, %1}" : "=x"(r) : "x"(x));
  return r;
#else
  if constexpr (sizeof(T) == 4) return __builtin_sqrtf(x);
  else return __builtin_sqrt(x);
#endif
}
/// x * 2^n, rounded once.
template <class T>
T scale(T x, T n);
/// The m with |x| = m * 2^n and 0.75 <= m < 1.5.
template <class T>
T significand(T x);
/// The n with x = m * 2^n and 1 <= m < 2.
template <class T>
T exponent(T x);

#if defined(__AVX512F__)

template <class T>
EBB_INLINE T scale(T x, T n) {
  T r;
  if constexpr (sizeof(T) == 4) asm("vscalefss {%2, %1, %0|%0, %1, %2}" : "=v"(r) : "v"(x), "v"(n));
  else asm("vscalefsd {%2, %1, %0|%0, %1, %2}" : "=v"(r) : "v"(x), "v"(n));
  return r;
}
template <class T>
EBB_INLINE T significand(T x) {
  T r;
  if constexpr (sizeof(T) == 4) asm("vgetmantss {$7, %1, %1, %0|%0, %1, %1, 7}" : "=v"(r) : "v"(x));
  else asm("vgetmantsd {$7, %1, %1, %0|%0, %1, %1, 7}" : "=v"(r) : "v"(x));
  return r;
}
template <class T>
EBB_INLINE T exponent(T x) {
  T r;
  if constexpr (sizeof(T) == 4) asm("vgetexpss {%1, %1, %0|%0, %1, %1}" : "=v"(r) : "v"(x));
  else asm("vgetexpsd {%1, %1, %0|%0, %1, %1}" : "=v"(r) : "v"(x));
  return r;
}

#endif

}  // namespace ebb::inline EBB_ABI::instruction
