// ebb/profile/profile.hpp — the scope in which a program is profiled.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "trace.hpp"

#include "../base/error.hpp"

namespace ebb::inline EBB_ABI {

/// While it lives, a profile records the work of this thread: calls of functions and regions, the steps of their plans, backwards, their
/// nodes, hooks and captured chains, optimizer steps. If a profile stops inside of another one, the outer one takes over its records.
///   const ebb::profile p;   train();   std::cout << p.table();
/// Compile the files to be profiled with -DEBB_PROFILE. Without it, probes are no code, and this class is refused.
/// Throws: std::bad_alloc, here and in the calls that are profiled.
class profile {
 public:
  /// Keeps at most `most_spans` spans. The sums in rows count all work.
  template <class Nothing = void>
  EBB_SCOPE explicit profile(std::size_t most_spans = 1'000'000) : recorder_(most_spans) {
    static_assert(is_there<Nothing>, "[ebb E0299] ebb::profile: this file has no probes: compile it with -DEBB_PROFILE");
  }
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;
  ~profile() { recorder_.stop(); }

  /// Ends the recording. Call it, and the destructor, in the thread that made the profile.
  void stop() { recorder_.stop(); }

  /// The rows, in the order in which they were first seen.
  const std::vector<profile_row>& rows() const { return recorder_.rows.all; }
  /// The spans, in the order in which they ended.
  const std::vector<profile_span>& spans() const { return recorder_.spans; }
  /// The number of spans that were left out because there were too many.
  std::uint64_t dropped() const { return recorder_.dropped; }

  /// A table with a line for each row, the longest first; the steps of a program are below it. The columns are
  ///   total, self, a call   the time of all calls; the same without the work that is measured within them; the mean time of a call
  ///   fastest               the time of the fastest call: other calls may have waited for other programs
  ///   bytes, operations     per second, counted from plans: see [note: counted work]
  ///   of limit              the share of the speed that machine() allows for this work, and whether memory or computing limits it
  ///   arrays                the number of arrays that were allocated
  /// Work whose data stay in registers or in a cache from one call to the next may exceed the limit.
  std::string table() const { return detail::profile_table(rows(), machine()); }
  /// The spans as JSON for https://ui.perfetto.dev and chrome://tracing.
  std::string chrome_trace() const { return detail::chrome_trace(rows(), spans(), dropped()); }
  /// The limits of the machine. The first call measures them, which takes some tenths of a second.
  static const machine_limits& machine() {
    static const machine_limits m = detail::measured_limits();
    return m;
  }

  /// Adds the records of another thread's profile, which has stopped.
  void add(const profile& other) {
    recorder_.add(other.recorder_, threads_ + 1);
    threads_ += 1 + other.threads_;
  }

 private:
  template <class Nothing>
  static constexpr bool is_there = EBB_PROBE(true ||) sizeof(Nothing*) == 0;

  detail::profile_recorder recorder_;
  std::uint32_t threads_ = 0;
};

}  // namespace ebb::inline EBB_ABI
