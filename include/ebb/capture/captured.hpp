// ebb/capture/captured.hpp — one captured backward: its key, and the plan along which it runs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/counters.hpp"
#include "plan.hpp"

namespace ebb::inline EBB_ABI {

class captured final : public captured_backward {
 public:
  explicit captured(recording key, bool merges) : key_(std::move(key)), plan_(key_, merges) {}

  const recording& key() const { return key_; }

  const backward_plan& plan() const { return plan_; }

  void run(backward_pass& pass) override { plan_.run(pass); }

  /// Where sizes are part of the key until they change. Returns the numbers of those that have changed and were static so far.
  vec<int> note_sizes(const walk& w) {
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
  vec<int> dynamic_sizes() const {
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
  vec<size> sizes_;
  recording key_;
  backward_plan plan_;
};

}  // namespace ebb::inline EBB_ABI
