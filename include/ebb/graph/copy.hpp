// ebb/graph/copy.hpp — a graph copied with other numbers: the loop of every pass that leaves out, renumbers or changes equations.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "graph.hpp"

#include <type_traits>

namespace ebb::inline EBB_ABI {

/// Whether a copy keeps an equation that is equal to one that is there already, or takes that one.
enum class equal_equations : unsigned char { stay, become_one };

inline constexpr auto all_equations = [](int) { return true; };
inline constexpr auto as_they_are = [](int, equation&) {};

/// The numbers of the outputs of a graph after a copy; none stays none.
constexpr vec<int> outputs_at(const graph& g, const vec<int>& at) {
  vec<int> out;
  out.reserve(g.out.size());
  for (int o : g.out) out.push(o < 0 ? -1 : at[o]);
  return out;
}

/// Copies each equation k of `from` for which keep(k) holds to `to`, in order, with the numbers that its operands have there. rewrite(k, e)
/// changes the copy. at: the number in `to` of each equation of `from`; those that have one before the copy are not copied.
template <equal_equations Equal = equal_equations::stay>
constexpr void copy_equations(graph& to, const graph& from, vec<int>& at, auto&& keep, auto&& rewrite) {
  [[maybe_unused]] vec<int> operands;
  int* const number = at.data();
  for (int k = 0; k < from.size(); ++k) {
    if (number[k] >= 0 || !keep(k)) continue;
    if constexpr (Equal == equal_equations::stay) {
      number[k] = to.append_renumbered(from, k, number);
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(rewrite)>, std::remove_cv_t<decltype(as_they_are)>>)
        rewrite(k, to.eq.back());
    } else {
      equation e = from.eq.data()[k];
      rewrite(k, e);
      operands.shrink(0);
      int* const in = operands.extend(e.count);
      for (int j = 0; j < e.count; ++j) in[j] = number[from.pool.data()[e.first + j]];
      number[k] = to.add(e, number_range{in, e.count});
    }
  }
}

/// The equations of g for which keep(k) holds, changed by rewrite(k, e); the same arguments, symbols and outputs. Outputs, and operands of
/// what is kept, are kept.
template <equal_equations Equal = equal_equations::stay>
constexpr graph copied(const graph& g, auto&& keep, auto&& rewrite) {
  graph r = shell_of(g);
  vec<int> at(g.size(), -1);
  copy_equations<Equal>(r, g, at, keep, rewrite);
  r.out = outputs_at(g, at);
  return r;
}
constexpr graph copied(const graph& g, auto&& keep) { return copied(g, keep, as_they_are); }

/// Whether all operands of equation k have been copied.
constexpr bool has_operands(const graph& from, int k, const vec<int>& at) {
  const equation& e = from.eq.data()[k];
  for (int j = 0; j < e.count; ++j)
    if (at.data()[from.pool.data()[e.first + j]] < 0) return false;
  return true;
}

/// All equations but the arguments.
constexpr auto but_arguments(const graph& g) {
  return [&g](int k) { return g.op(k).what != kind::input; };
}
/// The numbers with which a copy begins if its arguments are equations that are there already.
constexpr vec<int> at_arguments(const graph& from, const vec<int>& arguments) {
  vec<int> at(from.size(), -1);
  for (int k = 0; k < from.size(); ++k)
    if (from.op(k).what == kind::input) at[k] = arguments[static_cast<int>(from.eq[k].attr[0])];
  return at;
}

}  // namespace ebb::inline EBB_ABI
