// ebb/base/log.hpp — what the library says of its decisions: by topic, where the environment or the program asks for it.
// SPDX-License-Identifier: BSL-1.0
//
//   EBB_LOGS=autocast,plan ./program
#pragma once

#include "config.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ebb::inline EBB_ABI {

enum class log_topic : unsigned { autocast, aot, plan, compiled_autograd, compiled_autograd_verbose };

constexpr std::string_view name_of(log_topic t) {
  constexpr std::string_view names[] = {"autocast", "aot", "plan", "compiled_autograd", "compiled_autograd_verbose"};
  return names[static_cast<unsigned>(t)];
}

/// Takes what is said, a text of whole lines.
using log_sink = void (*)(log_topic, std::string_view);

namespace detail {

inline void print_log(log_topic, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// One bit a topic.
constexpr unsigned topics_in(std::string_view list) {
  unsigned topics = 0;
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    const std::string_view one = list.substr(0, end);
    for (unsigned t = 0; t <= static_cast<unsigned>(log_topic::compiled_autograd_verbose); ++t)
      if (name_of(static_cast<log_topic>(t)) == one) topics |= 1u << t;
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return topics;
}
inline unsigned topics_in_environment() {
  const char* const list = std::getenv("EBB_LOGS");
  return list ? topics_in(list) : 0;
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

/// Whether anybody listens.
inline bool logs(log_topic t) { return detail::log_state().topics.load(std::memory_order_relaxed) >> static_cast<unsigned>(t) & 1; }
/// Switches a topic for the process; EBB_LOGS says how it begins.
inline void set_log(log_topic t, bool on) {
  const unsigned bit = 1u << static_cast<unsigned>(t);
  if (on) detail::log_state().topics.fetch_or(bit);
  else detail::log_state().topics.fetch_and(~bit);
}
/// Sends what is said elsewhere, standard error if null. Returns where it went before.
inline log_sink set_log_sink(log_sink sink) { return detail::log_state().sink.exchange(sink ? sink : detail::print_log); }

inline void say(log_topic t, std::string_view text) {
  if (logs(t)) detail::log_state().sink.load()(t, text);
}

}  // namespace ebb::inline EBB_ABI
