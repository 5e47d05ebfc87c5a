// bench/compiled_autograd/session.hpp — times candidates in turns, on graphs that are made before the clock starts.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

namespace bench {

/// The number of calls of operator new.
std::size_t allocations();

/// The amount of work of a run, and its failures.
struct session {
  bool smoke = false;
  int failures = 0;

  int rounds(std::size_t n) const { return smoke ? 3 : n < 1'000'000 ? 41 : 15; }
  void check(bool right, const char* what, std::size_t n) {
    if (right) return;
    std::printf("WRONG: %s, n = %zu\n", what, n);
    ++failures;
  }
};

/// One sample: `batches` times, this many graphs are made and then timed.
struct load {
  std::size_t graphs, batches;
  bool is_long;  // then the thread's own clock is used: it leaves out other threads, but costs 0.5 us

  /// Chooses a number of graphs whose memory stays in the first-level cache, if one graph does.
  static load of(std::size_t bytes_of_graph, double nanoseconds, bool smoke) {
    const std::size_t graphs = std::clamp<std::size_t>(16384 / bytes_of_graph, 1, 64);
    const double wanted = smoke ? 1 : 2e5 / (nanoseconds * static_cast<double>(graphs));
    return {graphs, std::max<std::size_t>(1, static_cast<std::size_t>(wanted)), nanoseconds > 1e5};
  }
};

/// The time that reading the clock adds to an interval.
inline double clock_cost(bool is_long) {
  const auto measure = [](auto clock) {
    std::vector<double> cost;
    for (int i = 0; i < 2001; ++i) {
      const double begin = clock();
      cost.push_back(clock() - begin);
    }
    double sum = 0;  // the mean of the lower three quarters: the clock's resolution is half of its cost
    std::sort(cost.begin(), cost.end());
    for (int i = 0; i < 1500; ++i) sum += cost[static_cast<std::size_t>(i)];
    return sum / 1500;
  };
  static const double brief = measure(wall_seconds), careful = measure(thread_seconds);
  return is_long ? careful : brief;
}

/// ns of run(i) after make(i), for i < graphs.
template <class Make, class Run>
double nanoseconds(const load& l, Make&& make, Run&& run) {
  const auto clock = l.is_long ? thread_seconds : wall_seconds;
  double total = 0;
  for (std::size_t batch = 0; batch < l.batches; ++batch) {
    for (std::size_t i = 0; i < l.graphs; ++i) make(i);
    const double begin = clock();
    for (std::size_t i = 0; i < l.graphs; ++i) run(i);
    total += clock() - begin - clock_cost(l.is_long);
  }
  return 1e9 * total / static_cast<double>(l.graphs * l.batches);
}

/// The samples of each candidate. Each gives one sample in every round, in alternating order.
class samples {
 public:
  samples(int rounds, const std::vector<std::function<double()>>& candidates) : of_(candidates.size()) {
    for (const auto& candidate : candidates) candidate();  // warms pages and caches
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const std::size_t c = round % 2 ? candidates.size() - 1 - i : i;
        of_[c].push_back(candidates[c]());
      }
  }
  double time(std::size_t candidate) const { return median(of_[candidate]); }
  /// The median of the rounds' ratios.
  double ratio(std::size_t candidate, std::size_t other) const {
    std::vector<double> r;
    for (std::size_t i = 0; i < of_[candidate].size(); ++i) r.push_back(of_[candidate][i] / of_[other][i]);
    return median(r);
  }

 private:
  std::vector<std::vector<double>> of_;
};

/// "0.95 (1.05)", with a star after it if the goal is missed: 18 characters, and those of `width` beyond 8.
inline void print_with_goal(double figure, double goal, int digits, int width = 8) {
  char text[16] = "";
  if (goal > 0) std::snprintf(text, sizeof text, "(%.*f)%s", goal < 10 ? 2 : 0, goal, figure <= goal ? "" : "*");
  std::printf(" %*.*f %-8s", width, digits, figure, text);
}

}  // namespace bench
