// ebb/capture/captured.hpp — one captured backward: its key, and the plan along which it runs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "plan.hpp"

#include "../autograd/counters.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

class captured final : public captured_backward {
 public:
  captured(recording key, bool merges) : key_(std::move(key)), plan_(key_, merges) {}
  /// The same once more, with what is known of its sizes.
  captured(const captured& other, bool merges) : sizes_(other.sizes_), key_(other.key_), plan_(key_, merges) {}

  const recording& key() const { return key_; }

  const backward_plan& plan() const { return plan_; }

  void run(backward_pass& pass) override { plan_.run(pass); }

  /// It has run, as unique_graphs counts: once since the counters were cleared, without a lock from then on.
  EBB_ONCE void note() {
    const std::uint64_t now = detail::counting().clears.load(std::memory_order_relaxed);
    if (std::exchange(noted_, now) != now) detail::counting().note(number_);
  }

  /// Where sizes are part of the key until they change. Returns the numbers of those that have changed and were static so far.
  EBB_ONCE vec<int> note_sizes(const walk& w) {
    vec<int> changed;
    int number = 0;
    for (int i = 0; i < key_.nodes(); ++i) {
      const node& n = static_cast<const node&>(*w.at(i).at);
      for (int s = 0; s < n.program->symbols; ++s, ++number) {
        const std::size_t now = n.symbols()[s];
        if (number == sizes_.size()) sizes_.push({now, false});
        size& was = sizes_[number];
        if (was.value != now && !std::exchange(was.is_dynamic, true)) changed.push(static_cast<int>(number));
        was.value = now;
      }
    }
    return changed;
  }
  /// Numbers of sizes that have changed so far.
  EBB_ONCE vec<int> dynamic_sizes() const {
    vec<int> r;
    for (int i = 0; i < sizes_.size(); ++i)
      if (sizes_[i].is_dynamic) r.push(static_cast<int>(i));
    return r;
  }

 private:
  struct size {
    std::size_t value;
    bool is_dynamic;
  };
  // Another one may stand at this address later.
  static std::uintptr_t next_number() {
    static std::atomic<std::uintptr_t> last{1};
    return last.fetch_add(2, std::memory_order_relaxed);
  }

  vec<size> sizes_;
  recording key_;
  backward_plan plan_;
  std::uintptr_t number_ = next_number();
  std::uint64_t noted_ = 0;
};

}  // namespace ebb::inline EBB_ABI
