// ebb/profile/trace.hpp — the spans of a profile as a trace in JSON, which Perfetto and Chrome show.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "table.hpp"

#include "../svg/drawing.hpp"

namespace ebb::inline EBB_ABI::detail {

/// s as a string of JSON. Bytes that are not UTF-8, and control characters, become question marks.
EBB_COLD std::string text_in_trace(std::string_view s) {
  std::string text;
  while (!s.empty()) {
    const std::size_t count = s[0] == '\t' ? 0 : character_at(s);
    text += count ? s.substr(0, count) : std::string_view("?");
    s.remove_prefix(count ? count : 1);
  }
  return json_text(text);
}
EBB_COLD std::string microseconds(std::int64_t nanoseconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(nanoseconds / 1000), static_cast<long long>(nanoseconds % 1000));
  return text;
}
/// The spans in the trace event format: complete events ("X"), with times in microseconds since the first one.
/// Source: Chrome's document "Trace Event Format".
EBB_COLD std::string chrome_trace(const std::vector<profile_row>& rows, const std::vector<profile_span>& spans, std::uint64_t dropped) {
  constexpr const char* kinds[] = {"backward", "region", "node", "hook", "optimizer", "chain", "program", "step"};
  std::int64_t first = spans.empty() ? 0 : spans[0].begin;
  for (const profile_span& s : spans) first = std::min(first, s.begin);
  std::vector<std::string> names, arguments;
  for (const profile_row& r : rows) {
    const double calls = static_cast<double>(std::max<std::uint64_t>(r.calls, 1));
    char text[128];
    std::snprintf(text, sizeof text, ",\"args\":{\"bytes\":%.0f,\"operations\":%.0f}}", (r.work.read + r.work.written) / calls,
                  r.work.operations / calls);
    const std::string kind = std::string(",\"cat\":\"") + kinds[static_cast<int>(r.is)];
    names.push_back("{\"name\":" + text_in_trace(text_of(r)) + kind + "\",\"ph\":\"X\",\"pid\":1,\"tid\":");
    arguments.emplace_back(text);
  }
  std::string s = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":" + std::to_string(dropped) + "},\"traceEvents\":[";
  const char* between = "\n";
  for (const profile_span& x : spans) {
    s.append(between).append(names[x.row]).append(std::to_string(x.thread)).append(",\"ts\":").append(microseconds(x.begin - first));
    s.append(",\"dur\":").append(microseconds(x.end - x.begin)).append(arguments[x.row]);
    between = ",\n";
  }
  return s + "\n]}\n";
}

}  // namespace ebb::inline EBB_ABI::detail
