// ebb/profile/picture.hpp — draws the plan of a profiled program as an SVG picture, with its hot steps coloured.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "profile.hpp"

#include "../exec/probed.hpp"
#include "../svg/graph.hpp"

#if defined(EBB_PROFILE)
namespace ebb::inline EBB_ABI {

/// Draws the plan of one program: among the programs whose text_of contains `name`, the one whose steps took the most time. Each step is
/// labelled with its time, its share of the time of all steps, and its share of the machine's limit.
///   std::ofstream("hot.svg") << ebb::to_svg(p, "ebb::value_and_grad");
/// Throws: error if there is no such program.
EBB_COLD std::string to_svg(const profile& p, const std::string& name = "") {
  const profile_row* found = nullptr;
  double longest = -1;
  const auto time_of_steps = [&](const void* program) {
    std::int64_t ns = 0;
    for (const profile_row& r : p.rows())
      if (r.is == probed::step && r.program == program) ns += r.nanoseconds;
    return static_cast<double>(ns);
  };
  for (const profile_row& r : p.rows())
    if (r.is == probed::program && text_of(r).find(name) != std::string::npos && time_of_steps(r.program) > longest) {
      found = &r;
      longest = time_of_steps(r.program);
    }
  if (!found) raise("ebb::to_svg: the profile has no program that is called '" + name + "'");
  const probed_program& program = *static_cast<const probed_program*>(found->program);
  vec<step_heat> heat(program.steps().steps.size(), {});
  for (const profile_row& r : p.rows()) {
    if (r.is != probed::step || r.program != found->program) continue;
    const double ns = static_cast<double>(r.nanoseconds), share = longest > 0 ? ns / longest : 0;
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f %%", 100 * share);
    const std::string limit = detail::limit_text(r, profile::machine());
    std::string text = std::to_string(r.calls) + " calls, " + detail::time_text(ns) + ", " + percent;
    if (!limit.empty()) text += "; of limit: " + limit;
    heat[r.step] = {share, std::move(text)};
  }
  return to_svg(program.equations(), program.steps(), text_of(*found), heat);
}

}  // namespace ebb::inline EBB_ABI
#endif
