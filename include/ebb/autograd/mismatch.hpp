// ebb/autograd/mismatch.hpp — checks the autocast context of a backward's call against the contexts its regions were compiled for.
// SPDX-License-Identifier: BSL-1.0
//
// [note: checking the context of a backward]
// A compiled backward holds an assumption about the context in which backward is called (autocast/policy.hpp). PyTorch never compares it
// with the actual context: a wrong one silently gives other numbers. Here each segment has a constant: the products in its pulls, and the
// context assumed for them. A backward compares two numbers for each segment that a context can change, and nothing for others.
#pragma once

#include "vertex.hpp"

#include "../autocast/scope.hpp"

namespace ebb::inline EBB_ABI::detail {

EBB_INLINE void check_context(const char* call, const node& n, const casts_assumed& assumed, int now) {
  if (assumed.wrong_in[now] >= 0) [[unlikely]] report_mismatch(call, n.program->name, assumed, now);
}

}  // namespace ebb::inline EBB_ABI::detail
