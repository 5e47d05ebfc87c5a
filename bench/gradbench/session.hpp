// bench/gradbench/session.hpp — checks the candidates of an eval, then times them in turns and adds up the sizes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"
#include "../suite/data.hpp"
#include "peer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradbench {

using suite::generator;
using vector = std::vector<double>;

inline vector uniform(generator& g, std::size_t n, double low, double high) {
  vector x(n);
  for (double& e : x) e = g.in(low, high);
  return x;
}

/// One way to compute an eval. The first one of a row is the baseline: `manual`, or GradBench's own program. An eval that is a search has
/// a derivative only.
struct candidate {
  const char* name;
  std::function<void()> primal, derivative;
};

class session {
 public:
  bool smoke = false;
  std::vector<std::string_view> only;  // the evals to do; all if empty
  std::string peers;                   // where shared objects with GradBench's own programs are; not used if empty

  bool wanted(std::string_view eval) const { return only.empty() || std::find(only.begin(), only.end(), eval) != only.end(); }

  /// Ends the program unless each element of got is within `allowed` of want, relative to the larger of |want| and a thousandth of the
  /// largest |want|.
  template <class T>
  static void check(const std::string& what, std::span<const double> got, std::span<const T> want, double allowed = 1e-10) {
    T largest = 0;
    for (const T w : want) largest = std::max(largest, std::fabs(w));
    bool right = got.size() == want.size();
    for (std::size_t i = 0; i < got.size() && right; ++i) {
      const T error = std::fabs(static_cast<T>(got[i]) - want[i]);
      right = error <= static_cast<T>(allowed) * std::max(std::fabs(want[i]), largest / 1000);
      if (!right) {
        std::printf("WRONG: %s [%zu] is %.17g instead of %.17g\n", what.c_str(), i, got[i], static_cast<double>(want[i]));
      }
    }
    if (right) return;
    if (got.size() != want.size()) std::printf("WRONG: %s has %zu elements instead of %zu\n", what.c_str(), got.size(), want.size());
    std::exit(1);
  }
  static void check(const std::string& what, const vector& got, const vector& want, double allowed = 1e-10) {
    check<double>(what, std::span<const double>(got), std::span<const double>(want), allowed);
  }
  static void check(const std::string& what, const vector& got, const std::vector<long double>& want, double allowed = 1e-10) {
    check<long double>(what, std::span<const double>(got), std::span<const long double>(want), allowed);
  }

  /// Checks GradBench's own program and makes it the first candidate of the next call of `time`. A search has no value.
  template <class T>
  void add_peer(const std::string& eval, const std::string& size, const peer::given& data, const std::vector<T>& value,
                const std::vector<T>& derivative, double allowed = 1e-9, const std::vector<int>& places = {}) {
    const std::shared_ptr<peer::program> program = load_peer(eval, data);
    program->primal();
    program->derivative();
    const peer::results got = program->read();
    check(eval + " " + size + ", GradBench's own, value", got.value, value, allowed);
    check(eval + " " + size + ", GradBench's own, derivative", got.derivative, derivative, allowed);
    if (got.places != places) {
      std::printf("WRONG: %s %s, GradBench's own, places\n", eval.c_str(), size.c_str());
      std::exit(1);
    }
    peer_ = {{"gradbench", {}, [program] { program->derivative(); }}};
    if (!value.empty()) peer_[0].primal = [program] { program->primal(); };
  }
  bool has_peers() const { return !peers.empty(); }

  /// Times the candidates in turns and prints a row for this size. With --smoke each runs once.
  void time(const std::string& size, std::vector<candidate> candidates) {
    using bench::median;
    candidates.insert(candidates.begin(), peer_.begin(), peer_.end());
    peer_.clear();
    const int rounds = smoke ? 1 : 9;
    std::vector<std::vector<double>> p(candidates.size()), d(candidates.size());
    std::vector<std::size_t> p_repeat, d_repeat;
    for (const candidate& c : candidates) {
      p_repeat.push_back(repetitions(c.primal));
      d_repeat.push_back(repetitions(c.derivative));
    }
    for (int round = 0; round < rounds; ++round)
      for (std::size_t k = 0; k < candidates.size(); ++k) {
        const std::size_t i = round % 2 ? candidates.size() - 1 - k : k;
        p[i].push_back(seconds(candidates[i].primal, p_repeat[i]));
        d[i].push_back(seconds(candidates[i].derivative, d_repeat[i]));
      }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double primal = median(p[i]), derivative = median(d[i]);
      if (totals_.size() <= i) totals_.push_back({candidates[i].name, 0, 0});
      totals_[i].primal += primal;
      totals_[i].derivative += derivative;
      const double p0 = median(p[0]), d0 = median(d[0]);
      if (!smoke) {
        std::printf("  %-25s %-10s %12.1f %12.1f   %7.3f %7.3f %7.3f\n", i ? "" : size.c_str(), candidates[i].name, 1e6 * primal,
                    1e6 * derivative, over(primal, p0), derivative / d0, (primal + derivative) / (p0 + d0));
      }
    }
    std::fflush(stdout);
  }

  /// Reads what cost.sh prints: eval, candidate, lines, seconds.
  void read_costs(const char* file) {
    std::ifstream from(file);
    for (cost c; from >> c.eval >> c.candidate >> c.lines >> c.seconds;) costs_.push_back(c);
  }

  /// Prints the sums over the sizes since the last call, over those of the first candidate.
  void total(const char* eval) {
    for (const sums& t : totals_) {
      if (smoke) break;
      const sums& m = totals_[0];
      const auto known = std::find_if(costs_.begin(), costs_.end(), [&](const cost& c) { return c.eval == eval && c.candidate == t.name; });
      const cost c = known == costs_.end() ? cost{} : *known;
      std::printf("%-27s %-10s %12.1f %12.1f   %7.3f %7.3f %7.3f %6s %8s\n", eval, t.name, 1e6 * t.primal, 1e6 * t.derivative,
                  over(t.primal, m.primal), t.derivative / m.derivative, (t.primal + t.derivative) / (m.primal + m.derivative),
                  c.lines.c_str(), c.seconds.c_str());
    }
    if (smoke) std::printf("%s: all values are right%s\n", eval, has_peers() ? ", GradBench's own too" : "");
    std::fflush(stdout);
    totals_.clear();
  }

  void print_head() const {
    std::printf("%-27s %-10s %12s %12s   %7s %7s %7s %6s %8s\n%54s%s\n", "eval, size", "candidate", "primal us", "deriv. us", "primal",
                "deriv.", "total", costs_.empty() ? "" : "lines", costs_.empty() ? "" : "compile", "",
                has_peers()      ? "over those of GradBench's own"
                : costs_.empty() ? "over those of manual"
                                 : "over those of manual               seconds");
  }

 private:
  struct sums {
    const char* name;
    double primal, derivative;
  };
  struct cost {
    std::string eval, candidate, lines, seconds;
  };
  std::vector<sums> totals_;
  std::vector<cost> costs_;
  std::vector<candidate> peer_;

  /// A new program of the eval's shared object. Defined in main.cpp, as the evals need nothing of the loader.
  std::shared_ptr<peer::program> load_peer(const std::string& eval, const peer::given& data) const;

  static double over(double a, double b) { return b > 0 ? a / b : 0; }
  static double seconds(const std::function<void()>& f, std::size_t repeat) {
    if (!f) return 0;
    const double start = bench::thread_seconds();
    for (std::size_t i = 0; i < repeat; ++i) {
      f();
      asm volatile("" ::: "memory");
    }
    return (bench::thread_seconds() - start) / static_cast<double>(repeat);
  }
  std::size_t repetitions(const std::function<void()>& f) const {
    return smoke || !f ? 1 : bench::repetitions([&](std::size_t n) { return seconds(f, n); }, 4e-3);
  }
};

// One file each. --smoke takes small sizes, ragged extents and single rows in place of the default sizes.
void lse(session&);
void llsq(session&);
void kmeans(session&);
void gmm(session&);
void ode(session&);
void ba(session&);
void lstm(session&);
void particle(session&);
void saddle(session&);
void ht(session&);

}  // namespace gradbench
