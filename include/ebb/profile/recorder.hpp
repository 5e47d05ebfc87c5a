// ebb/profile/recorder.hpp — sums the reports of one thread's probes, and keeps the time at which each piece of work began and ended.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ebb::inline EBB_ABI {

/// The sum of all work of one kind and name. Time, work and allocations include those of probes within it; `self` does not.
struct profile_row {
  probed is = probed::program;
  std::string name, of;
  const void* program = nullptr;
  int step = -1;
  std::uint64_t calls = 0;
  std::int64_t nanoseconds = 0, self = 0, fastest = 0;  // fastest: of one call
  std::uint64_t allocations = 0, allocated = 0;  // arrays, and their bytes
  probed_work work;
};
/// One piece of work: from begin to end in nanoseconds of the steady clock.
struct profile_span {
  std::uint32_t row = 0, thread = 0;
  std::int64_t begin = 0, end = 0;
};

namespace detail {

EBB_COLD std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The rows of a profile, found by kind and name.
class profile_rows {
 public:
  std::uint32_t find(probed is, const char* name, const char* of, const void* program, int step) {
    const auto mixed = (reinterpret_cast<std::uintptr_t>(name) >> 3) ^ (reinterpret_cast<std::uintptr_t>(of) >> 5);
    seen& s = seen_[(mixed ^ static_cast<std::uintptr_t>(step)) % seen_.size()];
    if (s.row < all.size()) {  // another name may be at an address now: so names are compared
      const profile_row& r = all[s.row];
      const bool is_same = s.name == name && s.of == of && r.is == is && r.step == step && r.program == program;
      if (is_same && r.name == name && r.of == of) return s.row;
    }
    s = {name, of, find_by_name(is, name, of, program, step)};
    return s.row;
  }
  std::vector<profile_row> all;

 private:
  struct seen {
    const char *name = nullptr, *of = nullptr;
    std::uint32_t row = ~std::uint32_t{0};
  };
  EBB_COLD std::uint32_t find_by_name(probed is, const char* name, const char* of, const void* program, int step) {
    std::string key(1, static_cast<char>('a' + static_cast<int>(is)));
    key.append(name).append(1, '\n').append(of);
    if (program) key.append(reinterpret_cast<const char*>(&program), sizeof program);
    if (step >= 0) key.append(reinterpret_cast<const char*>(&step), sizeof step);
    const auto [at, is_new] = by_key_.try_emplace(std::move(key), static_cast<std::uint32_t>(all.size()));
    if (is_new) {
      all.emplace_back();
      profile_row& r = all.back();
      r.is = is, r.name = name, r.of = of, r.program = program, r.step = step;
    }
    return at->second;
  }
  std::unordered_map<std::string, std::uint32_t> by_key_;
  std::array<seen, 256> seen_;
};

/// The listener of one thread. When it stops, its records go to the recorder that was the listener before.
class profile_recorder final : public probe_listener {
 public:
  EBB_COLD_CTOR explicit profile_recorder(std::size_t most_spans) : most_(most_spans), outer_(innermost()) {
    innermost() = this;
    probe_listener_here = this;
  }
  profile_recorder(const profile_recorder&) = delete;
  profile_recorder& operator=(const profile_recorder&) = delete;

  /// Call it in the thread of the constructor. Work that has not ended is left out.
  EBB_COLD void stop() {
    profile_recorder** at = &innermost();
    while (*at && *at != this) at = &(*at)->outer_;
    if (!*at) return;
    *at = outer_;
    probe_listener_here = innermost();
    open_.clear();
    if (outer_) outer_->take(*this);
    outer_ = nullptr;
  }

  EBB_COLD void begin(const probe_event& e) override {
    const std::uint32_t row = rows.find(e.is, e.name, e.of, e.program, e.step);
    open o{row, is_open(row), 0, e.work};
    open_.push_back(o);
    open_.back().begin = nanoseconds_now();
  }
  EBB_COLD void end() override {
    const std::int64_t now = nanoseconds_now();
    if (open_.empty()) return;
    const open o = open_.back();
    open_.pop_back();
    profile_row& r = rows.all[o.row];
    r.fastest = r.calls == 0 ? now - o.begin : std::min(r.fastest, now - o.begin);
    ++r.calls;
    r.self += now - o.begin - o.inner;
    if (!o.again) {
      r.nanoseconds += now - o.begin;
      r.work += o.work;
      r.allocations += o.allocations;
      r.allocated += o.allocated;
    }
    if (!open_.empty()) {
      open& outer = open_.back();
      outer.inner += now - o.begin;
      outer.work += o.work;
      outer.allocations += o.allocations;
      outer.allocated += o.allocated;
    }
    if (spans.size() < most_) spans.push_back({o.row, 0, o.begin, now});
    else ++dropped;
  }
  void allocated(std::size_t bytes) override {
    if (open_.empty()) return;
    ++open_.back().allocations;
    open_.back().allocated += bytes;
  }
  /// Adds the records of another one. Its threads are numbered from first_thread on.
  EBB_COLD void add(const profile_recorder& other, std::uint32_t first_thread) {
    std::vector<std::uint32_t> to;
    for (const profile_row& x : other.rows.all) {
      to.push_back(rows.find(x.is, x.name.c_str(), x.of.c_str(), x.program, x.step));
      profile_row& r = rows.all[to.back()];
      if (x.calls > 0) r.fastest = r.calls == 0 ? x.fastest : std::min(r.fastest, x.fastest);
      r.calls += x.calls;
      r.nanoseconds += x.nanoseconds;
      r.self += x.self;
      r.allocations += x.allocations;
      r.allocated += x.allocated;
      r.work += x.work;
    }
    for (profile_span s : other.spans) {
      s.row = to[s.row];
      s.thread += first_thread;
      if (spans.size() < most_) spans.push_back(s);
      else ++dropped;
    }
    dropped += other.dropped;
  }

  profile_rows rows;
  std::vector<profile_span> spans;
  std::uint64_t dropped = 0;  // spans, when there were too many

 private:
  struct open {
    std::uint32_t row;
    bool again;  // within a piece of work of the same row
    std::int64_t begin = 0;
    probed_work work;
    std::int64_t inner = 0;
    std::uint64_t allocations = 0, allocated = 0;
  };
  static profile_recorder*& innermost() {
    static thread_local profile_recorder* r = nullptr;
    return r;
  }
  EBB_COLD bool is_open(std::uint32_t row) const {
    for (const open& o : open_)
      if (o.row == row) return true;
    return false;
  }
  EBB_COLD void take(const profile_recorder& inner) {
    add(inner, 0);
    if (open_.empty()) return;
    for (const profile_row& r : inner.rows.all) open_.back().inner += r.self;
  }

  std::size_t most_;
  profile_recorder* outer_;
  std::vector<open> open_;
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
