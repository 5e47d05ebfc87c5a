// ebb/kernel/chain.hpp — several elementwise programs one behind the other on the same elements, a value staying in registers between them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: chains]
// A chain is an array of words: the address of a link's function, the numbers of the places that it reads and writes, then the next link's.
// A link takes eight registers of elements, changes them, and jumps to the next link: a tail call, for which the System V ABI passes eight
// vectors in registers. So a gradient that runs through ten segments is neither stored nor loaded on its way, although nobody compiled the
// ten together. The loop over the elements stands outside: where calls are not made jumps (g++ below -O2, sanitizers) the stack is as deep
// as the chain is long, not as the arrays are.
// Arrays are read in rising order, from one register to the next: falling addresses spoil the hardware's prefetch. g++ evaluates a call's
// arguments from the last to the first, hence the braced lists, and its scheduler may turn the order again, hence in_order.
#pragma once

#include "../tensor/storage.hpp"
#include "batch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ebb::inline EBB_ABI {

/// What a chain handles at a time: so many registers, so many bytes, so many elements.
inline constexpr std::size_t chain_registers = 8, chain_bytes = chain_registers * simd::register_bytes;
template <class T>
inline constexpr std::size_t chain_step = chain_bytes / sizeof(T);

/// Where a link reads or writes. What belongs to a step that begins `i` bytes behind the first element stands at base + (i & mask).
struct chain_place {
  char* base = nullptr;
  std::size_t mask = 0;

  static chain_place array(const void* p) { return {static_cast<char*>(const_cast<void*>(p)), ~std::size_t{0}}; }
  /// chain_bytes of memory that hold a value of one step, for links that come later.
  static chain_place block(void* p) { return {static_cast<char*>(p), 0}; }
  /// One element, which is read for all of them.
  static chain_place element(const void* p) { return {static_cast<char*>(const_cast<void*>(p)), 0}; }

  EBB_INLINE char* at(std::size_t i) const { return base + (i & mask); }
};

/// How a chain uses an array. Blocks and single elements: neither. A mask is read, one byte for each of the others' elements.
enum class chain_use : std::uint8_t { neither = 0, read = 1, written = 2, both = 3, mask = 4 };

union chain_word;

template <class T>
using chain_function = void (*)(const chain_word* at, const chain_place* places, std::size_t i, simd::vector<T>, simd::vector<T>,
                                simd::vector<T>, simd::vector<T>, simd::vector<T>, simd::vector<T>, simd::vector<T>, simd::vector<T>);

/// A link's function, or the number of a place: where it stands among the places, in bytes.
union chain_word {
  void (*function)();
  std::size_t offset;

  chain_word() : offset(0) {}
  chain_word(int place) : offset(static_cast<std::size_t>(place) * sizeof(chain_place)) {}
  template <class T>
  static chain_word of(chain_function<T> f) {
    chain_word w;
    w.function = reinterpret_cast<void (*)()>(f);
    return w;
  }
  template <class T>
  EBB_INLINE chain_function<T> link() const { return reinterpret_cast<chain_function<T>>(function); }
  /// Where the place stands in a step that begins i bytes behind the first element.
  EBB_INLINE char* address(const chain_place* places, std::size_t i) const {
    return reinterpret_cast<const chain_place*>(reinterpret_cast<const char*>(places) + offset)->at(i);
  }
};

namespace detail {

/// x, which is computed before what is in order behind it.
template <class V>
EBB_INLINE V in_order(V x) {
#if defined(__x86_64__) && !defined(__clang__)
  asm volatile("" : : "v"(x));
#endif
  return x;
}

template <class T, class Numbers>
class chain_code;
template <class T, std::size_t... I>
class chain_code<T, std::index_sequence<I...>> {
  using vector = simd::vector<T>;
  template <std::size_t>
  using vector_at = vector;
  static constexpr std::size_t count = static_cast<std::size_t>(simd::count_of<T>);

  static EBB_INLINE T* address(const chain_word& w, const chain_place* places, std::size_t i) {
    return reinterpret_cast<T*>(w.address(places, i));
  }

 public:
  /// Registers = place.
  static void load(const chain_word* at, const chain_place* places, std::size_t i, vector_at<I>...) {
    const T* const from = address(at[1], places, i);
    const vector y[] = {in_order(simd::load(from + I * count))...};
    EBB_TAIL_CALL return at[2].link<T>()(at + 2, places, i, y[I]...);
  }
  /// Registers = place + registers.
  static void add(const chain_word* at, const chain_place* places, std::size_t i, vector_at<I>... x) {
    const T* const from = address(at[1], places, i);
    const vector y[] = {in_order(simd::load(from + I * count) + x)...};
    EBB_TAIL_CALL return at[2].link<T>()(at + 2, places, i, y[I]...);
  }
  /// Place = registers, which keep what they hold.
  static void store(const chain_word* at, const chain_place* places, std::size_t i, vector_at<I>... x) {
    T* const to = address(at[1], places, i);
    (simd::store(to + I * count, x), ...);
    EBB_TAIL_CALL return at[2].link<T>()(at + 2, places, i, x...);
  }
  /// Second place = registers = first place + registers: an `add` and a `store` in one. The places may be of one array.
  static void add_store(const chain_word* at, const chain_place* places, std::size_t i, vector_at<I>... x) {
    const T* const from = address(at[1], places, i);
    T* const to = address(at[2], places, i);
    const vector y[] = {in_order(simd::load(from + I * count) + x)...};
    (simd::store(to + I * count, y[I]), ...);
    EBB_TAIL_CALL return at[3].link<T>()(at + 3, places, i, y[I]...);
  }
  static void end(const chain_word*, const chain_place*, std::size_t, vector_at<I>...) {}

  /// One step. What the registers hold at first does not matter.
  static EBB_INLINE void run(const chain_word* code, const chain_place* places, std::size_t i) {
    code->link<T>()(code, places, i, vector_at<I>{}...);
  }
};

}  // namespace detail

/// The links that are no programs: load, add and store with one place each, add_store with two, end.
template <class T>
using chain_links = detail::chain_code<T, std::make_index_sequence<chain_registers>>;

/// How many bytes run_chain wants, a multiple of 64.
constexpr std::size_t chain_arena_bytes(int place_count) {
  const auto n = static_cast<std::size_t>(place_count);
  return n * chain_bytes + detail::padded_bytes(n * sizeof(char*));
}

namespace detail {

EBB_INLINE bool is_written(chain_use u) {
  return (static_cast<unsigned>(u) & static_cast<unsigned>(chain_use::written)) != 0;
}

/// The elements that are no whole step, behind all others. The step ends where the padding does, so that it is aligned; what it writes goes
/// to blocks, of which only those elements are taken. Arrays that are shorter than a step are read from copies.
template <class T>
[[gnu::noinline]] void run_last_step(const chain_word* code, chain_place* places, const chain_use* use, int place_count,
                                     std::size_t bytes, char* arena) {
  const std::size_t end = padded_bytes(bytes), step = end < chain_bytes ? end : chain_bytes, first = end - step;
  const std::size_t whole = bytes / chain_bytes * chain_bytes;
  const auto block = [&](int p) { return arena + static_cast<std::size_t>(p) * chain_bytes; };
  const auto of = [&](int p, std::size_t n) { return use[p] == chain_use::mask ? n / sizeof(T) : n; };
  char** const original = reinterpret_cast<char**>(block(place_count));
  for (int p = 0; p < place_count; ++p) {
    const bool is_read = use[p] == chain_use::read || use[p] == chain_use::mask;
    if (use[p] == chain_use::neither || (is_read && step == chain_bytes)) continue;
    original[p] = places[p].base;
    places[p] = chain_place::block(block(p));
    if (use[p] == chain_use::written) continue;
    std::memcpy(block(p), original[p] + of(p, first), of(p, step));
    std::memset(block(p) + of(p, step), 0, of(p, chain_bytes - step));
  }
  chain_links<T>::run(code, places, first);
  for (int p = 0; p < place_count; ++p)
    if (is_written(use[p])) std::memcpy(original[p] + whole, block(p) + (whole - first), bytes - whole);
}

}  // namespace detail

/// Runs a chain on `count` elements. Arrays are as storage has them: aligned to 64 and readable, not written, to the next multiple of 64.
/// An array that it writes is one place only, or one that is read and one that is written by a link that reads it first; no link reads in
/// it what an earlier one wrote into another place. The arena, chain_arena_bytes(place_count) aligned to 64, serves the last step, and
/// what `places` are then is that of copies.
template <class T>
[[gnu::noinline]] void run_chain(const chain_word* code, chain_place* places, const chain_use* use, int place_count,
                                 std::size_t count, char* arena) {
  const std::size_t bytes = count * sizeof(T);
  for (std::size_t i = 0; i + chain_bytes <= bytes; i += chain_bytes) chain_links<T>::run(code, places, i);
  if (bytes % chain_bytes) detail::run_last_step<T>(code, places, use, place_count, bytes, arena);
#if defined(__AVX__)
  _mm256_zeroupper();  // g++ takes what a call was given in registers for the callee's business
#endif
}

}  // namespace ebb::inline EBB_ABI
