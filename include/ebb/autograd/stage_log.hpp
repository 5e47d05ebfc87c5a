// ebb/autograd/stage_log.hpp — EBB_LOGS=passes: the stages of each region on the tape, when it is first called with variables.
// SPDX-License-Identifier: BSL-1.0
//
// [note: passes in a program]
// Regions are constants: programs that run them do not contain the passes, which take seconds to compile. So the log makes the stages
// again at run time, through a function pointer that ebb::enable_pass_log() sets. With the target ebb::compiled, whose library contains the
// passes, EBB_LOGS=passes is enough.
// A region's trace is shown after simplify: a region calls the compiled function. If its pulls run in an autocast context, only the halves
// and their later stages are shown, because programs do not contain the context either.
#pragma once

#include "derivation.hpp"

#include "../base/numbering.hpp"
#include "../base/vec.hpp"
#include "../exec/stage_texts.hpp"

#include <atomic>

namespace ebb::inline EBB_ABI {

namespace detail {

EBB_COLD std::string stages_of_region(const segment_graphs& s) {
  stage_texts seen(stages::all::has, true);
  vec<int> edges;
  for (int number : s.edges) edges.push(number);
  halves given;
  if (!s.pulls) given = {s.forward.thaw(), s.backward.thaw(), s.saves};
  run_stages_of_region(s.traced.thaw(), edges, s.pulls, given, s.saves_values);
  return seen.text;
}

using region_stages = std::string (*)(const segment_graphs&);
#if defined(EBB_COMPILED)
inline std::atomic<region_stages> stages_of_regions = stages_of_region;
#else
inline std::atomic<region_stages> stages_of_regions = nullptr;
#endif

/// No static of say_stages: Clang warns of variables in a function that ebb::compiled has, because a file may inline it.
inline numbering& logged_regions() {
  static numbering regions;
  return regions;
}

/// Logs the stages, once for each region.
EBB_COLD void say_stages(const char* call, const char* name, const segment_graphs& s) {
  if (!logged_regions()(&s).is_new) return;
  const std::string heading = std::string("passes: ") + call + " of " + name + '\n';
  const region_stages stages = stages_of_regions.load();
  say(log_topic::passes, heading + (stages ? stages(s) : "  not in this program: call ebb::enable_pass_log(), or link ebb::compiled\n"));
}
inline void log_stages(const char* call, const char* name, const segment_graphs& s) {
  if (logs(log_topic::passes)) [[unlikely]] say_stages(call, name, s);
}

}  // namespace detail

/// Links the passes into a program that is compiled without ebb::compiled, so that EBB_LOGS=passes, or ebb::set_log, prints the stages of
/// its regions.   See [note: passes in a program].
inline void enable_pass_log() { detail::stages_of_regions = detail::stages_of_region; }

}  // namespace ebb::inline EBB_ABI
