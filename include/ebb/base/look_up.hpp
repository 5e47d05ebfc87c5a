// ebb/base/look_up.hpp — look_up: finds the address of a thread_local object once instead of at each use.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

namespace ebb::inline EBB_ABI::detail {

/// A reference to a thread_local object. In a shared object finding its address is a call of 2 to 5 ns. g++ knows that the address is
/// constant, and repeats the call at each use rather than keep the result. The asm statement hides from g++ what the address is.
template <class T>
EBB_INLINE T& look_up(T& object) {
#if defined(__PIC__) && !defined(__PIE__)
  T* found = &object;
  asm("" : "+r"(found));
  return *found;
#else
  return object;
#endif
}

}  // namespace ebb::inline EBB_ABI::detail
