// ebb/capture/explain.hpp — why a backward was captured once more, and what stands against one graph of it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cache.hpp"
#include "captured_graph.hpp"

namespace ebb::inline EBB_ABI::detail {

/// What differs at this place of the order, place 0 the roots and the options; empty if nothing does.
inline std::string difference_at(const recording& a, const recording& b, int place) {
  const auto number = [](auto x) { return std::to_string(x); };
  const auto against = [&](const std::string& what, const std::string& now, const std::string& was) {
    return what + " " + now + ", was " + was;
  };
  if (place == 0) {
    if (!(a.options() == b.options())) return "other options";
    if (a.roots() != b.roots()) return against("roots", number(a.roots().size()), number(b.roots().size()));
    return a.wishes() == b.wishes() ? "" : "other variables are asked for";
  }
  const int i = place - 1;
  if (i >= b.nodes() + b.leaves() || a.is_leaf(i) != b.is_leaf(i)) return "nothing was there";
  const auto hooks = [&](const auto& x, const auto& y) -> std::string {
    if (x.hook_count != y.hook_count) return against("hooks", number(x.hook_count), number(y.hook_count));
    for (int h = 0; h < x.hook_count; ++h)
      if (!(a.hook_at(x.hooks + h) == b.hook_at(y.hooks + h))) return "hook " + number(h) + " is another one";
    return "";
  };
  if (a.is_leaf(i)) {
    const leaf_key &x = a.leaf_at(i), &y = b.leaf_at(i);
    const auto defined = [](bool d) { return std::string(d ? "defined" : "undefined"); };
    if (x.has_gradient != y.has_gradient) return against("its gradient", defined(x.has_gradient), defined(y.has_gradient));
    if (x.type != y.type) return against("dtype", std::string(name_of(x.type)), std::string(name_of(y.type)));
    return hooks(x, y);
  }
  const node_key &x = a.node_at(i), &y = b.node_at(i);
  if (x.program != y.program) return against("program", x.program->name, y.program->name);
  for (int j = 0; j < x.program->edges; ++j)
    if (!(a.edge_at(i, j) == b.edge_at(i, j))) {
      const edge_key &to = a.edge_at(i, j), &was = b.edge_at(i, j);
      const auto target = [&](const edge_key& e) -> std::string {
        return e.to < 0 ? "to nobody" : to.is_first != was.is_first && e.is_first ? "to something new" : "to NodeCall " + number(e.to + 1);
      };
      return against("edge " + number(j), target(to), target(was));
    }
  if (x.is_packed != y.is_packed) return "hooks on saved values";
  if (a.visit_at(i).needed != b.visit_at(i).needed) return "whether it is needed";
  return hooks(x, y);
}

/// In PyTorch's words, then what differed from the captured backward that begins most alike.
inline std::string reason_for(const recording& now, const capture_cache& cache, const walk& w) {
  int best = -1;
  std::string difference;
  vec<std::size_t> sizes;
  const auto compare = [&](const captured& c) {
    int place = 0;
    while (place <= now.nodes() + now.leaves() && difference_at(now, c.key(), place).empty()) ++place;
    if (place > best) best = place, sizes = {}, difference = difference_at(now, c.key(), place);
    if (place < best || place == 0 || place > now.nodes() + now.leaves()) return;
    const recording& was = c.key();
    const int i = place - 1;
    if (i < was.nodes() && !now.is_leaf(i) && was.node_at(i).program == now.node_at(i).program) sizes.push(was.key_size(i));
  };
  cache.each(compare);
  if (best < 0 || best > now.nodes() + now.leaves()) best = 0;
  std::string s = "Cache miss due to new autograd node: ";
  s += best == 0 ? "GraphRoot (NodeCall 0)" : node_call(name_of(*w.at(best - 1).at), best - 1);
  s += " with key size " + std::to_string(best == 0 ? sizeof(pass_key) : now.key_size(best - 1)) + ", previous key sizes=[";
  for (int i = 0; i < sizes.size(); ++i) s += (i ? "," : "") + std::to_string(sizes[i]);
  return s + "]" + (difference.empty() ? "" : "; " + difference) + "\n";
}

/// Throws: error if something in the backward is opaque.
inline void require_one_graph(const char* call, const recording& r, const walk& w) {
  const auto refuse = [&](const std::string& what, int i) {
    raise(std::string(call) + ": fullgraph: " + what + " of " + node_call(name_of(*w.at(i).at), i) +
          " is opaque: make it traceable, or leave fullgraph out");
  };
  const auto look = [&](const auto& key, int i, bool runs) {
    for (int h = 0; h < key.hook_count; ++h)
      if (const hook_key& k = r.hook_at(key.hooks + h); k.is_opaque && (runs || k.kind == hook_kind::tensor))
        refuse(std::string("the ") + text_of(k.kind), i);
  };
  for (int i = 0; i < r.nodes(); ++i) {
    if (!r.visit_at(i).is_reached()) continue;
    look(r.node_at(i), i, r.visit_at(i).needed);
    if (!r.visit_at(i).needed) continue;
    if (r.node_at(i).is_packed) refuse("the unpack_hook", i);
    if (!r.node_at(i).program->graphs && !r.node_at(i).program->twice) refuse("the backward", i);
  }
  for (int i = r.nodes(); i < r.nodes() + r.leaves(); ++i)
    if (r.visit_at(i).is_reached()) look(r.leaf_at(i), i, r.options().accumulates && r.visit_at(i).needed);
}

}  // namespace ebb::inline EBB_ABI::detail
