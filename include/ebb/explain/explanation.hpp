// ebb/explain/explanation.hpp — the explanation of a program: its summary and its steps, those of the bodies of its loops included.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "advice.hpp"
#include "window_words.hpp"

#include "../pass/pipeline.hpp"

#include <cmath>
#include <ostream>

namespace ebb::inline EBB_ABI {

/// A program in plain words.
class explanation {
 public:
  struct step {
    std::string name;        // `step 2`
    std::string what, text;  // `a loop over [n]`; all lines
    std::string advice;      // a rewrite that makes it cheaper, or nothing
    formula_work work;       // of one run: bytes read and written, operations; see [note: counted work]
    int depth = 0;           // how many loops it is in
    formula times = 1;       // how often a call runs it
  };

  /// g: see lowered_but_windows.
  EBB_COLD_CTOR explanation(const graph& g, const std::map<int, formula>& known) { add(g, known, 0, 1, ""); }

  const std::vector<step>& steps() const { return steps_; }
  /// The work of a call.
  const formula_work& work() const { return work_; }
  /// The memory of what is kept from step to step, but for what is kept for some rows at a time.
  const formula& memory() const { return memory_; }

  EBB_COLD std::string text() const {
    std::string s = std::to_string(steps_.size()) + (steps_.size() == 1 ? " step, " : " steps, ") + work_.operations.operations() + '\n';
    s += "reads " + work_.read.bytes() + ", writes " + work_.written.bytes() + "; arguments have " + arguments_.bytes() + ", results " +
         results_.bytes() + '\n';
    s += share("most bytes: ", [](const formula_work& w) { return w.read + w.written; });
    s += share("most operations: ", [](const formula_work& w) { return w.operations; });
    if (memory_ != formula()) s += "keeps " + memory_.bytes() + " between steps\n";
    if (row_memory_ != formula()) s += "keeps " + row_memory_.bytes() + " a row between steps, for some rows at a time\n";
    if (computes_windows_)
      s += "slices computed again: without that " + std::to_string(steps_without_) + (steps_without_ == 1 ? " step, " : " steps, ") +
           operations_without_.operations() + '\n';
    for (const step& x : steps_) s += x.text;
    return s;
  }

 private:
  /// `most bytes: step 3, 60 %`, if there are several steps and the extents are known.
  std::string share(const char* what, formula (*of)(const formula_work&)) const {
    const formula all = of(work_);
    const step* most = nullptr;
    double largest = 0;
    for (const step& x : steps_)
      if (const formula f = x.times * of(x.work); all.is_number() && f.number() > largest) {
        largest = f.number();
        most = &x;
      }
    if (!most || steps_.size() == 1) return "";
    return what + most->name + ", " + std::to_string(std::lround(100 * largest / all.number())) + " %\n";
  }
  /// inside: ` in step 2`, for the body of that step.
  EBB_COLD void add(const graph& given, const std::map<int, formula>& known, int depth, const formula& times, const std::string& inside) {
    const noted_windows noted = windows_noted(given);
    const graph& g = noted.g;
    const plan p = make_plan(g);
    const extent_formulas extents(g, known);
    const detail::plan_words words(g, p, extents);
    const detail::window_words windows(noted, p, words);
    add_without_windows(given, noted, known, times);
    const detail::plan_advice advice(g, p, extents, words, depth > 0);
    const std::string indent(static_cast<std::size_t>(depth) * 4, ' ');
    if (depth == 0) count_arguments(g, extents);
    for (const plan_place& x : p.places) {
      const shape& s = g.shapes[x.shape];
      if (x.rows == row_use::within) row_memory_ += row_bytes(s, x.type, p.row_symbol, g, extents);
      else memory_ += extents.bytes(s, x.type);
    }
    for (int i = 0; i < p.steps.size(); ++i) {
      detail::explained_step found = words.step(i);
      found.text += windows.of_step(i);
      std::string hint = advice.of(i, found.work);
      if (hint.empty()) hint = windows.advice_for(i);
      if (!hint.empty()) found.text += "  advice: " + hint + '\n';
      std::string text;
      for (const part& run : p.blocks)
        if (run.first == i)
          text += "the next " + std::to_string(run.count) + " steps run on " + height(g, p, extents) + " of the " +
                  extents.of(p.row_symbol).text() + " rows at a time: what they keep stays in the cache\n";
      for (const plan_band& b : p.bands)
        if (b.first == i)
          text += "the next " + std::to_string(b.count) + " steps run on some rows at a time: the matrix is read from memory once\n";
      text += "step " + std::to_string(i) + ": " + found.text;
      steps_.push_back({"step " + std::to_string(i) + inside, found.what, indented(text, indent), hint, found.work, depth, times});
      work_ += {times * found.work.read, times * found.work.written, times * found.work.operations};
      if (p.steps[i].what == kind::loop && p.steps[i].nest < 0)
        add_body(g, p.steps[i].equation, extents, depth, times, " in step " + std::to_string(i) + inside);
    }
  }
  /// The program if no window were computed again.
  EBB_COLD void add_without_windows(const graph& g, const noted_windows& noted, const std::map<int, formula>& known, const formula& times) {
    for (const window_note& n : noted.notes) computes_windows_ = computes_windows_ || n.why == window_reason::none;
    const plan p = make_plan(g);
    const extent_formulas extents(g, known);
    steps_without_ += p.steps.size();
    for (int i = 0; i < p.steps.size(); ++i) operations_without_ += times * extents.work(work_of_step(g, p, i)).operations;
  }
  EBB_COLD void add_body(const graph& g, int k, const extent_formulas& extents, int depth, const formula& times,
                         const std::string& inside) {
    const graph body = lowered_but_windows(g.subs[g.eq[k].sub]);
    const loop_parts parts = loop_parts::of(g.eq[k]);
    std::map<int, formula> known;
    for (int s = 0; s < body.syms.count(); ++s)
      if (const extent_origin& o = body.syms.origin(s); o.rule == extent_rule::argument && !o.is_value())
        known[s] = extents.of(g.shape_of(g.operand(k, o.a)).e[axis_of_operand(parts, o)]);
    add(body, known, depth + 1, times * extents.of(g.shape_of(k).e[0]), inside);
  }
  EBB_COLD void count_arguments(const graph& g, const extent_formulas& extents) {
    for (int k = 0; k < g.size(); ++k)
      if (g.op(k).what == kind::input) arguments_ += extents.bytes(g.shape_of(k), g.op(k).result);
    for (int o : g.out)
      if (o >= 0) results_ += extents.bytes(g.shape_of(o), g.op(o).result);
  }
  EBB_COLD static formula row_bytes(const shape& s, dtype type, int row, const graph& g, const extent_formulas& extents) {
    formula r(static_cast<double>(size_of(type)));
    for (int a = 0; a < s.rank; ++a)
      if (g.syms.find(s.e[a]) != g.syms.find(row)) r = r * extents.of(s.e[a]);
    return r;
  }
  /// The number of rows in a block, if the extents are known.
  EBB_COLD static std::string height(const graph& g, const plan& p, const extent_formulas& extents) {
    formula bytes;
    const auto add = [&](int shape, dtype type) { bytes += row_bytes(g.shapes[shape], type, p.row_symbol, g, extents); };
    for (const plan_place& x : p.places)
      if (x.rows == row_use::within) add(x.shape, x.type);
    for (const plan_buffer& b : p.buffers)
      if (detail::advances(b)) add(b.shape, b.type);
    const formula rows = extents.of(p.row_symbol);
    if (!bytes.is_number() || !rows.is_number()) return "some";
    const auto all = static_cast<std::size_t>(rows.number());
    const std::size_t most = detail::height_of_block(all, static_cast<std::size_t>(bytes.number()));
    return most < all ? std::to_string(most) : "all";
  }
  EBB_COLD static std::string indented(const std::string& text, const std::string& indent) {
    std::string s;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      s += indent + text.substr(at, end - at);
      at = end;
    }
    return s;
  }

  std::vector<step> steps_;
  formula_work work_;
  formula memory_, row_memory_, arguments_, results_;
  bool computes_windows_ = false;
  int steps_without_ = 0;  // and their operations: if no window were computed again
  formula operations_without_;
};

inline std::ostream& operator<<(std::ostream& to, const explanation& e) { return to << e.text(); }

}  // namespace ebb::inline EBB_ABI
