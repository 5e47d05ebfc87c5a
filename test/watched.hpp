// test/watched.hpp — the stages that passes go through at run time: their names, and what is wrong with a graph between two of them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/pass/pipeline.hpp>

#include <algorithm>
#include <string>

namespace test {

class watched_stages final : public ebb::stage_watch {
 public:
  void see(ebb::stage s, ebb::part_of_region part, const ebb::graph& g) override {
    constexpr const char* parts[] = {"", " both", " forward", " backward"};
    const std::string name = std::string(name_of(s)) + parts[static_cast<int>(part)];
    names += (names.empty() ? "" : ", ") + name;
    ++count;
    if (const ebb::graph_error e = first_error(with_old_arguments(g, s, part)); e && error.empty())
      error = name + ": " + std::string(e.what) + " at equation " + std::to_string(e.equation) + "\n" + to_string(g);
  }

  std::string names, error;  // the first invalid graph
  int count = 0;

 private:
  /// The symbols of a distinct backward half are extents of the arguments that it had before, see used_arguments.
  static ebb::graph with_old_arguments(ebb::graph g, ebb::stage s, ebb::part_of_region part) {
    if (s < ebb::stage::distinct || part != ebb::part_of_region::backward_half) return g;
    for (int i = 0; i < g.syms.count(); ++i)
      if (g.syms.origin(i).rule == ebb::extent_rule::argument) g.inputs = std::max(g.inputs, g.syms.origin(i).a + 1);
    return g;
  }
};

}  // namespace test
