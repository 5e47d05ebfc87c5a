// ebb/base/probe.hpp — reports to a profiler which work begins, and that it ends.
// SPDX-License-Identifier: BSL-1.0
//
// [note: probes]
// The code of a probe is written as EBB_PROBE(...): files that are compiled with EBB_PROFILE have it, others do not, and test/profile.sh
// compares their machine code with that of the library without probes. Both kinds of files may be in one program: EBB_PROFILE is part of
// the namespace, so they share no function. A thread without a listener pays one load and one branch for each probe.
#pragma once

#include "config.hpp"

#include <cstddef>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// The kind of work that a probe reports.
enum class probed : std::uint8_t { backward, region, node, hook, optimizer, chain, program, step };

/// Bytes that are read from and written to arrays, and operations: see [note: counted work].
struct probed_work {
  double read = 0, written = 0, operations = 0;

  constexpr probed_work& operator+=(const probed_work& more) {
    read += more.read;
    written += more.written;
    operations += more.operations;
    return *this;
  }
};

/// Work that begins. Work that probes report within it is part of it.
struct probe_event {
  probed is;
  const char* name;
  const char* of = "";            // the name of its owner: of the call for a program, of the program for a step
  probed_work work = {};          // without that of probes within it
  const void* program = nullptr;  // of a program and its steps: a probed_program
  int step = -1;
};

struct probe_listener {
  virtual void begin(const probe_event&) = 0;
  virtual void end() = 0;
  virtual void allocated(std::size_t bytes) = 0;

 protected:
  ~probe_listener() = default;
};

/// The listener of this thread, or null.
inline constinit thread_local probe_listener* probe_listener_here = nullptr;

/// Reports work that ends when the probe is destroyed. If the listener has changed since the begin, the end is not reported.
class probe {
 public:
  probe() = default;
  explicit probe(const probe_event& e) {
    if (probe_listener_here) begin(e);
  }
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;
  ~probe() {
    if (to_ && to_ == probe_listener_here) to_->end();
  }
  /// Requires a listener.
  void begin(const probe_event& e) { (to_ = probe_listener_here)->begin(e); }

 private:
  probe_listener* to_ = nullptr;
};

}  // namespace ebb::inline EBB_ABI
