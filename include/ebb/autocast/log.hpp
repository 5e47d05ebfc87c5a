// ebb/autocast/log.hpp — EBB_LOGS=autocast: which op of a region was cast where, said once for each region.
// SPDX-License-Identifier: BSL-1.0
//
//   autocast: ebb::compile of tanh+matmul
//     forward    matmul operand 0 f32 -> bf16
//     forward    matmul operand 1 f32 -> bf16
//     backward   matmul operand 1 f32 -> bf16
#pragma once

#include "scope.hpp"

#include "../base/log.hpp"
#include "../graph/frozen.hpp"
#include "../op/convert.hpp"

#include <array>
#include <string>

namespace ebb::inline EBB_ABI::detail {

/// Operand `operand` of `op` is converted first. Names only: a graph that is read at run time brings the functions of its ops with it.
struct cast_record {
  std::string_view op;
  int operand = 0;
  dtype from{}, to{};
};

/// The casts in g that autocast has made: those it has marked, and, where they have no marks (shared ones of arguments, all in a backward
/// half), those to a narrow dtype in front of ops of class `low`.
constexpr vec<cast_record> casts_in(const graph& g, bool marked) {
  vec<cast_record> r;
  for (int k = 0; k < g.size(); ++k)
    for (int j = 0; j < g.eq[k].count; ++j) {
      const equation& e = g.eq[g.operand(k, j)];
      const bool is_cast = e.op->family == family_of<op::cast<float>> && can_be_cast(e.op->operands[0]) && can_be_cast(e.op->result);
      if (!is_cast) continue;
      const bool may_be_shared = !marked || g.op(g.operand(g.operand(k, j), 0)).what == kind::input;
      if (is_cast_of_each_use(e) || (may_be_shared && g.op(k).autocast == precision::low && e.op->result != dtype::f32))
        r.push({g.op(k).name, j, e.op->operands[0], e.op->result});
    }
  return r;
}
/// Most programs have none, and are not thawed for that.
template <class G>
inline constexpr bool has_casts = [] {
  for (int k = 0; k < G::g.size(); ++k)
    if (G::g.eq[static_cast<std::size_t>(k)].op->family == family_of<op::cast<float>>) return true;
  return false;
}();
template <class G, bool Marked>
inline constexpr auto casts_of = [] {
  // By itself: clang 16 keeps what a template argument allocates.
  constexpr int count = [] { return has_casts<G> ? casts_in(G::g.thaw(), Marked).size() : 0; }();
  std::array<cast_record, static_cast<std::size_t>(count)> r{};
  if constexpr (count > 0) {
    const vec<cast_record> found = casts_in(G::g.thaw(), Marked);
    for (int i = 0; i < count; ++i) r[static_cast<std::size_t>(i)] = found[i];
  }
  return r;
}();

inline void add_casts(std::string& text, const char* half, const auto& casts) {
  for (const cast_record& c : casts)
    text += std::string("  ") + half + std::string(c.op) + " operand " + std::to_string(c.operand) + ' ' + std::string(name_of(c.from)) +
            " -> " + std::string(name_of(c.to)) + '\n';
}
inline std::string cast_log_of(const char* call, const char* region) { return std::string("autocast: ") + call + " of " + region + '\n'; }

template <class Trace, class Program, class... Backward>
[[gnu::cold, gnu::noinline]] bool say_casts(const char* call) {
  std::string text = cast_log_of(call, joined_names<Trace>.data());
  add_casts(text, sizeof...(Backward) == 0 && holds_derivatives<Program> ? "both       " : "forward    ", casts_of<Program, true>);
  (add_casts(text, "backward   ", casts_of<Backward, false>), ...);
  say(log_topic::autocast, text);
  return true;
}

/// Trace: the region. Program: the program that runs, or the forward half if Backward is the other one.
template <class Trace, class Program, class... Backward>
EBB_INLINE void log_casts(const char* call) {
  if constexpr (!casts_of<Program, true>.empty() || (!casts_of<Backward, false>.empty() || ...)) {
    if (!logs(log_topic::autocast)) [[likely]] return;
    static const bool said = say_casts<Trace, Program, Backward...>(call);
    static_cast<void>(said);
  }
}

}  // namespace ebb::inline EBB_ABI::detail
