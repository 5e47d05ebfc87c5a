// ebb/svg/graph.hpp — a graph and a plan as SVG pictures.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "drawing.hpp"

#include "../graph/print.hpp"
#include "../plan/print.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The lines of a text, without their ends.
EBB_COLD void push_lines(vec<std::string>& lines, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}
/// An equation, and the body of a loop.
EBB_COLD void push_equation(vec<std::string>& lines, const graph& g, const graph_text& names, int k) {
  lines.push(names.line(k));
  if (g.eq[k].sub >= 0) push_lines(lines, to_string(g.subs[g.eq[k].sub], "  "));
}

/// The boxes of a graph's equations, for arrows.
class drawn_graph {
 public:
  EBB_COLD_CTOR drawn_graph(svg_drawing& d, const graph& g, const graph_text& names) : d_(d), g_(g), names_(names), box_(g.size(), -1) {}

  /// A box for each equation that has none; the text alone if it is an argument or, in plans, a view.
  EBB_COLD void add_the_rest(bool is_plan) {
    for (int k = 0; k < g_.size(); ++k) {
      if (box_[k] >= 0 || names_.is_inline(k)) continue;
      vec<std::string> lines;
      push_equation(lines, g_, names_, k);
      const bool is_plain = is_plan || g_.op(k).what == kind::input;
      box_[k] = d_.add("", lines, is_plain ? svg_drawing::look::plain : svg_drawing::look::box);
    }
  }
  EBB_COLD void add_arrows() {
    for (int k = 0; k < g_.size(); ++k)
      for (int i : g_.operands(k))
        if (box_[i] >= 0 && box_[k] >= 0) d_.arrow(box_[i], box_[k]);
    for (int i = 0; i < g_.out.size(); ++i) {
      const int o = g_.out[i];
      if (o >= 0) d_.arrow(box_[o], d_.add("", {"return " + std::to_string(i) + ": " + names_.name(o)}, svg_drawing::look::plain));
    }
  }
  int& box_of(int k) { return box_[k]; }

 private:
  svg_drawing& d_;
  const graph& g_;
  const graph_text& names_;
  vec<int> box_;
};

}  // namespace detail

/// A graph as an SVG picture: a box for each equation, an arrow for each use. Literals are written into the equations that use them.
EBB_COLD std::string to_svg(const graph& g, const std::string& title = "graph") {
  const graph_text names(g);
  svg_drawing d;
  detail::drawn_graph boxes(d, g, names);
  boxes.add_the_rest(false);
  boxes.add_arrows();
  return d.text(title);
}

/// The time of a step in a picture: its share of the whole, from 0 to 1, which colours its box, and a line of text.
struct step_heat {
  double share = -1;  // negative: not known
  std::string text;
};

/// A plan of g as an SVG picture: a box for each step with its equations, an arrow from each step to those that use its values. Heat: by
/// step; none, or one for each.
EBB_COLD std::string to_svg(const graph& g, const plan& p, const std::string& title = "plan", const vec<step_heat>& heat = {}) {
  const graph_text names(g);
  const plan_text steps(g, p);
  svg_drawing d;
  detail::drawn_graph boxes(d, g, names);
  for (int i = 0; i < p.steps.size(); ++i) {
    vec<std::string> lines;
    for (int k = 0; k < g.size(); ++k)
      if (p.group_of[k] == i && !names.is_inline(k)) detail::push_equation(lines, g, names, k);
    for (const plan_band& b : p.bands)
      if (b.first <= i && i < b.first + b.count)
        lines.push("steps " + std::to_string(b.first) + " to " + std::to_string(b.first + b.count - 1) + " run together");
    if (run_with(p.blocks, p.blocks.size(), i) >= 0) lines.push("on blocks of rows, of " + names.extent(p.row_symbol));
    const step_heat h = i < heat.size() ? heat[i] : step_heat{};
    if (!h.text.empty()) lines.push(h.text);
    const int box = d.add("step " + std::to_string(i) + ": " + steps.kind_of(p.steps[i]), lines, svg_drawing::look::box, h.share);
    for (int k = 0; k < g.size(); ++k)
      if (p.group_of[k] == i) boxes.box_of(k) = box;
  }
  boxes.add_the_rest(true);
  boxes.add_arrows();
  return d.text(title);
}

}  // namespace ebb::inline EBB_ABI
