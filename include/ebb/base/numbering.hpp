// ebb/base/numbering.hpp — numbers objects in the order in which a program meets them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vec.hpp"

#include <mutex>

namespace ebb::inline EBB_ABI::detail {

/// Gives each address a number when it is first asked for it. Threads may ask at the same time.
class numbering {
  std::mutex alone_;
  vec<const void*> known_;

 public:
  struct place {
    int number;
    bool is_new;
  };
  place operator()(const void* p) {
    const std::lock_guard<std::mutex> lock(alone_);
    int n = 0;
    while (n < known_.size() && known_[n] != p) ++n;
    const bool is_new = n == known_.size();
    if (is_new) known_.push(p);
    return {n, is_new};
  }
};

}  // namespace ebb::inline EBB_ABI::detail
