// ebb/plan/print.hpp — a plan as text: its steps in order, the equations of each step, and the buffers that it writes.
// SPDX-License-Identifier: BSL-1.0
//
//   step 0: a loop over [n, 64]
//     c = mul a b : f32[n, 64]
//     d = tanh c : f32[n, 64]
//     writes place 0
//   step 1: matmul
//     ...
#pragma once

#include "plan.hpp"

#include "../graph/print.hpp"

namespace ebb::inline EBB_ABI {

/// The reason of a copy as the end of a sentence: see [note: parts of arrays].
EBB_COLD const char* text_of(copy_reason why) {
  constexpr const char* reasons[] = {"",
                                     "rows along this axis are not adjacent",
                                     "it leaves out or reverses elements",
                                     "elements in another order",
                                     "a result has memory of its own",
                                     "an operand is an argument or lies in another array",
                                     "an operand is joined twice",
                                     "an operand lies between two of dyn extents",
                                     "a loop gives an operand",
                                     "several loops read it, each of them element by element"};
  return reasons[static_cast<int>(why)];
}

/// A plan of g. Equations of no step are left out: arguments, literals, and views.
class plan_text {
 public:
  EBB_COLD_CTOR plan_text(const graph& g, const plan& p) : g_(g), p_(p), names_(g) {}

  EBB_COLD std::string text(const std::string& indent = "") const {
    std::string s;
    for (int i = 0; i < p_.steps.size(); ++i) {
      for (const part& run : p_.blocks)
        if (run.first == i)
          s += indent + "the next " + std::to_string(run.count) + " steps run on blocks of rows, of " + names_.extent(p_.row_symbol) + '\n';
      for (const plan_band& b : p_.bands)
        if (b.first == i) s += indent + "the next " + std::to_string(b.count) + " steps run together, some rows at a time\n";
      s += indent + "step " + std::to_string(i) + ": " + kind_of(p_.steps[i]) + '\n';
      if (p_.steps[i].repeats >= 0) s += indent + "  repeats step " + std::to_string(p_.steps[i].repeats) + '\n';
      for (int k = 0; k < g_.size(); ++k)
        if (p_.group_of[k] == i && !names_.is_inline(k)) s += indent + "  " + names_.line(k) + '\n';
      s += indent + "  writes" + written_by(p_.steps[i]) + '\n';
    }
    for (const plan_copy& c : p_.copies)
      s += indent + "result " + std::to_string(c.result) + " is a copy of " + name_of_buffer(c.buffer) + '\n';
    return s;
  }

  /// `matmul`, or `a loop over [n, 64]`, or `slice, which copies: it leaves out or reverses elements`.
  EBB_COLD std::string kind_of(const plan_step& s) const {
    if (s.nest < 0) return std::string(g_.op(s.equation).name) + reason_of(s);
    const shape& over = g_.shapes[p_.nests[s.nest].shape];
    std::string text = "a loop over [";
    for (int a = 0; a < over.rank; ++a) text += (a ? ", " : "") + names_.extent(over.e[a]);
    return text + ']';
  }

 private:
  EBB_COLD std::string written_by(const plan_step& s) const {
    std::string text;
    const auto add = [&](int buffer) { text += (text.empty() ? " " : ", ") + name_of_buffer(buffer); };
    if (s.nest < 0) {
      for (int j = 0; j < s.made.count; ++j) add(p_.joined[s.made.first + j]);
      if (s.out >= 0) add(s.out);
      return text;
    }
    const nest& n = p_.nests[s.nest];
    for (int i = 0; i < n.stores.count; ++i) add(p_.stores[n.stores.first + i].buffer);
    for (int i = 0; i < n.reduces.count; ++i) add(p_.reduces[n.reduces.first + i].buffer);
    return text;
  }
  EBB_COLD std::string reason_of(const plan_step& s) const {
    if (s.onto >= 0) return ", which adds to " + name_of_buffer(s.onto);
    if (s.summed.count > 0) return ", which sums along its batch";
    if (s.what == kind::gather || s.what == kind::scatter) return ", which copies: rows by index";
    if (s.what != kind::move) return "";
    if (s.why == copy_reason::none) return g_.eq[s.equation].count > 1 ? ", in place" : ", in place but for the zeros";
    return std::string(", which copies: ") + text_of(s.why);
  }
  EBB_COLD std::string name_of_buffer(int buffer) const {
    if (p_.buffers[buffer].is == plan_buffer::role::part) return "a part of " + name_of_buffer(p_.buffers[buffer].whole);
    constexpr const char* roles[] = {"argument ", "result ", "place "};
    return roles[static_cast<int>(p_.buffers[buffer].is)] + std::to_string(p_.buffers[buffer].number);
  }

  const graph& g_;
  const plan& p_;
  graph_text names_;
};

}  // namespace ebb::inline EBB_ABI
