// ebb/kernel/workspace.hpp — memory for the temporaries of a call: kept by the thread, so that a steady state allocates nothing.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <cstddef>
#include <new>

namespace ebb::inline EBB_ABI {

/// Grows to the largest call and is reused by the next one. Calls do not nest: a kernel runs no user code.
class workspace {
 public:
  workspace() = default;
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;
  ~workspace() { release(); }

  /// `bytes` of memory, aligned to 64.
  EBB_ONCE char* take(std::size_t bytes) {
    if (bytes > capacity_) grow(bytes);
    return memory_;
  }
  EBB_ONCE void release() {
    if (memory_) ::operator delete(memory_, std::align_val_t{64});
    memory_ = nullptr;
    capacity_ = 0;
  }

 private:
  EBB_ONCE void grow(std::size_t bytes) {
    const std::size_t wanted = bytes > 2 * capacity_ ? bytes : 2 * capacity_;
    char* memory = static_cast<char*>(::operator new(wanted, std::align_val_t{64}));
    release();
    memory_ = memory;
    capacity_ = wanted;
  }

  char* memory_ = nullptr;
  std::size_t capacity_ = 0;
};

inline workspace& thread_workspace() {
  static thread_local workspace w;
  return w;
}
/// The same for the bodies of loops: those in a loop that is in no other one are at depth 1. A body runs while the program around it does.
template <int Depth>
workspace& workspace_of_depth() {
  if constexpr (Depth == 0) return thread_workspace();
  else {
    static thread_local workspace w;
    return w;
  }
}
/// For what a loop carries from step to step, and for results that nobody reads.
template <int Depth>
workspace& workspace_of_carries() {
  static thread_local workspace w;
  return w;
}
/// For one step alone: packed operands of a product.
inline workspace& thread_scratch() {
  static thread_local workspace w;
  return w;
}
/// For results whose destinations overlap arguments.
inline workspace& thread_spare() {
  static thread_local workspace w;
  return w;
}

}  // namespace ebb::inline EBB_ABI
