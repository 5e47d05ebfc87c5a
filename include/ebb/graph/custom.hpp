// ebb/graph/custom.hpp — functions with a pull of the user's as equations: computed arrays, and the graph that pulls them back.
// SPDX-License-Identifier: BSL-1.0
//
// [note: custom pulls]
// A function with a pull of its own is computed by ordinary equations. One more equation, of kind custom, names what it was given and what
// it computed:
//   operands    arguments | values | saved values
//   sub-graph   saved values, cotangents of the values -> cotangents of the arguments; -1 for an argument that gets none
//   attr[0]     how many arguments, and how many values
// Its results, equations of kind result, are the values: who uses the function reads these. So a cotangent meets the custom equation before
// it meets the equations that computed the value, and goes on through the sub-graph, see pass/custom.hpp. Nothing is computed for it: the
// last pass puts each value in the place of its result, see `without_customs`, and what only the custom equation named is pruned.
// A saved value is an ordinary value: a second derivative goes on through the equations that computed it. One that is a value of the
// function is its result, which has the pull again.
#pragma once

#include "copy.hpp"

namespace ebb::inline EBB_ABI {

/// attr[0] of an equation of kind custom.
struct custom_parts {
  int arguments = 0, values = 0;

  static constexpr custom_parts of(const equation& e) {
    return {static_cast<int>(e.attr[0] & 0xFFFFF), static_cast<int>(e.attr[0] >> 20 & 0xFFFFF)};
  }
  constexpr std::int64_t attribute() const { return std::int64_t{arguments} | std::int64_t{values} << 20; }
  constexpr int first_saved() const { return arguments + values; }
};

/// The equation whose array result k of a custom equation is.
constexpr int value_of_custom(const graph& g, int k) {
  const int custom = g.operand(k, 0);
  return g.operand(custom, custom_parts::of(g.eq[custom]).arguments + static_cast<int>(g.eq[k].attr[0]));
}

/// A copy without custom equations: their values are in the place of their results. It can be run, and not differentiated again.
EBB_COLD constexpr graph without_customs(const graph& g) {
  bool any = false;
  for (int k = 0; k < g.size(); ++k) any = any || g.eq.data()[k].op->what == kind::custom;
  if (!any) return g;
  graph r = shell_of(g);
  vec<int> to(g.size(), -1);
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what == kind::custom) continue;
    const bool result = g.op(k).what == kind::result && g.op(g.operand(k, 0)).what == kind::custom;
    to[k] = result ? to[value_of_custom(g, k)] : r.append_renumbered(g, k, to.data());
  }
  r.out = outputs_at(g, to);
  return r;
}

}  // namespace ebb::inline EBB_ABI
