// bench/clock.hpp — the clock of all benchmarks: processor time of this thread, which other work on the machine does not change.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <time.h>

namespace bench {

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

}  // namespace bench
