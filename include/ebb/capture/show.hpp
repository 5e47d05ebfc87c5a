// ebb/capture/show.hpp — a captured backward to look at: its graph, with calls between equations, and its plan.
// SPDX-License-Identifier: BSL-1.0
//
//   CompiledAutograd0:
//     seed = input 0 : f32                                # GraphRoot (NodeCall 0)
//     validate_outputs seed
//     aot2_broadcast = broadcast seed along 0 : f32[n]    # sum (NodeCall 1)
//     call_hook_add = add aot2_broadcast 10.0 : f32[n]    # tensor_pre_hook of b
//     call_accumulate_grad b, nothing, call_hook_add      # b (NodeCall 3)
//   Plan of CompiledAutograd0:
//     one chain in registers: tanh (NodeCall 2), mul (NodeCall 3)
//       reads the gradient of tanh (NodeCall 2), aot1_saved0, aot0_saved0, x_grad
//       writes x_grad, the gradient of w (NodeCall 5)
//     node by node: linear (NodeCall 4)
// Names are PyTorch's: aot0_ are equations of the region that was captured first, aot0_1_ those of its second node in the same backward.
#pragma once

#include "graph_sink.hpp"
#include "plan.hpp"

#include "../base/numbering.hpp"
#include "../graph/dot.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The number of a region among all that have been captured.
inline numbering::place region_number(const node_program* p) {
  static numbering regions;
  return regions(p);
}

}  // namespace detail

/// The name of a vertex with its place in the order of a backward: "mul (NodeCall 2)". The roots are NodeCall 0.
inline std::string node_call(const std::string& name, int number) { return name + " (NodeCall " + std::to_string(number + 1) + ")"; }

class captured_graph {
 public:
  EBB_COLD_CTOR captured_graph(const recording& r, backward_pass& pass, std::uint64_t number)
      : name_("CompiledAutograd" + std::to_string(number)), recorded_(r), pieces_(r.options()), progress_(r),
        all_(r, pieces_, pass) {
    for (int i = r.nodes(); i-- > 0;)  // regions that run first in the forward have the smaller numbers
      if (const node_program* p = r.node_at(i).program; p->graphs && detail::region_number(p).is_new) new_regions_.push(p);
    for (int v = 0; v < r.nodes() + r.leaves(); ++v) {
      vertex_.push(name_of(*pass.vertices().at(v).at));
      prefix_.push({});
      if (r.is_leaf(v) || !r.node_at(v).program->graphs) continue;
      int used = 0;
      for (int u = 0; u < v; ++u) used += r.node_at(u).program == r.node_at(v).program;
      const int region = detail::region_number(r.node_at(v).program).number;
      prefix_.back() = "aot" + std::to_string(region) + (used ? "_" + std::to_string(used) : "") + "_";
    }
    for (int v = 0; v < r.nodes() + r.leaves(); ++v) {
      hooks_.push({});
      for (const hook_key& h : r.hooks_of(v)) hooks_.back().push(h.kind);
    }
    for (int i = 0; i < r.nodes(); ++i) pieces_.find(r.node_at(i).program);  // all dtypes are known before the first seed
    captured_walk(r, progress_, pieces_, all_).run();
    all_.end();
    name_equations();
  }
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;

  const std::string& name() const { return name_; }
  /// All equations. Events are between them.
  const graph& equations() const { return all_.g; }
  const vec<capture_event>& events() const { return all_.events; }
  /// The vertex that equation k came from, or -1.
  int origin(int k) const { return all_.origin[k]; }
  const std::string& vertex_name(int v) const { return vertex_[v]; }
  const recording& recorded() const { return recorded_; }

  EBB_COLD std::string text() const {
    const graph_text names(all_.g, names_);
    std::string s = name_ + ":\n";
    int shown = -2;
    const auto comment = [&](std::string line, int at, const std::string& what) {
      if (at != shown && !what.empty()) line += std::string(line.size() < 60 ? 60 - line.size() : 1, ' ') + "# " + what;
      shown = at;
      s += line + '\n';
    };
    int next = 0;
    for (int k = 0; k <= all_.g.size(); ++k) {
      for (; next < all_.events.size() && all_.events[next].before == k; ++next) {
        const capture_event& e = all_.events[next];
        const bool is_root = e.is == capture_event::kind::validate;
        comment("  " + event_text(names, e), is_root ? -1 : e.at, is_root ? "GraphRoot (NodeCall 0)" : origin_text(e.at));
      }
      if (k == all_.g.size()) break;
      if (names.is_inline(k) || is_result_of_call(k)) continue;
      const int hook = hook_of(k);
      const std::string from = hook >= 0 ? hook_text(hook) : is_seed(k) ? "GraphRoot (NodeCall 0)" : origin_text(origin(k));
      comment("  " + names.line(k), hook >= 0 ? -100 - hook : origin(k), from);
    }
    return s;
  }
  std::string dot() const {
    return dot([this](int k) { return std::max(origin(k), -1); }, [this](int v) { return node_call(vertex_name(v), v); });
  }
  /// box_of(k): the number of the box around equation k, or -1; name_of(box): its label.
  std::string dot(auto&& box_of, auto&& name_of) const {
    const graph_text names(all_.g, names_);
    std::string calls;
    for (int i = 0; i < all_.events.size(); ++i) {
      const capture_event& e = all_.events[i];
      const std::string call = "call" + std::to_string(i);
      calls += "  " + call + " [label=\"" + event_text(names, e) + "\", style=dashed]\n";
      const bool makes = e.is == capture_event::kind::hook || e.is == capture_event::kind::function;
      const auto arrow = [&](int k, bool is_result) {
        if (k < 0 || names.is_inline(k)) return;
        const std::string equation = "e" + std::to_string(k);
        calls += "  " + (is_result ? call + " -> " + equation : equation + " -> " + call) + "\n";
      };
      for (int k : e.in) arrow(k, false);
      for (int k : e.out) arrow(k, makes);
    }
    return to_dot(all_.g, box_of, names, name_of, calls);
  }
  /// The compiled halves of regions that are in no earlier graph.
  EBB_COLD std::string region_text() const {
    std::string s;
    for (const node_program* p : new_regions_) {
      const std::string name = "aot" + std::to_string(detail::region_number(p).number) + ", " + p->name;
      s += "===== Forward graph of " + name + " =====\n" + to_string(p->graphs->forward.thaw());
      s += "===== Backward graph of " + name + " =====\n" + to_string(p->graphs->backward.thaw());
    }
    return s;
  }
  /// The name of an argument or a result.
  EBB_COLD std::string place_name(const capture_place& p) const {
    switch (p.is) {
      case capture_place::kind::slot: return "seed";
      case capture_place::kind::saved: return owner(p.at) + "saved" + std::to_string(p.number);
      case capture_place::kind::leaf_gradient: return vertex_name(p.at) + "_grad";
      case capture_place::kind::leaf_value: return vertex_name(p.at);
      case capture_place::kind::state: return vertex_name(p.at) + "_state" + std::to_string(p.value);
      case capture_place::kind::bound:
        return owner(p.at) + (p.number ? "hook" + std::to_string(p.number) + "_" : "") + "bound" + std::to_string(p.value);
      case capture_place::kind::retained: return vertex_name(p.at) + "_retained";
      case capture_place::kind::requested: return "result" + std::to_string(p.number);
      default: return p.value >= 0 ? "call_hook" : "call_backward";
    }
  }

  /// The names of the equations, for a graph_text of them.
  const vec<std::string>& names() const { return names_; }
  /// An event as a line of the text.
  EBB_COLD std::string event_text(const graph_text& names, const capture_event& e) const {
    const auto list = [&](const vec<int>& numbers) {
      std::string s;
      for (int k : numbers) s += (s.empty() ? "" : ", ") + (k < 0 ? std::string("nothing") : names.name(k));
      return s;
    };
    switch (e.is) {
      case capture_event::kind::validate: return "validate_outputs " + list(e.in);
      case capture_event::kind::accumulate: return "call_accumulate_grad " + vertex_name(e.at) + ", " + list({e.in[1], e.in[0]});
      case capture_event::kind::assign:
        return e.out.empty() ? "clear " + place_name(e.to) : "assign " + place_name(e.to) + ", " + list(e.out);
      case capture_event::kind::retain: return "retain_grad " + vertex_name(e.at) + ", " + list(e.in);
      case capture_event::kind::give: return "return " + list(e.in);
      case capture_event::kind::function: return list(e.out) + " = call_backward " + vertex_name(e.at) + ", " + list(e.in);
      default: break;
    }
    const std::string type = text_of(hooks_[e.at][e.number]);
    return (e.out.empty() ? "" : list(e.out) + " = ") + "call_hook" + (e.in.empty() ? "" : " " + list(e.in)) + ", hook_type = " + type;
  }

 private:
  /// The beginning of names of a vertex's values.
  std::string owner(int v) const { return prefix_[v].empty() ? vertex_name(v) + "_" : prefix_[v]; }
  EBB_COLD void name_equations() {
    vec<std::string> plain;  // names without numbers
    const auto unique = [&](const std::string& name) {
      int n = 0;
      for (const std::string& other : plain) n += other == name;
      return n ? name + "_" + std::to_string(n) : name;
    };
    for (int k = 0; k < all_.g.size(); ++k) {
      const op_info& op = all_.g.op(k);
      std::string name;
      if (op.what == kind::input) name = place_name(argument(k));
      else if (hook_of(k) >= 0) name = "call_hook_" + std::string(op.name);
      else if (op.what != kind::literal) name = (origin(k) >= 0 ? prefix_[origin(k)] : "") + std::string(op.name);
      names_.push(name.empty() ? name : unique(name));
      plain.push(name);
    }
  }
  /// The place of an equation that is an argument.
  const capture_place& argument(int k) const { return all_.arguments[static_cast<int>(all_.g.eq[k].attr[0])]; }
  EBB_COLD int hook_of(int k) const {
    for (int i = 0; i < all_.hooks.size(); ++i)
      if (k >= all_.hooks[i].first && k < all_.hooks[i].last) return static_cast<int>(i);
    return -1;
  }
  EBB_COLD std::string hook_text(int i) const {
    const inlined_hook& h = all_.hooks[i];
    return std::string(text_of(hooks_[h.at][h.number])) + " of " + vertex_name(h.at) + ", traced";
  }
  std::string origin_text(int v) const { return v < 0 ? "" : node_call(vertex_name(v), v); }
  bool is_seed(int k) const { return all_.g.op(k).what == kind::input && origin(k) < 0; }
  EBB_COLD bool is_result_of_call(int k) const {
    return all_.g.op(k).what == kind::input &&
           argument(k).is == capture_place::kind::opaque;
  }

  std::string name_;
  const recording& recorded_;
  vec<const node_program*> new_regions_;
  piece_table pieces_;
  capture_progress progress_;
  graph_sink all_;
  vec<std::string> vertex_, prefix_, names_;
  vec<vec<hook_kind>> hooks_;
};

/// The plan of a graph. The graph must outlive it.
class captured_plan {
 public:
  explicit captured_plan(const captured_graph& g, bool merges = true) : g_(g), plan_(g.recorded(), merges) {}

  /// How many steps are not the plain engine's.
  int groups() const { return plan_.groups(); }
  const captured_graph& shown() const { return g_; }
  /// f(first, last, kind): for each step its vertices [first, last), and its description or null: node by node.
  void each_step(auto&& f) const {
    plan_.each_step([&](int first, int last, const char* kind, const group_interface*) { f(first, last, kind); });
  }

  EBB_COLD std::string text() const {
    std::string s = "Plan of " + g_.name() + ":\n";
    plan_.each_step([&](int first, int last, const char* kind, const group_interface* x) {
      s += std::string("  ") + (kind ? kind : "node by node") + ": ";
      for (int i = first; i < last; ++i) s += (i > first ? ", " : "") + node_call(g_.vertex_name(i), i);
      s += '\n';
      if (!x) return;
      s += "    reads";
      for (int i = 0; i < x->arguments.size(); ++i) s += (i ? ", " : " ") + name_of(x->arguments[i]);
      s += "\n    writes";
      for (int i = 0; i < x->results.size(); ++i) s += (i ? ", " : " ") + name_of(x->results[i].to);
      s += '\n';
    });
    return s;
  }
  /// The graph, with a box around each such step.
  EBB_COLD std::string dot() const {
    vec<int> box(g_.recorded().nodes() + g_.recorded().leaves(), -1);
    vec<const char*> kinds;
    plan_.each_step([&](int first, int last, const char* kind, const group_interface*) {
      for (int i = first; kind && i < last; ++i) box[i] = kinds.size();
      if (kind) kinds.push(kind);
    });
    const auto box_of = [&](int k) {
      const int v = g_.origin(k);
      return v >= 0 && v < box.size() ? box[v] : -1;
    };
    return g_.dot(box_of, [&](int b) { return std::string(kinds[b]); });
  }

 private:
  EBB_COLD std::string name_of(const capture_place& p) const {
    std::string gradient = "the gradient of " + node_call(g_.vertex_name(p.at), p.at);
    switch (p.is) {
      case capture_place::kind::slot:
      case capture_place::kind::sum: return gradient;
      case capture_place::kind::edge: return "gradient " + std::to_string(p.number) + " of " + node_call(g_.vertex_name(p.at), p.at);
      case capture_place::kind::retained: return gradient + " that is retained";
      case capture_place::kind::requested: return gradient + " that is asked for";
      default: return g_.place_name(p);
    }
  }

  const captured_graph& g_;
  backward_plan plan_;
};

inline std::string to_string(const captured_graph& g) { return g.text(); }
inline std::string to_string(const captured_plan& p) { return p.text(); }
inline std::string to_dot(const captured_graph& g) { return g.dot(); }
inline std::string to_dot(const captured_plan& p) { return p.dot(); }

}  // namespace ebb::inline EBB_ABI
