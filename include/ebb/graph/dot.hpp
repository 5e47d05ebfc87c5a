// ebb/graph/dot.hpp — a graph as a drawing for Graphviz, with a box around each group.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "print.hpp"

namespace ebb::inline EBB_ABI {

/// group_of(k): the number of the box with equation k, or -1; name_of: the text on a box. Literals are written into the
/// equations that use them. `more`: further lines, in which equation k is e<k>.
template <class GroupOf, class NameOf>
std::string to_dot(const graph& g, GroupOf&& group_of, const graph_text& text, NameOf&& name_of, const std::string& more = {}) {
  int groups = 0;
  for (int k = 0; k < g.size(); ++k)
    if (group_of(k) >= groups) groups = group_of(k) + 1;

  std::string s = "digraph ebb {\n  node [shape=box, style=rounded, fontname=monospace]\n";
  const auto node = [&](int k, const std::string& indent) {
    if (text.is_inline(k)) return;
    s += indent + "e" + std::to_string(k) + " [label=\"" + text.name(k) + " = " + text.application(k) + "\\n" + text.type(k) + "\"]\n";
  };
  for (int k = 0; k < g.size(); ++k)
    if (group_of(k) < 0) node(k, "  ");
  for (int i = 0; i < groups; ++i) {
    const std::size_t before = s.size();
    for (int k = 0; k < g.size(); ++k)
      if (group_of(k) == i) node(k, "    ");
    if (s.size() == before) continue;
    s.insert(before, "  subgraph cluster_" + std::to_string(i) + " {\n    label=\"" + name_of(i) + "\"\n");
    s += "  }\n";
  }
  for (int k = 0; k < g.size(); ++k)
    for (int i : g.operands(k))
      if (!text.is_inline(i)) s += "  e" + std::to_string(i) + " -> e" + std::to_string(k) + "\n";
  for (int i = 0; i < g.out.size(); ++i) {
    if (g.out[i] < 0) continue;
    const std::string out = "out" + std::to_string(i);
    s += "  " + out + " [label=\"return " + std::to_string(i) + "\", shape=plaintext]\n";
    s += "  e" + std::to_string(g.out[i]) + " -> " + out + "\n";
  }
  return s + more + "}\n";
}

template <class GroupOf>
std::string to_dot(const graph& g, GroupOf&& group_of) {
  return to_dot(g, group_of, graph_text(g), [](int i) { return "group " + std::to_string(i); });
}
inline std::string to_dot(const graph& g) {
  return to_dot(g, [](int) { return -1; });
}

}  // namespace ebb::inline EBB_ABI
