// ebb/svg/captured.hpp — a captured backward and its plan as SVG pictures.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::compiled_autograd::enable on({.compiler = [](const ebb::captured_graph& g) {
//     std::ofstream("backward.svg") << ebb::to_svg(ebb::captured_plan(g));
//     return ebb::backend::merge;
//   }});
#pragma once

#include "graph.hpp"

#include "../capture/show.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Equations and events of a captured graph; box_of(v): the box of what happens at vertex v, or -1.
class drawn_capture {
 public:
  EBB_COLD_CTOR drawn_capture(svg_drawing& d, const captured_graph& c)
      : d_(d), c_(c), g_(c.equations()), names_(g_, c.names()), box_(g_.size(), -1) {
    // Sums of gradients come from no vertex. The last one whose gradient is added makes the sum, so it is drawn there.
    for (int k = 0; k < g_.size(); ++k) {
      int at = c.origin(k);
      if (at < 0)
        for (int i : g_.operands(k)) at = std::max(at, at_[i]);
      at_.push(at);
    }
  }

  EBB_COLD vec<std::string> lines_at(int first, int last) const {
    vec<std::string> lines;
    int next = 0;
    for (int k = 0; k <= g_.size(); ++k) {
      for (; next < c_.events().size() && c_.events()[next].before == k; ++next) {
        const capture_event& e = c_.events()[next];
        if (e.is != capture_event::kind::validate && first <= e.at && e.at < last) lines.push(c_.event_text(names_, e));
      }
      if (k < g_.size() && is_drawn(k) && first <= at_[k] && at_[k] < last) push_equation(lines, g_, names_, k);
    }
    return lines;
  }
  void draw(auto&& box_of) {
    const vec<capture_event>& events = c_.events();
    vec<int> calls;
    for (const capture_event& e : events) {
      const bool is_root = e.is == capture_event::kind::validate;
      int box = is_root ? -1 : box_of(e.at);
      if (box < 0) box = d_.add(is_root ? "GraphRoot" : c_.vertex_name(e.at), {c_.event_text(names_, e)}, svg_drawing::look::dashed);
      calls.push(box);
      if (makes(e))
        for (int k : e.out)
          if (k >= 0) box_[k] = box;
    }
    for (int k = 0; k < g_.size(); ++k) {
      if (!is_drawn(k)) continue;
      const int v = c_.origin(k);
      if (at_[k] >= 0) box_[k] = box_of(at_[k]);
      if (box_[k] >= 0) continue;
      vec<std::string> lines;
      push_equation(lines, g_, names_, k);
      const bool is_input = g_.op(k).what == kind::input;
      box_[k] = d_.add(v < 0 || is_input ? "" : node_call(c_.vertex_name(v), v), lines,
                       is_input ? svg_drawing::look::plain : svg_drawing::look::box);
    }
    for (int k = 0; k < g_.size(); ++k)
      for (int i : g_.operands(k)) arrow(box_[i], box_[k]);
    for (int i = 0; i < events.size(); ++i) {
      for (int k : events[i].in)
        if (k >= 0) arrow(box_[k], calls[i]);
      for (int k : events[i].out)
        if (k >= 0 && !makes(events[i])) arrow(box_[k], calls[i]);
    }
  }

 private:
  static bool makes(const capture_event& e) { return e.is == capture_event::kind::hook || e.is == capture_event::kind::function; }
  /// Whether equation k has a line: literals are in others, and results of calls are in the calls.
  EBB_COLD bool is_drawn(int k) const {
    if (names_.is_inline(k) || box_[k] >= 0) return false;
    for (const capture_event& e : c_.events())
      if (makes(e))
        for (int made : e.out)
          if (made == k) return false;
    return true;
  }
  void arrow(int from, int to) {
    if (from >= 0 && to >= 0) d_.arrow(from, to);
  }

  svg_drawing& d_;
  const captured_graph& c_;
  const graph& g_;
  graph_text names_;
  vec<int> box_, at_;  // of each equation: its box, and the vertex beside which it is drawn, or -1
};

}  // namespace detail

/// A captured backward as an SVG picture: a box for each equation, a dashed one for each call of a hook, a function or an accumulation.
EBB_COLD std::string to_svg(const captured_graph& c) {
  svg_drawing d;
  detail::drawn_capture(d, c).draw([](int) { return -1; });
  return d.text(c.name());
}

/// The plan of a captured backward as an SVG picture: a box for each chain and for each row of nodes that run one by one.
EBB_COLD std::string to_svg(const captured_plan& p) {
  const captured_graph& c = p.shown();
  svg_drawing d;
  detail::drawn_capture boxes(d, c);
  vec<int> box(c.recorded().nodes() + c.recorded().leaves(), -1);
  p.each_step([&](int first, int last, const char* kind) {
    std::string title = std::string(kind ? kind : "node by node") + ": ";
    for (int v = first; v < last; ++v) title += (v > first ? ", " : "") + node_call(c.vertex_name(v), v);
    const int b = d.add(title, boxes.lines_at(first, last), kind ? svg_drawing::look::box : svg_drawing::look::dashed);
    for (int v = first; v < last; ++v) box[v] = b;
  });
  boxes.draw([&](int v) { return v < box.size() ? box[v] : -1; });
  return d.text("Plan of " + c.name());
}

}  // namespace ebb::inline EBB_ABI
