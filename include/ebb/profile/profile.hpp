// ebb/profile/profile.hpp — the scope in which a program is profiled.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "recorder.hpp"

#include "../base/error.hpp"

namespace ebb::inline EBB_ABI {

/// Records what this thread does while it lives: calls of functions and regions, the steps of their plans, backwards, their nodes, hooks
/// and captured chains, optimizer steps. A profile inside of another one gives it what it has recorded when it stops.
///   const ebb::profile p;   train();   std::cout << p.rows()[0].name;
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
