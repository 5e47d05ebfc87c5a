// ebb/capture/explain.hpp — the reasons why a backward was captured once more, and why it cannot be one graph.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cache.hpp"
#include "show.hpp"

namespace ebb::inline EBB_ABI::detail {

/// A property that differs between two recordings, with both of its values.
struct difference {
  std::string text;   // empty: no difference
  int alike = 0;      // how many properties of this vertex are the same
};

inline difference against(int alike, const std::string& what, const std::string& now, const std::string& was) {
  return {what + (what.empty() ? "" : " ") + now + ", was " + was, alike};
}
inline difference switched(int alike, const char* what, bool now) { return against(alike, what, now ? "on" : "off", now ? "off" : "on"); }

/// Numbers of NodeCalls.
EBB_COLD std::string list_of(const vec<edge_key>& endpoints) {
  std::string s = "[";
  for (const edge_key& e : endpoints) s += (s.size() > 1 ? ", " : "") + (e.to < 0 ? std::string("nobody") : std::to_string(e.to + 1));
  return s + "]";
}

/// The difference before the first node: options, roots, gradients that are asked for.
EBB_COLD difference difference_at_roots(const recording& a, const recording& b) {
  const pass_key &now = a.options(), &was = b.options();
  const capture_options &x = now.options, &y = was.options;
  const auto policy = [](policy_choice p) { return std::string(p.number() < 0 ? "of each region" : p.name()); };
  if (x.fullgraph != y.fullgraph) return switched(0, "fullgraph", x.fullgraph);
  if (x.dynamic != y.dynamic) return switched(0, "dynamic", x.dynamic);
  if (x.compiler != y.compiler) return {"another compiler", 0};
  if (!(x.backward_policy == y.backward_policy)) return against(0, "backward_policy", policy(x.backward_policy), policy(y.backward_policy));
  if (now.graph != was.graph) return switched(1, "create_graph", now.graph != nullptr);
  if (now.context != was.context) return against(2, "called in", context_text(now.context), context_text(was.context));
  if (now.accumulates != was.accumulates)
    return now.accumulates ? against(3, "", "backward", "grad") : against(3, "", "grad", "backward");
  if (now.restricted != was.restricted) return switched(4, "inputs given:", now.restricted);
  if (a.roots().size() != b.roots().size()) return against(5, "roots", std::to_string(a.roots().size()), std::to_string(b.roots().size()));
  if (a.roots() != b.roots()) return against(6, "roots", list_of(a.roots()), list_of(b.roots()));
  if (a.wishes() == b.wishes()) return {};
  return against(7, "asked for are NodeCalls", list_of(a.wishes()), list_of(b.wishes()));
}

EBB_COLD difference difference_of(const node_program& now, const node_program& was) {
  const std::string name = now.name;
  if (name != was.name) return against(0, "program", name, was.name);
  const auto count = [&](const char* what, int x, int y) { return against(0, name + ": " + what, std::to_string(x), std::to_string(y)); };
  for (int o = 0; o < std::min(now.outputs, was.outputs); ++o)
    if (const dtype x = now.types[o], y = was.types[o]; x != y)
      return against(0, name + ": dtype", std::string(name_of(x)), std::string(name_of(y)));
  if (now.outputs != was.outputs) return count("outputs", now.outputs, was.outputs);
  if (now.edges != was.edges) return count("operands that need a gradient", now.edges, was.edges);
  if (now.saved != was.saved) return count("saved values", now.saved, was.saved);
  return against(0, "program", name, "another " + name);
}

EBB_COLD std::string text_of(const hook_key& h) {
  const std::string how = h.retains ? "retained gradient" : h.is_opaque ? "opaque " : "traced ";
  return (h.retains ? how : how + text_of(h.kind)) + (h.output ? " of output " + std::to_string(h.output) : "");
}

/// The difference at this place of the order. Place 0 is the roots and the options.
EBB_COLD difference difference_at(const recording& a, const recording& b, int place) {
  if (place == 0) return difference_at_roots(a, b);
  const int i = place - 1;
  if (i >= b.nodes() + b.leaves() || a.is_leaf(i) != b.is_leaf(i)) return {"nothing was there", 0};
  constexpr int after_edges = 1 << 16;  // their numbers have 16 bits
  const auto difference_of_hooks = [&]() -> difference {
    const hook_keys x = a.hooks_of(i), y = b.hooks_of(i);
    if (x.size() != y.size()) return against(after_edges + 3, "hooks", std::to_string(x.size()), std::to_string(y.size()));
    for (int h = 0; h < x.size(); ++h) {
      if (x[h] == y[h]) continue;
      const std::string text = text_of(x[h]), other = text_of(y[h]);
      return against(after_edges + 4 + h, "hook " + std::to_string(h), text, text == other ? "another " + other : other);
    }
    return {};
  };
  const auto is = [](bool so, const char* what) { return std::string(so ? "" : "not ") + what; };
  if (a.is_leaf(i)) {
    const leaf_key &x = a.leaf_at(i), &y = b.leaf_at(i);
    const auto defined = [](bool d) { return std::string(d ? "defined" : "undefined"); };
    if (x.type != y.type) return against(1, "dtype", std::string(name_of(x.type)), std::string(name_of(y.type)));
    if (x.gradient_type != y.gradient_type)
      return against(2, "dtype of its gradient", std::string(name_of(x.gradient_type)), std::string(name_of(y.gradient_type)));
    if (x.has_gradient != y.has_gradient) return against(3, "its gradient", defined(x.has_gradient), defined(y.has_gradient));
    return difference_of_hooks();
  }
  const node_key &x = a.node_at(i), &y = b.node_at(i);
  if (x.program != y.program) return difference_of(*x.program, *y.program);
  for (int j = 0; j < x.program->edges; ++j)
    if (!(a.edge_at(i, j) == b.edge_at(i, j))) {
      const edge_key &to = a.edge_at(i, j), &was = b.edge_at(i, j);
      const auto target = [&](const edge_key& e) -> std::string {
        if (e.to < 0) return "to nobody";
        if (to.is_first != was.is_first && e.is_first) return "to something new";
        return "to NodeCall " + std::to_string(e.to + 1) + (to.to == was.to ? ", output " + std::to_string(e.output) : "");
      };
      return against(1 + j, "edge " + std::to_string(j), target(to), target(was));
    }
  if (x.outputs != y.outputs) return against(after_edges, "outputs", std::to_string(x.outputs), std::to_string(y.outputs));
  if (x.is_packed != y.is_packed)
    return against(after_edges + 1, "saved values are", is(x.is_packed, "packed by hooks"), is(y.is_packed, "packed by hooks"));
  if (a.visit_at(i).needed != b.visit_at(i).needed)
    return against(after_edges + 2, "it is", is(a.visit_at(i).needed, "needed"), is(b.visit_at(i).needed, "needed"));
  return difference_of_hooks();
}

/// PyTorch's words, then the difference from the captured backward with the longest equal beginning: if there are several, from the one
/// that ran last.
EBB_COLD std::string reason_for(const recording& now, const capture_cache& cache, const walk& w) {
  const int places = now.nodes() + now.leaves();
  int best = -1;
  difference least;
  std::uint64_t last = 0;
  vec<std::size_t> sizes;
  const auto compare = [&](const captured& c, std::uint64_t used) {
    int place = 0;
    difference d = difference_at(now, c.recorded(), 0);
    while (d.text.empty() && place < places) d = difference_at(now, c.recorded(), ++place);
    if (place < best || d.text.empty()) return;
    if (place > best) sizes = {};
    if (place > best || d.alike > least.alike || (d.alike == least.alike && used > last)) least = d, last = used;
    best = place;
    const recording& was = c.recorded();
    const int i = place - 1;
    if (i >= 0 && i < was.nodes() && !now.is_leaf(i) && was.node_at(i).program == now.node_at(i).program) sizes.push(was.key_size(i));
  };
  cache.each(compare);
  best = std::max(best, 0);
  std::string s = "Cache miss due to new autograd node: ";
  s += best == 0 ? "GraphRoot (NodeCall 0)" : node_call(name_of(*w.at(best - 1).at), best - 1);
  s += " with key size " + std::to_string(best == 0 ? sizeof(pass_key) : now.key_size(best - 1)) + ", previous key sizes=[";
  for (int i = 0; i < sizes.size(); ++i) s += (i ? "," : "") + std::to_string(sizes[i]);
  return s + "]" + (least.text.empty() ? "" : "; " + least.text) + "\n";
}

/// The pass has walked its graph.
/// Throws: error if something in it is opaque, with the names that a captured graph has.
EBB_COLD void require_one_graph(backward_pass& pass) {
  walk& w = pass.vertices();
  vec<int> number(w.size(), -1), leaves;
  for (int n = 0; int i : w.order()) number[i] = n++;
  const auto take = [&](int i) {
    if (i >= 0 && number[i] < 0) number[i] = w.order().size() + leaves.push(i);
  };
  for (const endpoint& r : w.roots()) take(r.number);
  for (int i : w.order())
    for (int j = 0; j < w.node_at(i).program->edges; ++j) take(w.target(w.at(i), j));
  const auto refuse = [&](const std::string& what, int i) {
    raise(std::string(pass.options().call) + ": fullgraph: " + what + " of " + node_call(name_of(*w.at(i).at), number[i]) +
          " is opaque: make it traceable, or leave fullgraph out");
  };
  const auto look_at_hooks = [&](int i, bool runs) {
    each_hook(*w.at(i).at, [&](hook_kind kind, std::uint32_t, const hook* h) {
      if (h && h->is_opaque() && (runs || kind == hook_kind::tensor)) refuse(std::string("the ") + text_of(kind), i);
      return true;
    });
  };
  for (int i : w.order()) {
    if (!w.at(i).is_reached()) continue;
    look_at_hooks(i, w.at(i).needed);
    if (!w.at(i).needed) continue;
    const node& n = w.node_at(i);
    if (is_packed(n)) refuse("the unpack_hook", i);
    if (!n.program->graphs && !n.program->twice) refuse("the backward", i);
  }
  for (int i : leaves)
    if (w.at(i).is_reached()) look_at_hooks(i, pass.options().accumulates && w.at(i).needed);
}

}  // namespace ebb::inline EBB_ABI::detail
