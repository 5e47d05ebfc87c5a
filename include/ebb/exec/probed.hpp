// ebb/exec/probed.hpp — the description of a program for a profiler: its name, and the name and work of each step.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/probe.hpp"
#include "../plan/print.hpp"
#include "../plan/work.hpp"

#include <atomic>
#include <string>

#if defined(EBB_PROFILE)
namespace ebb::inline EBB_ABI {

/// The description of a program, made when the program is first profiled. It lives as long as the process, since profiles refer to it.
class probed_program {
 public:
  /// has_bands: whether the steps of a band take turns. Then they are reported as one.
  EBB_COLD_CTOR probed_program(const graph& g, const plan& p, bool has_bands) : g_(g), p_(p), name_(names_of(g, p, -1)) {
    const plan_text text(g_, p_);
    for (int i = 0; i < p_.steps.size(); ++i)
      steps_.push({"step " + std::to_string(i) + ": " + text.kind_of(p_.steps[i]), work_of_step(g_, p_, i)});
    for (int i = 0; i < p_.steps.size(); ++i)
      if (p_.steps[i].nest >= 0) steps_[i].name += ": " + names_of(g_, p_, i);
    for (const plan_band& b : p_.bands) {
      if (!has_bands) break;
      step& first = steps_[b.first];
      for (int i = b.first + 1; i < b.first + b.count; ++i) {
        first.name += "; " + steps_[i].name;
        for (const work_term& t : steps_[i].work) first.work.push(t);
        steps_[i].work.shrink(0);
      }
    }
    for (const step& s : steps_)
      for (const work_term& t : s.work) all_.push(t);
  }
  probed_program(const probed_program&) = delete;
  probed_program& operator=(const probed_program&) = delete;

  /// The description of a compiled program.
  template <class P>
  static const probed_program& of() {
    static const probed_program p(P::g.thaw());
    return p;
  }
  /// Makes the description of a graph that was made at run time.
  EBB_COLD static const probed_program& keep(const graph& g, const plan& p) {
    static std::atomic<const probed_program*> last = nullptr;
    probed_program* const made = new probed_program(g, p, false);
    made->before_ = last.exchange(made);
    return *made;
  }

  /// The names of its ops.
  const std::string& name() const { return name_; }
  const graph& equations() const { return g_; }
  const plan& steps() const { return p_; }

  /// is_one: whether its steps run as one. Then they are not reported.
  EBB_COLD void begin(probe& p, const char* call, const std::size_t* symbol, bool is_one) const {
    if (!probe_listener_here) return;
    p.begin({probed::program, name_.c_str(), call, is_one ? work_of(all_, symbol) : probed_work(), this});
  }
  EBB_COLD void begin_step(probe& p, int i, const std::size_t* symbol) const {
    if (!probe_listener_here) return;
    p.begin({probed::step, steps_[i].name.c_str(), name_.c_str(), work_of(steps_[i].work, symbol), this, i});
  }

 private:
  explicit probed_program(const graph& g) : probed_program(g, make_plan(g), true) {}

  struct step {
    std::string name;
    vec<work_term> work;
  };
  /// The names of the ops of a step, or of all steps; if there are many, of the first ones.
  EBB_COLD static std::string names_of(const graph& g, const plan& p, int step) {
    constexpr std::size_t longest = 56;
    std::string text;
    for (int k = 0; k < g.size(); ++k) {
      const kind what = g.op(k).what;
      const bool computes = what != kind::input && what != kind::literal && what != kind::broadcast && what != kind::reshape &&
                            what != kind::result && what != kind::index;
      if (!computes || (step >= 0 && p.group_of[k] != step_with_equations(p, step))) continue;
      if (text.size() + g.op(k).name.size() > longest) return text + "+...";
      if (!text.empty()) text += '+';
      text += g.op(k).name;
    }
    return text.empty() ? "copy" : text;
  }

  graph g_;
  plan p_;
  std::string name_;
  vec<step> steps_;
  vec<work_term> all_;
  const probed_program* before_ = nullptr;  // the list of descriptions of graphs that were made at run time
};

}  // namespace ebb::inline EBB_ABI
#endif
