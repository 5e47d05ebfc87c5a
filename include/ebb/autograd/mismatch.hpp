// ebb/autograd/mismatch.hpp — the autocast context of a backward's call against the one that its regions were compiled for.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the check that others lack]
// A compiled backward holds an assumption about the context in which backward is called (trace/policy.hpp). PyTorch never compares it
// with the truth: a wrong one gives other numbers, without a word. Here each segment knows, as a constant, which products its pulls met
// under which assumption. So a backward compares two numbers a segment where a context can matter, and nothing where it cannot.
#pragma once

#include "vertex.hpp"

#include "../base/settings.hpp"
#include "../exec/ambient.hpp"

#include <cstdio>
#include <string>

namespace ebb::inline EBB_ABI::detail {

/// "a matmul of f32 operands computes in f32, and would compute in bf16"
inline std::string what_differs(const casts_asked& asked, int assumed, int now) {
  for (int i = 0; i <= static_cast<int>(dtype::f64); ++i) {
    const auto d = static_cast<dtype>(i);
    const dtype is = dtype_in_context(assumed, precision::low, d), would_be = dtype_in_context(now, precision::low, d);
    if ((asked.low >> i & 1) && is != would_be)
      return "a matmul of " + std::string(name_of(d)) + " operands computes in " + std::string(name_of(is)) + ", and would in " +
             std::string(name_of(would_be));
  }
  return "a pull asks for the context";
}

[[gnu::cold, gnu::noinline]] inline void report_mismatch(const char* call, const node& n, int assumed, int now) {
  const on_mismatch how = config().autocast_mismatch.load(std::memory_order_relaxed);
  if (how == on_mismatch::ignore) return;
  const auto named = [](int context) {
    return context == 0 ? std::string("ebb::off") : "ebb::autocast<ebb::" + std::string(name_of(low_of_context(context))) + ">";
  };
  const std::string text =
      std::string(call) + ": the backward of " + n.program->name + " was compiled for a call in " + named(assumed) + ", but is called in " +
      named(now) + ": there " + what_differs(n.program->assumed->asked[assumed], assumed, now) +
      ". Call backward in the other context, compile the region with ebb::backward_pass_autocast<" + named(now) +
      ">, or with <ebb::as_recorded>, which assumes nothing";
  if (how == on_mismatch::error) raise(text);
  std::fprintf(stderr, "warning: %s\n", text.c_str());
}

EBB_INLINE void check_context(const char* call, const node& n, int now) {
  if (!n.program->assumed) [[likely]] return;
  if (const int assumed = n.program->assumed->wrong_in[now]; assumed >= 0) [[unlikely]] report_mismatch(call, n, assumed, now);
}

}  // namespace ebb::inline EBB_ABI::detail
