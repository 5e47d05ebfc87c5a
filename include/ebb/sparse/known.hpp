// ebb/sparse/known.hpp — the values of a program that all calls of a pattern share: they follow from integers and fixed arguments.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../exec/evaluate.hpp"
#include "../graph/box.hpp"
#include "../op/compare.hpp"
#include "../pass/prune.hpp"

#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

constexpr bool is_real_dtype(dtype d) { return d != dtype::i32 && d != dtype::i64 && d != dtype::boolean; }
/// Whether a cell of this dtype holds 0 or -0.
constexpr bool is_zero_cell(dtype d, cell c) {
  bool r = false;
  with_dtype(d, [&]<class T>(T) {
    if constexpr (std::is_arithmetic_v<T>) r = from_cell<T>(c) == T{};
    else r = static_cast<float>(from_cell<T>(c)) == 0;
  });
  return r;
}
/// The number of a loop's result among its carries, the rows of its steps, and the histories of its carries.
constexpr int number_of_loop_result(const graph& g, int k) {
  const equation &e = g.eq[k], &loop = g.eq[g.operand(k, 0)];
  const int i = static_cast<int>(e.attr[0]);
  if (kind_of_result(e) == loop_result::carry) return i;
  return i + (kind_of_result(e) == loop_result::row ? loop_parts::of(loop).carries : g.subs[loop.sub].out.size());
}

/// By equation of a graph: whether its value is known, if that of these arguments is.
struct known_flags {
  using flags = std::vector<char>;
  flags of;
  std::vector<flags> of_operands, of_results;  // of a loop: of the body's arguments; by number_of_loop_result

  constexpr known_flags(const graph& g, const flags& arguments)
      : of(static_cast<std::size_t>(g.size()), 1), of_operands(of.size()), of_results(of.size()) {
    for (int k = 0; k < g.size(); ++k) {
      char& known = of[at(k)];
      if (g.op(k).what == kind::input) known = arguments[at(static_cast<int>(g.eq[k].attr[0]))];
      else if (g.op(k).what == kind::result && g.op(g.operand(k, 0)).what == kind::loop)
        known = of_results[at(g.operand(k, 0))][at(number_of_loop_result(g, k))];
      else
        for (const int j : g.operands(k)) known = known && of[at(j)];
      if (g.op(k).what == kind::loop) find_loop(g, k);
    }
  }

 private:
  static constexpr std::size_t at(int k) { return static_cast<std::size_t>(k); }
  constexpr void find_loop(const graph& g, int k) {
    const loop_parts p = loop_parts::of(g.eq[k]);
    const graph& body = g.subs[g.eq[k].sub];
    flags given;
    for (const int j : g.operands(k)) given.push_back(of[at(j)] && !(p.open && p.is_carry(static_cast<int>(given.size()))));
    for (bool changes = true; changes;) {
      const known_flags inside(body, given);
      changes = false;
      flags& results = of_results[at(k)];
      results.clear();
      for (int i = 0; i < body.out.size(); ++i) {
        const char known = inside.of[at(body.out[i])];
        if (i < p.carries && given[at(i)] && !known) {
          given[at(i)] = 0;
          changes = true;
        }
        results.push_back(i < p.carries ? given[at(i)] : known);
      }
    }
    flags& results = of_results[at(k)];
    for (int j = 0; j < p.carries; ++j) results.push_back(given[at(j)]);
    if (p.guarded && !given.back()) results.assign(results.size(), 0);
    of_operands[at(k)] = given;
  }
};

/// The values that decide sets: places, conditions, operands of loops and custom functions, and numbers that may be zero.
class known_values {
 public:
  constexpr known_values(const graph& g, const std::vector<char>& arguments)
      : flags_(g, arguments), value_(static_cast<std::size_t>(g.size())) {
    std::vector<char> wanted(value_.size(), 0);
    for (int k = 0; k < g.size(); ++k)
      for (int j = 0; j < g.eq[k].count; ++j) {
        const int x = g.operand(k, j);
        const bool is_row = j == 1 && (g.op(k).what == kind::gather || g.op(k).what == kind::scatter);
        const bool is_place = is_row || (is_box(g.op(k)) && j >= box_form::of(g.eq[k].attr).first());
        const bool chooses = j == 0 && g.op(k).family == family_of<op::where>;
        const bool may_be_zero = !flags_.of[at(k)] && is_real_dtype(g.op(x).result) && g.op(x).what != kind::literal;
        const bool enters = g.op(k).what == kind::loop || g.op(k).what == kind::custom;
        if (!is_known_array(g, x) || !(is_place || chooses || may_be_zero || enters)) continue;
        wanted[at(x)] = 1;
        decide_ = decide_ || g.op(x).what != kind::literal;
      }
    for (const int o : g.out)
      if (o >= 0 && is_known_array(g, o)) wanted[at(o)] = 1;
    part_ = g;
    part_.out = {};
    for (int k = 0; k < g.size(); ++k)
      if (wanted[at(k)]) part_.out.push(k);
    names_ = part_.out;
    if (!names_.empty()) part_ = prune(part_);
  }
  /// Whether a value that is not a constant decides a set.
  constexpr bool decide() const { return decide_; }
  constexpr bool is_known(int k) const { return flags_.of[at(k)]; }
  /// By argument of the body of loop k: whether it is known.
  constexpr const std::vector<char>& in_loop(int k) const { return flags_.of_operands[at(k)]; }
  /// The value of an equation, or no cells.
  constexpr const cell_array& value(int k) const { return value_[at(k)]; }
  /// Cells of arguments that are not known are not read.
  constexpr void evaluate(const vec<cell_array>& cells, const vec<std::size_t>& symbols) {
    if (names_.empty()) return;
    const vec<cell_array> values = ebb::evaluate(part_, cells, symbols);
    for (int i = 0; i < names_.size(); ++i) value_[at(names_[i])] = values[i];
  }

 private:
  static constexpr std::size_t at(int k) { return static_cast<std::size_t>(k); }
  constexpr bool is_known_array(const graph& g, int k) const {
    return flags_.of[at(k)] && g.op(k).what != kind::loop && g.op(k).what != kind::custom;
  }
  known_flags flags_;
  bool decide_ = false;
  std::vector<cell_array> value_;
  graph part_;       // what the wanted values need
  vec<int> names_;   // their equations
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
