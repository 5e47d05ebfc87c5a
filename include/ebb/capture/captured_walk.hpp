// ebb/capture/captured_walk.hpp — a captured backward event by event, in PyTorch's order; sinks hear of each event.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one walk, several sinks]
//   node    the gradients that have arrived -> tensor hooks, retained, asked for -> pre-hooks -> its backward -> post-hooks -> edges
//           -> the leaves that it completes
//   leaf    its gradient -> tensor hooks, retained, asked for -> pre-hooks -> the sum with the old gradient -> post-accumulate hooks
//           -> post-hooks
// This header programs that order once for all that is made of a recording: chain_sink.hpp makes register code of it, graph_sink.hpp the
// graph that is shown. autograd/engine.hpp programs it a second time, see [note: the order of hooks].
#pragma once

#include "progress.hpp"

#include <algorithm>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The source of an argument, or the destination of a result. Numbers of vertices are those of the recording.
struct capture_place {
  enum class kind : std::uint8_t { slot, saved, leaf_gradient, leaf_value, bound, state, opaque, retained, requested, edge, sum };
  kind is = kind::slot;
  int at = 0;      // the vertex; bound, state: whose hook
  int number = 0;  // slot, retained, sum: the output; saved, edge: which; bound, state: the hook of the vertex; requested: the wish
  int value = 0;   // bound, state: which

  bool operator==(const capture_place&) const = default;
};

/// Hears of a walk. Its functions are virtual: the walk is compiled once for all sinks. A sink calls a value by a number of its own, a
/// register or an equation; -1 is undefined.
class capture_sink {
 public:
  /// False: the walk ends here.
  bool goes_on() const { return goes_on_; }
  /// The seed of a root.  Walks of whole backwards only.
  virtual int root(const edge_key&) { return -1; }
  /// The gradient that came there before the walk began; `like`, or -1, will be added to it.
  virtual int arrived(int v, int output, int like) = 0;
  /// k is retained.
  virtual void retain(int v, int h, int k) = 0;
  /// k is asked for.
  virtual void ask(int v, int wish, int k) = 0;
  /// Hook h of v, which is traced, on gradients that are all defined: those that it writes.
  virtual vec<int> hook(int v, int h, const hook_program& p, const vec<int>& in) = 0;
  /// Hook h of v, which is opaque, or traced for other gradients.
  virtual void call(int v, int h, vec<int>& written) = 0;
  /// The backward of node i, which is a graph: the gradients of its edges.
  virtual vec<int> piece(int i, const detail::backward_piece& piece, const vec<int>& in) = 0;
  /// The backward of node i, which is opaque.
  virtual vec<int> function(int i, const vec<int>& in) = 0;
  /// k leaves node i by edge j.
  virtual void give(int i, int j, int k) = 0;
  /// k in the dtype of the leaf's gradient, see [note: gradients of another dtype].
  virtual int widen(int l, int k) = 0;
  /// The sum of two gradients that meet.
  virtual int meet(int to, int output, int there, int k) = 0;
  /// Whether the walk goes through a leaf that is complete. changed: something has arrived there in this walk; observed: the user's code
  /// runs at this leaf, or at one that the same node completed before.
  virtual bool takes(int l, bool changed, bool observed) const = 0;
  /// The leaf's gradient, with the old one if there is one.
  virtual int accumulate(int l, int k) = 0;
  /// Hook h, an update, after node `last`: what it writes is replaced.
  virtual void update(int l, int h, const hook_program& p, int& value, int& gradient, int last) = 0;
  /// The leaf has this value, or its old one if that is -1, and this gradient.
  virtual void finish(int l, int value, int gradient) = 0;
  /// The walk ends before v has run: k is what has arrived there so far.  Walks of some nodes only.
  virtual void leave(int v, int output, int k) = 0;

 protected:
  capture_sink() = default;
  capture_sink(const capture_sink&) = default;
  ~capture_sink() = default;
  bool goes_on_ = true;
};

class captured_walk {
 public:
  captured_walk(const recording& r, capture_progress& at, piece_table& pieces, capture_sink& sink)
      : r_(r), at_(at), pieces_(pieces), sink_(sink), slots_(at.slots()) {}

  /// From the roots to the last leaf.
  EBB_COLD void run() {
    slots_.begin();
    for (const edge_key& k : r_.roots())
      if (const int seed = sink_.root(k); r_.visit_at(k.to).is_reached()) slot(k.to, k.output).value = seed;
    for (const edge_key& k : r_.roots())
      if (k.is_first && r_.is_leaf(k.to) && r_.visit_at(k.to).waiting == 0) run_leaf(k.to, -1);  // nothing else leads there
    for (int i = 0; i < r_.nodes(); ++i) run_node(i);
  }
  /// Some nodes in a row. Returns the first that the sink does not go on with.
  EBB_ONCE int run(int first, int last) {
    slots_.begin();
    const capture_progress::trial only(at_);
    for (int i = first; i < last; ++i) {
      run_node(i);
      if (!sink_.goes_on()) return i;
    }
    std::sort(changed_.begin(), changed_.end());
    for (const auto& [v, o] : changed_)
      if (const slot_table::slot s = std::exchange(slot(v, o), {}); s.changed && s.value >= 0) sink_.leave(v, o, s.value);
    return sink_.goes_on() ? last : first;
  }
  /// A leaf that is complete now that node `last` has run. False if the sink does not take it.
  EBB_ONCE bool run_one_leaf(int l, int last) {
    if (!sink_.takes(l, true, false)) return false;
    slots_.begin();
    run_leaf(l, last);
    return sink_.goes_on();
  }

 private:
  slot_table::slot& slot(int v, int output) { return slots_[r_.visit_at(v).first + output]; }
  /// The gradient that has arrived there so far, or -1.
  EBB_ONCE int value_at(int v, int output, int like = -1) {
    slot_table::slot& s = slot(v, output);
    if (s.value < 0 && !s.changed && at_.defined(v, output)) s.value = sink_.arrived(v, output, like);
    return s.value;
  }

  EBB_ONCE void run_node(int i) {
    const visit& v = r_.visit_at(i);
    const node_key& key = r_.node_at(i);
    const int edges = key.program->edges;
    vec<int> in(v.outputs, -1);
    for (int o = 0; o < v.outputs; ++o) {
      const int k = value_at(i, o);
      in[o] = key.hook_count || v.wanted ? run_tensor_hooks(i, o, k) : k;
      slot(i, o) = {};
    }
    const detail::backward_piece* const piece = v.needed ? pieces_.find(key.program) : nullptr;
    if (v.needed && sink_.goes_on()) {
      const std::uint64_t arrived = piece ? at_.seeds_of(i, *piece) : ~std::uint64_t{0};
      if (key.hook_count) run_node_hooks(hook_kind::node_pre, i, in, {});
      vec<int> out = !r_.is_open(i) ? sink_.function(i, in) : arrived && sink_.goes_on() ? sink_.piece(i, *piece, in) : vec<int>(edges, -1);
      for (int j = 0; piece && j < edges; ++j)
        if (!(piece->depends[j] & arrived)) out[j] = -1;
      if (key.hook_count) run_node_hooks(hook_kind::node_post, i, out, in);
      for (int j = 0; j < edges && sink_.goes_on(); ++j)
        if (out[j] >= 0) arrive(i, j, out[j]);
    }
    if (!sink_.goes_on()) return;
    at_.run(i, piece);
    if (!v.needed) return;
    bool observed = false;
    at_.each_completed_leaf(i, [&](int l) {
      observed = observed || r_.is_observed(l);
      if (sink_.takes(l, slot(l, 0).changed, observed)) run_leaf(l, i);
    });
  }
  EBB_ONCE void arrive(int i, int j, int k) {
    sink_.give(i, j, k);
    const edge_key& e = r_.edge_at(i, j);
    if (e.to < 0 || !r_.visit_at(e.to).is_reached()) return;
    if (r_.visit_at(e.to).widens) k = sink_.widen(e.to, k);
    const int there = value_at(e.to, e.output, k);
    slot_table::slot& s = slot(e.to, e.output);
    s.value = there < 0 ? k : sink_.meet(e.to, e.output, there, k);
    if (!std::exchange(s.changed, true)) changed_.push({e.to, e.output});
  }
  EBB_ONCE void run_leaf(int l, int last) {
    const int arrived = run_tensor_hooks(l, 0, value_at(l, 0));
    slot(l, 0) = {};
    if (arrived < 0 || !r_.options().accumulates || !r_.visit_at(l).needed || !sink_.goes_on()) return;
    vec<int> in{arrived}, none;
    run_node_hooks(hook_kind::node_pre, l, in, {});
    int value = -1, gradient = sink_.accumulate(l, in[0]);
    const hook_keys hooks = r_.hooks_of(l);
    for (int h = 0; h < hooks.size() && sink_.goes_on(); ++h) {
      if (hooks[h].kind != hook_kind::post_accumulate) continue;
      if (!hooks[h].is_update()) sink_.call(l, h, none);
      else if (gradient >= 0) sink_.update(l, h, *hooks[h].program, value, gradient, last);
    }
    run_node_hooks(hook_kind::node_post, l, none, in);
    if (sink_.goes_on()) sink_.finish(l, value, gradient);
  }

  /// All that happens to the gradient of one output, before its vertex runs.
  EBB_ONCE int run_tensor_hooks(int v, int output, int k) {
    const hook_keys hooks = r_.hooks_of(v);
    for (int h = 0; k >= 0 && h < hooks.size(); ++h) {
      const hook_key& key = hooks[h];
      if (key.kind != hook_kind::tensor || static_cast<int>(key.output) != output) continue;
      if (key.retains) sink_.retain(v, h, k);
      else k = run_hook(v, h, {k}, {})[0];
    }
    for (int w = 0; r_.visit_at(v).wanted && k >= 0 && w < r_.wishes().size(); ++w)
      if (const edge_key& wish = r_.wishes()[w]; wish.to == v && static_cast<int>(wish.output) == output) sink_.ask(v, w, k);
    return k;
  }
  /// Hooks that see several gradients: those that they may replace, and those that they only read.
  EBB_ONCE void run_node_hooks(hook_kind kind, int v, vec<int>& written, const vec<int>& read) {
    const hook_keys hooks = r_.hooks_of(v);
    for (int h = 0; h < hooks.size() && sink_.goes_on(); ++h)
      if (hooks[h].kind == kind) written = run_hook(v, h, std::move(written), read);
  }
  EBB_ONCE vec<int> run_hook(int v, int h, vec<int> written, const vec<int>& read) {
    const hook_key& key = r_.hooks_of(v)[h];
    const int outputs = key.kind == hook_kind::node_post ? read.size() : written.size();
    if (key.is_inlined(outputs, written.size())) {
      vec<int> in;
      for (int i = 0; i < key.program->written; ++i) in.push(written[i]);
      for (int i = 0; i < key.program->read; ++i) in.push(read[i]);
      const auto defined = std::count_if(in.begin(), in.end(), [](int k) { return k >= 0; });
      if (defined == 0) return written;  // it does nothing then
      if (defined == in.size()) {
        const vec<int> made = sink_.hook(v, h, *key.program, in);
        for (int i = 0; i < made.size(); ++i) written[i] = made[i];
        return written;
      }
    }
    sink_.call(v, h, written);
    return written;
  }

  const recording& r_;
  capture_progress& at_;
  piece_table& pieces_;
  capture_sink& sink_;
  slot_table& slots_;
  vec<std::pair<int, int>> changed_;  // vertices and outputs where something has arrived
};

}  // namespace ebb::inline EBB_ABI
