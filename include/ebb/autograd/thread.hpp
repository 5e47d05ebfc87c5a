// ebb/autograd/thread.hpp — what a thread knows of the tape: whether it records, and the number of its next vertex.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vertex.hpp"

#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

struct saved_hooks;

/// One object a thread, fetched once a call: in a shared object each look-up of a thread-local variable costs 5 ns.
struct tape_state {
  bool records = true;
  bool destroys = false;
  bool checks = false;              // gradients for NaN
  std::uint64_t sequence = 0;
  vertex* dying = nullptr;          // vertices without owners, linked
  backward_pass* pass = nullptr;    // the innermost that runs here
  saved_hooks* packing = nullptr;   // the innermost scope of hooks on saved values
};

namespace detail {
inline constinit thread_local tape_state thread_tape{};
}
EBB_INLINE tape_state& this_tape() { return detail::thread_tape; }

namespace detail {

/// The number of the node that this thread makes next: later than all that it depends on, whoever made those.
inline std::uint64_t next_sequence(tape_state& t, const node& n) {
  std::uint64_t s = t.sequence;
  for (int j = 0; j < n.program->edges; ++j)
    if (const vertex* const to = n.edges()[j].to; to && to->sequence > s) s = to->sequence;
  return t.sequence = s + 1;
}

}  // namespace detail

/// Switches recording for its lifetime, in the thread that made it.
class recording_scope {
 public:
  explicit recording_scope(bool on) : was_(std::exchange(this_tape().records, on)) {}
  recording_scope(const recording_scope&) = delete;
  recording_scope& operator=(const recording_scope&) = delete;
  ~recording_scope() { this_tape().records = was_; }

 private:
  bool was_;
};

/// While it lives, calls with variables are not recorded: `ebb::no_grad scope;`. Results are variables without a history.
struct no_grad : recording_scope {
  no_grad() : recording_scope(false) {}
};
/// Inside a no_grad scope, or in a hook: calls are recorded again.
struct enable_grad : recording_scope {
  enable_grad() : recording_scope(true) {}
};

}  // namespace ebb::inline EBB_ABI
