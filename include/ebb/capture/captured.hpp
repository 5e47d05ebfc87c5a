// ebb/capture/captured.hpp — one captured backward: its key, and the plan along which it runs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/counters.hpp"
#include "recording.hpp"

namespace ebb::inline EBB_ABI {

class captured final : public captured_backward {
 public:
  explicit captured(recording key) : key_(std::move(key)) {}

  const recording& key() const { return key_; }

  void run(backward_pass& pass) override {
    pass.start();
    for (int i = 0; i < key_.nodes(); ++i) pass.run_if_reached(i);
  }

 private:
  recording key_;
};

}  // namespace ebb::inline EBB_ABI
