// ebb/autograd/thread.hpp — a thread's state of the tape: whether it records, its scopes, its running backward.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vertex.hpp"

#include "../base/look_up.hpp"

#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

struct backward_engine;
struct saved_hooks;
struct walk_lists;

namespace detail {
/// See node_creation_hook.
struct creation_hook {
  void (*call)(creation_hook&, node&);
  creation_hook* outer;
};
}  // namespace detail

/// One object a thread, fetched once a call: see look_up.
struct tape_state {
  bool records = true;
  bool destroys = false;
  bool checks = false;              // gradients for NaN
  std::uint64_t sequence = 0;
  vertex* dying = nullptr;          // vertices without owners, linked
  backward_pass* pass = nullptr;    // the innermost backward that runs here
  const backward_engine* engine = nullptr;  // of the innermost scope; null: the process's engine
  saved_hooks* packing = nullptr;   // the innermost scope of hooks on saved values
  detail::creation_hook* created = nullptr;  // the innermost scope of hooks on new nodes
  std::uint64_t hook_changes = 0;   // number of registrations and removals of hooks
  walk_lists* spare = nullptr;      // for walks to come, linked
  bool keeps_lists = false;         // until the thread ends
  std::uintptr_t latest[4] = {};    // addresses of the last nodes, for node::ahead
};

namespace detail {
inline constinit thread_local tape_state thread_tape{};
}
EBB_INLINE tape_state& this_tape() { return detail::look_up(detail::thread_tape); }

namespace detail {

EBB_COLD void report_created(tape_state& t, node& n) {
  struct paused {
    tape_state& t;
    creation_hook* const innermost;
    ~paused() { t.created = innermost; }
  } const hooks{t, std::exchange(t.created, nullptr)};
  for (creation_hook* h = hooks.innermost; h; h = h->outer) h->call(*h, n);
}

/// Gives a node with edges its sequence number: later than all nodes that it depends on, also those of other threads.
EBB_ONCE void put_on_tape(tape_state& t, node& n) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
  std::uint64_t s = t.sequence, key = reinterpret_cast<std::uintptr_t>(n.program) * odd;
  for (int j = 0; j < n.program->edges; ++j) {
    const edge e = n.edges()[j];
    key ^= key >> 29;
    if (!e.to) continue;
    if (e.to->sequence > s) s = e.to->sequence;
    key = (key + (e.to->key ^ std::uint64_t{e.output} << 32)) * odd;
  }
  n.key = static_cast<std::uint32_t>(key >> 32);
  n.sequence = t.sequence = s + 1;
  n.ahead = std::exchange(t.latest[n.sequence % 4], reinterpret_cast<std::uintptr_t>(&n));
  if (t.created) [[unlikely]] report_created(t, n);
}

}  // namespace detail

/// Sets whether its thread records, for its lifetime.
class recording_scope {
 public:
  EBB_SCOPE explicit recording_scope(bool on, tape_state& t = this_tape()) : tape_(t), was_(std::exchange(t.records, on)) {}
  recording_scope(const recording_scope&) = delete;
  recording_scope& operator=(const recording_scope&) = delete;
  ~recording_scope() { tape_.records = was_; }

 private:
  tape_state& tape_;
  bool was_;
};

/// While it lives, calls with variables are not recorded: `ebb::no_grad scope;`. Results are variables without a history.
struct no_grad : recording_scope {
  EBB_SCOPE no_grad() : recording_scope(false) {}
};
/// Inside a no_grad scope, or in a hook: calls are recorded again.
struct enable_grad : recording_scope {
  EBB_SCOPE enable_grad() : recording_scope(true) {}
};

}  // namespace ebb::inline EBB_ABI
