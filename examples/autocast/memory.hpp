// examples/autocast/memory.hpp — peak memory: counts operator new and delete.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <thread>

namespace memory {

inline thread_local std::ptrdiff_t live = 0, most = 0;

inline void* take(std::size_t bytes, std::size_t alignment) {
  void* const p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!p) std::abort();
  most = std::max(most, live += static_cast<std::ptrdiff_t>(malloc_usable_size(p)));
  return p;
}
inline void give(void* p) noexcept {
  if (p) live -= static_cast<std::ptrdiff_t>(malloc_usable_size(p));
  std::free(p);
}

/// The largest number of bytes that f allocates at one time, beyond those before. It runs in a thread of its own: each thread keeps the
/// blocks it has freed for reuse.
std::ptrdiff_t peak(auto&& f) {
  std::ptrdiff_t bytes = 0;
  std::thread([&] {
    const std::ptrdiff_t before = most = live;
    f();
    bytes = most - before;
  }).join();
  return bytes;
}

}  // namespace memory

void* operator new(std::size_t bytes) { return memory::take(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) { return memory::take(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { memory::give(p); }
void operator delete(void* p, std::size_t) noexcept { memory::give(p); }
void operator delete(void* p, std::align_val_t) noexcept { memory::give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { memory::give(p); }
