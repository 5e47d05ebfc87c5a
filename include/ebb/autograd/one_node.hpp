// ebb/autograd/one_node.hpp — the backward of one node whose operands are leaves.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one node]
// The backward of a loss that is one region of parameters is one program, from one seed to the leaves' gradients. Walking such a graph
// costs more than running it, so the program is called without a walk. The results are those of a pass, because only cases without a
// visible difference come here: no user code runs (hooks, unpack hooks, custom functions), no NaN check, no capture, and no leaf occurs
// twice (two gradients of one leaf would have to be added to each other before they are added to the leaf's).
#pragma once

#include "engine.hpp"

#include <array>

namespace ebb::inline EBB_ABI::detail {

/// The gradients of a node's operands, on the stack. Constructs as many as the node has.
class operand_gradients {
 public:
  static constexpr int most = 8;

  EBB_INLINE explicit operand_gradients(int count) : end_(data() + count) { std::uninitialized_default_construct(data(), end_); }
  operand_gradients(const operand_gradients&) = delete;
  operand_gradients& operator=(const operand_gradients&) = delete;
  EBB_INLINE ~operand_gradients() {
    for (gradient* g = data(); g != end_; ++g)
      if (g->defined) [[unlikely]] std::destroy_at(g);  // undefined ones own nothing
  }

  gradient* data() { return reinterpret_cast<gradient*>(memory_.data()); }
  gradient& operator[](int i) { return data()[i]; }

 private:
  alignas(gradient) std::array<std::byte, most * sizeof(gradient)> memory_;
  gradient* end_;
};

EBB_ONCE bool runs_no_user_code(const node& n) {
  return n.program->graphs && !n.hooks && !n.packed.load(std::memory_order_relaxed) &&
         n.outputs.load(std::memory_order_relaxed) == n.program->outputs;  // more: it has been differentiated twice
}
EBB_ONCE bool leads_to_distinct_leaves(const node& n) {
  const edge *const first = n.edges(), *const end = first + n.program->edges;
  for (const edge* e = first; e != end; ++e) {
    if (!e->to) continue;
    if (!e->to->is_leaf || e->to->hooks || e->to->widens) return false;
    for (const edge* other = first; other != e; ++other)
      if (other->to == e->to) return false;
  }
  return true;
}
/// The node, if it can run without a walk, or null: see [note: one node].
EBB_ONCE node* as_one_node(vertex& root, const tape_state& t) {
  if (root.is_leaf || t.checks) return nullptr;
  const backward_engine* const engine = engine_here(t);
  node& n = static_cast<node&>(root);
  if ((engine && engine->find) || n.program->outputs != 1 || n.program->edges > operand_gradients::most) return nullptr;
  return runs_no_user_code(n) && leads_to_distinct_leaves(n) ? &n : nullptr;
}

/// Throws: the errors of a pass, before anything has run.
EBB_INLINE void run_one_node(node& n, gradient& seed, bool retain_graph, const char* call, tape_state& t) {
  EBB_PROBE(const probe here({probed::backward, call});)
  refuse_node(call, n, n.program->assumed);
  const recording_scope off(false, t);
  operand_gradients out(n.program->edges);
  {
    EBB_PROBE(const probe of_node({probed::node, n.program->name});)
    n.program->run(n, &seed, out.data());
  }
  if (seed.defined) seed = {};
  if (counting().notes_graphs.load(std::memory_order_relaxed)) counting().note(n.program);
  if (!retain_graph) release_saved(n);
  for (int j = 0; j < n.program->edges; ++j)
    if (vertex* const to = n.edges()[j].to; to && out[j].defined) accumulate(static_cast<leaf&>(*to), out[j], nullptr);
}

}  // namespace ebb::inline EBB_ABI::detail
