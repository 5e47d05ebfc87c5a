// bench/clock.hpp — the clocks of all benchmarks, medians, and how often a call is repeated.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

/// Processor time of this thread, which other work on the machine does not change.
inline double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// For intervals below some 50 us: reading it costs 20 ns, reading the thread's clock 500. It includes other work: take medians.
inline double wall_seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

/// How many calls take about `batch` seconds. seconds(n): the time of one of n calls.
template <class F>
std::size_t repetitions(F&& seconds, double batch) {
  for (std::size_t n = 1;; n *= 2) {
    const double t = seconds(n) * static_cast<double>(n);
    if (t > batch / 4) return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(n) * batch / t));
  }
}

}  // namespace bench
