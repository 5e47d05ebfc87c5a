// test/autograd/plain_tape.hpp — the reference: a tape of plain vectors that follows the engine's rules and shares no code with it.
// SPDX-License-Identifier: BSL-1.0
//
// Values and gradients are vectors, always copied: nothing is shared, moved or written in place. A vertex is its index in a vector, so a
// backward is a loop from the last to the first. Number is float, or a dual number for second derivatives.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plain {

/// Thrown for calls that the engine refuses.
struct refusal {
  std::string why;
};

enum class kind { tensor, before, after, accumulated };

template <class Number>
class tape {
 public:
  using values = std::vector<Number>;
  using maybe = std::optional<values>;  // nothing: undefined, which is not zero
  using list = std::vector<maybe>;

  struct place {
    int vertex = -1, output = 0;
    bool operator==(const place&) const = default;
  };
  struct event {
    list* in = nullptr;   // tensor: one gradient
    list* out = nullptr;
    bool create_graph = false;
  };
  using hook = std::function<void(event&)>;
  using pull = std::function<list(const list&)>;

  struct vertex {
    bool is_leaf = false, keeps = false, released = false;
    std::size_t outputs = 1;
    std::vector<place> to;
    pull run;
    values value;  // of a leaf
    struct entry {
      kind what;
      int output;
      hook f;
    };
    std::vector<entry> hooks;
    std::vector<bool> retains{};
    list grads{};  // of a leaf: its gradient; else the retained one
  };
  struct root {
    place at;
    values seed;
  };
  struct options {
    bool retain_graph = false, create_graph = false, accumulates = true, restricted = false;
  };

  int add_leaf(values v) {
    vertices.push_back({.is_leaf = true, .to = {}, .run = {}, .value = std::move(v), .hooks = {}});
    vertices.back().retains.resize(1);
    vertices.back().grads.resize(1);
    return static_cast<int>(vertices.size()) - 1;
  }
  int add_node(std::size_t outputs, std::vector<place> to, bool keeps, pull run) {
    vertices.push_back({.keeps = keeps, .outputs = outputs, .to = std::move(to), .run = std::move(run), .value = {}, .hooks = {}});
    vertices.back().retains.resize(outputs);
    vertices.back().grads.resize(outputs);
    return static_cast<int>(vertices.size()) - 1;
  }
  /// Adds a hook at this place and returns its number.
  std::size_t add_hook(place at, kind what, hook f) {
    auto& h = vertices[index(at)].hooks;
    h.push_back({what, at.output, std::move(f)});
    return h.size() - 1;
  }
  void remove_hook(place at, std::size_t number) { vertices[index(at)].hooks[number].f = nullptr; }

  /// Returns the requested gradients, if they arrived. Throws: refusal, and exceptions from hooks.
  list run(const std::vector<root>& roots, const std::vector<place>& wishes, const options& o, bool wishes_must_be_reached = false) {
    pass p(*this, wishes, o);
    for (const root& r : roots) p.reach(r.at.vertex);
    p.find_what_is_needed();
    for (const auto& [v, state] : p.states)
      if (state.needed && vertices[at(v)].released && vertices[at(v)].keeps) throw refusal{"saved is gone"};
    if (wishes_must_be_reached)
      for (const place& w : wishes)
        if (!p.states.count(w.vertex)) throw refusal{"no output depends"};
    if (o.accumulates)
      for (const place& w : wishes)
        if (!vertices[index(w)].is_leaf) vertices[index(w)].retains[at(w.output)] = true;

    std::vector<std::function<void()>>* const outer = std::exchange(callbacks_, &p.callbacks);
    struct restore {
      tape& t;
      std::vector<std::function<void()>>* to;
      ~restore() { t.callbacks_ = to; }
    } const restored{*this, outer};

    for (const root& r : roots) p.arrive(r.at, r.seed);
    for (const root& r : roots) p.run_leaf_if_complete(r.at.vertex);
    for (int v = static_cast<int>(vertices.size()) - 1; v >= 0; --v)
      if (p.is_reached(v) && !vertices[at(v)].is_leaf) p.run_node(v);
    for (std::size_t i = 0; i < p.callbacks.size(); ++i) p.callbacks[i]();
    if (wishes_must_be_reached)
      for (const maybe& g : p.taken)
        if (!g) throw refusal{"no gradient arrived"};
    return p.taken;
  }
  void queue(std::function<void()> f) { callbacks_->push_back(std::move(f)); }

  std::vector<vertex> vertices;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::size_t index(place p) { return at(p.vertex); }

  struct pass {
    struct state {
      bool needed = true, wanted = false, leaf_has_run = false;
      int waiting = 0;
      list in;
    };
    tape& t;
    const std::vector<place>& wishes;
    options o;
    std::map<int, state> states{};
    list taken{};
    std::vector<std::function<void()>> callbacks{};

    pass(tape& tp, const std::vector<place>& w, const options& opt) : t(tp), wishes(w), o(opt), taken(w.size()) {}

    bool is_reached(int v) const { return states.count(v) && (states.at(v).needed || states.at(v).wanted); }

    void reach(int first) {
      std::vector<int> open{first};
      while (!open.empty()) {
        const int v = open.back();
        open.pop_back();
        if (v < 0 || states.count(v)) continue;
        states[v].in.resize(t.vertices[at(v)].outputs);
        for (const place& to : t.vertices[at(v)].to) open.push_back(to.vertex);
      }
    }
    /// Edges lead to smaller numbers, so one sweep upwards is enough.
    void find_what_is_needed() {
      for (const place& w : wishes)
        if (states.count(w.vertex)) states[w.vertex].wanted = true;
      for (auto& [v, s] : states) {
        if (o.restricted) {
          s.needed = t.vertices[at(v)].is_leaf && s.wanted;
          for (const place& to : t.vertices[at(v)].to) s.needed = s.needed || is_reached(to.vertex);
        }
        if (s.needed)
          for (const place& to : t.vertices[at(v)].to)
            if (to.vertex >= 0) ++states[to.vertex].waiting;
      }
    }

    void arrive(place to, const maybe& g) {
      if (!g || !is_reached(to.vertex)) return;
      maybe& there = states[to.vertex].in[at(to.output)];
      if (!there) there = g;
      else
        for (std::size_t i = 0; i < g->size(); ++i) (*there)[i] = (*there)[i] + (*g)[i];
    }

    void call_hooks(int v, kind what, int output, event e) {
      const std::size_t n = t.vertices[at(v)].hooks.size();
      for (std::size_t i = 0; i < n; ++i) {
        const auto h = t.vertices[at(v)].hooks[i];
        if (h.what != what || (what == kind::tensor && h.output != output) || !h.f) continue;
        if (what == kind::tensor && !(*e.in)[0]) continue;
        e.create_graph = o.create_graph;
        h.f(e);
      }
    }
    void call_tensor_hooks(int v, list& in) {
      for (std::size_t k = 0; k < in.size(); ++k) {
        list one{in[k]};
        call_hooks(v, kind::tensor, static_cast<int>(k), {.in = &one});
        in[k] = one[0];
        auto& x = t.vertices[at(v)];
        if (in[k] && !x.is_leaf && x.retains[k]) add(x.grads[k], *in[k]);
        if (in[k])
          for (std::size_t w = 0; w < wishes.size(); ++w)
            if (wishes[w] == place{v, static_cast<int>(k)}) taken[w] = in[k];
      }
    }
    static void add(maybe& to, const values& g) {
      if (!to) to = g;
      else
        for (std::size_t i = 0; i < g.size(); ++i) (*to)[i] = (*to)[i] + g[i];
    }

    void run_leaf_if_complete(int v) {
      if (v < 0 || !t.vertices[at(v)].is_leaf || !is_reached(v)) return;
      state& s = states[v];
      if (s.waiting > 0 || std::exchange(s.leaf_has_run, true)) return;
      list in = s.in;
      call_tensor_hooks(v, in);
      if (!o.accumulates || !s.needed || !in[0]) return;
      call_hooks(v, kind::before, 0, {.in = &in});
      if (in[0]) {
        add(t.vertices[at(v)].grads[0], *in[0]);
        call_hooks(v, kind::accumulated, 0, {});
      }
      list none;
      call_hooks(v, kind::after, 0, {.in = &in, .out = &none});
    }

    void run_node(int v) {
      state& s = states[v];
      call_tensor_hooks(v, s.in);
      if (!s.needed) return;
      call_hooks(v, kind::before, 0, {.in = &s.in});
      list out = t.vertices[at(v)].run(s.in);
      for (std::size_t j = 0; j < out.size(); ++j)
        if (t.vertices[at(v)].to[j].vertex < 0) out[j].reset();  // no vertex needs it
      call_hooks(v, kind::after, 0, {.in = &s.in, .out = &out});
      if (!o.retain_graph) t.vertices[at(v)].released = true;
      const std::vector<place> to = t.vertices[at(v)].to;
      for (std::size_t j = 0; j < to.size(); ++j)
        if (to[j].vertex >= 0) {
          arrive(to[j], out[j]);
          --states[to[j].vertex].waiting;
        }
      for (const place& p : to) run_leaf_if_complete(p.vertex);
    }
  };

  std::vector<std::function<void()>>* callbacks_ = nullptr;
};

}  // namespace plain
