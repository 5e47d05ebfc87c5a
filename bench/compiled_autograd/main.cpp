// bench/compiled_autograd/main.cpp — captured backwards against the plain engine and against loops written by hand.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.compiled_autograd [--smoke] [table...]      look_up tutorial work recorded chains network capture; all if none is named
//
// Times are medians of rounds in which all candidates of a row run in turns; a ratio is the median of the rounds' ratios. Graphs are made
// before the clock starts. Goals are in parentheses; a star marks a missed goal. Results are first compared bit for bit.
#include "tables.hpp"

#include <ebb/base/pool.hpp>

#include <new>
#include <string_view>

#include <malloc.h>

namespace {
std::size_t allocated = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocated;
  if (void* const p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return p;
  std::abort();
}
}  // namespace

void* operator new(std::size_t n) { return allocate(n, 16); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate(n, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

std::size_t bench::allocations() { return allocated; }

int main(int count, char** arguments) {
  // Otherwise page faults for each large gradient of the plain engine would hide everything else.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ebb::keep_freed_memory(std::size_t{1} << 30);

  bench::session s;
  std::vector<std::string_view> wanted;
  for (int i = 1; i < count; ++i)
    if (std::string_view(arguments[i]) == "--smoke") s.smoke = true;
    else wanted.push_back(arguments[i]);
  const auto table = [&](std::string_view name, void (*measure)(bench::session&)) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) measure(s);
  };
  table("look_up", bench::look_up);
  table("tutorial", bench::tutorial);
  table("work", bench::work);
  table("recorded", bench::recorded);
  table("chains", bench::chains);
  table("network", bench::network);
  table("capture", bench::capture);
  std::printf("\nallocations of a hit, in all cases but new lengths: %s\n", s.failures ? "see above" : "0");
  return s.failures ? 1 : 0;
}
