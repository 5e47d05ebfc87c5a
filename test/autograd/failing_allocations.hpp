// test/autograd/failing_allocations.hpp — makes each allocation of a call fail once, and limits the thread's pool of freed memory.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "allocations.hpp"

#include "../catch.hpp"

#include <ebb/base/pool.hpp>

/// Limits the freed memory that the thread keeps. 0: each block is an allocation, and each live block is counted.
struct pool_limit {
  explicit pool_limit(std::size_t bytes) { ebb::keep_freed_memory(bytes); }
  pool_limit(const pool_limit&) = delete;
  pool_limit& operator=(const pool_limit&) = delete;
  ~pool_limit() { ebb::keep_freed_memory(ebb::detail::default_pool_limit); }
};

#if EBB_EXCEPTIONS
/// Runs f again and again, each time with a later allocation failing, until none fails. check gets whether f failed.
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
    REQUIRE(failed == reached);  // the exception came through and had no other source
    check(failed);
    if (!failed) return static_cast<int>(n) - 1;
  }
}
#endif
