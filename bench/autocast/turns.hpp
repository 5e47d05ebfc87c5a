// bench/autocast/turns.hpp — two candidates timed in turns, and the median of their ratio.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"

#include <algorithm>
#include <vector>

namespace bench {

/// Seconds for each call, and the ratio of the first candidate's time to the second's: its median and quartiles.
struct comparison {
  double first, second, ratio, quarter, three_quarters;
};

/// Each candidate runs for about `batch` seconds in every round, in alternating order.
template <class First, class Second>
comparison in_turns(First first, Second second, int rounds, double batch) {
  const auto seconds = [](auto& f, int calls) {
    const double begin = thread_seconds();
    for (int i = 0; i < calls; ++i) {
      f();
      asm volatile("" ::: "memory");
    }
    return (thread_seconds() - begin) / calls;
  };
  const auto calls_of = [&](auto& f) { return std::max(1, static_cast<int>(batch / seconds(f, 2))); };
  const int first_calls = calls_of(first), second_calls = calls_of(second);
  std::vector<double> a, b, ratio;
  for (int i = 0; i < rounds; ++i) {
    if (i % 2) a.push_back(seconds(first, first_calls));
    b.push_back(seconds(second, second_calls));
    if (i % 2 == 0) a.push_back(seconds(first, first_calls));
    ratio.push_back(a.back() / b.back());
  }
  for (auto* v : {&a, &b, &ratio}) std::sort(v->begin(), v->end());
  return {a[a.size() / 2], b[b.size() / 2], ratio[ratio.size() / 2], ratio[ratio.size() / 4], ratio[ratio.size() * 3 / 4]};
}

}  // namespace bench
