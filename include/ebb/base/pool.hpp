// ebb/base/pool.hpp — a pool of memory blocks for each thread: freed blocks are kept and reused.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a steady state allocates nothing]
// Tapes allocate and free blocks of the same few sizes a million times a second, and arrays above the allocator's threshold would get
// fresh pages each time. So each thread keeps the blocks that it freed: multiples of 64 bytes up to 1 KiB, powers of two up to 16 KiB, and
// a few large blocks of exactly the requested size. Each block is a separate allocation of operator new, so any thread may free any block.
// A thread that ends frees the blocks it kept.
#pragma once

#include "look_up.hpp"

#include <bit>
#include <cstddef>
#include <new>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace ebb::inline EBB_ABI {

/// Whether counts need not be atomic: true until the process starts its second thread.
EBB_INLINE bool is_single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded;
#else
  return false;
#endif
}

namespace detail {

// Trivially destructible, so that access needs no guard; the reaper empties it when the thread ends.
struct block_pool {
  static constexpr int small_classes = 20, large_slots = 8;
  static constexpr std::size_t alignment = 64, largest_small = std::size_t{16} << 10;

  struct free_block {
    free_block* next;
  };
  struct large_block {
    void* memory;
    std::size_t bytes;
  };

  free_block* small[small_classes];
  large_block large[large_slots];
  std::size_t kept;   // bytes
  std::size_t limit;  // upper limit of kept
  int next_out;       // the large block that is freed next to make room
  bool is_open;       // the reaper is registered for the end of the thread

  EBB_ONCE static int class_of(std::size_t bytes) {
    if (bytes <= 1024) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
    return 5 + static_cast<int>(std::bit_width(bytes - 1));
  }
  static std::size_t size_of_class(int c) { return c < 16 ? static_cast<std::size_t>(c + 1) * 64 : std::size_t{1} << (c - 5); }
  static std::size_t rounded(std::size_t bytes) { return bytes <= largest_small ? size_of_class(class_of(bytes)) : bytes; }

  EBB_ONCE void empty() {
    for (int c = 0; c < small_classes; ++c)
      while (free_block* b = small[c]) {
        small[c] = b->next;
        ::operator delete(b, std::align_val_t{alignment});
      }
    for (large_block& b : large) {
      if (b.memory) ::operator delete(b.memory, std::align_val_t{alignment});
      b = {};
    }
    kept = 0;
  }
};

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t default_pool_limit = 0;  // else AddressSanitizer would miss uses after free
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr std::size_t default_pool_limit = 0;
#else
inline constexpr std::size_t default_pool_limit = std::size_t{256} << 20;
#endif
#else
inline constexpr std::size_t default_pool_limit = std::size_t{256} << 20;
#endif

inline constinit thread_local block_pool thread_pool{{}, {}, 0, default_pool_limit, 0, false};

struct pool_reaper {
  EBB_ONCE_CTOR ~pool_reaper() {
    thread_pool.empty();
    thread_pool.limit = 0;
  }
};

[[gnu::noinline]] inline void* new_block(block_pool& pool, std::size_t bytes) {
  if (!pool.is_open) {
    static thread_local pool_reaper reaper;
    static_cast<void>(&reaper);
    pool.is_open = true;
  }
  return ::operator new(block_pool::rounded(bytes), std::align_val_t{block_pool::alignment});
}
EBB_ONCE_APART void* take_large(block_pool& pool, std::size_t bytes) {
  for (block_pool::large_block& b : pool.large)
    if (b.bytes == bytes && b.memory) {
      void* const memory = b.memory;
      b = {};
      pool.kept -= bytes;
      return memory;
    }
  return new_block(pool, bytes);
}
EBB_ONCE_APART void give_large(block_pool& pool, void* memory, std::size_t bytes) {
  if (bytes > pool.limit / 2) return ::operator delete(memory, std::align_val_t{block_pool::alignment});
  block_pool::large_block* to = nullptr;
  for (block_pool::large_block& b : pool.large)
    if (!b.memory) to = &b;
  const auto drop = [&](block_pool::large_block& b) {
    if (!b.memory) return;
    pool.kept -= b.bytes;
    ::operator delete(b.memory, std::align_val_t{block_pool::alignment});
    b = {};
  };
  if (!to) drop(*(to = &pool.large[pool.next_out = (pool.next_out + 1) % block_pool::large_slots]));
  for (block_pool::large_block& b : pool.large)
    if (pool.kept + bytes > pool.limit) drop(b);
  *to = {memory, bytes};
  pool.kept += bytes;
}

}  // namespace detail

/// `bytes` of memory, aligned to 64.
/// Throws: std::bad_alloc.
EBB_INLINE void* take_block(std::size_t bytes) {
  detail::block_pool& pool = detail::look_up(detail::thread_pool);
  if (bytes > detail::block_pool::largest_small) return detail::take_large(pool, bytes);
  const int c = detail::block_pool::class_of(bytes);
  detail::block_pool::free_block* const first = pool.small[c];
  if (!first) return detail::new_block(pool, bytes);
  pool.small[c] = first->next;
  pool.kept -= detail::block_pool::size_of_class(c);
  return first;
}

/// Frees a block from take_block; `bytes` is the size that was requested. Any thread may call it.
EBB_INLINE void give_block(void* memory, std::size_t bytes) noexcept {
  detail::block_pool& pool = detail::look_up(detail::thread_pool);
  if (bytes > detail::block_pool::largest_small) return detail::give_large(pool, memory, bytes);
  const int c = detail::block_pool::class_of(bytes);
  const std::size_t size = detail::block_pool::size_of_class(c);
  if (pool.kept + size > pool.limit) return ::operator delete(memory, std::align_val_t{detail::block_pool::alignment});
  auto* const b = static_cast<detail::block_pool::free_block*>(memory);
  b->next = pool.small[c];
  pool.small[c] = b;
  pool.kept += size;
}

/// Limits the bytes of freed blocks that the calling thread keeps; 0: none. The blocks that it keeps now are freed.
/// The default is 256 MiB, and 0 under AddressSanitizer.
EBB_ONCE void keep_freed_memory(std::size_t limit) {
  detail::thread_pool.empty();
  detail::thread_pool.limit = limit;
}

}  // namespace ebb::inline EBB_ABI
