// bench/suite/session.hpp — checks the candidates of a row, then times them in turns, or runs one of them to count its instructions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace suite {

/// Tells the compiler that all memory may be read and written here, so that it computes nothing once for several calls.
inline void touch_memory() { asm volatile("" ::: "memory"); }

struct row {
  const char* key;     // "a", "b", "d2", "e" of the table, or a name
  const char* type;
  std::size_t n;
  double plain = 0, limit = 0;  // the table's times, in ns; 0: not in the table
  double goal = 0;              // for the ratio of ebb to the reference
};

template <class T>
constexpr const char* name_of = sizeof(T) == 4 ? "float" : "double";

class session {
 public:
  enum class mode { time, smoke, count };

  mode how = mode::time;
  std::string_view only;                      // key of the rows to do; all if empty
  std::string_view type, candidate;           // count: the candidate to run
  std::size_t size = 0, calls = 0;            // count: n and the number of calls
  int failures = 0;

  bool wanted(std::string_view key, std::string_view element, std::size_t n) const {
    if (!only.empty() && key != only) return false;
    if (how == mode::count) return element == type && n == size;
    return how != mode::smoke || n <= 100'000;
  }

  /// Counts a failure unless got is as close to want as rounding explains: within `ulps` of the largest |want|, or of `scale`.
  template <class T>
  void check(const row& r, const char* who, const char* what, const T* got, const long double* want, std::size_t n, long double ulps,
             long double scale = 0) {
    for (std::size_t i = 0; i < n; ++i) scale = std::max(scale, std::fabs(want[i]));
    const long double allowed = ulps * scale * static_cast<long double>(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < n; ++i)
      if (!(std::fabs(static_cast<long double>(got[i]) - want[i]) <= allowed)) {
        std::printf("WRONG: row %s %s n = %zu, %s, %s [%zu] is %.9g instead of %.9Lg\n", r.key, r.type, r.n, who, what, i,
                    static_cast<double>(got[i]), want[i]);
        ++failures;
        return;
      }
  }

  /// Times the candidates; each runs once in every round, in alternating order. plain is slow and takes part in fewer rounds.
  template <class Ebb, class Hand, class Plain>
  void measure(const row& r, Ebb ebb, Hand hand, Plain plain) {
    if (how == mode::count) {
      run(candidate == "ebb", ebb);
      run(candidate == "hand", hand);
      run(candidate == "plain", plain);
      return;
    }
    const int rounds = how == mode::smoke ? 3 : 25, plain_rounds = how == mode::smoke ? 1 : 5;
    const double batch = how == mode::smoke ? 2e-4 : 2e-3;
    const std::size_t repeat = repetitions(hand, batch), plain_repeat = repetitions(plain, batch);
    std::vector<double> e, h, p, ratio;
    for (int i = 0; i < rounds; ++i) {
      if (i % 2) {
        e.push_back(seconds(ebb, repeat));
        h.push_back(seconds(hand, repeat));
      } else {
        h.push_back(seconds(hand, repeat));
        e.push_back(seconds(ebb, repeat));
      }
      if (i < plain_rounds) p.push_back(seconds(plain, plain_repeat));
      ratio.push_back(e.back() / h.back());
    }
    using bench::median;
    std::sort(ratio.begin(), ratio.end());
    result x{r, 1e9 * median(e), 1e9 * median(h), 1e9 * median(p), median(ratio), ratio[ratio.size() / 4], ratio[3 * ratio.size() / 4]};
    print(x);
    results.push_back(x);
  }

  struct result {
    row of;
    double ebb, hand, plain, ratio, quarter, three_quarters;
  };
  std::vector<result> results;

  static void print_head() {
    std::printf("%-10s %-6s %8s %11s %11s %11s  %6s %-13s %5s  %10s %6s\n", "row", "type", "n", "ebb ns", "hand ns", "plain ns", "ebb/",
                "quartiles", "goal", "plain/hand", "table");
  }

 private:
  template <class F>
  void run(bool yes, F& f) {
    if (yes)
      for (std::size_t i = 0; i < calls; ++i) {
        f();
        touch_memory();
      }
  }
  template <class F>
  static double seconds(F& f, std::size_t repeat) {
    const double start = bench::thread_seconds();
    for (std::size_t i = 0; i < repeat; ++i) {
      f();
      touch_memory();
    }
    return (bench::thread_seconds() - start) / static_cast<double>(repeat);
  }
  template <class F>
  static std::size_t repetitions(F& f, double batch) {
    return bench::repetitions([&](std::size_t n) { return seconds(f, n); }, batch);
  }
  static void print(const result& x) {
    std::printf("%-10s %-6s %8zu %11.1f %11.1f %11.1f  %6.3f %.3f..%.3f", x.of.key, x.of.type, x.of.n, x.ebb, x.hand, x.plain, x.ratio,
                x.quarter, x.three_quarters);
    if (x.of.goal > 0) std::printf(" %6.2f", x.of.goal);
    else std::printf(" %6s", "");
    std::printf("  %10.2f", x.plain / x.hand);
    if (x.of.limit > 0) std::printf(" %6.2f", x.of.plain / x.of.limit);
    std::printf("\n");
    std::fflush(stdout);
  }
};

}  // namespace suite
