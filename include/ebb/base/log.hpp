// ebb/base/log.hpp — log messages about the library's decisions, by topic; the environment or the program turns topics on.
// SPDX-License-Identifier: BSL-1.0
//
//   EBB_LOGS=autocast,plan ./program
// Unknown topics are reported on standard error, with a list of the known ones, when the log is first used.
#pragma once

#include "config.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ebb::inline EBB_ABI {

enum class log_topic : unsigned { autocast, aot, plan, compiled_autograd, compiled_autograd_verbose, passes };

EBB_COLD constexpr std::string_view name_of(log_topic t) {
  constexpr std::string_view names[] = {"autocast", "aot", "plan", "compiled_autograd", "compiled_autograd_verbose", "passes"};
  return names[static_cast<unsigned>(t)];
}

/// Receives messages: each text is one or more whole lines.
using log_sink = void (*)(log_topic, std::string_view);

namespace detail {

inline constexpr unsigned topic_count = static_cast<unsigned>(log_topic::passes) + 1;

inline void print_log(log_topic, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// One bit for each topic. Spaces around a name do not count; unknown names are appended to `unknown`.
EBB_COLD unsigned topics_in(std::string_view list, std::string& unknown) {
  unsigned topics = 0;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    unsigned t = 0;
    while (t < topic_count && name_of(static_cast<log_topic>(t)) != word) ++t;
    if (t < topic_count) topics |= 1u << t;
    else if (!word.empty()) unknown.append(unknown.empty() ? "'" : ", '").append(word).append("'");
  }
  return topics;
}
/// A misspelled topic would be as silent as one without messages: so it is reported, but it does not end the program.
EBB_COLD std::string warning_of(const std::string& unknown) {
  std::string s = "warning: EBB_LOGS: " + unknown + ": no such topic; there are";
  for (unsigned t = 0; t < topic_count; ++t) s.append(t ? ", " : " ").append(name_of(static_cast<log_topic>(t)));
  return s + "\n";
}
EBB_COLD unsigned topics_in_environment() {
  const char* const list = std::getenv("EBB_LOGS");
  std::string unknown;
  const unsigned topics = list ? topics_in(list, unknown) : 0;
  if (!unknown.empty()) std::fputs(warning_of(unknown).c_str(), stderr);
  return topics;
}

struct logging {
  std::atomic<unsigned> topics{topics_in_environment()};
  std::atomic<log_sink> sink{print_log};
};
inline logging& log_state() {
  static logging l;
  return l;
}

}  // namespace detail

/// Whether the topic is on.
inline bool logs(log_topic t) { return detail::log_state().topics.load(std::memory_order_relaxed) >> static_cast<unsigned>(t) & 1; }
/// Turns a topic on or off for the process; EBB_LOGS sets the initial state.
EBB_COLD void set_log(log_topic t, bool on) {
  const unsigned bit = 1u << static_cast<unsigned>(t);
  if (on) detail::log_state().topics.fetch_or(bit);
  else detail::log_state().topics.fetch_and(~bit);
}
/// Sends messages to a sink; null means standard error. Returns the previous sink.
inline log_sink set_log_sink(log_sink sink) { return detail::log_state().sink.exchange(sink ? sink : detail::print_log); }

inline void say(log_topic t, std::string_view text) {
  if (logs(t)) detail::log_state().sink.load()(t, text);
}

}  // namespace ebb::inline EBB_ABI
