// ebb/exec/stage_texts.hpp — the stages of a function as text: for EBB_LOGS=passes and for ebb::print.
// SPDX-License-Identifier: BSL-1.0
//
//   passes: ebb::compile of mul+sum
//     traced
//       a = input 0 : f32[n]
//       ...
//     differentiated, both halves
//       ...
//     lowered, backward half: as before
// EBB_LOGS=passes prints the regions on the tape, each when it is first recorded, and the graphs that are derived at run time. Functions
// that are only called have no graphs in the program: with them the object file of an LSTM has 2.5 times its size. ebb::print shows those.
// Stages that are made again for their text may have the equations of one pull in another order: g++ evaluates the arguments of a call
// from the right at run time, and from the left in constant expressions.
#pragma once

#include "../base/log.hpp"
#include "../pass/pipeline.hpp"
#include "../plan/print.hpp"

#include <memory>
#include <string>

namespace ebb::inline EBB_ABI {

/// Collects the text of the stages that `wanted` names. Headed: each under its name, and only what a stage has changed.
class stage_texts final : public stage_watch {
 public:
  EBB_SCOPE stage_texts(bool (*wanted)(stage), bool headed) : wanted_(wanted), headed_(headed) {}

  EBB_COLD void see(stage s, part_of_region part, const graph& g) override {
    if (!wanted_(s)) return;
    constexpr const char* parts[] = {"", ", both halves", ", forward half", ", backward half"};
    const std::string shown = text_of_stage(s, g);
    std::string& before = before_[static_cast<int>(part)];
    const bool is_new = shown != before;
    before = shown;
    if (!headed_) {
      const bool is_half = part == part_of_region::forward_half || part == part_of_region::backward_half;
      if (is_half) text += std::string(parts[static_cast<int>(part)] + 2) + '\n';
      text += shown;
      return;
    }
    text += "  " + std::string(name_of(s)) + parts[static_cast<int>(part)] + (is_new ? "\n" + shown : ": as before\n");
  }

  std::string text;

 private:
  EBB_COLD std::string text_of_stage(stage s, const graph& g) const {
    const std::string indent = headed_ ? "    " : "";
    return s == stage::planned ? plan_text(g, make_plan(g)).text(indent) : to_string(g, indent);
  }

  bool (*wanted_)(stage);
  bool headed_;
  std::string before_[4];
};

/// All stages of a region on the tape, from its trace on. context: that of its pulls; none: the halves are given.
EBB_COLD void run_stages_of_region(const graph& traced, const vec<int>& arguments, maybe_context context, const halves& given, bool saves) {
  note_stage<watched>(stage::traced, traced);
  const auto finish = [](const graph& half, part_of_region part) {
    note_stage<watched>(stage::planned, lowered<watched>(half, part), part);
  };
  halves h = given;
  if (context) {
    const graph both = joint_of_region<watched>(traced, arguments, *context.operator->());
    h = split<watched>(both, traced.inputs, traced.out.size(), saves);
  } else {
    note_stage<watched>(stage::partitioned, h.forward, part_of_region::forward_half);
    note_stage<watched>(stage::partitioned, h.backward, part_of_region::backward_half);
  }
  finish(distinct_forward<watched>(h.forward).g, part_of_region::forward_half);
  finish(distinct_backward<watched>(h.backward).g, part_of_region::backward_half);
}

/// EBB_LOGS=passes: prints the stages that run while it lives, under a heading.
class pass_log {
 public:
  EBB_SCOPE pass_log(const char* what, const char* name) {
    if (logs(log_topic::passes)) [[unlikely]] begin(what, name);
  }
  ~pass_log() {
    if (seen_) [[unlikely]] end();
  }
  pass_log(const pass_log&) = delete;
  pass_log& operator=(const pass_log&) = delete;

 private:
  EBB_COLD void begin(const char* what, const char* name) {
    heading_ = std::string("passes: ") + what + " of " + name + '\n';
    seen_ = std::make_unique<stage_texts>(stages::all::has, true);
  }
  EBB_COLD void end() {
    if (!seen_->text.empty()) say(log_topic::passes, heading_ + seen_->text);
  }

  std::string heading_;
  std::unique_ptr<stage_texts> seen_;
};

}  // namespace ebb::inline EBB_ABI
