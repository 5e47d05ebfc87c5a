// ebb/profile/table.hpp — the rows of a profile as text: the time of each row, and how far it is from the machine's limit.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace ebb::inline EBB_ABI {

/// The name of a row in tables and pictures, such as `backward of matmul+tanh`.
EBB_COLD std::string text_of(const profile_row& r) {
  switch (r.is) {
    case probed::region: return "region " + r.name;
    case probed::node: return "backward of " + r.name;
    case probed::hook: return r.name + " at " + r.of;
    case probed::chain: return "chain of " + r.name;
    case probed::program: return r.of + " (" + r.name + ")";
    default: return r.name;
  }
}

namespace detail {

/// A value with three digits and a unit: 1234567 ns is "1.23 ms".
EBB_COLD std::string in_units(double value, const char* const* units, double step) {
  while (value >= 999.5 && units[1]) value /= step, ++units;
  char text[32];
  std::snprintf(text, sizeof text, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, *units);
  return text;
}
EBB_COLD std::string time_text(double nanoseconds) {
  static constexpr const char* units[] = {"ns", "us", "ms", "s", nullptr};
  return in_units(nanoseconds, units, 1000);
}
EBB_COLD std::string rate_text(double each_second, const char* const* units) {
  return each_second > 0 ? in_units(each_second, units, 1000) : "";
}
EBB_COLD std::string bandwidth_text(double bytes_per_second) {
  static constexpr const char* units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", nullptr};
  return rate_text(bytes_per_second, units);
}
EBB_COLD std::string speed_text(double operations_per_second) {
  static constexpr const char* units[] = {"op/s", "kop/s", "Mop/s", "Gop/s", "Top/s", nullptr};
  return rate_text(operations_per_second, units);
}
/// How much of its limit a row has reached, and which limit it is, such as `62 % memory`.
EBB_COLD std::string limit_text(const profile_row& r, const machine_limits& m) {
  const least_time least = least_time_of(r, m);
  if (least.seconds() <= 0 || r.nanoseconds <= 0) return "";
  char text[48];
  const double share = 100 * least.seconds() / (static_cast<double>(r.nanoseconds) * 1e-9);
  const char* const by = least.moving >= least.computing ? "memory" : "compute";
  std::snprintf(text, sizeof text, share < 9.95 ? "%.1f %% %s" : "%.0f %% %s", share, by);
  return text;
}
/// The rows, the longest first. The steps of a program follow it in their order.
EBB_COLD std::vector<const profile_row*> in_order(const std::vector<profile_row>& rows) {
  std::vector<const profile_row*> order;
  const auto longest_first = [&](bool (*is)(const profile_row&)) {
    std::vector<const profile_row*> some;
    for (const profile_row& r : rows)
      if (is(r)) some.push_back(&r);
    std::sort(some.begin(), some.end(), [](const auto* a, const auto* b) {
      return a->nanoseconds != b->nanoseconds ? a->nanoseconds > b->nanoseconds : a < b;
    });
    return some;
  };
  for (const profile_row* r : longest_first([](const profile_row& x) { return x.is != probed::step; })) {
    order.push_back(r);
    if (r->is != probed::program) continue;
    std::vector<const profile_row*> steps;
    for (const profile_row& s : rows) {
      // If a program is called under several names, its steps are listed once, after the first.
      const bool is_there = std::find(order.begin(), order.end(), &s) != order.end();
      if (s.is == probed::step && s.program == r->program && !is_there) steps.push_back(&s);
    }
    std::sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) { return a->step < b->step; });
    order.insert(order.end(), steps.begin(), steps.end());
  }
  return order;
}
EBB_COLD void append_cell(std::string& s, const std::string& text, std::size_t width, bool left = false) {
  const std::size_t spaces = width > text.size() ? width - text.size() : 0;
  if (!left) s.append(spaces, ' ');
  s.append(text);
  if (left) s.append(spaces, ' ');
}
EBB_COLD std::string profile_table(const std::vector<profile_row>& rows, const machine_limits& m) {
  constexpr std::size_t widest = 64;
  struct line {
    std::string cells[10];
  };
  std::vector<line> lines{{{"", "calls", "total", "self", "a call", "fastest", "bytes", "operations", "of limit", "arrays"}}};
  for (const profile_row* r : in_order(rows)) {
    std::string name = (r->is == probed::step ? "  " : "") + text_of(*r);
    if (name.size() > widest) name = name.substr(0, widest - 3) + "...";
    const double ns = static_cast<double>(r->nanoseconds), seconds = std::max(ns, 1.0) * 1e-9;
    const double calls = static_cast<double>(std::max<std::uint64_t>(r->calls, 1));
    lines.push_back({{name, std::to_string(r->calls), time_text(ns), time_text(static_cast<double>(r->self)), time_text(ns / calls),
                      time_text(static_cast<double>(r->fastest)),
                      bandwidth_text((r->work.read + r->work.written) / seconds), speed_text(r->work.operations / seconds),
                      limit_text(*r, m), r->allocations ? std::to_string(r->allocations) : ""}});
  }
  std::size_t width[10] = {};
  for (const line& l : lines)
    for (int c = 0; c < 10; ++c) width[c] = std::max(width[c], l.cells[c].size());
  std::string text;
  for (const line& l : lines) {
    for (int c = 0; c < 10; ++c) {
      if (c > 0) text += "  ";
      append_cell(text, l.cells[c], width[c], c == 0);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
