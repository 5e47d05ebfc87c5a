// ebb/kernel/chain.hpp — chains: elementwise programs that run one after another on the same lanes, with a value in registers between them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: chains]
// A chain is an array of words: the address of a link's function with the first place that it reads or writes, then words with its further
// places, then the next link. A link takes registers of elements, changes them, and jumps to the next link. This jump is a tail call; the
// System V ABI passes up to eight vectors in registers. So a gradient runs through ten segments without a store or a load between them,
// although no compiler saw the ten together. The loop over the elements is outside of the chain: where calls are no jumps (g++ below -O2,
// sanitizers), the depth of the stack depends on the number of links, not on the length of arrays.
// A wide step takes all eight registers: one jump for eight registers. A narrow step takes one cache line of each array. It is for short
// arrays, for the last lines of longer ones, and for arrays that fit into no cache. Those are read a line of each in turn: eight lines of
// one array and then eight of the next take a fifth longer, in a loop written by hand too. So each word has both functions.
// The words hold the addresses themselves: looking up places in a table took a sixth of a step. Blocks move along with the arrays, so a
// link computes all addresses alike.
// Arrays are read in rising order, from one register to the next: falling addresses defeat the hardware's prefetch. g++ evaluates the
// arguments of a call from the last to the first, hence the braced lists, and its scheduler may reorder them, hence in_order.
#pragma once

#include "../tensor/storage.hpp"
#include "lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The registers and the bytes of a wide step.
inline constexpr std::size_t chain_registers = 8, chain_bytes = chain_registers * simd::register_bytes;
/// The registers of a narrow step.
template <class T>
inline constexpr std::size_t narrow_chain_registers = std::max<std::size_t>(lanes<T>::parts, 64 / simd::register_bytes);

/// Whether a chain takes narrow steps over so many arrays of so many bytes. For few arrays the order of reads does not matter.
constexpr bool takes_narrow_steps(std::size_t bytes, int arrays) {
  constexpr std::size_t far = std::size_t{24} << 20;
  return bytes < chain_bytes || (arrays >= 4 && bytes * static_cast<std::size_t>(arrays) >= far);
}

/// The functions of a link and its first place, or a further place of the link before. A place is an array, a block or an element. The step
/// that begins i bytes after the first element uses the memory at base + i. A block holds a value of one step for later links. An element
/// is read for all lanes.
struct chain_word {
  using function = void (*)();
  function wide = nullptr, narrow = nullptr;
  std::uintptr_t base = 0;

  template <class... W, class... N>
  static chain_word of(void (*wide)(W...), void (*narrow)(N...)) {
    return {reinterpret_cast<function>(wide), reinterpret_cast<function>(narrow)};
  }

  /// Sets the base so that the step that begins i bytes after the first element uses p.
  void stand_at(const void* p, std::size_t i = 0) { base = reinterpret_cast<std::uintptr_t>(p) - i; }
  EBB_INLINE char* at(std::size_t i) const { return reinterpret_cast<char*>(base + i); }
};

/// How a chain uses an array or a block. A written one may be read too. A mask is read, one byte for each element of the others.
enum class chain_use : std::uint8_t { read, written, mask, block };

/// A word that names an array or a block, the number of that, and its use.
struct chain_place {
  int word, number;
  chain_use use;
};
/// All such words: of arrays that are written, of other arrays, of blocks. `numbers`: how many numbers arrays and blocks have.
struct chain_places {
  const chain_place* first;
  int written, read, blocks, numbers;

  int arrays() const { return written + read; }
};

namespace detail {

template <class T, class Numbers>
class chain_code;
template <class T, std::size_t... I>
class chain_code<T, std::index_sequence<I...>> {
  using vector = simd::vector<T>;
  template <std::size_t>
  using vector_at = vector;
  static constexpr std::size_t count = static_cast<std::size_t>(simd::count_of<T>);

  using function = void (*)(const chain_word* at, std::size_t i, vector_at<I>...);

  static EBB_INLINE T* address(const chain_word& w, std::size_t i) { return reinterpret_cast<T*>(w.at(i)); }

 public:
  using element = T;
  /// How many bytes a step handles.
  static constexpr std::size_t bytes = sizeof...(I) * simd::register_bytes;

  /// The function of the link that begins with w.
  static EBB_INLINE function link(const chain_word& w) {
    return reinterpret_cast<function>(sizeof...(I) == chain_registers ? w.wide : w.narrow);
  }

  /// Registers = place.
  static void load(const chain_word* at, std::size_t i, vector_at<I>...) {
    const T* const from = address(at[0], i);
    const vector y[] = {simd::in_order(simd::load(from + I * count))...};
    EBB_TAIL_CALL return link(at[1])(at + 1, i, y[I]...);
  }
  /// Registers = place + registers.
  static void add(const chain_word* at, std::size_t i, vector_at<I>... x) {
    const T* const from = address(at[0], i);
    const vector y[] = {simd::in_order(simd::load(from + I * count) + x)...};
    EBB_TAIL_CALL return link(at[1])(at + 1, i, y[I]...);
  }
  /// Place = registers, which do not change.
  static void store(const chain_word* at, std::size_t i, vector_at<I>... x) {
    T* const to = address(at[0], i);
    (simd::store(to + I * count, x), ...);
    EBB_TAIL_CALL return link(at[1])(at + 1, i, x...);
  }
  /// Second place = registers = first place + registers: an `add` and a `store` in one. The places may be of one array.
  static void add_store(const chain_word* at, std::size_t i, vector_at<I>... x) {
    const T* const from = address(at[0], i);
    T* const to = address(at[1], i);
    const vector y[] = {simd::in_order(simd::load(from + I * count) + x)...};
    (simd::store(to + I * count, y[I]), ...);
    EBB_TAIL_CALL return link(at[2])(at + 2, i, y[I]...);
  }
  static void end(const chain_word*, std::size_t, vector_at<I>...) {}

  /// One step. The registers begin with any values. Most chains begin with a load: it is done here, and saves one jump.
  static EBB_INLINE void run(const chain_word* code, std::size_t i) {
    if (link(code[0]) == load) [[likely]] {
      const T* const from = address(code[0], i);
      const vector y[] = {simd::in_order(simd::load(from + I * count))...};
      return link(code[1])(code + 1, i, y[I]...);
    }
    link(code[0])(code, i, simd::any_value<vector_at<I>>()...);
  }
};

}  // namespace detail

/// Links that are no programs: load, add and store have one place, add_store has two, end has none.
template <class T, std::size_t Registers>
using chain_links = detail::chain_code<T, std::make_index_sequence<Registers>>;
template <class T>
using wide_links = chain_links<T, chain_registers>;
template <class T>
using narrow_links = chain_links<T, narrow_chain_registers<T>>;

/// The bytes of the arena of run_chain for so many arrays and blocks, which so many words name; a multiple of 64.
constexpr std::size_t chain_arena_bytes(int numbers, int words) {
  return static_cast<std::size_t>(numbers) * chain_bytes + detail::padded_bytes(static_cast<std::size_t>(words) * sizeof(char*));
}

namespace detail {

/// Memory of one step for each number, then room for the original address of each word.
struct chain_arena {
  char* blocks;
  char** original;

  chain_arena(char* memory, const chain_places& p)
      : blocks(memory), original(reinterpret_cast<char**>(memory + static_cast<std::size_t>(p.numbers) * chain_bytes)) {}
  char* block(int number) const { return blocks + static_cast<std::size_t>(number) * chain_bytes; }
};

/// Sets the words of blocks for the step that begins i bytes after the first element.
EBB_INLINE void place_blocks(chain_word* code, const chain_places& places, char* memory, std::size_t i) {
  const chain_arena arena(memory, places);
  for (const chain_place *p = places.first + places.arrays(), *end = p + places.blocks; p != end; ++p)
    code[p->word].stand_at(arena.block(p->number), i);
}

/// Runs the steps from one byte to another.
template <class Links>
EBB_INLINE void run_steps(chain_word* code, const chain_places& places, std::size_t from, std::size_t to, char* memory) {
  if (places.blocks == 0) {
    for (std::size_t i = from; i != to; i += Links::bytes) Links::run(code, i);
    return;
  }
  place_blocks(code, places, memory, from);
  for (std::size_t i = from; i != to; i += Links::bytes) {
    Links::run(code, i);
    for (int b = 0; b < places.blocks; ++b) code[places.first[places.arrays() + b].word].base -= Links::bytes;
  }
}

/// f(line, copy) for each line between two bytes of each array that is written.
EBB_INLINE void each_written_line(const chain_word* code, const chain_places& places, std::size_t from, std::size_t to, char* memory,
                                  auto&& f) {
  const chain_arena arena(memory, places);
  for (int w = 0; w < places.written; ++w) {
    const chain_place& p = places.first[w];
    char *const at = code[p.word].at(0), *copy = arena.block(p.number);
    for (std::size_t i = from; i < to; i += 64, copy += 64) f(at + i, copy);
  }
}

/// Runs on copies: for arrays of at most 64 bytes if a narrow step takes more.
template <class Links>
[[gnu::noinline]] void run_short(chain_word* code, const chain_places& places, std::size_t bytes, char* memory) {
  const chain_arena arena(memory, places);
  const auto of = [](chain_use u, std::size_t n) { return u == chain_use::mask ? n / sizeof(typename Links::element) : n; };
  const std::size_t step = padded_bytes(bytes);
  for (int a = 0; a < places.arrays(); ++a) {
    const chain_place& p = places.first[a];
    char* const block = arena.block(p.number);
    const char* const from = arena.original[a] = code[p.word].at(0);
    code[p.word].stand_at(block);
    std::memcpy(block, from, of(p.use, step));
    std::memset(block + of(p.use, step), 0, of(p.use, Links::bytes - step));
  }
  place_blocks(code, places, memory, 0);
  Links::run(code, 0);
  for (int a = 0; a < places.arrays(); ++a) {
    chain_word& word = code[places.first[a].word];
    if (a < places.written) std::memcpy(arena.original[a], word.at(0), bytes);
    word.stand_at(arena.original[a]);
  }
}

/// Wide steps run up to byte `wide`, narrow ones up to byte `narrow`. If that is not `end`, one more step of `last` bytes ends there. The
/// rest after wide steps takes narrow steps if it is short, else another wide one.
struct chain_steps {
  std::size_t wide, narrow, last, end;

  template <class T>
  static constexpr chain_steps of(std::size_t bytes, bool is_narrow) {
    const std::size_t end = padded_bytes(bytes), left = is_narrow ? end : end % chain_bytes;
    const std::size_t last = is_narrow || left <= chain_bytes / 2 ? narrow_links<T>::bytes : chain_bytes;
    return {end - left, end - left % last, last, end};
  }
};

}  // namespace detail

/// Runs a chain of links for elements T on so many bytes: in narrow steps only or, from chain_bytes on, in wide steps too. The words hold
/// the addresses of arrays. These are aligned to 64 and padded to the next multiple of 64, as in storage; written ones are padded with
/// zeros. A written array has one number, or two if the link that writes it reads it first by the other. No link reads from it what an
/// earlier link wrote by another number. The arena, chain_arena_bytes(...) aligned to 64, holds the blocks and copies.
template <class T>
[[gnu::noinline]] void run_chain(chain_word* code, const chain_places& places, std::size_t bytes, char* memory, bool is_narrow) {
  using wide = wide_links<T>;
  using narrow = narrow_links<T>;
  const auto steps = detail::chain_steps::of<T>(bytes, is_narrow);
  if (steps.end < narrow::bytes) {
    if constexpr (narrow::bytes > 64)
      if (bytes != 0) detail::run_short<narrow>(code, places, bytes, memory);
  } else {
    // The last step may read what it writes, so lines that it shares with the step before are restored.
    const bool is_even = steps.narrow == steps.end;
    const std::size_t last = steps.end - steps.last;
    const auto keep = [](char* line, char* copy) EBB_LAMBDA { std::memcpy(copy, line, 64); };
    const auto put_back = [](char* line, char* copy) EBB_LAMBDA { std::memcpy(line, copy, 64); };
    if (!is_even) detail::each_written_line(code, places, last, steps.narrow, memory, keep);
    detail::run_steps<wide>(code, places, 0, steps.wide, memory);
    detail::run_steps<narrow>(code, places, steps.wide, steps.narrow, memory);
    if (!is_even) {
      detail::each_written_line(code, places, last, steps.narrow, memory, put_back);
      detail::place_blocks(code, places, memory, last);
      steps.last == wide::bytes ? wide::run(code, last) : narrow::run(code, last);
    }
    for (int w = 0; steps.end != bytes && w < places.written; ++w)
      std::memset(code[places.first[w].word].at(bytes), 0, steps.end - bytes);
  }
  simd::clear_upper_halves();
}

}  // namespace ebb::inline EBB_ABI
