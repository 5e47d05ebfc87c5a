// ebb/capture/graph_sink.hpp — a captured backward as one graph, to be looked at: equations, and events between them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the captured graph]
// The equations of each segment's backward are copied in after those that gave it its gradients. Gradients that meet are an add. A traced
// hook is copied in at the point where it runs. A leaf that has a gradient adds to it. A list beside the graph says where arguments are in
// memory: saved values, gradients, bound values. A user's function or an opaque hook cannot be looked into: it is an event between
// equations, and its results are arguments.
#pragma once

#include "captured_walk.hpp"

#include "../graph/splice.hpp"

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

/// A value is the number of an equation. One whose dtype no segment has is not shown: it is -1.
class graph_sink final : public capture_sink {
 public:
  graph g;
  vec<capture_place> arguments;
  vec<int> origin;                   // of each equation: the vertex, or -1
  vec<capture_event> events;
  vec<inlined_hook> hooks;

  graph_sink(const recording& r, piece_table& pieces, backward_pass& pass)
      : r_(r), pieces_(pieces), pass_(pass), asked_(r.wishes().size(), -1) {}

  EBB_COLD int root(const edge_key& k) override {
    const int seed = arrived(k.to, k.output);
    if (seed >= 0) origin.back() = -1;
    events.push({capture_event::kind::validate, g.size(), k.to, 0, {seed}, {}});
    return seed;
  }
  EBB_COLD int arrived(int v, int output, int = -1) override {
    return argument({capture_place::kind::slot, v, output}, kit_of(v, output), shape_of(v, output));
  }
  EBB_COLD void retain(int v, int h, int k) override { events.push({capture_event::kind::retain, g.size(), v, h, {k}, {}}); }
  EBB_COLD void ask(int v, int wish, int k) override {
    asked_[wish] = k;
    if (r_.options().accumulates && !r_.is_leaf(v)) retain(v, 0, k);
  }
  EBB_COLD vec<int> hook(int v, int h, const hook_program& p, const vec<int>& gradients) override {
    const graph from = p.graph.thaw();
    vec<int> in;
    for (int i = 0; i < p.values; ++i) {
      const int at = from.input(i);
      const shape s = at < 0 ? shape{} : from.shape_of(at);
      in.push(at < 0 ? -1 : argument({capture_place::kind::bound, v, h, i}, from.op(at).kit, g.intern(s)));
    }
    for (int k : gradients) in.push(k);
    const int before = begin(v);
    return inlined(v, h, before, splice(g, from, in));
  }
  EBB_COLD void call(int v, int h, vec<int>& written) override {
    capture_event e{capture_event::kind::hook, g.size(), v, h, written, {}};
    for (int& k : written)
      if (k >= 0) k = argument({capture_place::kind::opaque, v, h, g.size()}, g.op(k).kit, g.eq[k].shape);
    e.out = written;
    events.push(e);
  }
  EBB_COLD vec<int> piece(int i, const detail::backward_piece& piece, const vec<int>& gradients) override {
    const int kept = piece.kept.size();
    int extent = 0;
    const vec<int> symbol = symbols_in(g, piece.g, [&](const extent_origin&) {
      return g.syms.fresh({extent_rule::argument, i, extent++});
    });
    const auto shape_of_input = [&](int k) { return shape_in(g, piece.g.shape_of(k), symbol); };
    vec<int> in(kept + piece.seeds.size(), -1);
    for (int s = 0; s < piece.seeds.size(); ++s) {
      const int k = piece.g.input(kept + s), value = piece.seeds[s] < 0 ? -1 : gradients[piece.seeds[s]];
      if (value >= 0) g.syms.unify(shape_of_input(k), g.shape_of(value));
      in[kept + s] = value >= 0 ? value : piece.g.op(k).kit->literal(g, g.intern(shape_of_input(k)), 0);
    }
    for (int a = 0; a < kept; ++a)
      if (const int k = piece.g.input(a); k >= 0)
        in[a] = argument({capture_place::kind::saved, i, a}, piece.g.op(k).kit, g.intern(shape_of_input(k)));
    mark(i);
    vec<int> made = splice(g, piece.g, in, symbol);
    mark(i);
    return made;
  }
  EBB_COLD vec<int> function(int i, const vec<int>& in) override {
    capture_event e{capture_event::kind::function, g.size(), i, 0, in, {}};
    for (int j = 0; j < r_.node_at(i).program->edges; ++j) {
      const edge_key& to = r_.edge_at(i, j);
      const capture_place from{capture_place::kind::opaque, i, j, -1};
      e.out.push(to.to < 0 ? -1 : argument(from, kit_of(to.to, to.output), shape_of(to.to, to.output)));
    }
    events.push(e);
    return e.out;
  }
  void give(int, int, int) override {}
  EBB_COLD int widen(int, int k) override {
    k = g.op(k).kit->widen(g, k);
    mark(-1);
    return k;
  }
  int meet(int, int, int there, int k) override { return sum(there, k, -1); }
  bool takes(int, bool, bool) const override { return true; }
  EBB_COLD int accumulate(int l, int k) override {
    const bool has_gradient = r_.leaf_at(l).has_gradient;
    const int old = has_gradient ? argument({capture_place::kind::leaf_gradient, l}, g.op(k).kit, g.eq[k].shape) : -1;
    if (old >= 0) k = sum(old, k, l);
    g.out.push(k);
    events.push({capture_event::kind::accumulate, g.size(), l, 0, {k, old}, {}});
    return k;
  }
  /// An update that is traced is copied in, and what it writes is assigned.
  EBB_COLD void update(int l, int h, const hook_program& p, int& value, int& gradient, int) override {
    const graph from = p.graph.thaw();
    vec<int> in(from.inputs, -1);
    const auto take = [&](int i, const capture_place& place, int shape) {
      if (const int at = from.input(i); at >= 0) in[i] = argument(place, from.op(at).kit, shape);
    };
    const int row = g.eq[gradient].shape, one = g.intern({});
    for (int i = 0; i < p.values; ++i) take(p.first_value + i, {capture_place::kind::bound, l, h, i}, one);
    if (value < 0) take(p.parameter, {capture_place::kind::leaf_value, l}, row);
    else in[p.parameter] = value;
    in[p.parameter + 1] = gradient;
    for (int i = 0; i < p.states; ++i) take(p.parameter + 2 + i, {capture_place::kind::state, l, h, i}, row);
    const int like = std::max(from.input(p.parameter), from.input(p.parameter + 1));
    const bool has_its_rank = like < 0 || from.shape_of(like).rank == g.shapes[row].rank;
    const int before = begin(l);
    const vec<int> out = inlined(l, h, before, has_its_rank ? splice(g, from, in) : splice_over(g, from, in, row));
    int next = 0;
    const auto assign = [&](capture_place::kind is, const vec<int>& written, int state = 0) {
      events.push({capture_event::kind::assign, g.size(), l, h, {}, written, {is, l, h, state}});
      return written.empty() ? -1 : written[0];
    };
    if (p.writes_value) value = assign(capture_place::kind::leaf_value, {out[next++]});
    if (p.writes_gradient) gradient = assign(capture_place::kind::leaf_gradient, {out[next++]});
    else if (p.clears) gradient = assign(capture_place::kind::leaf_gradient, {});
    for (int i = 0; i < p.states; ++i) assign(capture_place::kind::state, {out[next++]}, i);
  }
  void finish(int, int, int) override {}
  void leave(int, int, int) override {}
  /// All has run.
  EBB_COLD void end() {
    if (!r_.options().accumulates) events.push({capture_event::kind::give, g.size(), -1, 0, asked_, {}});
    mark(-1);
  }

 private:
  /// All equations that have come since belong to this vertex.
  void mark(int vertex) {
    while (origin.size() < g.size()) origin.push(vertex);
  }
  EBB_COLD int argument(const capture_place& from, const dtype_kit* kit, int shape) {
    if (!kit) return -1;
    for (int i = 0; i < arguments.size(); ++i)
      if (arguments[i] == from) return g.input(i);
    mark(-1);
    arguments.push(from);
    const int k = kit->input(g, shape, g.inputs++);
    mark(from.at);
    return k;
  }
  EBB_COLD int sum(int a, int b, int at) {
    mark(at);
    g.syms.unify(g.shape_of(a), g.shape_of(b));
    const int k = g.op(a).kit->add(g, a, b);
    mark(at);
    return k;
  }
  /// Equations that are appended from now on are v's. Returns the number of the first.
  int begin(int v) {
    mark(v);
    return g.size();
  }
  /// The equations since `before` are hook h of v, and give `made`.
  EBB_COLD vec<int> inlined(int v, int h, int before, vec<int> made) {
    hooks.push({before, g.size(), v, h});
    mark(v);
    return made;
  }
  /// The shape of a gradient as numbers, where no segment gives it.
  EBB_COLD int shape_of(int v, int output) {
    shape s;
    const extent_list x = extents_of(*pass_.vertices().at(v).at, static_cast<std::uint32_t>(output));
    for (int a = 0; a < x.rank; ++a) s.push(static_cast<int>(x.e[a]));
    return g.intern(s);
  }
  const dtype_kit* kit_of(int v, int output) const {
    return pieces_.kit(gradient_type_at(*pass_.vertices().at(v).at, static_cast<std::uint32_t>(output)));
  }

  const recording& r_;
  piece_table& pieces_;
  backward_pass& pass_;
  vec<int> asked_;  // for each wish the equation
};

}  // namespace ebb::inline EBB_ABI
