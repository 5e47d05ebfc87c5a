// ebb/explain/advice.hpp — advice how to rewrite a function if a step of its plan copies, keeps much, or leaves lanes empty.
// SPDX-License-Identifier: BSL-1.0
//
// [note: advice]
// Advice follows from a decision of the planner or of a pass, which is asked: copy_reason says why a step copies, component_form which
// axes are short, component_clusters which equations have a rule for components. There is advice only where a rewrite of the function, or
// of the types of its arguments, takes the cost away:
//   a slice, concat or pad along an axis that is not the first one, and a column that several loops read
//                   static extents make parts that loops read components; or the axis goes first
//   a permutation   that a gather or a product reads, or a reduction alone
//   a concat        with a piece between two of dyn extents; or an array that is turned several times, as neighbours of a ring are read
//   a slice         that is a result
//   lanes           along a short axis of an argument: a static extent; along a short static one: a reduction without a rule for components
//   the gradient of a maximum or minimum along an axis: it reads all elements again, argmax and argmin only the chosen ones
#pragma once

#include "plan_words.hpp"

#include "../op/compare.hpp"
#include "../op/reduce.hpp"
#include "../pass/components.hpp"

namespace ebb::inline EBB_ABI::detail {

class plan_advice {
 public:
  /// in_body: g is the body of a loop, whose arguments have no numbers that the user knows.
  EBB_COLD_CTOR plan_advice(const graph& g, const plan& p, const extent_formulas& extents, const plan_words& words, bool in_body)
      : g_(g), p_(p), extents_(extents), words_(words), in_body_(in_body), by_parts_(g, true) {}

  /// The advice for a step; nothing if there is none.
  EBB_COLD std::string of(int step, const formula_work& work) const {
    const plan_step& s = p_.steps[step];
    if (s.nest >= 0) return of_loop(step);
    if (s.what != kind::move || s.why == copy_reason::none || words_.is_turned(s)) return "";
    const std::string saved = "this saves " + (work.read + work.written).bytes();
    if (const int turns = turns_like(s.equation); turns > 1) return of_turns(s.equation, turns, saved);
    switch (s.why) {
      case copy_reason::axis: return of_axis(s.equation, saved);
      case copy_reason::often: return takes_one_row(s.equation) ? of_axis(s.equation, saved) : "";
      case copy_reason::permutation: return of_permutation(s, saved);
      case copy_reason::offset: return "give all pieces but one static extents, then it is known where each one lies";
      case copy_reason::result: return "slice what it is computed from, so that only these elements are computed: " + saved;
      default: return "";
    }
  }

 private:
  /// `axis 1 of argument 0`; in the body of a loop, `the extent m`. All that a computed extent is computed from.
  EBB_COLD void add_names(std::vector<std::string>& names, int e) const {
    e = g_.syms.find(e);
    if (e >= 0) return;
    const extent_origin& o = g_.syms.origin(~e);
    if (!in_body_ && o.rule != extent_rule::argument) {
      add_names(names, o.a);
      if (o.b < 0) add_names(names, o.b);
      return;
    }
    const bool is_axis = !in_body_ && !o.is_value();
    const std::string name = is_axis ? "axis " + std::to_string(o.b) + " of argument " + std::to_string(o.a)
                                     : "the extent " + extents_.of(e).text();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  EBB_COLD std::string static_extents(const shape& s, int from) const {
    std::vector<std::string> names;
    for (int a = from; a < s.rank; ++a) add_names(names, s.e[a]);
    return list_of_words(names);
  }
  /// The array that k turns along the axis k joins: k joins two slices of it, and has its shape; -1: k is something else.
  EBB_COLD int turned_by(int k) const {
    const equation& e = g_.eq[k];
    if (e.op->family != family_of<op::concat> || e.count != 2) return -1;
    for (int piece : g_.operands(k))
      if (g_.op(piece).family != family_of<op::slice> || g_.eq[piece].attr[0] != 16 + e.attr[0]) return -1;
    const int x = g_.operand(g_.operand(k, 0), 0);
    return x == g_.operand(g_.operand(k, 1), 0) && g_.eq[x].shape == e.shape ? x : -1;
  }
  /// The number of turns of the array that k turns, along the same axis; 0: k turns none.
  EBB_COLD int turns_like(int k) const {
    int turns = 0;
    for (int other = 0; turned_by(k) >= 0 && other < g_.size(); ++other) turns += is_turn_like(other, k);
    return turns;
  }
  EBB_COLD bool is_turn_like(int other, int k) const {
    return turned_by(other) == turned_by(k) && g_.eq[other].attr[0] == g_.eq[k].attr[0];
  }
  /// The first of several turns has the advice.
  EBB_COLD std::string of_turns(int k, int turns, const std::string& saved) const {
    for (int other = 0; other < k; ++other)
      if (is_turn_like(other, k)) return "";
    return "one array is turned " + std::to_string(turns) + " times: continue it once, by pad<" + std::to_string(g_.eq[k].attr[0]) +
           ", before, after>(x, ebb::circular), and read slices of that: " + saved + (turns > 2 ? " for each other turn" : "");
  }
  /// Whether a slice has one element along its axis.
  EBB_COLD bool takes_one_row(int k) const { return g_.syms.find(g_.shape_of(k).e[g_.eq[k].attr[0] & 15]) == 1; }
  /// A move along an axis whose parts are not adjacent.
  EBB_COLD std::string of_axis(int k, const std::string& saved) const {
    const int axis = static_cast<int>(g_.eq[k].attr[0] & 15);
    const shape whole = g_.syms.find(g_.op(k).family == family_of<op::slice> ? g_.shape_of(g_.operand(k, 0)) : g_.shape_of(k));
    if (component_form::of(whole).lead <= axis) return "";  // it is short, and to split it does not pay
    const std::string names = static_extents(whole, axis);
    std::string first = "put axis " + std::to_string(axis) + " first: parts along the first axis need no copy, " + saved;
    formula row(1);
    for (int a = axis; a < whole.rank; ++a) row = row * extents_.of(whole.e[a]);
    if (names.empty() || (row.is_number() && row.number() > component_form::most) || !is_read_by_loop(k)) return first;
    const std::string given = "give " + names + (names.find(", ") == std::string::npos ? " a static extent" : " static extents");
    if (row.is_number()) return given + ": short rows are taken apart once, and no part is a copy";
    return "if rows have at most " + std::to_string(component_form::most) + " elements, " + given +
           ": they are taken apart once, and no part is a copy; else " + first;
  }
  /// Whether a loop reads the move k, directly or through other moves: only then its parts may be components.
  EBB_COLD bool is_read_by_loop(int k) const {
    vec<char> shows(g_.size(), 0);
    shows[k] = 1;
    for (int x = k + 1; x < g_.size(); ++x)
      for (int i : g_.operands(x)) {
        if (!shows[i]) continue;
        if (g_.op(x).what == kind::elementwise || g_.op(x).what == kind::reduce) return true;
        shows[x] = shows[x] || g_.op(x).what == kind::move || g_.op(x).what == kind::reshape;
      }
    return false;
  }
  EBB_COLD std::string of_permutation(const plan_step& s, const std::string& saved) const {
    bool gathers = false, multiplies = false, reduces = !words_.readers(s.out).empty();
    for (int reader : words_.readers(s.out)) {
      const plan_step& x = p_.steps[reader];
      gathers = gathers || x.what == kind::gather;
      multiplies = multiplies || (x.nest < 0 && x.what == kind::contract);
      reduces = reduces && x.nest >= 0 && reads_alone(x, s.out) && p_.nests[x.nest].reduces.count > 0 && p_.nests[x.nest].stores.count == 0;
    }
    if (gathers) return "rows are taken along the first axis: keep the array with that axis first, " + saved;
    if (multiplies && !keeps_rows(s.equation))
      return "a product reads an array where it lies if its last axis is one of the last two of the operand: keep it there, " + saved;
    if (reduces) return "reduce along the other axis instead of transposing: " + saved;
    return "";
  }
  /// Whether the last axis of what k permutes is one of the last two.
  EBB_COLD bool keeps_rows(int k) const {
    const int rank = g_.shape_of(k).rank, at[] = {packed_axis(g_.eq[k].attr[0], rank - 1), packed_axis(g_.eq[k].attr[0], rank - 2)};
    return at[0] == rank - 1 || at[1] == rank - 1;
  }
  /// Whether a nest reads no other array that has all axes of its space: to read one with fewer axes along others costs nothing.
  EBB_COLD bool reads_alone(const plan_step& s, int buffer) const {
    const nest& n = p_.nests[s.nest];
    const unsigned all = (1u << n.loops) - 1;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& l = p_.loads[n.loads.first + i];
      if (l.source == nest_load::from::array && l.buffer != buffer && static_cast<unsigned>(l.along) == all) return false;
    }
    return true;
  }

  EBB_COLD bool reduces_last_axes(int k) const {
    return g_.op(k).what == kind::reduce && g_.eq[k].attr[1] == g_.shape_of(g_.operand(k, 0)).rank;
  }
  EBB_COLD std::string of_loop(int step) const {
    const nest& n = p_.nests[p_.steps[step].nest];
    for (int k = 0; k < g_.size(); ++k)
      if (p_.group_of[k] == step)
        if (std::string text = of_extremum(k); !text.empty()) return text;
    if (n.loops < 2 || !plan_words::is_short(words_.length_of_row(n)) || words_.runs_across_rows(n)) return "";
    const shape& over = g_.shapes[n.shape];
    if (const std::string names = static_extents(over, n.axis[n.loops - 1]); !names.empty())
      return "give " + names + " a static extent: then lanes run along another axis";
    for (int k = 0; k < g_.size(); ++k)
      if (p_.group_of[k] == step && reduces_last_axes(k) && !by_parts_.is_split(k))
        return std::string(g_.op(k).name) + " along a short axis keeps lanes along it: combine its parts by an elementwise function";
    return "";
  }
  /// Whether k asks which elements are the maximum or minimum along an axis: the gradient of one does.
  EBB_COLD std::string of_extremum(int k) const {
    if (g_.op(k).family != family_of<op::equal>) return "";
    for (int j = 0; j < 2; ++j) {
      int most = g_.operand(k, j);
      while (g_.op(most).what == kind::broadcast || g_.op(most).what == kind::reshape) most = g_.operand(most, 0);
      const bool is_extremum = g_.op(most).family == family_of<op::max> || g_.op(most).family == family_of<op::min>;
      if (!is_extremum) continue;  // argmax and argmin ask for the place of their own op
      const std::string name(g_.op(most).name);  // that of amax is max
      if (viewed(g_, g_.operand(most, 0)) != viewed(g_, g_.operand(k, 1 - j))) continue;
      return "the gradient of " + name + " reads all elements again, since ties share it: arg" + name +
             " and take, before the function is differentiated, compute the chosen ones only";
    }
    return "";
  }

  const graph& g_;
  const plan& p_;
  const extent_formulas& extents_;
  const plan_words& words_;
  bool in_body_;
  component_clusters by_parts_;
};

}  // namespace ebb::inline EBB_ABI::detail
