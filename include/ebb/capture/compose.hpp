// ebb/capture/compose.hpp — nodes of a recording, the hooks that were traced and the accumulations as one graph.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the captured graph]
// Walked in eager order: each segment's backward is copied in behind what gave it its gradients, with a graph's own equations; gradients
// that meet are an add; a traced hook is copied in where it runs; a leaf that has a gradient adds to it. Of a whole backward it is made to
// be looked at, of single nodes to be pruned, planned and run (graph_group.hpp). What saved values, gradients and bound values stand in
// memory is listed beside: arguments and results of the graph.
// What cannot be looked into (a function of the user's, an opaque hook) is an event between equations. Its results are arguments.
#pragma once

#include "interface.hpp"
#include "progress.hpp"

#include "../graph/splice.hpp"
#include "../op/convert.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

/// Something that is not an equation, at its place among them.
struct capture_event {
  enum class kind : std::uint8_t { validate, hook, retain, function, accumulate, assign, give } is;
  int before;  // the number of the equation that comes next
  int at;      // the vertex
  int number = 0;             // of the hook
  vec<int> in = {}, out = {};  // equations, -1: undefined
  capture_place to = {};       // what is assigned to, or cleared if nothing is
};

/// Equations that are a traced hook.
struct inlined_hook {
  int first, last;
  int at, number;
};

/// Puts together the graph of some nodes in a row. With a pass in hand it also goes through what cannot be looked into.
class composer {
 public:
  graph g;
  vec<capture_place> arguments, results;
  vec<int> origin;                   // of each equation: the vertex, or -1
  vec<capture_event> events;
  vec<inlined_hook> hooks;

  composer(const recording& r, capture_progress& at, piece_table& pieces, backward_pass* pass = nullptr)
      : r_(r), at_(at), pieces_(pieces), pass_(pass), slots_(at.slots()) {}

  EBB_ONCE void run(int first, int last) {
    slots_.begin();
    const capture_progress::trial only(at_);
    if (pass_) begin();
    for (int i = first; i < last; ++i)
      if (r_.visit_at(i).needed) add_node(i);
      else skip_node(i);
    std::sort(arrived_.begin(), arrived_.end());
    for (const auto& [v, o] : arrived_)
      if (const slot_table::slot s = std::exchange(slot(v, o), {}); s.changed && s.value >= 0)
        put({capture_place::kind::slot, v, o}, s.value);
    if (pass_ && !r_.options().accumulates) events.push({capture_event::kind::give, g.size(), -1, 0, asked_, {}});
    mark(-1);
  }

 private:
  slot_table::slot& slot(int at, int output) { return slots_[r_.visit_at(at).first + output]; }
  /// All equations that have come since belong to this vertex.
  void mark(int vertex) {
    while (origin.size() < g.size()) origin.push(vertex);
  }
  /// -1 without a kit: the dtype is none of any segment, and is not shown then.
  EBB_ONCE int argument(const capture_place& from, const dtype_kit* kit, int shape) {
    if (!kit) return -1;
    for (int i = 0; i < arguments.size(); ++i)
      if (arguments[i] == from) return g.input(i);
    mark(-1);
    arguments.push(from);
    const int k = kit->input(g, shape, g.inputs++);
    mark(from.at);
    return k;
  }
  EBB_ONCE void put(const capture_place& to, int k) {
    results.push(to);
    g.out.push(k);
  }
  /// The shape of a gradient as numbers: for what no segment has said it of.
  EBB_ONCE int shape_of_slot(int v, int output) {
    shape s;
    const extent_list x = extents_of(*pass_->vertices().at(v).at, static_cast<std::uint32_t>(output));
    for (int a = 0; a < x.rank; ++a) s.push(static_cast<int>(x.e[a]));
    return g.intern(s);
  }
  const dtype_kit* kit_of_slot(int v, int output) const {
    return pieces_.kit(gradient_type_at(*pass_->vertices().at(v).at, static_cast<std::uint32_t>(output)));
  }

  EBB_ONCE void begin() {
    asked_ = vec<int>(r_.wishes().size(), -1);
    for (const edge_key& k : r_.roots()) {
      const int o = static_cast<int>(k.output);
      const int seed = argument({capture_place::kind::slot, k.to, o}, kit_of_slot(k.to, o), shape_of_slot(k.to, o));
      slot(k.to, o).value = seed;
      if (seed >= 0) origin.back() = -1;
      events.push({capture_event::kind::validate, g.size(), k.to, 0, {seed}, {}});
    }
  }
  /// What has arrived there so far, or -1.
  EBB_ONCE int value_at(int v, int output, const dtype_kit* kit, int shape) {
    slot_table::slot& s = slot(v, output);
    if (s.value < 0 && !s.changed && at_.defined(v, output)) s.value = argument({capture_place::kind::slot, v, output}, kit, shape);
    return s.value;
  }

  EBB_ONCE void arrive(const edge_key& e, int k) {
    if (e.to < 0 || !r_.visit_at(e.to).is_reached()) return;
    if (r_.visit_at(e.to).widens) k = widened(k);
    const int o = static_cast<int>(e.output);
    const int there = value_at(e.to, o, g.op(k).kit, g.eq[k].shape);
    slot_table::slot& s = slot(e.to, o);
    s.value = there < 0 ? k : add(there, k);
    if (!std::exchange(s.changed, true)) arrived_.push({e.to, o});
  }
  /// What arrives at a leaf whose gradient is float: see [note: gradients of another dtype].
  EBB_ONCE int widened(int k) {
    switch (g.op(k).result) {
      case dtype::bf16: return cast_to<float>(operand<bfloat16>{&g, k}).id;
      case dtype::f16: return cast_to<float>(operand<float16>{&g, k}).id;
      default: return k;
    }
  }
  EBB_ONCE int add(int a, int b) {
    g.syms.unify(g.shape_of(a), g.shape_of(b));
    return g.op(a).kit->add(g, a, b);
  }
  void forget(int i) {
    for (int o = 0; o < r_.visit_at(i).outputs; ++o) slot(i, o) = {};
  }

  /// Hooks of a vertex on the gradient of one output; those that are opaque are events.
  EBB_ONCE int run_tensor_hooks(int v, int output, int k, int first, int count) {
    for (int h = 0; h < count && k >= 0; ++h) {
      const hook_key& key = r_.hook_at(first + h);
      if (key.kind != hook_kind::tensor || static_cast<int>(key.output) != output) continue;
      if (key.retains) events.push({capture_event::kind::retain, g.size(), v, h, {k}, {}});
      else if (key.program) k = inline_hook(v, h, *key.program, {k})[0];
      else k = call_hook(v, h, {k})[0];
    }
    for (int w = 0; w < asked_.size(); ++w) {
      if (r_.wishes()[w].to != v || static_cast<int>(r_.wishes()[w].output) != output) continue;
      asked_[w] = k;
      if (r_.options().accumulates && !r_.is_leaf(v)) events.push({capture_event::kind::retain, g.size(), v, 0, {k}, {}});
    }
    return k;
  }
  /// Hooks that see all gradients of a node, or that of a leaf; behind a node also those that it got.
  EBB_ONCE vec<int> run_node_hooks(hook_kind kind, int v, vec<int> k, int first, int count, const vec<int>& got = {}) {
    const bool is_behind = kind == hook_kind::node_post;
    for (int h = 0; h < count; ++h) {
      const hook_key& key = r_.hook_at(first + h);
      if (key.kind != kind) continue;
      vec<int> seen;
      if (is_inlined(key, is_behind ? got.size() : k.size(), k.size())) {
        for (int i = 0; i < key.program->written; ++i) seen.push(k[i]);
        for (int i = 0; i < key.program->read; ++i) seen.push(got[i]);
      }
      const auto is_there = [](int one) { return one >= 0; };
      if (seen.empty() || (std::any_of(seen.begin(), seen.end(), is_there) && !std::all_of(seen.begin(), seen.end(), is_there)))
        k = call_hook(v, h, k);
      else if (seen[0] >= 0) {
        const vec<int> made = inline_hook(v, h, *key.program, seen);
        std::copy(made.begin(), made.end(), k.begin());
      }
    }
    return k;
  }
  EBB_ONCE vec<int> inline_hook(int v, int number, const hook_program& p, const vec<int>& gradients) {
    const graph from = p.graph.thaw();
    vec<int> in;
    for (int i = 0; i < p.values; ++i) {
      const int at = from.input(i);
      const shape s = at < 0 ? shape{} : from.shape_of(at);
      in.push(at < 0 ? -1 : argument({capture_place::kind::bound, v, number, i}, from.op(at).kit, g.intern(s)));
    }
    for (int k : gradients) in.push(k);
    mark(v);
    const int before = g.size();
    const vec<int> made = splice(g, from, in);
    hooks.push({before, g.size(), v, number});
    mark(v);
    return made;
  }
  /// What hooks do when a gradient has been accumulated: updates that are traced are copied in, and what they write is assigned.
  EBB_ONCE void update(int l, int gradient) {
    const leaf_key& key = r_.leaf_at(l);
    int value = -1;
    for (int h = 0; pass_ && h < key.hook_count; ++h) {
      const hook_key& hook = r_.hook_at(key.hooks + h);
      if (hook.kind != hook_kind::post_accumulate) continue;
      if (!hook.program || !hook.program->is_update()) events.push({capture_event::kind::hook, g.size(), l, h, {}, {}});
      else if (gradient >= 0) inline_update(l, h, *hook.program, value, gradient);
    }
  }
  EBB_ONCE void inline_update(int l, int number, const hook_program& p, int& value, int& gradient) {
    const graph from = p.graph.thaw();
    vec<int> in(from.inputs, -1);
    const auto take = [&](int i, const capture_place& place, int shape) {
      if (const int at = from.input(i); at >= 0) in[i] = argument(place, from.op(at).kit, shape);
    };
    const int row = g.eq[gradient].shape, one = g.intern({});
    for (int i = 0; i < p.values; ++i) take(p.first_value + i, {capture_place::kind::bound, l, number, i}, one);
    if (value < 0) take(p.parameter, {capture_place::kind::leaf_value, l}, row);
    else in[p.parameter] = value;
    in[p.parameter + 1] = gradient;
    for (int i = 0; i < p.states; ++i) take(p.parameter + 2 + i, {capture_place::kind::state, l, number, i}, row);
    mark(l);
    const int before = g.size();
    const int like = std::max(from.input(p.parameter), from.input(p.parameter + 1));
    const bool has_its_rank = like < 0 || from.shape_of(like).rank == g.shapes[row].rank;
    const vec<int> out = has_its_rank ? splice(g, from, in) : splice_over(g, from, in, row);
    hooks.push({before, g.size(), l, number});
    mark(l);
    int next = 0;
    const auto assign = [&](capture_place::kind is, const vec<int>& written, int state = 0) {
      events.push({capture_event::kind::assign, g.size(), l, number, {}, written, {is, l, number, state}});
      return written.empty() ? -1 : written[0];
    };
    if (p.writes_value) value = assign(capture_place::kind::leaf_value, {out[next++]});
    if (p.writes_gradient) gradient = assign(capture_place::kind::leaf_gradient, {out[next++]});
    else if (p.clears) gradient = assign(capture_place::kind::leaf_gradient, {});
    for (int i = 0; i < p.states; ++i) assign(capture_place::kind::state, {out[next++]}, i);
  }
  EBB_ONCE vec<int> call_hook(int v, int number, const vec<int>& in) {
    mark(v);
    vec<int> out = in;
    const int before = g.size();
    for (int& k : out)
      if (k >= 0) k = argument({capture_place::kind::opaque, v, number, g.size()}, g.op(k).kit, g.eq[k].shape);
    events.push({capture_event::kind::hook, before, v, number, in, out});
    return out;
  }
  EBB_ONCE void add_node(int i) {
    const node_key& key = r_.node_at(i);
    const visit& v = r_.visit_at(i);
    const detail::backward_piece* const piece = pieces_.find(key.program);
    const std::uint64_t arrived = piece ? at_.seeds_of(i, *piece) : 0;
    const bool is_looked_into = piece && !key.is_packed && v.outputs == key.program->outputs;
    vec<int> got, out;
    if (!is_looked_into) out = call_function(i, got);
    else if (arrived) out = copy_piece(i, *piece, got);
    if (pass_) out = run_node_hooks(hook_kind::node_post, i, out, key.hooks, key.hook_count, got);
    mark(i);
    forget(i);
    for (int j = 0; j < out.size(); ++j)
      if (out[j] >= 0 && (!piece || piece->depends[j] & arrived)) arrive(r_.edge_at(i, j), out[j]);
    mark(-1);
    at_.run(i, piece);
    complete_leaves(i);
  }
  /// Its gradients may be asked for.
  EBB_ONCE void skip_node(int i) {
    if (pass_) arrivals_of(i);
    forget(i);
    at_.run(i, nullptr);
  }
  EBB_ONCE vec<int> copy_piece(int i, const detail::backward_piece& piece, vec<int>& arrived) {
    const node_key& key = r_.node_at(i);
    const int kept = piece.kept.size();
    int extent = 0;
    const vec<int> symbol = symbols_in(g, piece.g, [&](const extent_origin&) {
      return g.syms.fresh({extent_rule::argument, i, extent++});
    });
    vec<int> in(kept + piece.seeds.size(), -1);
    const auto shape_of = [&](int k) { return shape_in(g, piece.g.shape_of(k), symbol); };
    for (int s = 0; s < piece.seeds.size(); ++s) {
      const int k = piece.g.input(kept + s), o = piece.seeds[s];
      const int value = o < 0 ? -1 : value_at(i, o, piece.g.op(k).kit, g.intern(shape_of(k)));
      if (value >= 0) g.syms.unify(shape_of(k), g.shape_of(value));
    }
    arrived = run_node_hooks(hook_kind::node_pre, i, arrivals_of(i), key.hooks, key.hook_count);
    for (int s = 0; s < piece.seeds.size(); ++s) {
      const int k = piece.g.input(kept + s), value = piece.seeds[s] < 0 ? -1 : arrived[piece.seeds[s]];
      in[kept + s] = value >= 0 ? value : piece.g.op(k).kit->literal(g, g.intern(shape_of(k)), 0);
    }
    for (int a = 0; a < kept; ++a)
      if (const int k = piece.g.input(a); k >= 0)
        in[a] = argument({capture_place::kind::saved, i, a}, piece.g.op(k).kit, g.intern(shape_of(k)));
    mark(i);
    return splice(g, piece.g, in, symbol);
  }
  /// The gradients of a node's outputs, behind the hooks on each.
  EBB_ONCE vec<int> arrivals_of(int i) {
    const node_key& key = r_.node_at(i);
    vec<int> all;
    for (int o = 0; o < r_.visit_at(i).outputs; ++o) {
      int k = slot(i, o).value;
      if (k < 0 && pass_ && at_.defined(i, o)) k = value_at(i, o, kit_of_slot(i, o), shape_of_slot(i, o));
      all.push(k < 0 ? -1 : run_tensor_hooks(i, o, k, key.hooks, key.hook_count));
    }
    return all;
  }
  EBB_ONCE vec<int> call_function(int i, vec<int>& arrived) {
    const node_key& key = r_.node_at(i);
    capture_event e{capture_event::kind::function, 0, i, 0, {}, {}};
    arrived = e.in = run_node_hooks(hook_kind::node_pre, i, arrivals_of(i), key.hooks, key.hook_count);
    e.before = g.size();
    for (int j = 0; j < key.program->edges; ++j) {
      const edge_key& to = r_.edge_at(i, j);
      const int o = static_cast<int>(to.output);
      e.out.push(to.to < 0 ? -1 : argument({capture_place::kind::opaque, i, j, -1}, kit_of_slot(to.to, o), shape_of_slot(to.to, o)));
    }
    events.push(e);
    return e.out;
  }

  EBB_ONCE void complete_leaves(int i) {
    bool observed = false;  // an earlier leaf of this node is, so those behind it wait
    at_.each_completed_leaf(i, [&](int l) {
      observed = observed || is_observed(r_, l);
      if (slot(l, 0).changed && (pass_ || (!observed && accumulates_plainly(r_, l)))) accumulate(l);
    });
  }
  EBB_ONCE void accumulate(int l) {
    const leaf_key& key = r_.leaf_at(l);
    int k = run_tensor_hooks(l, 0, slot(l, 0).value, key.hooks, key.hook_count);
    if (r_.options().accumulates && r_.visit_at(l).needed) {
      k = run_node_hooks(hook_kind::node_pre, l, {k}, key.hooks, key.hook_count)[0];
      const int had = key.has_gradient ? argument({capture_place::kind::leaf_gradient, l}, g.op(k).kit, g.eq[k].shape) : -1;
      mark(l);
      if (had >= 0) k = add(had, k);
      mark(l);
      put({capture_place::kind::leaf_gradient, l}, k);
      if (pass_) {
        events.push({capture_event::kind::accumulate, g.size(), l, 0, {k, had}, {}});
        update(l, k);
        run_node_hooks(hook_kind::node_post, l, {}, key.hooks, key.hook_count);
      }
    }
    forget(l);
  }

 public:
  /// Whether a node can be part of a graph: nothing but traced hooks is there that could be seen.
  EBB_ONCE static bool is_mergeable(const recording& r, int i, piece_table& pieces) {
    const node_key& key = r.node_at(i);
    const visit& v = r.visit_at(i);
    return v.needed && !v.wanted && !key.is_packed && v.outputs == key.program->outputs &&
           has_traced_hooks_only(r, key.hooks, key.hook_count, v.outputs) && pieces.find(key.program);
  }
  /// The same as links of a chain, which also gives what is retained, or asked for, on its way.
  EBB_ONCE static bool is_chainable(const recording& r, int i, piece_table& pieces) {
    const node_key& key = r.node_at(i);
    const visit& v = r.visit_at(i);
    if (!v.needed || key.is_packed || v.outputs != key.program->outputs || !pieces.find(key.program)) return false;
    for (int j = 0; j < key.program->edges; ++j)  // a chain has one dtype
      if (const edge_key& e = r.edge_at(i, j); e.to >= 0 && r.visit_at(e.to).widens) return false;
    for (int h = 0; h < key.hook_count; ++h)
      if (const hook_key& k = r.hook_at(key.hooks + h); !k.retains && !is_inlined(k, v.outputs, key.program->edges)) return false;
    return true;
  }
  /// Whether a hook is traced, and sees all that it could see where gradients are only numbered.
  EBB_ONCE static bool is_inlined(const hook_key& k, int outputs, int edges) {
    if (!k.program || k.kind == hook_kind::tensor) return k.program;
    if (k.kind == hook_kind::node_post) return k.program->written == edges && k.program->read <= outputs;
    return k.kind == hook_kind::node_pre && k.program->written <= outputs && (k.program->written > 1 || outputs == 1);
  }
  EBB_ONCE static bool has_traced_hooks_only(const recording& r, int first, int count, int outputs = 1) {
    for (int h = 0; h < count; ++h)
      if (const hook_key& k = r.hook_at(first + h); !is_inlined(k, outputs, 0) || k.program->written > 1) return false;
    return true;
  }
  /// Whether all that happens at a leaf is traced hooks and an accumulation.
  EBB_ONCE static bool accumulates_plainly(const recording& r, int l) {
    const leaf_key& key = r.leaf_at(l);
    return r.options().accumulates && r.visit_at(l).needed && !r.visit_at(l).wanted && has_traced_hooks_only(r, key.hooks, key.hook_count);
  }
  /// Whether all that happens at a leaf is traced.
  EBB_ONCE static bool is_traced(const recording& r, int l) {
    const leaf_key& key = r.leaf_at(l);
    for (int h = 0; h < key.hook_count; ++h)
      if (const hook_key& k = r.hook_at(key.hooks + h); !is_inlined(k, 1, 0) && (!k.program || k.kind != hook_kind::post_accumulate))
        return false;
    return r.options().accumulates && r.visit_at(l).needed && !r.visit_at(l).wanted;
  }
  /// Whether something happens there that the user can see while it happens: what comes later must not have run.
  static bool is_observed(const recording& r, int l) { return r.leaf_at(l).hook_count > 0 && !is_traced(r, l); }
 private:
  const recording& r_;
  capture_progress& at_;
  piece_table& pieces_;
  backward_pass* pass_;
  slot_table& slots_;  // values are equations
  vec<int> asked_;     // for each wish the equation; empty without a pass
  vec<std::pair<int, int>> arrived_;  // vertices and outputs that have changed
};

}  // namespace ebb::inline EBB_ABI
