// ebb/explain/window_words.hpp — the values that loops compute again where they read slices of them, and the reasons why others are kept.
// SPDX-License-Identifier: BSL-1.0
//
// The pass itself gives the reasons: see [note: computed again].
#pragma once

#include "plan_words.hpp"

#include "../pass/windows.hpp"

namespace ebb::inline EBB_ABI::detail {

class window_words {
 public:
  EBB_COLD_CTOR window_words(const noted_windows& of, const plan& p, const plan_words& words) : of_(of), p_(p), words_(words) {}

  /// The lines of a step: values whose slices it computes, and values that it keeps for slices of later steps.
  EBB_COLD std::string of_step(int step) const {
    std::string s;
    for (int n = 0; n < of_.notes.size(); ++n) {
      if (!is_first_of_value(n)) continue;
      s += computed(of_.notes[n].value, step_with_equations(p_, step));
      if (is_kept(n, step)) s += kept(n);
    }
    return s;
  }
  /// A rewrite with which the step does not keep a value. Empty if it keeps none, if the rewrite would not change that, or would cost more.
  EBB_COLD std::string advice_for(int step) const {
    for (int n = 0; n < of_.notes.size(); ++n) {
      if (!is_first_of_value(n) || !is_kept(n, step)) continue;
      const window_reason why = of_.notes[first_reason(n)].why;
      if ((why != window_reason::work && why != window_reason::windows) || of_.notes[first_reason(n)].is_place) continue;
      return "to compute " + type(n) + " again where slices of it are read, slice what it is computed from: f(slice(x)) for slice(f(x))";
    }
    return "";
  }

 private:
  const graph& g() const { return of_.g; }
  EBB_COLD std::string type(int n) const { return words_.type(g().shapes[of_.notes[n].shape], of_.notes[n].op->result); }
  EBB_COLD bool is_first_of_value(int n) const {
    for (int i = 0; i < n; ++i)
      if (of_.notes[i].value == of_.notes[n].value) return false;
    return true;
  }
  /// Whether a step computes a value for windows that are read from memory.
  EBB_COLD bool is_kept(int n, int step) const {
    const int at = of_.notes[n].at;
    return at >= 0 && p_.group_of[at] == step && first_reason(n) >= 0;
  }
  /// The first note of the same value with a reason of its own; -1: none.
  EBB_COLD int first_reason(int n) const {
    for (int i = n; i < of_.notes.size(); ++i)
      if (const window_note& x = of_.notes[i];
          x.value == of_.notes[n].value && x.why != window_reason::none && x.why != window_reason::stored)
        return i;
    return -1;
  }
  /// `2 slices and 1 pad of f64[n]`, of the windows for which which(note) holds; nothing if there is none.
  EBB_COLD std::string windows_of(int value, auto&& which) const {
    int slices = 0, pads = 0, any = -1;
    for (int n = 0; n < of_.notes.size(); ++n) {
      if (of_.notes[n].value != value || !which(n)) continue;
      ++(of_.notes[n].is_place ? pads : slices);
      any = n;
    }
    if (any < 0) return "";
    const auto counted = [](int count, const char* one) { return std::to_string(count) + ' ' + one + (count == 1 ? "" : "s"); };
    std::string s = slices > 0 ? counted(slices, "slice") : "";
    if (pads > 0) s += (slices > 0 ? " and " : "") + counted(pads, "pad");
    return s + " of " + type(any);
  }
  EBB_COLD std::string computed(int value, int step) const {
    counted_names ops;
    vec<char> is_here(of_.notes.size(), 0);
    int operations = 0;
    for (int k = 0; k < g().size(); ++k) {
      const int n = of_.note_of[k];
      if (n < 0 || of_.notes[n].value != value || p_.group_of[k] != step || g().op(k).what != kind::elementwise) continue;
      is_here[n] = 1;
      ++operations;
      add_counted(ops, std::string(g().op(k).name));
    }
    if (operations == 0) return "";
    const std::string all = windows_of(value, [&](int n) { return is_here[n] != 0; });
    const bool is_one = all.starts_with("1 ") && all.find(" and ") == std::string::npos;
    return "  computes " + all + " again instead of reading " + (is_one ? "it: " : "them: ") +
           list_of_words(counted_words(ops), 16) + ", " + formula(operations).operations() + " an element\n";
  }
  EBB_COLD std::string kept(int n) const {
    const window_note& x = of_.notes[first_reason(n)];
    const std::string all = windows_of(x.value, [&](int i) { return of_.notes[i].why != window_reason::none; });
    return "  " + std::string(x.op->name) + " is not computed again for " + all + ": " + reason(x) + '\n';
  }
  EBB_COLD static std::string reason(const window_note& x) {
    const std::string most = std::to_string(windows_of_loops::most);
    switch (x.why) {
      case window_reason::result: return "a result is in memory anyway";
      case window_reason::later: return "a later loop reads it from memory anyway";
      case window_reason::reader: return std::string(x.by->name) + " needs it in memory";
      case window_reason::dear:
        if (x.by->what == kind::elementwise) return "to read it takes less time than " + std::string(x.by->name);
        return std::string(x.by->name) + " is not computed again";
      case window_reason::work: return "each takes more than " + most + " operations and arrays";
      default:
        return "each takes " + std::to_string(x.operations) + " operations and arrays, and " + std::to_string(x.windows) +
               " of them more than " + most;
    }
  }

  const noted_windows& of_;
  const plan& p_;
  const plan_words& words_;
};

}  // namespace ebb::inline EBB_ABI::detail
