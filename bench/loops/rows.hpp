// bench/loops/rows.hpp — the rows of the benchmark of loops, and how candidates take turns.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace loops {

void steps(bool smoke);  // a scan of 1,000 steps beside a loop by hand
void mpc(bool smoke);    // the plan of examples/mpc
void gru(bool smoke);    // a GRU by scan, and by a region for each letter

/// Counts the results that are wrong.
inline int failures = 0;
inline void check(const char* what, double got, double wanted, double tolerance) {
  if (std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted))) return;
  std::printf("WRONG: %s is %.17g instead of %.17g\n", what, got, wanted);
  ++failures;
}

/// Tells the compiler that all memory may be read and written here.
inline void touch_memory() { asm volatile("" ::: "memory"); }

/// Seconds a call of two candidates, and their ratio: medians of rounds in which both run one after the other.
struct pair_of_times {
  double first, second, ratio;
};
template <class F, class G>
pair_of_times in_turns(bool smoke, F&& f, G&& g) {
  const auto seconds = [](auto& call, std::size_t n) {
    const double start = bench::thread_seconds();
    for (std::size_t i = 0; i < n; ++i) {
      call();
      touch_memory();
    }
    return (bench::thread_seconds() - start) / static_cast<double>(n);
  };
  const double batch = smoke ? 1e-4 : 5e-3;
  const std::size_t n = bench::repetitions([&](std::size_t k) { return seconds(f, k); }, batch);
  const std::size_t m = bench::repetitions([&](std::size_t k) { return seconds(g, k); }, batch);
  std::vector<double> a, b, ratio;
  for (int round = 0; round < (smoke ? 3 : 41); ++round) {
    if (round % 2) a.push_back(seconds(f, n)), b.push_back(seconds(g, m));
    else b.push_back(seconds(g, m)), a.push_back(seconds(f, n));
    ratio.push_back(a.back() / b.back());
  }
  return {bench::median(a), bench::median(b), bench::median(ratio)};
}

}  // namespace loops
