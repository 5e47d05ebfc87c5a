// ebb/autograd/vertex.hpp — the vertices of the tape: nodes, which pass gradients on, and leaves, which keep them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the tape]
//   node    one run of a segment, or of another function with a derivative: a program, edges, saved values, the values of its symbols
//   edge    the target of one operand's gradient: a vertex, and the number of that vertex's output
//   leaf    a variable that the user made: its value, its gradient, its version; see [note: gradients of another dtype]
// Edges lead from later to earlier vertices: in the order of falling sequence numbers every gradient is complete when its vertex is
// reached. Each vertex counts its owners: handles and edges. Walks and destruction use lists, not recursion: a chain may have a million
// nodes.
#pragma once

#include "../base/counted.hpp"
#include "../num/precision.hpp"
#include "../tensor/storage.hpp"
#include "../tensor/strided.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#if __has_include(<sched.h>)
#include <sched.h>
#endif
#include <utility>

namespace ebb::inline EBB_ABI {

class backward_pass;
struct casts_assumed;
struct higher_order;
struct hook_list;
struct other_backwards;
struct packed_values;
struct segment_graphs;
struct vertex;
struct node;

void destroy(vertex* v) noexcept;

/// A value on its way through the tape: undefined, or elements and, with create_graph, the node that made them.
struct gradient {
  storage value;
  counted<vertex> from;
  std::uint32_t output = 0;
  bool defined = false;  // an array without elements is defined, too

  gradient() = default;
  gradient(storage v, counted<vertex> made_by, std::uint32_t number, bool is_defined)
      : value(std::move(v)), from(std::move(made_by)), output(number), defined(is_defined) {}
  gradient(const gradient&) = default;
  gradient& operator=(const gradient&) = default;
  // A moved-from value is undefined.
  EBB_INLINE gradient(gradient&& g) noexcept
      : value(std::move(g.value)), from(std::move(g.from)), output(g.output), defined(std::exchange(g.defined, false)) {}
  EBB_INLINE gradient& operator=(gradient&& g) noexcept {
    value = std::move(g.value);
    from = std::move(g.from);
    output = g.output;
    defined = std::exchange(g.defined, false);
    return *this;
  }
  EBB_INLINE ~gradient() = default;

  /// Moves another value into this one, which must be undefined: nothing is dropped.
  EBB_INLINE void take(gradient& g) noexcept { ::new (this) gradient(std::move(g)); }
};

/// The backward of a kind of node as a differentiable function: see [note: differentiating a backward].
struct twice_differentiable {
  virtual ~twice_differentiable() = default;
  /// The backward of n, recorded or not. After the outputs' gradients `in` has those of saved values.
  virtual void pull(node& n, gradient* in, gradient* out, bool records) const = 0;
};

/// The program of a node, shared by all nodes of a kind.
struct node_program {
  const char* name;
  std::uint16_t outputs, edges, saved, symbols;
  const dtype* types;  // of the outputs
  /// Extents of output `number`, or of saved value `number - outputs`.
  extent_list (*extents)(const node&, int number);
  dtype (*saved_type)(const node&, int number);
  /// Gradients of the operands from those of the outputs; `in` may be moved from. Reads the node before it calls anything else.
  void (*run)(node&, gradient* in, gradient* out);
  /// The same, recorded on the tape.
  void (*record)(node&, gradient* in, gradient* out) = nullptr;
  /// If it is recorded as a graph: made on first use by higher_order; null is allowed afterwards.
  const twice_differentiable& (*twice)(const node&, const higher_order*) = nullptr;
  /// Frees `held`, or null.
  void (*release)(node&) = nullptr;
  /// The assumptions of its pulls about the autocast context in which backward is called, or null; see mismatch.hpp.
  const casts_assumed* assumed = nullptr;
  /// Its graphs, if it is a traced function: see derivation.hpp.
  const segment_graphs* graphs = nullptr;
  /// Its backwards under other autocast policies: see other_policy.hpp.
  const other_backwards* others = nullptr;
};

struct vertex {
  owner_count owners;
  std::atomic<backward_pass*> pass = nullptr;  // the pass that walks here now; `place` belongs to it
  std::int32_t place = 0;
  bool is_leaf = false;
  std::atomic<bool> released = false;
  std::atomic<bool> busy = false;  // see `exclusive`
  bool widens = false;  // of a leaf: its gradient has another dtype than its value
  std::atomic<std::uint16_t> outputs = 1;  // more than the program's after it has been differentiated twice
  std::uint32_t key = 1;  // a hash of the graph that it depends on: programs and edges
  std::uint64_t sequence = 0;
  hook_list* hooks = nullptr;
};

struct edge {
  vertex* to = nullptr;  // null: this gradient is not needed
  std::uint32_t output = 0;
};

/// Followed in memory by its edges, saved values and symbols.
struct node : vertex {
  const node_program* program = nullptr;
  std::atomic<packed_values*> packed = nullptr;  // saved values that a pack hook took; read under `exclusive`
  void* held = nullptr;             // passed to `release`
  std::uintptr_t ahead = 0;         // the address of a node made shortly before, perhaps destroyed: see fetch_ahead

  edge* edges() const { return reinterpret_cast<edge*>(const_cast<node*>(this) + 1); }
  storage* saved() const { return reinterpret_cast<storage*>(edges() + program->edges); }
  std::size_t* symbols() const { return reinterpret_cast<std::size_t*>(saved() + program->saved); }

  std::size_t bytes() const {
    return sizeof(node) + program->edges * sizeof(edge) + program->saved * sizeof(storage) + program->symbols * sizeof(std::size_t);
  }
  /// Prefetches a node that the walk will reach soon: nodes may be scattered in memory.
  EBB_INLINE void fetch_ahead() const {
    __builtin_prefetch(reinterpret_cast<const void*>(ahead));
    __builtin_prefetch(reinterpret_cast<const void*>(ahead + 64));
  }
  EBB_ONCE void connect(int number, vertex* to, std::uint32_t output) {
    if (to) to->owners.add();
    edges()[number] = {to, output};
  }
};

struct leaf : vertex {
  storage value;
  gradient grad;
  dtype type{}, gradient_type{};
  extent_list extents;
  std::atomic<std::uint64_t> version = 0;
};

/// A lock on a vertex, for the few steps that touch data that threads share. Does nothing in a process with one thread.
class exclusive {
 public:
  EBB_INLINE explicit exclusive(vertex& v) : v_(is_single_threaded() ? nullptr : &v) {
    if (v_) [[unlikely]] lock(*v_);
  }
  exclusive(const exclusive&) = delete;
  exclusive& operator=(const exclusive&) = delete;
  EBB_INLINE ~exclusive() {
    if (v_) [[unlikely]] unlock(*v_);
  }
  EBB_ONCE static void lock(vertex& v) {
    for (int i = 0; v.busy.exchange(true, std::memory_order_acquire); ++i)
      if (i > 50) pause();
  }
  static void unlock(vertex& v) { v.busy.store(false, std::memory_order_release); }

 private:
  // The owner may be adding large arrays, or may not be scheduled.
  EBB_ONCE static void pause() {
#if __has_include(<sched.h>)
    ::sched_yield();
#endif
  }

  vertex* v_;
};

EBB_ONCE extent_list extents_of(const vertex& v, std::uint32_t output) {
  if (v.is_leaf) return static_cast<const leaf&>(v).extents;
  const node& n = static_cast<const node&>(v);
  return n.program->extents(n, static_cast<int>(output));
}
/// The dtype of the value at this output, and of gradients on their way to it.
EBB_ONCE dtype dtype_at(const vertex& v, std::uint32_t output) {
  if (v.is_leaf) return static_cast<const leaf&>(v).type;
  const node_program& p = *static_cast<const node&>(v).program;
  return output < p.outputs ? p.types[output] : p.saved_type(static_cast<const node&>(v), static_cast<int>(output) - p.outputs);
}

/// The dtype of gradients that have arrived: of their sum, in hooks, in the leaf.
EBB_ONCE dtype gradient_type_at(const vertex& v, std::uint32_t output) {
  return v.is_leaf ? static_cast<const leaf&>(v).gradient_type : dtype_at(v, output);
}

/// A node without edges and saved values, with one owner.
/// Throws: std::bad_alloc.
EBB_ONCE counted<vertex> new_node(const node_program& program) {
  node head;
  head.program = &program;
  node* const n = ::new (take_block(head.bytes())) node;
  n->program = &program;
  n->outputs.store(program.outputs, std::memory_order_relaxed);
  std::uninitialized_value_construct_n(n->edges(), program.edges);
  std::uninitialized_value_construct_n(n->saved(), program.saved);
  return counted<vertex>::first_of(n);
}
EBB_ONCE leaf* new_leaf() {
  leaf* const l = ::new (take_block(sizeof(leaf))) leaf;
  l->is_leaf = true;
  return l;
}

}  // namespace ebb::inline EBB_ABI
