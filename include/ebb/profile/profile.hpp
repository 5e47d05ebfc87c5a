// ebb/profile/profile.hpp — the scope in which a program is profiled.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "trace.hpp"

#include "../base/error.hpp"

namespace ebb::inline EBB_ABI {

/// Records what this thread does while it lives: calls of functions and regions, the steps of their plans, backwards, their nodes, hooks
/// and captured chains, optimizer steps. A profile inside of another one gives it what it has recorded when it stops.
///   const ebb::profile p;   train();   std::cout << p.table();
/// Files that shall be seen are compiled with -DEBB_PROFILE. Without it, a probe is no code, and this class is refused.
/// Throws: std::bad_alloc, here and in the calls that are profiled.
class profile {
 public:
  /// most_spans: of how many pieces of work it keeps when they began and ended. Sums count all of them.
  template <class Nothing = void>
  EBB_SCOPE explicit profile(std::size_t most_spans = 1'000'000) : recorder_(most_spans) {
    static_assert(is_there<Nothing>, "[ebb E0299] ebb::profile: this file has no probes: compile it with -DEBB_PROFILE");
  }
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;
  ~profile() { recorder_.stop(); }

  /// Ends the recording. Call it, and the destructor, in the thread that made it.
  void stop() { recorder_.stop(); }

  /// In the order in which they were first seen.
  const std::vector<profile_row>& rows() const { return recorder_.rows.all; }
  /// In the order in which they ended.
  const std::vector<profile_span>& spans() const { return recorder_.spans; }
  /// How many spans were left out, since there were too many.
  std::uint64_t dropped() const { return recorder_.dropped; }

  /// A line for each row, longest first, the steps of a program below it:
  ///   total, self, a call   the time of all calls; without that of what is measured within them; of one call, on average
  ///   fastest               of the fastest call: the others may have waited for other programs
  ///   bytes, operations     a second, as counted from plans: see [note: counted work]
  ///   of limit              of the speed that machine() allows for this work, and what limits it
  ///   arrays                how many were allocated
  /// What stays in registers or in a cache from one call to the next may exceed the limit.
  std::string table() const { return detail::profile_table(rows(), machine()); }
  /// The spans as JSON for https://ui.perfetto.dev and chrome://tracing.
  std::string chrome_trace() const { return detail::chrome_trace(rows(), spans(), dropped()); }
  /// The limits of the machine. The first call measures them, which takes some tenths of a second.
  static const machine_limits& machine() {
    static const machine_limits m = detail::measured_limits();
    return m;
  }

  /// Adds what another thread's profile has recorded. That one has stopped.
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
