// test/base/pool.cpp — blocks of a thread: aligned, of the requested size, reused up to a limit, freed by any thread.
// SPDX-License-Identifier: BSL-1.0
// covers: pool.hpp look_up.hpp
#include "../catch.hpp"

#include <ebb/base/pool.hpp>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

using pool = ebb::detail::block_pool;
std::size_t kept() { return ebb::detail::thread_pool.kept; }

/// Sets the limit of the thread while it lives.
struct limited {
  std::size_t before = ebb::detail::thread_pool.limit;
  explicit limited(std::size_t bytes) { ebb::keep_freed_memory(bytes); }
  ~limited() { ebb::keep_freed_memory(before); }
};

}  // namespace

TEST_CASE("a size class holds the size, and no more than twice of it") {
  for (std::size_t bytes = 1; bytes <= pool::largest_small; bytes += bytes < 2000 ? 1 : 97) {
    const std::size_t size = pool::rounded(bytes);
    CHECK((size >= bytes && size % 64 == 0 && size < bytes + (bytes <= 1024 ? 64 : bytes)));
  }
  CHECK(pool::rounded(0) == 64);
  CHECK(pool::rounded(1024) == 1024);
  CHECK(pool::rounded(1025) == 2048);
  CHECK(pool::class_of(pool::largest_small) == pool::small_classes - 1);
}

TEST_CASE("blocks are aligned, separate, and writable to their last byte") {
  const limited limit(std::size_t{1} << 20);
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1024}, std::size_t{1025}, std::size_t{16384},
                            std::size_t{16385}, std::size_t{100'000}})
    for (int i = 0; i < 3; ++i) blocks.emplace_back(static_cast<unsigned char*>(ebb::take_block(bytes)), bytes);
  for (std::size_t b = 0; b < blocks.size(); ++b) std::memset(blocks[b].first, static_cast<int>(b), blocks[b].second);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto [p, bytes] = blocks[b];
    CHECK((reinterpret_cast<std::uintptr_t>(p) % 64 == 0 && p[0] == b && p[bytes - 1] == b));
    ebb::give_block(p, bytes);
  }
}

TEST_CASE("a freed block is used again for its size class, or for exactly its size if it is large") {
  const limited limit(std::size_t{1} << 20);
  for (std::size_t bytes : {std::size_t{100}, std::size_t{3000}, std::size_t{50'000}}) {
    void* const p = ebb::take_block(bytes);
    ebb::give_block(p, bytes);
    CHECK(kept() == pool::rounded(bytes));
    CHECK(ebb::take_block(bytes) == p);
    CHECK(kept() == 0);
    ebb::give_block(p, bytes);
    ebb::keep_freed_memory(std::size_t{1} << 20);
    CHECK(kept() == 0);
  }
  void* const large = ebb::take_block(50'000);
  ebb::give_block(large, 50'000);
  void* const other = ebb::take_block(49'999);
  CHECK(other != large);
  ebb::give_block(other, 49'999);
}

TEST_CASE("a thread keeps no more than its limit, and only so many large blocks") {
  const limited limit(100'000);
  const auto give_all = [](std::size_t bytes, int count) {
    std::vector<void*> taken;
    for (int i = 0; i < count; ++i) taken.push_back(ebb::take_block(bytes));
    CHECK(std::set<void*>(taken.begin(), taken.end()).size() == taken.size());
    for (void* p : taken) ebb::give_block(p, bytes);
  };
  give_all(10'000, 20);  // size class 16384
  CHECK(kept() == 6 * 16384);
  give_all(40'000, 3);  // large blocks take no room from small ones
  CHECK(kept() <= 100'000 + 40'000);
  ebb::keep_freed_memory(100'000);
  give_all(17'000, 20);
  CHECK(kept() <= 100'000);
  CHECK(kept() >= 4 * 17'000);
  give_all(60'000, 2);  // more than half of the limit: not kept
  CHECK(kept() <= 100'000);
  ebb::keep_freed_memory(std::size_t{1} << 20);
  give_all(17'000, 20);
  CHECK(kept() == pool::large_slots * 17'000);
  ebb::keep_freed_memory(0);
  give_all(100, 5);
  CHECK(kept() == 0);
}

TEST_CASE("a block may be freed in another thread, which frees what it kept when it ends") {
  void* const p = ebb::take_block(500);
  std::thread([=] {
    ebb::keep_freed_memory(std::size_t{1} << 20);
    ebb::give_block(ebb::take_block(200), 200);
    ebb::give_block(p, 500);
    CHECK(kept() == 256 + 512);
    CHECK(ebb::take_block(500) == p);
    ebb::give_block(p, 500);
  }).join();
}
