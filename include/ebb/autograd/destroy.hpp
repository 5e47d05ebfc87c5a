// ebb/autograd/destroy.hpp — destroys a vertex and everything that only it kept alive, without recursion.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "hook_list.hpp"
#include "packed.hpp"
#include "thread.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

EBB_INLINE void release_alone(node& n) noexcept {
  n.released.store(true, std::memory_order_relaxed);
  for (storage *s = n.saved(), *const end = s + n.program->saved; s != end; ++s) *s = storage();
  if (n.packed.load(std::memory_order_relaxed)) [[unlikely]] drop_packed(n);
  if (n.held && n.program->release) [[unlikely]] n.program->release(n);
}
EBB_ONCE_APART void release_among_threads(node& n) noexcept {
  const exclusive alone(n);
  release_alone(n);
}

}  // namespace detail

/// Frees the saved values of a node. The node, its edges and hooks stay.
EBB_INLINE void release_saved(node& n) noexcept {
  if (is_single_threaded()) [[likely]] detail::release_alone(n);
  else detail::release_among_threads(n);
}

namespace detail {

// The sequence number of a vertex without owners links it to the next one.
EBB_ONCE void push_dying(tape_state& t, vertex* v) noexcept {
  v->sequence = reinterpret_cast<std::uintptr_t>(t.dying);
  t.dying = v;
}

EBB_ONCE void end_vertex(tape_state& t, vertex* v) noexcept {
  if (v->hooks) {
    v->hooks->entries.clear();  // a handle may keep the list
    if (v->hooks->owners.drop()) destroy(v->hooks);
  }
  if (v->is_leaf) {
    leaf* const l = static_cast<leaf*>(v);
    l->~leaf();
    give_block(l, sizeof(leaf));
    return;
  }
  node* const n = static_cast<node*>(v);
  if (!n->released) release_saved(*n);
  const std::size_t bytes = n->bytes();
  for (int i = 0; i < n->program->edges; ++i) {
    vertex* const to = n->edges()[i].to;
    if (to && to->owners.drop()) push_dying(t, to);
  }
  n->~node();
  give_block(n, bytes);
}

}  // namespace detail

/// Destructors of hooks and saved values may run user code that ends other vertices: these join the list.
// Not inlined: else each place that drops a handle would contain it.
EBB_ONCE_APART void destroy(vertex* v) noexcept {
  tape_state& t = this_tape();
  detail::push_dying(t, v);
  if (std::exchange(t.destroys, true)) return;
  while (vertex* next = t.dying) {
    t.dying = reinterpret_cast<vertex*>(next->sequence);
    detail::end_vertex(t, next);
  }
  t.destroys = false;
}

}  // namespace ebb::inline EBB_ABI
