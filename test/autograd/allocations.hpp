// test/autograd/allocations.hpp — counters of allocations, for every test of this executable.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace allocations {

// Counters of the calling thread. Memory freed by another thread is counted there: only tests without threads ask for live memory.
inline thread_local std::size_t made = 0;
inline thread_local std::ptrdiff_t live = 0, live_bytes = 0, most_bytes = 0;
inline thread_local std::size_t fails_in = 0;  // the allocation that fails, counted from 1; 0: none

inline void* try_make(std::size_t bytes, std::size_t alignment) noexcept {
  ++made;
  if (fails_in > 0 && --fails_in == 0) return nullptr;
  void* const p = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (!p) std::abort();
  ++live;
  most_bytes = std::max(most_bytes, live_bytes += static_cast<std::ptrdiff_t>(malloc_usable_size(p)));
  return p;
}
inline void* make(std::size_t bytes, std::size_t alignment) {
  if (void* p = try_make(bytes, alignment)) return p;
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::abort();
#endif
}
inline void end(void* p) noexcept {
  if (!p) return;
  --live;
  live_bytes -= static_cast<std::ptrdiff_t>(malloc_usable_size(p));
  std::free(p);
}

/// The number of allocations of the calling thread while f ran.
template <class F>
std::size_t in(F&& f) {
  const std::size_t before = made;
  f();
  return made - before;
}

/// The largest number of bytes, beyond those before, that were allocated at one time while f ran.
template <class F>
std::ptrdiff_t most_bytes_in(F&& f) {
  const std::ptrdiff_t before = most_bytes = live_bytes;
  f();
  return most_bytes - before;
}

}  // namespace allocations

// Weak: several tests in one executable may include this. All forms are replaced: a sanitizer's own forms do not call each other.
[[gnu::weak]] void* operator new(std::size_t n) { return allocations::make(n, 16); }
[[gnu::weak]] void* operator new[](std::size_t n) { return allocations::make(n, 16); }
[[gnu::weak]] void* operator new(std::size_t n, std::align_val_t a) { return allocations::make(n, static_cast<std::size_t>(a)); }
[[gnu::weak]] void* operator new[](std::size_t n, std::align_val_t a) { return allocations::make(n, static_cast<std::size_t>(a)); }
[[gnu::weak]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocations::try_make(n, 16); }
[[gnu::weak]] void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocations::try_make(n, 16); }
[[gnu::weak]] void operator delete(void* p) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete[](void* p, std::align_val_t) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete(void* p, const std::nothrow_t&) noexcept { allocations::end(p); }
[[gnu::weak]] void operator delete[](void* p, const std::nothrow_t&) noexcept { allocations::end(p); }
