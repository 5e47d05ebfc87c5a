// ebb/graph/custom.hpp — custom equations: they give computed arrays a pull that the user has written.
// SPDX-License-Identifier: BSL-1.0
//
// [note: custom pulls]
// A function with a pull of its own is computed by ordinary equations. One more equation, of kind custom, names its arguments and its
// values:
//   operands    arguments | values | saved values
//   sub-graph   saved values, cotangents of the values -> cotangents of the arguments; -1 for an argument that gets none
//   attr[0]     the number of arguments, and the number of values
// Equations that use the function read its results, equations of kind result, in place of the values. So a cotangent meets the custom
// equation before it meets the equations that computed the value, and goes on through the sub-graph: see pass/custom.hpp. The custom
// equation computes nothing: the last pass replaces each result by its value, see `without_customs`, and equations that only the custom
// equation named are pruned.
// A saved value is an ordinary value: a second derivative goes on through the equations that computed it. If a saved value is a value of
// the function, the result replaces it, and has the pull again.
#pragma once

#include "copy.hpp"

namespace ebb::inline EBB_ABI {

/// attr[0] of an equation of kind custom.
struct custom_parts {
  int arguments = 0, values = 0;
  bool forward = false;  // its pull serves derivatives along a direction only

  static constexpr custom_parts of(const equation& e) {
    return {static_cast<int>(e.attr[0] & 0xFFFFF), static_cast<int>(e.attr[0] >> 20 & 0xFFFFF), (e.attr[0] >> 40 & 1) != 0};
  }
  constexpr std::int64_t attribute() const {
    return std::int64_t{arguments} | std::int64_t{values} << 20 | static_cast<std::int64_t>(forward) << 40;
  }
  constexpr int first_saved() const { return arguments + values; }
};

/// The equation that computed the array of k, a result of a custom equation.
constexpr int value_of_custom(const graph& g, int k) {
  const int custom = g.operand(k, 0);
  return g.operand(custom, custom_parts::of(g.eq[custom]).arguments + static_cast<int>(g.eq[k].attr[0]));
}

/// A copy without custom equations: their results are replaced by their values. It can be run, but not be differentiated again.
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
