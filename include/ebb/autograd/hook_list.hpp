// ebb/autograd/hook_list.hpp — the hooks of one vertex, in the order in which they were registered.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the order of hooks]
// At one vertex, in PyTorch's order (checked against 2.13):
//   tensor hooks of each output, then its retained gradient, then the gradient that `grad` or `inputs` asked for is taken;
//   then, only if the vertex itself runs: node pre-hooks, the node (or: accumulation, then post-accumulate hooks), node post-hooks.
// Hooks of one kind run in the order of registration, each on the result of the one before.
// Two headers program this order: engine.hpp runs it on arrays, capture/captured_walk.hpp walks a recording with numbers of values.
// They share no code because they differ in each line. The engine reads the hooks that a vertex has at that moment: a hook may add or
// remove others, throw, or run another pass. It moves gradients from slot to slot, and one test skips all of this at a node without hooks:
// a node takes 30 ns. The walk reads keys, in which all hooks are known, and copies numbers. Tests compare the two: on random graphs the
// walk reports each opaque hook where the engine runs it (test/capture/captured_walk.cpp), and 10,000 random programs have the same results
// plain and captured, in each hook too (test/capture/random_graphs.cpp).
//
// [note: calls of traced hooks]
//   hook             is called with                                  returns
//   tensor           the gradient                                    the gradient
//   node, before     gradients of its outputs                        as many
//   node, after      gradients of its operands, of its outputs       those of its operands
//   post-accumulate  value and gradient of a leaf                    the value, std::tuple(value, gradient) or (value, ebb::nothing)
//   multi-grad       a gradient for each variable                    the destinations in ebb::into, before the function
#pragma once

#include "thread.hpp"
#include "vertex.hpp"

#include "../base/objects.hpp"
#include "../exec/chainable.hpp"
#include "../graph/frozen.hpp"

#include <memory>
#include <string>

namespace ebb::inline EBB_ABI {

enum class hook_kind : std::uint8_t { tensor, node_pre, node_post, post_accumulate };
inline constexpr int hook_kinds = 4;

/// Its name in logs and messages: PyTorch's.
EBB_COLD constexpr const char* text_of(hook_kind k) {
  switch (k) {
    case hook_kind::tensor: return "tensor_pre_hook";
    case hook_kind::node_pre: return "pre_hook";
    case hook_kind::node_post: return "post_hook";
    case hook_kind::post_accumulate: return "post_acc_grad_hook";
  }
  return "";
}

/// The arguments of a hook. tensor: in[0]. node_pre: all of `in`. node_post: `out`, and `in` to read. post_accumulate: the vertex.
struct hook_call {
  vertex* at = nullptr;
  gradient* in = nullptr;
  gradient* out = nullptr;
  int ins = 0, outs = 0;
  const higher_order* create_graph = nullptr;  // null: the backward makes no graph
};

/// A traced hook as a graph; one object for all hooks of a function and a type.
///   a tensor hook        bound values, a gradient -> the gradient
///   a hook of a node     bound values, gradients that it writes, gradients that it reads -> those that it writes; each from number 0 on
///   an update of a leaf  bound values, the value, its gradient, states -> the value, the gradient, states: those that it writes
struct hook_program {
  frozen_view graph;
  int values = 0;                  // how many of the arguments are bound
  int first_value = 0;             // the number of the first of those
  chainable chain = {};
  // Of an update rule:
  int parameter = -1;              // the number of the argument that is the value; gradient and states follow
  int states = 0;
  bool writes_value = false, writes_gradient = false;
  bool clears = false;             // sets the gradient to undefined
  bool depends_on_context = false;  // of autocast, at its call: in some contexts it is another program, or refused
  // Of other hooks:
  int written = 1, read = 0;       // how many gradients
  const chainable* several = nullptr;  // if it writes several gradients: a link for each, instead of `chain`

  const chainable& link(int gradient) const { return several ? several[gradient] : chain; }
  bool is_update() const { return parameter >= 0; }
};
/// Whether a traced hook at a vertex with so many outputs and edges can be merged: its program knows by number all gradients that it sees.
/// One that is not merged runs by itself. An update of a leaf is merged in another way.
EBB_ONCE bool may_be_merged(hook_kind kind, const hook_program& p, int outputs, int edges) {
  switch (kind) {
    case hook_kind::tensor: return true;
    case hook_kind::node_pre: return p.written <= outputs && (p.written > 1 || outputs == 1);
    case hook_kind::node_post: return p.written == edges && p.read <= outputs;
    case hook_kind::post_accumulate: return false;
  }
  return false;
}
/// A hook with more bound values is not merged.
inline constexpr std::size_t max_bound = 16;

struct hook {
  virtual ~hook() = default;
  virtual void run(const hook_call&) = 0;
  /// Whether it is opaque: compiled autograd cannot merge it.
  virtual bool is_opaque() const { return true; }
  /// Its program, if it was traced: the same for all hooks of one function and one type of gradients.
  virtual const hook_program* traced() const { return nullptr; }
  /// Pointers to its bound values. Of an update rule: those of the next step.
  virtual void values(const void**) const {}
  /// Of an update rule: whether its program may replace it in this step; else it runs alone: it has no states yet, or would be refused.
  virtual bool is_ready() const { return false; }
  /// Of an update rule: the states, as many as its program has.
  virtual storage* states() { return nullptr; }
  /// Called after its program's results have been written.
  virtual void note_update() {}
  /// Of a tensor hook: whether it is called with undefined gradients, too.
  virtual bool takes_undefined() const { return false; }
};

struct hook_list {
  struct entry {
    hook_kind kind;
    std::uint32_t output;
    std::uint64_t id;
    std::shared_ptr<hook> call;  // null: removed
  };

  owner_count owners;
  objects<entry> entries;
  struct retained_gradient {
    bool on = false;
    gradient value;
  };
  objects<retained_gradient> retained;  // by output; empty if none retains
  std::uint64_t next_id = 0;
  std::string name;  // of a leaf, if the user gave it one
  std::atomic<int> running = 0;

  EBB_ONCE std::uint64_t add(hook_kind kind, std::uint32_t output, std::shared_ptr<hook> h) {
    entries.push_back({kind, output, next_id, std::move(h)});
    ++this_tape().hook_changes;
    return next_id++;
  }
  EBB_ONCE void remove(std::uint64_t id) {
    ++this_tape().hook_changes;
    for (entry& e : entries)
      if (e.id == id) e.call = nullptr;
    if (running.load(std::memory_order_relaxed) == 0)  // a running pass uses the places
      entries.erase_if([](const entry& e) { return !e.call; });
  }
  EBB_ONCE bool has(hook_kind kind) const {
    for (const entry& e : entries)
      if (e.kind == kind && e.call) return true;
    return false;
  }
  /// Runs the hooks that were registered when it began.
  EBB_ONCE void run(hook_kind kind, std::uint32_t output, const hook_call& call) {
    const counting in_here(running);
    for (std::size_t i = 0, n = entries.size(); i < n; ++i) {
      if (entries[i].kind != kind || entries[i].output != output || !entries[i].call) continue;
      const std::shared_ptr<hook> kept = entries[i].call;
      if (kind == hook_kind::tensor && !call.in->defined && !kept->takes_undefined()) continue;
      EBB_PROBE(const char* const at = call.at->is_leaf ? "leaf" : static_cast<const node&>(*call.at).program->name;)
      EBB_PROBE(const probe here({probed::hook, text_of(kind), at});)
      kept->run(call);
    }
  }

 private:
  struct counting {
    explicit counting(std::atomic<int>& n) : n_(n) { add(1); }
    counting(const counting&) = delete;
    counting& operator=(const counting&) = delete;
    ~counting() { add(-1); }
    EBB_ONCE void add(int more) {
      if (is_single_threaded()) n_.store(n_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
      else n_.fetch_add(more, std::memory_order_relaxed);
    }
    std::atomic<int>& n_;
  };
};

inline void destroy(hook_list* h) noexcept { delete h; }

/// The hooks of a vertex, made on first use.
EBB_ONCE hook_list& hooks_of(vertex& v) {
  if (!v.hooks) {
    v.hooks = new hook_list;
    v.hooks->owners.add();
  }
  return *v.hooks;
}

/// The name in messages: the op or region that made it, or a leaf's name.
EBB_ONCE std::string name_of(const vertex& v) {
  if (v.hooks && !v.hooks->name.empty()) return v.hooks->name;
  return v.is_leaf ? "leaf" : static_cast<const node&>(v).program->name;
}

/// Keeps the gradient that arrives at this output.
EBB_ONCE void retain(vertex& v, std::uint32_t output) {
  auto& retained = hooks_of(v).retained;
  if (retained.size() <= output) retained.resize(output + 1);
  retained[output].on = true;
  ++this_tape().hook_changes;
}

/// remove() removes the hook; dropping the handle does not.
class hook_handle {
 public:
  hook_handle() = default;
  hook_handle(hook_list& list, std::uint64_t id) : list_(&list), id_(id) {}

  EBB_ONCE void remove() {
    if (list_) list_->remove(id_);
    list_ = {};
  }

 private:
  counted<hook_list> list_;
  std::uint64_t id_ = 0;
};

}  // namespace ebb::inline EBB_ABI
