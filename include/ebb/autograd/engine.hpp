// ebb/autograd/engine.hpp — one backward: each vertex is given its gradients, runs with its hooks, and passes on what it gives.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what a throw leaves]
// What can be refused is refused before anything ran. Later a hook or a user's function may throw: leaves that have their gradient keep
// it, none is half written, and nodes that have not run keep what they saved. Gradients under way belong to the pass and go with it.
#pragma once

#include "accumulate.hpp"
#include "destroy.hpp"
#include "walk.hpp"

#include <functional>
#include <string>

namespace ebb::inline EBB_ABI {

struct pass_options {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulates = true;   // into leaves; else only what is wanted is kept
  bool restricted = false;   // only what leads to wanted outputs runs
  const char* call = "ebb::backward";
};

class backward_pass {
 public:
  explicit backward_pass(const pass_options& o) : options_(o), walk_(*this), outer_(std::exchange(this_tape().pass, this)) {}
  backward_pass(const backward_pass&) = delete;
  backward_pass& operator=(const backward_pass&) = delete;
  ~backward_pass() { this_tape().pass = outer_; }

  /// A gradient to begin with.
  void add_root(vertex& v, std::uint32_t output, gradient seed) { roots_.push_back({counted<vertex>(&v), output, std::move(seed)}); }
  /// The gradient of this output is asked for. Returns the number of the wish.
  int want(vertex& v, std::uint32_t output) {
    wishes_.push_back({counted<vertex>(&v), output, {}});
    return static_cast<int>(wishes_.size()) - 1;
  }
  /// Walks the graph. Throws: error if saved values are gone, or if a graph of the backward cannot be made.
  void prepare() {
    for (const root& r : roots_) walk_.enter(*r.at);
    walk_.collect();
    for (const wish& w : wishes_)
      if (const int i = walk_.find(*w.at); i >= 0) walk_.at(i).wanted = true;
    if (options_.restricted) walk_.keep_what_is_wanted();
    refuse();
  }
  /// After prepare: whether the roots depend on a wanted output.
  bool reaches(int number) const { return walk_.find(*wishes_[static_cast<std::size_t>(number)].at) >= 0; }
  void run() {
    const recording_scope recording(options_.create_graph);
    for (root& r : roots_) arrive(walk_.find(*r.at), r.output, std::move(r.seed));
    for (int i = 0; i < walk_.size(); ++i)
      if (walk_.at(i).at->is_leaf && walk_.at(i).waiting == 0) run_leaf(i);
    for (int i : walk_.order())
      if (walk_.at(i).is_reached()) run_node(i);
    for (std::size_t i = 0; i < callbacks_.size(); ++i) callbacks_[i]();
  }
  /// After run: what arrived there.
  gradient& taken(int number) { return wishes_[static_cast<std::size_t>(number)].taken; }

  void add_callback(std::function<void()> f) { callbacks_.push_back(std::move(f)); }
  const pass_options& options() const { return options_; }

 private:
  struct root {
    counted<vertex> at;
    std::uint32_t output;
    gradient seed;
  };
  struct wish {
    counted<vertex> at;
    std::uint32_t output;
    gradient taken;
  };

  void refuse() const {
    for (int i : walk_.order()) {
      const node& n = walk_.node_at(i);
      if (!walk_.at(i).needed) continue;
      if (n.released && (n.program->saved > 0 || n.program->release))
        raise(std::string(options_.call) + ": what " + n.program->name +
              " saved is gone: this graph has been differentiated before; say retain_graph = true in the first call");
      if (options_.create_graph && !n.program->record)
        raise(std::string(options_.call) + ": " + n.program->name +
              " cannot be differentiated twice: its backward is opaque; write it on variables, or leave create_graph out");
    }
  }

  void arrive(int number, std::uint32_t output, gradient g) {
    if (!g.defined || !walk_.at(number).is_reached()) return;
    gradient& there = walk_.gradients_of(number)[output];
    if (!there.defined) there = std::move(g);
    else there = detail::meet(*walk_.at(number).at, output, std::move(there), std::move(g), options_.create_graph);
  }

  // See [note: the order of hooks].
  void run_tensor_hooks(int number) {
    const visit& v = walk_.at(number);
    if (!v.at->hooks && !v.wanted) return;
    gradient* const g = walk_.gradients_of(number);
    for (std::uint32_t o = 0; o < v.at->outputs; ++o) {
      if (!g[o].defined) continue;
      if (hook_list* const h = v.at->hooks) {
        h->run(hook_kind::tensor, o, {.at = v.at, .in = g + o, .ins = 1, .create_graph = options_.create_graph});
        if (o < h->retained.size() && h->retained[o].on) h->retained[o].value = g[o];
      }
      if (v.wanted)
        for (wish& w : wishes_)
          if (w.at.get() == v.at && w.output == o) w.taken = g[o];
    }
  }

  void run_leaf(int number) {
    walk_.at(number).waiting = -1;
    if (!walk_.at(number).is_reached()) return;
    leaf& l = static_cast<leaf&>(*walk_.at(number).at);
    run_tensor_hooks(number);
    gradient g = std::move(*walk_.gradients_of(number));
    if (!options_.accumulates || !walk_.at(number).needed || !g.defined) return;
    const bool create = options_.create_graph;
    if (!l.hooks) return detail::accumulate(l, std::move(g), create);
    l.hooks->run(hook_kind::node_pre, 0, {.at = &l, .in = &g, .ins = 1, .create_graph = create});
    gradient shown = l.hooks->has(hook_kind::node_post) ? g : gradient{};
    detail::accumulate(l, std::move(g), create);
    l.hooks->run(hook_kind::post_accumulate, 0, {.at = &l, .create_graph = create});
    l.hooks->run(hook_kind::node_post, 0, {.at = &l, .in = &shown, .ins = 1, .create_graph = create});
  }

  void run_node(int number) {
    run_tensor_hooks(number);
    if (!walk_.at(number).needed) return;
    node& n = walk_.node_at(number);
    gradient* const in = walk_.gradients_of(number);
    gradient* const out = walk_.results(n.program->edges);
    if (n.hooks) run_with_hooks(n, in, out);
    else run_program(n, in, out);
    if (!options_.retain_graph) release_saved(n);
    deliver(n, out);
  }
  void run_program(node& n, gradient* in, gradient* out) {
    if (options_.create_graph) n.program->record(n, in, out);
    else if (n.outputs == n.program->outputs) n.program->run(n, in, out);
    else n.program->twice(n).pull(n, in, out, false);
  }
  [[gnu::noinline]] void run_with_hooks(node& n, gradient* in, gradient* out) {
    const int ins = n.program->outputs, outs = n.program->edges;
    const bool create = options_.create_graph;
    n.hooks->run(hook_kind::node_pre, 0, {.at = &n, .in = in, .ins = ins, .create_graph = create});
    std::vector<gradient> shown;
    if (n.hooks->has(hook_kind::node_post)) shown.assign(in, in + ins);
    run_program(n, in, out);
    n.hooks->run(hook_kind::node_post, 0, {.at = &n, .in = shown.data(), .out = out, .ins = ins, .outs = outs, .create_graph = create});
  }

  void deliver(node& n, gradient* out) {
    bool completes_leaf = false;
    for (int j = 0; j < n.program->edges; ++j) {
      const edge e = n.edges()[j];
      gradient g = std::move(out[j]);
      out[j].defined = false;
      if (!e.to) continue;
      const int to = walk_.find(*e.to);
      arrive(to, e.output, std::move(g));
      completes_leaf |= --walk_.at(to).waiting == 0 && e.to->is_leaf;
    }
    if (!completes_leaf) return;
    for (int j = 0; j < n.program->edges; ++j)
      if (vertex* const to = n.edges()[j].to; to && to->is_leaf)
        if (const int i = walk_.find(*to); walk_.at(i).waiting == 0) run_leaf(i);
  }

  pass_options options_;
  walk walk_;
  backward_pass* outer_;
  std::vector<root> roots_;
  std::vector<wish> wishes_;
  std::vector<std::function<void()>> callbacks_;
};

}  // namespace ebb::inline EBB_ABI
