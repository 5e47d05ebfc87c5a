// ebb/explain/plan_words.hpp — a plan in plain words: each step fuses or copies for a reason, and reads, writes and keeps arrays.
// SPDX-License-Identifier: BSL-1.0
//
// [note: explanations]
// An explanation decides nothing again: the steps, their reasons and their buffers are those of the plan, bytes and operations those of
// [note: counted work], which a profiler counts, too. A value is kept in memory if another step reads it. Its text says why that step does
// not read it in a register:
//   waits     the step needs something that is complete only after a loop: a reduction, a product
//   shape     the step is a loop over another shape
//   arrays    the step is no loop: a product, a move
#pragma once

#include "formula.hpp"

#include "../graph/box.hpp"
#include "../graph/loop.hpp"
#include "../kernel/flat_nest.hpp"
#include "../op/move.hpp"
#include "../plan/print.hpp"

namespace ebb::inline EBB_ABI::detail {

/// A step of a plan with its text and its work.
struct explained_step {
  std::string what, text;
  formula_work work;
};

/// "first, second and 3 more"
EBB_COLD std::string list_of_words(const std::vector<std::string>& words, std::size_t most = 6) {
  std::string s;
  const std::size_t shown = words.size() > most ? most - 1 : words.size();
  for (std::size_t i = 0; i < shown; ++i) s += (i ? ", " : "") + words[i];
  return shown < words.size() ? s + " and " + std::to_string(words.size() - shown) + " more" : s;
}

using counted_names = std::vector<std::pair<std::string, int>>;
EBB_COLD void add_counted(counted_names& names, const std::string& name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& x) { return x.first == name; });
  if (found != names.end()) ++found->second;
  else names.emplace_back(name, 1);
}
/// "sub", "3 mul"
EBB_COLD std::vector<std::string> counted_words(const counted_names& names) {
  std::vector<std::string> words;
  words.reserve(names.size());
  for (const auto& [name, count] : names) words.push_back((count > 1 ? std::to_string(count) + ' ' : "") + name);
  return words;
}

class plan_words {
 public:
  EBB_COLD_CTOR plan_words(const graph& g, const plan& p, const extent_formulas& extents)
      : g_(g), p_(p), extents_(extents), written_by_(p.buffers.size(), -1), read_by_(p.buffers.size(), vec<int>{}) {
    each_written(p, [&](int s, int b) { written_by_[b] = s; });
    for (int s = 0; s < p.steps.size(); ++s) each_read(s, [&](int b) { read_by_[b].push(s); });
  }

  EBB_COLD explained_step step(int i) const {
    const plan_step& s = p_.steps[i];
    explained_step r;
    r.work = extents_.work(work_of_step(g_, p_, i));
    r.what = s.nest >= 0 ? loop(i) : whole(s);
    r.text = r.what + '\n';
    if (s.repeats >= 0) r.text += "  repeats step " + std::to_string(s.repeats) + ": reading its array from memory would take longer\n";
    if (s.nest >= 0) r.text += "  fuses " + fused(i) + '\n' + operations_of_element(i) + lanes(p_.nests[s.nest]);
    else if (r.work.operations != formula()) r.text += "  " + r.work.operations.operations() + '\n';
    if (r.work.read != formula()) r.text += "  reads " + r.work.read.bytes() + ": " + list_of_words(read(i)) + '\n';
    if (r.work.written != formula()) r.text += "  writes " + r.work.written.bytes() + '\n';
    for (const std::string& line : kept(i)) r.text += "  keeps " + line + '\n';
    return r;
  }

  /// f(buffer) for each buffer that step s reads, once.
  void each_read(int s, auto&& f) const {
    vec<int> seen;
    const auto see = [&](int b) {
      for (int x : seen)
        if (x == b) return;
      seen.push(b);
      f(b);
    };
    const plan_step& x = p_.steps[s];
    if (x.nest < 0)
      for (int j = 0; j < x.joined.count; ++j) see(p_.joined[x.joined.first + j]);
    else
      for (int i = 0; i < p_.nests[x.nest].loads.count; ++i)
        if (const nest_load& l = p_.loads[p_.nests[x.nest].loads.first + i]; l.source == nest_load::from::array) see(l.buffer);
  }
  /// `f32[n, 64]`
  EBB_COLD std::string type(const shape& s, dtype type) const {
    return std::string(name_of(type)) + (s.rank > 0 ? extents_.text(s) : "");
  }
  /// `argument 0`, `f32[n] of step 2`
  EBB_COLD std::string name_of_buffer(int b) const {
    const plan_buffer& x = p_.buffers[b];
    if (written_by_[b] >= 0) return type(g_.shapes[x.shape], x.type) + " of step " + std::to_string(written_by_[b]);
    if (x.is == plan_buffer::role::part) return "a part of " + name_of_buffer(x.whole);
    return "argument " + std::to_string(x.number);
  }
  const vec<int>& readers(int buffer) const { return read_by_[buffer]; }
  /// Whether a step permutes an array whose parts alone are read: it takes components apart, see [note: components].
  bool is_turned(const plan_step& s) const { return parts_of(s) > 0; }

 private:
  EBB_COLD std::string loop(int i) const {
    const shape& over = g_.shapes[p_.nests[p_.steps[i].nest].shape];
    return over.rank == 0 ? "one element" : "a loop over " + extents_.text(over);
  }
  EBB_COLD std::string whole(const plan_step& s) const {
    const int k = s.equation;
    const auto operand = [&](int j) { return g_.shape_of(g_.operand(k, j)); };
    const auto matrix = [&](int j) { return extents_.text(operand(j)) + (is_transposed(g_.op(k).what, g_.eq[k].attr, j) ? "^T" : ""); };
    const std::string name(g_.op(k).name);
    switch (s.what) {
      case kind::contract:
        return "a product, " + matrix(0) + " by " + matrix(1) + (s.onto >= 0 ? ", added to an array as it is computed" : "") +
               (s.summed.count > 0 ? ", summed along its batch as it is computed" : "");
      case kind::solve: return "linear systems, " + matrix(0) + ", with the right sides " + extents_.text(operand(1));
      case kind::triangle:
        if (g_.eq[k].attr[0] & from_product) return "a triangle of a product, of " + matrix(0) + " and " + matrix(1);
        return "a product with a triangle, " +
               (g_.eq[k].attr[0] & triangle_right ? matrix(1) + " by " + matrix(0) : matrix(0) + " by " + matrix(1));
      case kind::loop: {
        const loop_parts parts = loop_parts::of(g_.eq[k]);
        if (parts.open) return "steps while a condition holds: they are counted as one";
        const std::string count = extents_.of(g_.shape_of(k).e[0]).text();
        return parts.guarded ? "steps if a condition holds, " + count + " of them" : "steps in sequence, " + count + " of them";
      }
      case kind::gather: 
        return name + " copies rows of " + extents_.text(operand(0)) + ": rows by index" +
               (g_.eq[k].attr[1] ? ", turned so that lanes run along them" : "");
      case kind::scatter: return name + " adds rows to " + extents_.text(g_.shape_of(k)) + ": rows by index";
      case kind::move: {
        if (const int parts = parts_of(s); parts > 0)
          return "turns " + extents_.text(operand(0)) + " into " + std::to_string(parts) + " arrays, so that lanes run along rows";
        if (const int parts = joined_parts(s); parts > 0)
          return "turns " + std::to_string(parts) + " arrays into rows, " + extents_.text(g_.shape_of(k));
        if (is_written_in_parts(s, g_.op(k))) return name + ", no work: its operands are written where they lie in it";
        if (s.why == copy_reason::none) return name + " writes the zeros around its operand, which is written in place";
        return name + ' ' + along(k) + "copies: " + text_of(s.why);
      }
      case kind::own:
        if (is_box(g_.op(k))) return boxes(k);
        [[fallthrough]];
      default: return name + " of " + extents_.text(operand(0)) + ", a step of its own";
    }
  }
  EBB_COLD std::string boxes(int k) const {
    const std::string whole = extents_.text(g_.shape_of(whole_of_box(g_, k))), part = extents_.text(g_.shape_of(part_of_box(g_, k)));
    switch (box_form::of(g_.eq[k].attr).what) {
      case box_form::reads: return "copies " + part + " out of " + whole + ": a box that begins at an operand";
      case box_form::adds: return "adds " + part + " into zeros, " + whole + ": a box that begins at an operand";
      default: return "copies " + whole + ", and writes " + part + " into it: a box that begins at an operand";
    }
  }
  /// The number of arrays that later steps read in the result of a permutation, if it is read in parts only; else 0.
  EBB_COLD int parts_of(const plan_step& s) const {
    if (s.why != copy_reason::permutation || !read_by_[s.out].empty() || p_.buffers[s.out].is == plan_buffer::role::result) return 0;
    int parts = 0;
    for (const plan_buffer& b : p_.buffers) parts += b.whole == s.out;
    return parts;
  }
  /// The number of arrays that a concat has joined along its first axis for a permutation alone, which moves this axis last; else 0.
  EBB_COLD int joined_parts(const plan_step& s) const {
    if (s.why != copy_reason::permutation || written_by_[s.in[0]] < 0 || read_by_[s.in[0]].size() != 1) return 0;
    const plan_step& by = p_.steps[written_by_[s.in[0]]];
    const int last = g_.shape_of(s.equation).rank - 1;
    const bool joins = by.nest < 0 && by.what == kind::move && g_.op(by.equation).arity < 0 && g_.eq[by.equation].attr[0] == 0;
    return joins && packed_axis(g_.eq[s.equation].attr[0], last) == 0 ? by.joined.count : 0;
  }
  EBB_COLD std::string along(int k) const {
    if (g_.op(k).family == family_of<op::permute>)
      return extents_.text(g_.shape_of(g_.operand(k, 0))) + " to " + extents_.text(g_.shape_of(k)) + ' ';
    return "along axis " + std::to_string(g_.eq[k].attr[0] & 15) + ' ';
  }
  /// `sub, exp, 3 mul, sum over 1`: in their order, the same ones counted.
  EBB_COLD std::string fused(int step) const {
    counted_names ops;
    for (int k = 0; k < g_.size(); ++k) {
      if (p_.group_of[k] != step_with_equations(p_, step)) continue;
      const std::string name = std::string(g_.op(k).name) + (g_.op(k).what == kind::reduce ? axes(g_.eq[k]) : "");
      if (g_.op(k).what != kind::elementwise && g_.op(k).what != kind::reduce) continue;
      add_counted(ops, name);
    }
    return ops.empty() ? "nothing: it fills an array" : list_of_words(counted_words(ops), 16);
  }
  EBB_COLD static std::string axes(const equation& e) {
    std::string s = " over";
    for (std::int64_t a = e.attr[0]; a < e.attr[1]; ++a) s += ' ' + std::to_string(a);
    return s;
  }
  EBB_COLD std::string operations_of_element(int step) const {
    double each = 0;
    bool heavy = false;
    for (int k = 0; k < g_.size(); ++k) {
      if (p_.group_of[k] != step_with_equations(p_, step)) continue;
      if (g_.op(k).what == kind::elementwise) each += g_.op(k).heavy ? operations_of_heavy : 1;
      if (g_.op(k).what == kind::reduce) ++each;
      heavy = heavy || (g_.op(k).what == kind::elementwise && g_.op(k).heavy);
    }
    return "  " + formula(each).operations() + " an element" + (heavy ? ", exp and the like count as 16" : "") + '\n';
  }
  EBB_COLD std::string lanes(const nest& n) const {
    const formula row = length_of_row(n);
    if (row == formula(1)) return "";
    std::string s = "  lanes run along " + row.text() + " elements";
    if (runs_across_rows(n)) {
      s = "  lanes run along " + (length_of(n, n.loops - 2) * row).text() + " elements, across the ends of short rows";
    } else if (is_short(row)) {
      const int empty = static_cast<int>(lane_count) - static_cast<int>(row.number());
      s += ", so " + std::to_string(empty) + " of " + std::to_string(lane_count) + " are empty";
    }
    if (n.banded) s += ", some rows at a time";
    return s + '\n';
  }

 public:
  /// The elements of the innermost loop.
  EBB_COLD formula length_of_row(const nest& n) const { return length_of(n, n.loops - 1); }
  /// Whether lanes run across the ends of rows, see [note: short rows in one piece].
  EBB_COLD bool runs_across_rows(const nest& n) const {
    return n.loops > 1 && !n.banded && short_rows{n, static_length_of(n, n.loops - 2), static_length_of(n, n.loops - 1)}.are_one(p_);
  }
  EBB_COLD static bool is_short(const formula& row) {
    return row.is_number() && row.number() > 1 && row.number() < static_cast<double>(lane_count);
  }

 private:
  /// The indices of a loop.
  EBB_COLD formula length_of(const nest& n, int loop) const {
    formula r(1);
    for (int a = n.axis[loop]; a < n.axis[loop + 1]; ++a) r = r * extents_.of(g_.shapes[n.shape].e[a]);
    return r;
  }
  /// The same if it is static, else -1.
  EBB_COLD std::ptrdiff_t static_length_of(const nest& n, int loop) const {
    std::ptrdiff_t r = 1;
    for (int a = n.axis[loop]; a < n.axis[loop + 1]; ++a) {
      if (g_.shapes[n.shape].e[a] < 0) return -1;
      r *= g_.shapes[n.shape].e[a];
    }
    return r;
  }
  /// `parts of argument 0`; `argument 0 in another order` and `argument 0 repeated` if it has all elements; `argument 0 with zeros around`.
  EBB_COLD std::string name_of_part(int b) const {
    const int owner = owner_of(p_.buffers, b), view = p_.buffers[b].view;
    if (view >= 0 && has_zeros(p_.views[view])) return name_of_buffer(owner) + " with zeros around";
    shape s = g_.shapes[p_.buffers[b].shape];
    bool repeats = false;
    for (int a = 0; view >= 0 && a < s.rank; ++a)
      if (p_.views[view].along[a].is(0) && s.e[a] != 1) {
        s.e[a] = 1;
        repeats = true;
      }
    const bool is_whole = extents_.volume(s) == extents_.volume(g_.shapes[p_.buffers[owner].shape]);
    return is_whole ? name_of_buffer(owner) + (repeats ? " repeated" : " in another order") : "parts of " + name_of_buffer(owner);
  }
  EBB_COLD std::vector<std::string> read(int step) const {
    std::vector<std::string> words;
    std::vector<int> counts;
    const auto add = [&](int b) {
      const bool part = written_by_[b] < 0 && p_.buffers[b].is == plan_buffer::role::part;
      const std::string word = part ? name_of_part(b) : name_of_buffer(b);
      const auto found = std::find(words.begin(), words.end(), word);
      if (found != words.end()) ++counts[static_cast<std::size_t>(found - words.begin())];
      else {
        words.push_back(word);
        counts.push_back(1);
      }
    };
    const plan_step& s = p_.steps[step];
    if (s.what != kind::move) each_read(step, add);
    for (int j = 0; s.what == kind::move && j < s.joined.count; ++j)
      if (!is_in_place(p_, s, j)) add(p_.joined[s.joined.first + j]);
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i].starts_with("parts of "))
        words[i] = counts[i] == 1 ? "a part of " + words[i].substr(9) : std::to_string(counts[i]) + ' ' + words[i];
    return words;
  }
  /// The temporaries that a step writes: equal lines once.
  EBB_COLD std::vector<std::string> kept(int step) const {
    struct line {
      std::string text;
      int count = 0;
      formula bytes;
    };
    std::vector<line> lines;
    for (int b = 0; b < p_.buffers.size(); ++b) {
      if (written_by_[b] != step || first_reader(b) < 0) continue;
      const plan_buffer& x = p_.buffers[b];
      if (x.whole >= 0 && written_by_[x.whole] == read_by_[b][0] && read_by_[b].size() == 1) continue;  // in place
      const std::string text = type(g_.shapes[x.shape], x.type) + why_kept(b);
      auto found = std::find_if(lines.begin(), lines.end(), [&](const line& l) { return l.text == text; });
      if (found == lines.end()) found = lines.insert(found, {text, 0, {}});
      ++found->count;
      found->bytes += extents_.bytes(g_.shapes[x.shape], x.type);
    }
    constexpr std::size_t most = 5;
    std::vector<std::string> words;
    line rest;
    for (const line& l : lines)
      if (words.size() < most || lines.size() == most + 1)
        words.push_back((l.count > 1 ? std::to_string(l.count) + " times " : "") + l.text);
      else {
        rest.count += l.count;
        rest.bytes += l.bytes;
      }
    if (rest.count > 0) words.push_back(std::to_string(rest.count) + " more arrays, " + rest.bytes.bytes());
    return words;
  }
  /// The first step that reads b, or parts of it where a loop wrote it; -1: none. Parts of other arrays are named where they are read.
  EBB_COLD int first_reader(int b) const {
    int first = read_by_[b].empty() ? -1 : read_by_[b][0];
    if (p_.steps[written_by_[b]].nest < 0) return first;
    for (int c = 0; c < p_.buffers.size(); ++c)
      if (written_by_[c] < 0 && owner_of(p_.buffers, c) == b && !read_by_[c].empty() && (first < 0 || read_by_[c][0] < first))
        first = read_by_[c][0];
    return first;
  }
  EBB_COLD std::string why_kept(int b) const {
    const int first = first_reader(b), writer = written_by_[b];
    const plan_step &s = p_.steps[first], &own = p_.steps[writer];
    std::string reader = " for step " + std::to_string(first);
    if (s.nest < 0 && s.what == kind::loop) return reader + ": its steps read arrays";
    if (s.nest < 0) return reader + ": " + std::string(g_.op(s.equation).name) + " reads arrays";
    if (own.nest < 0) return reader;
    const nest& n = p_.nests[own.nest];
    for (int i = 0; i < n.reduces.count; ++i)
      if (p_.reduces[n.reduces.first + i].buffer == b) return reader + ": a reduction is complete after its loop";
    if (p_.nests[s.nest].shape != n.shape) return reader + ": that loop runs over another shape";
    const auto is_sum_of_writer = [&](int other) {
      for (int i = 0; i < n.reduces.count; ++i)
        if (p_.reduces[n.reduces.first + i].buffer == other) return true;
      return false;
    };
    int latest = -1;
    bool is_moved = false, waits_for_sum = false, moves_another = false;
    each_read(first, [&](int read) {
      const int other = owner_of(p_.buffers, read);
      if (other == b) is_moved = is_moved || read != b;
      else if (written_by_[other] == writer) (is_sum_of_writer(other) ? waits_for_sum : moves_another) = true;
      else if (written_by_[other] > latest) latest = written_by_[other];
    });
    if (latest > writer) return reader + ": it waits for step " + std::to_string(latest);
    if (is_moved) return reader + ": that loop reads it in other places than its own";
    if (waits_for_sum) return reader + ": it waits for a reduction of this step";
    if (moves_another) return reader + ": that loop reads another array of this step in other places than its own";
    if (p_.nests[s.nest].run_from == n.run_from) return reader;
    const bool apart = n.reduces.count == 0 && p_.row_symbol < 0;  // see [note: sums apart]
    return reader + (apart ? ": it adds all rows, and what comes before it runs on some of them" : ": it reduces other axes");
  }

  const graph& g_;
  const plan& p_;
  const extent_formulas& extents_;
  vec<int> written_by_;        // by buffer
  vec<vec<int>> read_by_;
};

}  // namespace ebb::inline EBB_ABI::detail
