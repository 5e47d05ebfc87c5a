// ebb/autograd/vertex.hpp — what gradients flow to: nodes, which pass them on, and leaves, which keep them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the tape]
//   node    one run of a segment, or of anything else with a derivative: a program, edges, what it saved, the values of its symbols
//   edge    where the gradient of one operand goes: a vertex, and the number of that vertex's output
//   leaf    a variable that the user made: its value, its gradient, its version; see [note: gradients of another dtype]
// Edges lead from later to earlier vertices, so falling sequence numbers are an order in which every gradient is complete when its
// vertex is reached. Each vertex counts its owners: handles and edges. Nothing here is recursive: a chain of a million nodes is walked
// by a list and destroyed by a list.
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

/// A value on its way through the tape: undefined, or elements and, where a graph of the backward is made, what made them.
struct gradient {
  storage value;
  counted<vertex> from;
  std::uint32_t output = 0;
  bool defined = false;  // not the same as having elements: an array may have none

  gradient() = default;
  gradient(storage v, counted<vertex> made_by, std::uint32_t number, bool is_defined)
      : value(std::move(v)), from(std::move(made_by)), output(number), defined(is_defined) {}
  gradient(const gradient&) = default;
  gradient& operator=(const gradient&) = default;
  // What is moved from is undefined.
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

  /// Takes another's place; this one must be undefined: nothing is dropped.
  EBB_INLINE void take(gradient& g) noexcept { ::new (this) gradient(std::move(g)); }
};

/// The backward of a kind of nodes as a function that has a backward: see [note: differentiating a backward].
struct twice_differentiable {
  virtual ~twice_differentiable() = default;
  /// The backward of n, recorded or not. Behind the outputs' gradients `in` has those of saved values.
  virtual void pull(node& n, gradient* in, gradient* out, bool records) const = 0;
};

/// What a node does, once for all nodes of a kind.
struct node_program {
  const char* name;
  std::uint16_t outputs, edges, saved, symbols;
  const dtype* types;  // of the outputs
  /// Extents of output `number`, or of saved value `number - outputs`.
  extent_list (*extents)(const node&, int number);
  dtype (*saved_type)(const node&, int number);
  /// Gradients of the operands from those of the outputs; `in` may be moved from. Takes what it needs of the node first.
  void (*run)(node&, gradient* in, gradient* out);
  /// The same, recorded on the tape.
  void (*record)(node&, gradient* in, gradient* out) = nullptr;
  /// Where it is recorded by way of graphs: made when it is first asked for, by what makes such things; later that may be null.
  const twice_differentiable& (*twice)(const node&, const higher_order*) = nullptr;
  /// Something to let go of beside saved values, or null.
  void (*release)(node&) = nullptr;
  /// What pulls assumed of the autocast context of backward's call, where it matters; see mismatch.hpp.
  const casts_assumed* assumed = nullptr;
  /// What it computes, where that is a traced function: see derivation.hpp.
  const segment_graphs* graphs = nullptr;
  /// Backwards under other autocast policies, see other_policy.hpp.
  const other_backwards* others = nullptr;
};

struct vertex {
  owner_count owners;
  std::atomic<backward_pass*> pass = nullptr;  // who walks here now; `place` belongs to it
  std::int32_t place = 0;
  bool is_leaf = false;
  std::atomic<bool> released = false;
  std::atomic<bool> busy = false;  // see `exclusive`
  bool widens = false;  // of a leaf: its gradient has another dtype than what arrives
  std::atomic<std::uint16_t> outputs = 1;  // more than the program's once it has been differentiated twice
  std::uint32_t key = 1;  // a hash of the graph behind it: programs and edges
  std::uint64_t sequence = 0;
  hook_list* hooks = nullptr;
};

struct edge {
  vertex* to = nullptr;  // null: nobody wants this gradient
  std::uint32_t output = 0;
};

/// Followed in memory by its edges, saved values and symbols.
struct node : vertex {
  const node_program* program = nullptr;
  std::atomic<packed_values*> packed = nullptr;  // saved values that a pack hook took; looked into by who is `exclusive`
  void* held = nullptr;             // what `release` knows
  std::uintptr_t ahead = 0;         // where a node stands, or stood, that was made a few before: see fetch_ahead

  edge* edges() const { return reinterpret_cast<edge*>(const_cast<node*>(this) + 1); }
  storage* saved() const { return reinterpret_cast<storage*>(edges() + program->edges); }
  std::size_t* symbols() const { return reinterpret_cast<std::size_t*>(saved() + program->saved); }

  std::size_t bytes() const {
    return sizeof(node) + program->edges * sizeof(edge) + program->saved * sizeof(storage) + program->symbols * sizeof(std::size_t);
  }
  /// Who walks comes to that node soon: where the memory of nodes is scattered, it need not wait for each of them then.
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

/// One thread at a time, where there are several: for the few steps that touch what threads share of a vertex.
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
  // Whoever holds it may add large arrays, or may not be running now.
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
/// Of the value, and of a gradient on its way there.
EBB_ONCE dtype dtype_at(const vertex& v, std::uint32_t output) {
  if (v.is_leaf) return static_cast<const leaf&>(v).type;
  const node_program& p = *static_cast<const node&>(v).program;
  return output < p.outputs ? p.types[output] : p.saved_type(static_cast<const node&>(v), static_cast<int>(output) - p.outputs);
}

/// Of gradients that have arrived: they are added in it, hooks see it, a leaf keeps it.
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
