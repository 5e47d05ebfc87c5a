// ebb/autograd/engine.hpp — one backward: runs each node with its hooks, and delivers its results to the next nodes and leaves.
// SPDX-License-Identifier: BSL-1.0
//
// [note: state after a throw]
// Errors that can be found early are thrown before anything has run. Later a hook or a custom function may throw. Then leaves that have
// received their gradient keep it, no gradient is half written, and nodes that have not run keep their saved values. Gradients on their
// way belong to the pass and are dropped with it.
#pragma once

#include "accumulate.hpp"
#include "anomaly.hpp"
#include "backward_engine.hpp"
#include "counters.hpp"
#include "destroy.hpp"
#include "inner_path.hpp"
#include "mismatch.hpp"
#include "other_policy.hpp"
#include "walk.hpp"

#include "../base/objects.hpp"
#include "../base/owned.hpp"
#include "../base/settings.hpp"

#include <any>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The engine of the innermost scope, else that of the process. Null: the plain one.
EBB_INLINE const backward_engine* engine_here(const tape_state& t) { return t.engine ? t.engine : config().compiled_autograd.engine(); }

/// Throws: error if n was compiled for another autocast context than this, or if its saved values have been freed.
EBB_INLINE void refuse_node(const char* call, const node& n, const casts_assumed* assumed) {
  if (assumed) check_context(call, n, *assumed, current_context());
  if (n.released.load(std::memory_order_relaxed) && (n.program->saved > 0 || n.program->release)) raise_released(call, n);
}

}  // namespace detail

struct pass_options {
  bool retain_graph = false;
  const higher_order* graph = nullptr;  // if not null: the backward is recorded
  bool accumulates = true;   // adds gradients to leaves; else only wanted gradients are kept
  bool restricted = false;   // only nodes that lead to wanted outputs run
  const char* call = "ebb::backward";
  const backward_engine* engine = nullptr;  // if not null: overrides the scope and the process
  policy_choice policy = {};  // if set: regions that declare it run under it, instead of under their own
};

/// Gradients that a captured backward has computed and that are to be recorded, in the order of a pass: those of its nodes' edges, and the
/// sums of those that meet.
struct computed_gradients {
  objects<gradient> edges;
  objects<storage> sums;
  std::size_t edge = 0, sum = 0;  // the next ones
};

/// Replaces the backward of one node, with the same bits. run returns false if it did nothing: then the node's own backward runs.
struct other_run {
  virtual ~other_run() = default;
  virtual bool run(node&, gradient* in, gradient* out) = 0;
};

class backward_pass {
 public:
  explicit backward_pass(const pass_options& o, tape_state& t = this_tape())
      : options_(o), tape_(t), walk_(*this, t), outer_(std::exchange(t.pass, this)), checks_(t.checks), runs_own_(chooses_nothing()) {
    if (!options_.engine) options_.engine = detail::engine_here(t);
  }
  backward_pass(const backward_pass&) = delete;
  backward_pass& operator=(const backward_pass&) = delete;
  ~backward_pass() { tape_.pass = outer_; }

  /// Adds a root and its seed.
  EBB_INLINE void add_root(vertex& v, std::uint32_t output, gradient&& seed) {
    endpoint& r = *walk_.roots().extend(1);
    r.at = counted<vertex>(&v);
    r.output = output;
    r.value.take(seed);
  }
  /// Requests the gradient of this output. Returns the number of the request.
  int want(vertex& v, std::uint32_t output) {
    return walk_.wishes().push({counted<vertex>(&v), output, {}});
  }
  /// Finds the nodes that will run. Throws: error if saved values have been freed, if the backward cannot be recorded, or if a wanted
  /// gradient would be incomplete, see [note: results of one region].
  EBB_ONCE void prepare() {
    if (!walk_.wishes().empty()) detail::refuse_inner_paths(options_.call, walk_.roots(), walk_.wishes());
    if (options_.engine && options_.engine->find) captured_ = options_.engine->find(*options_.engine, *this);
    if (!captured_ && walk_.size() == 0) explore();
  }
  /// Walks the graph.
  EBB_ONCE void explore() {
    for (endpoint& r : walk_.roots()) r.number = walk_.enter(*r.at);
    walk_.collect();
    for (endpoint& w : walk_.wishes())
      if ((w.number = walk_.find(*w.at)) >= 0) walk_.at(w.number).wanted = true;
    if (options_.restricted) walk_.keep_what_is_wanted();
    refuse();
    if (checks_ && options_.accumulates) refuse_nan();
  }
  /// After prepare: whether the roots depend on a wanted output.
  bool reaches(int number) const { return walk_.wishes()[number].number >= 0; }
  const vertex& asked(int number) const { return *walk_.wishes()[number].at; }
  EBB_ONCE void run() {
    const recording_scope recording(options_.graph != nullptr, tape_);
    if (captured_) {
      const engine_scope plain(plain_engine, tape_);
      captured_->run(*this);
    } else {
      start();
      for (int i : walk_.order()) run_if_reached(i);
      if (detail::counting().notes_graphs.load(std::memory_order_relaxed)) note_programs();
    }
    walk_.finish();
    if (extras_) run_callbacks();
  }
  /// Delivers the seeds.
  EBB_ONCE void start() {
    bool at_leaf = false;
    for (endpoint& r : walk_.roots()) {
      const visit& v = walk_.at(r.number);
      arrive(v, r.output, r.value);
      at_leaf |= v.at->is_leaf;
    }
    if (!at_leaf) return;
    for (const endpoint& r : walk_.roots())  // roots are the only leaves without a node before them
      if (visit& v = walk_.at(r.number); v.at->is_leaf && v.waiting == 0) run_leaf(v);
  }
  /// Runs the node with this number, and leaves whose gradients it completes.
  EBB_INLINE void run_if_reached(int number) {
    if (visit& v = walk_.at(number); v.is_reached()) run_node(v);
  }
  /// The same, with `instead` in place of its backward if that can run.
  EBB_ONCE void run_if_reached(int number, other_run& instead) {
    instead_ = &instead;
    runs_own_ = false;
    run_if_reached(number);
    instead_ = nullptr;
    runs_own_ = chooses_nothing();
  }
  /// Gives the results of the next nodes: they are recorded, and do not run.
  void know(computed_gradients&& c) { computed_ = make_owned<computed_gradients>(std::move(c)); }
  EBB_ONCE void record_computed(int first, int last) {
    for (int i = first; i < last; ++i) run_if_reached(i);
    computed_ = nullptr;
  }
  /// Runs a leaf whose gradient is complete.
  EBB_ONCE void run_leaf(visit& v) {
    v.waiting = -1;
    if (!v.is_reached()) return;
    leaf& l = static_cast<leaf&>(*v.at);
    gradient& g = *walk_.gradients_of(v);
    if (l.hooks || v.wanted) run_tensor_hooks(v, &g);
    if (checks_) detail::refuse_nan_at(options_.call, l, g, " became NaN in a hook of it");
    if (!options_.accumulates || !v.needed || !g.defined) return forget(&g, 1);
    if (!l.hooks) return detail::accumulate(l, g, options_.graph);
    run_with_hooks(l, g);
  }

  /// After run: the requested gradient.
  gradient& taken(int number) { return walk_.wishes()[number].value; }

  /// After prepare: the names of the nodes that will run, and of leaves at the place where their gradient is complete.
  EBB_ONCE std::vector<std::string> order() {
    std::vector<std::string> names;
    for (int i : walk_.order()) {
      if (!walk_.at(i).needed) continue;
      const node& n = walk_.node_at(i);
      names.push_back(name_of(n));
      for (int j = 0; j < n.program->edges; ++j) {
        const int to = walk_.target(walk_.at(i), j);
        if (to < 0 || --walk_.at(to).waiting > 0 || !walk_.at(to).at->is_leaf) continue;
        if (walk_.at(to).needed) names.push_back("accumulate " + name_of(*walk_.at(to).at));
      }
    }
    return names;
  }

  /// After prepare: whether gradients will arrive at v, so that its tensor hooks run.
  EBB_ONCE bool will_reach(const vertex& v) const {
    const int i = walk_.find(v);
    return i >= 0 && walk_.at(i).is_reached();
  }
  /// State of hooks that lives as long as the pass: one S for each owner.
  template <class S>
  S& state_of(const void* owner) {
    std::any& a = extras().states[owner];
    if (!a.has_value()) a = S();
    return *std::any_cast<S>(&a);
  }

  void add_callback(std::function<void()> f) { extras().callbacks.push_back(std::move(f)); }
  const pass_options& options() const { return options_; }
  /// Sets the policy, before anything runs.
  void choose(policy_choice p) {
    options_.policy = p;
    runs_own_ = chooses_nothing();
  }
  /// The backward that replaces n's own program, or null.
  EBB_INLINE const other_backward* chosen_for(const node& n) const {
    return options_.policy.number() < 0 ? nullptr : detail::backward_under(options_.policy, options_.call, n);
  }
  /// The assumptions of n's backward, own or replaced, about the autocast context.
  EBB_ONCE const casts_assumed* assumed_for(const node& n) const {
    const other_backward* const other = chosen_for(n);
    return other ? other->assumed : n.program->assumed;
  }
  bool looks_for_nan() const { return checks_; }
  walk& vertices() { return walk_; }

 private:
  struct what_hooks_leave {
    objects<std::function<void()>> callbacks;
    std::unordered_map<const void*, std::any> states;
  };
  EBB_ONCE what_hooks_leave& extras() {
    if (!extras_) extras_ = make_owned<what_hooks_leave>();
    return *extras_;
  }
  [[gnu::noinline]] void run_callbacks() {
    for (std::size_t i = 0; i < extras_->callbacks.size(); ++i) extras_->callbacks[i]();
  }
  bool records() const { return options_.graph != nullptr; }
  bool chooses_nothing() const { return !options_.graph && options_.policy.number() < 0; }
  EBB_ONCE_APART void note_programs() {
    for (int i : walk_.order())
      if (walk_.at(i).needed) detail::counting().note(walk_.node_at(i).program);
  }
  EBB_COLD void refuse() const {
    for (int i : walk_.order()) {
      const node& n = walk_.node_at(i);
      if (!walk_.at(i).needed) continue;
      detail::refuse_node(options_.call, n, assumed_for(n));
      if ((options_.graph || walk_.at(i).outputs != n.program->outputs) && chosen_for(n))
        detail::raise_graph_of_other_policy(options_.call, n, options_.policy);
      if (options_.graph && !n.program->record && !n.program->twice) raise_opaque(n);
    }
  }
  [[noreturn]] EBB_COLD void raise_opaque(const node& n) const {
    raise(std::string(options_.call) + ": " + n.program->name +
          " cannot be differentiated twice: its backward is opaque; write it on variables, or leave create_graph out");
  }

  EBB_COLD void refuse_nan() const {
    for (int i = 0; i < walk_.size(); ++i)
      if (const visit& v = walk_.at(i); v.at->is_leaf && v.needed) {
        const leaf& l = static_cast<const leaf&>(*v.at);
        detail::refuse_nan_at(options_.call, l, l.grad, " is NaN already");
      }
  }

  EBB_INLINE void arrive(const visit& to, std::uint32_t output, gradient& g) {
    if (!g.defined || !to.is_reached()) return;
    if (to.widens) [[unlikely]] detail::widen(*to.at, g, options_.graph);
    gradient& there = walk_.gradients_of(to)[output];
    if (!there.defined) there.take(g);
    else meet(*to.at, output, there, g);
  }
  EBB_ONCE_APART void meet(const vertex& v, std::uint32_t output, gradient& there, gradient& g) {
    storage* const known = computed_ ? &computed_->sums[computed_->sum++] : nullptr;
    detail::meet(gradient_type_at(v, output), v, output, there, g, options_.graph, known);
  }

  // See [note: the order of hooks].
  EBB_ONCE_APART void run_tensor_hooks(const visit& v, gradient* g) {
    for (std::uint32_t o = 0; o < static_cast<std::uint32_t>(v.outputs); ++o) {
      if (hook_list* const h = v.at->hooks) {
        h->run(hook_kind::tensor, o, {.at = v.at, .in = g + o, .ins = 1, .create_graph = options_.graph});
        if (g[o].defined && o < h->retained.size() && h->retained[o].on) detail::retain_arrived(*v.at, o, g[o], options_.graph);
      }
      if (v.wanted && g[o].defined)
        for (endpoint& w : walk_.wishes())
          if (w.at.get() == v.at && w.output == o) w.value = g[o];
    }
  }

  EBB_ONCE void run_node(visit& v) {
    node& n = static_cast<node&>(*v.at);
    gradient* const in = walk_.gradients_of(v);
    if (n.hooks || v.wanted) run_tensor_hooks(v, in);
    if (!v.needed) return forget(in, v.outputs);
    gradient* const out = walk_.results(n.program->edges);
    if (n.hooks) run_with_hooks(v, n, in, out);
    else {
      run_program(v, n, in, out);
      if (n.hooks) [[unlikely]] run_post_hooks(n, {}, out);
    }
    if (checks_) detail::refuse_nan_from(options_.call, n, out);
    forget(in, v.outputs);
    if (!options_.retain_graph) release_saved(n);
    deliver(v, n, out);
  }
  EBB_INLINE static void forget(gradient* g, int count) {
    for (int o = 0; o < count; ++o)
      if (g[o].defined) g[o] = {};
  }
  // A node may have been differentiated twice since this walk visited it: `in` has as many gradients as it had outputs then.
  EBB_ONCE void run_program(const visit& v, node& n, gradient* in, gradient* out) {
    EBB_PROBE(const probe here({probed::node, n.program->name});)
    if (runs_own_ && v.outputs == n.program->outputs) [[likely]] n.program->run(n, in, out);
    else run_other(v, n, in, out);
  }
  EBB_ONCE_APART void run_other(const visit& v, node& n, gradient* in, gradient* out) {
    if (options_.graph) record_program(v, n, in, out);
    else if (const other_backward* const other = chosen_for(n)) other->run(n, in, out);
    else if (v.outputs != n.program->outputs) n.program->twice(n, nullptr).pull(n, in, out, false);
    else if (!instead_ || !instead_->run(n, in, out)) n.program->run(n, in, out);
  }
  EBB_ONCE_APART void record_program(const visit& v, node& n, gradient* in, gradient* out) {
    objects<gradient> all = detail::with_room_for_kept(n, in, v.outputs);
    for (int e = 0; computed_ && e < n.program->edges; ++e) out[e].take(computed_->edges[computed_->edge++]);
    if (n.program->twice) n.program->twice(n, options_.graph).pull(n, all.data(), out, true);
    else n.program->record(n, all.data(), out);
  }
  EBB_ONCE_APART void run_with_hooks(const visit& v, node& n, gradient* in, gradient* out) {
    const int ins = n.program->outputs;
    n.hooks->run(hook_kind::node_pre, 0, {.at = &n, .in = in, .ins = ins, .create_graph = options_.graph});
    objects<gradient> shown;
    if (n.hooks->has(hook_kind::node_post)) shown.assign(in, in + ins);
    run_program(v, n, in, out);
    run_post_hooks(n, std::move(shown), out);
  }
  // A hook that was registered while the node ran, by an unpack hook, sees no arrived gradients: they may be freed.
  EBB_ONCE_APART void run_post_hooks(node& n, objects<gradient>&& shown, gradient* out) {
    if (!n.hooks->has(hook_kind::node_post)) return;
    const int ins = n.program->outputs, outs = n.program->edges;
    shown.resize(static_cast<std::size_t>(ins));
    n.hooks->run(hook_kind::node_post, 0,
                 {.at = &n, .in = shown.data(), .out = out, .ins = ins, .outs = outs, .create_graph = options_.graph});
  }

  EBB_ONCE_APART void run_with_hooks(leaf& l, gradient& g) {
    const higher_order* const create = options_.graph;
    l.hooks->run(hook_kind::node_pre, 0, {.at = &l, .in = &g, .ins = 1, .create_graph = create});
    gradient shown = l.hooks->has(hook_kind::node_post) ? g : gradient{};
    if (g.defined) {
      detail::accumulate(l, g, options_.graph);
      l.hooks->run(hook_kind::post_accumulate, 0, {.at = &l, .create_graph = create});
    }
    l.hooks->run(hook_kind::node_post, 0, {.at = &l, .in = &shown, .ins = 1, .create_graph = create});
  }

  EBB_INLINE void deliver(const visit& v, node& n, gradient* out) {
    bool completes_leaf = false;
    const int *const targets = walk_.targets(v), *const end = targets + n.program->edges;
    const edge* e = n.edges();
    for (const int* t = targets; t != end; ++t, ++e, ++out) {
      if (*t >= 0) {
        visit& to = walk_.at(*t);
        arrive(to, e->output, *out);
        completes_leaf |= --to.waiting == 0 && to.at->is_leaf;
      }
      if (out->defined) *out = {};
    }
    if (!completes_leaf) return;
    for (const int* t = targets; t != end; ++t)
      if (*t >= 0)
        if (visit& to = walk_.at(*t); to.at->is_leaf && to.waiting == 0) run_leaf(to);
  }

  pass_options options_;
  tape_state& tape_;
  walk walk_;
  backward_pass* outer_;
  bool checks_;
  bool runs_own_;  // whether nodes run nothing but their own programs
  other_run* instead_ = nullptr;
  counted<captured_backward> captured_;
  owned<what_hooks_leave> extras_;
  owned<computed_gradients> computed_;
};

}  // namespace ebb::inline EBB_ABI
