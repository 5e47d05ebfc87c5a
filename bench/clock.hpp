// bench/clock.hpp — the clock of all benchmarks: what this thread has spent on a processor, whatever else the machine does.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <time.h>

namespace bench {

inline double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// For what takes less than some 50 us: reading it costs 20 ns, that of the thread 500. Others' work counts: take medians.
inline double wall_seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace bench
