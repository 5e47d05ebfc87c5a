// test/autograd/allocations.hpp — counts what is allocated, in every test of this executable that asks.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <new>

namespace allocations {

inline thread_local std::size_t made = 0;

inline void* make(std::size_t bytes, std::size_t alignment) {
  ++made;
  if (void* p = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment)) return p;
  std::abort();
}

/// How many the calling thread made while f ran.
template <class F>
std::size_t in(F&& f) {
  const std::size_t before = made;
  f();
  return made - before;
}

}  // namespace allocations

// Weak: several tests may include this, and are linked into one executable. All of them: a sanitizer's own do not call each other.
[[gnu::weak]] void* operator new(std::size_t n) { return allocations::make(n, 16); }
[[gnu::weak]] void* operator new[](std::size_t n) { return allocations::make(n, 16); }
[[gnu::weak]] void* operator new(std::size_t n, std::align_val_t a) { return allocations::make(n, static_cast<std::size_t>(a)); }
[[gnu::weak]] void* operator new[](std::size_t n, std::align_val_t a) { return allocations::make(n, static_cast<std::size_t>(a)); }
[[gnu::weak]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocations::make(n, 16); }
[[gnu::weak]] void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocations::make(n, 16); }
[[gnu::weak]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
