// ebb/autograd/mismatch.hpp — the autocast context of a backward's call against the one that its regions were compiled for.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the check that others lack]
// A compiled backward holds an assumption about the context in which backward is called (autocast/policy.hpp). PyTorch never compares it
// with the truth: a wrong one gives other numbers, without a word. Here each segment knows, as a constant, which products its pulls met
// under which assumption. So a backward compares two numbers a segment where a context can matter, and nothing where it cannot.
#pragma once

#include "vertex.hpp"

#include "../autocast/scope.hpp"

namespace ebb::inline EBB_ABI::detail {

EBB_INLINE void check_context(const char* call, const node& n, const casts_assumed& assumed, int now) {
  if (assumed.wrong_in[now] >= 0) [[unlikely]] report_mismatch(call, n.program->name, assumed, now);
}

}  // namespace ebb::inline EBB_ABI::detail
