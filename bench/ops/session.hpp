// bench/ops/session.hpp — checks all kernels of a row against the first of its peers, and times them in turns.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ops {

struct candidate {
  std::string who;
  std::function<void()> run;
};

class session {
 public:
  bool smoke = false, markdown = false;
  std::string_view only;
  int failures = 0;

  bool wanted(std::string_view name) const { return only.empty() || name == only; }

  /// Compares results as far as libraries of up to 4 ulp, and formulas that lose some digits, agree.
  template <class T>
  void check(const std::string& row, const std::string& who, const T* got, const T* want, std::size_t n) {
    const double tolerance = sizeof(T) == 4 ? 2e-4 : 1e-7;
    for (std::size_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
      if (std::fabs(g - w) <= tolerance * std::max(1.0, std::fabs(w))) continue;
      std::printf("WRONG: %s, %s: element %zu is %.9g instead of %.9g\n", row.c_str(), who.c_str(), i, g, w);
      ++failures;
      return;
    }
  }

  /// Times the candidates, of which the first is ebb, in turns. `work` is what a call does: elements, or 1 for a time in microseconds.
  void measure(const std::string& name, const char* what, const char* type, double work, const std::vector<candidate>& all) {
    const int rounds = smoke ? 1 : 21;
    const double batch = smoke ? 2e-6 : 4e-4;
    std::vector<std::size_t> repeat;
    for (const candidate& c : all) repeat.push_back(bench::repetitions([&](std::size_t n) { return seconds(c, n); }, batch));
    std::vector<std::vector<double>> times(all.size());
    for (int round = 0; round < rounds; ++round)
      for (std::size_t k = 0; k < all.size(); ++k) {
        const std::size_t j = (k + static_cast<std::size_t>(round)) % all.size();
        times[j].push_back(seconds(all[j], repeat[j]));
      }
    std::vector<double> medians;
    for (const auto& t : times) medians.push_back(1e9 * bench::median(t) / work);
    std::size_t best = 0;
    for (std::size_t j = 1; j < all.size(); ++j)
      if (best == 0 || medians[j] < medians[best]) best = j;
    result r{name, what, type, medians[0], best ? medians[best] : 0, best ? all[best].who : "-", 0};
    if (best) {  // the ratio within each round: a disturbance that lasts meets both
      std::vector<double> ratios;
      for (std::size_t i = 0; i < times[0].size(); ++i) ratios.push_back(times[0][i] / times[best][i]);
      r.ratio = bench::median(ratios);
    }
    print(r, all, medians);
    results.push_back(r);
  }

  void summary() const {
    std::size_t compared = 0, slow = 0;
    double logs = 0;
    for (const result& r : results)
      if (r.best > 0) {
        ++compared;
        logs += std::log(r.ratio);
        slow += r.ratio > 1.1;
      }
    if (compared && !smoke)
      std::printf("\n%zu rows, %zu with a peer; geometric mean of ebb / best %.3f; %zu above 1.1\n", results.size(), compared,
                  std::exp(logs / static_cast<double>(compared)), slow);
  }

 private:
  struct result {
    std::string name, what, type;
    double ebb, best;
    std::string who;
    double ratio;
  };
  std::vector<result> results;

  static double seconds(const candidate& c, std::size_t repeat) {
    const double start = bench::thread_seconds();
    for (std::size_t i = 0; i < repeat; ++i) {
      c.run();
      asm volatile("" ::: "memory");
    }
    return (bench::thread_seconds() - start) / static_cast<double>(repeat);
  }
  void print(const result& r, const std::vector<candidate>& all, const std::vector<double>& medians) const {
    if (smoke) return;
    const char* form = markdown ? "| `%s` | %s | %s | %.3g | %.3g | %s | %.2f |" : "%-16s %-9s %-7s %9.3f %9.3f %-7s %6.2f ";
    std::printf(form, r.name.c_str(), r.what.c_str(), r.type.c_str(), r.ebb, r.best, r.who.c_str(), r.ratio);
    if (!markdown)
      for (std::size_t j = 1; j < all.size(); ++j) std::printf(" %s %.3f", all[j].who.c_str(), medians[j]);
    std::printf("\n");
    std::fflush(stdout);
  }
};

}  // namespace ops
