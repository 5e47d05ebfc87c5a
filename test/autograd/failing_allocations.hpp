// test/autograd/failing_allocations.hpp — each allocation of a call fails once, and what the thread keeps of what it frees.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "allocations.hpp"

#include "../catch.hpp"

#include <ebb/base/pool.hpp>

/// How much of what it frees the thread keeps. 0: each block is an allocation, and each that lives is seen.
struct pool_limit {
  explicit pool_limit(std::size_t bytes) { ebb::keep_freed_memory(bytes); }
  pool_limit(const pool_limit&) = delete;
  pool_limit& operator=(const pool_limit&) = delete;
  ~pool_limit() { ebb::keep_freed_memory(ebb::detail::default_pool_limit); }
};

#if EBB_EXCEPTIONS
/// Runs f until nothing fails any more, each time with one allocation later failing. check is told whether it failed.
int fail_each(auto&& f, auto&& check) {
  for (std::size_t n = 1;; ++n) {
    allocations::fails_in = n;
    bool failed = false;
    try {
      f();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const bool reached = allocations::fails_in == 0;
    allocations::fails_in = 0;
    REQUIRE(failed == reached);  // it came through, and from nowhere else
    check(failed);
    if (!failed) return static_cast<int>(n) - 1;
  }
}
#endif
