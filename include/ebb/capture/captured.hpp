// ebb/capture/captured.hpp — one captured backward: its key, and the plan along which it runs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/counters.hpp"
#include "plan.hpp"

namespace ebb::inline EBB_ABI {

class captured final : public captured_backward {
 public:
  explicit captured(recording key) : key_(std::move(key)), plan_(key_) {}

  const recording& key() const { return key_; }

  const backward_plan& plan() const { return plan_; }

  void run(backward_pass& pass) override { plan_.run(pass); }

 private:
  recording key_;
  backward_plan plan_;
};

}  // namespace ebb::inline EBB_ABI
