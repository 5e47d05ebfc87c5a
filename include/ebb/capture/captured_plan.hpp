// ebb/capture/captured_plan.hpp — how a captured backward runs, to look at: what is one pass over memory, and what stands by itself.
// SPDX-License-Identifier: BSL-1.0
//
//   Plan of CompiledAutograd0:
//     one chain in registers: tanh (NodeCall 2), mul (NodeCall 3)
//       reads the gradient of tanh (NodeCall 2), aot1_saved0, aot0_saved0, x_grad
//       writes x_grad, the gradient of w (NodeCall 5)
//     node by node: linear (NodeCall 4)
#pragma once

#include "captured_graph.hpp"
#include "plan.hpp"

namespace ebb::inline EBB_ABI {

/// The plan of a graph that outlives it.
class captured_plan {
 public:
  explicit captured_plan(const captured_graph& g, bool merges = true) : g_(g), plan_(g.key(), merges) {}

  /// How many passes over memory take the place of several.
  int groups() const { return plan_.groups(); }

  EBB_COLD std::string text() const {
    std::string s = "Plan of " + g_.name() + ":\n";
    plan_.each_step([&](int first, int last, const merged_group* group) {
      s += std::string("  ") + (group ? group->kind() : "node by node") + ": ";
      for (int i = first; i < last; ++i) s += (i > first ? ", " : "") + node_call(g_.vertex_name(i), i);
      s += '\n';
      if (!group) return;
      const group_interface& x = group->interface();
      s += "    reads";
      for (int i = 0; i < x.arguments.size(); ++i) s += (i ? ", " : " ") + name_of(x.arguments[i]);
      s += "\n    writes";
      for (int i = 0; i < x.results.size(); ++i) s += (i ? ", " : " ") + name_of(x.results[i].to);
      s += '\n';
    });
    return s;
  }
  /// The graph, with a box around what is one pass.
  EBB_COLD std::string dot() const {
    vec<int> box(g_.key().nodes() + g_.key().leaves(), -1);
    vec<const char*> kinds;
    plan_.each_step([&](int first, int last, const merged_group* group) {
      for (int i = first; group && i < last; ++i) box[i] = kinds.size();
      if (group) kinds.push(group->kind());
    });
    const auto box_of = [&](int k) {
      const int v = g_.origin(k);
      return v >= 0 && v < box.size() ? box[v] : -1;
    };
    return g_.dot(box_of, [&](int b) { return std::string(kinds[b]); });
  }

 private:
  EBB_COLD std::string name_of(const capture_place& p) const {
    const std::string gradient = "the gradient of " + node_call(g_.vertex_name(p.at), p.at);
    switch (p.is) {
      case capture_place::kind::slot:
      case capture_place::kind::sum: return gradient;
      case capture_place::kind::edge: return "gradient " + std::to_string(p.number) + " of " + node_call(g_.vertex_name(p.at), p.at);
      case capture_place::kind::retained: return gradient + " that is retained";
      case capture_place::kind::asked: return gradient + " that is asked for";
      default: return g_.place_name(p);
    }
  }

  const captured_graph& g_;
  backward_plan plan_;
};

inline std::string to_string(const captured_plan& p) { return p.text(); }
inline std::string to_dot(const captured_plan& p) { return p.dot(); }

}  // namespace ebb::inline EBB_ABI
