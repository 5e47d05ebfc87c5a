// ebb/kernel/chain.hpp — several elementwise programs one behind the other on the same elements, a value staying in registers between them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: chains]
// A chain is an array of words: the address of a link's function and a place that it reads or writes, further places in words behind it,
// then the next link's. A link takes registers of elements, changes them, and jumps to the next link: a tail call, for which the
// System V ABI passes up to eight vectors in registers. So a gradient that runs through ten segments is neither stored nor loaded on its
// way, although nobody compiled the ten together. The loop over the elements stands outside: where calls are not made jumps (g++ below
// -O2, sanitizers) the stack is as deep as the chain is long, not as the arrays are.
// A wide step takes all eight, so that a jump is paid for once in eight. A narrow one takes a line of each array. It is for short arrays,
// for the last lines of longer ones, and for those that no cache holds, which it reads in the order that memory likes: a line of each in
// turn, where eight of one and then eight of the next take a fifth longer, in a loop written by hand too. So a word has both functions.
// Places stand in the code, which who runs it writes, and blocks are moved along with the arrays: what a link loads beside its elements it
// loads in their place, and looking up places in a table took a sixth of a step.
// Arrays are read in rising order, from one register to the next: falling addresses spoil the hardware's prefetch. g++ evaluates a call's
// arguments from the last to the first, hence the braced lists, and its scheduler may turn the order again, hence in_order.
#pragma once

#include "../tensor/storage.hpp"
#include "lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ebb::inline EBB_ABI {

/// What a wide step handles: so many registers, so many bytes.
inline constexpr std::size_t chain_registers = 8, chain_bytes = chain_registers * simd::register_bytes;
/// The registers of a narrow step.
template <class T>
inline constexpr std::size_t narrow_chain_registers = std::max<std::size_t>(lanes<T>::parts, 64 / simd::register_bytes);

/// Whether a chain takes narrow steps over so many arrays of so many bytes. Where few are read, there is no order among them to be spoilt.
constexpr bool takes_narrow_steps(std::size_t bytes, int arrays) {
  constexpr std::size_t far = std::size_t{24} << 20;
  return bytes < chain_bytes || (arrays >= 4 && bytes * static_cast<std::size_t>(arrays) >= far);
}

/// A link's functions and its first place, or a further place of the link before. A place is an array, of which a step that begins i bytes
/// behind the first element has what stands at base + i; or a block, which holds a value of one step for links that come later; or one
/// element, which is read for all of them.
struct chain_word {
  using function = void (*)();
  function wide = nullptr, narrow = nullptr;
  std::uintptr_t base = 0;

  template <class... W, class... N>
  static chain_word of(void (*wide)(W...), void (*narrow)(N...)) {
    return {reinterpret_cast<function>(wide), reinterpret_cast<function>(narrow)};
  }

  /// So that the step that begins i bytes behind the first element finds p.
  void stand_at(const void* p, std::size_t i = 0) { base = reinterpret_cast<std::uintptr_t>(p) - i; }
  EBB_INLINE char* at(std::size_t i) const { return reinterpret_cast<char*>(base + i); }
};

/// How a chain uses a place. What is written may be read, too; masks are read, one byte for each of the others' elements; single elements
/// are none of those.
enum class chain_use : std::uint8_t { read, written, mask, block };

/// A word that names an array or a block: which one that is, and how they use it.
struct chain_place {
  int word, number;
  chain_use use;
};
/// All such words: those of arrays that are written, those of others, those of blocks. How many numbers there are.
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

  /// The function of the link whose first word it is.
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
  /// Place = registers, which keep what they hold.
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

  /// One step. What the registers hold at first does not matter, unless it is what the first link, as most often, would load.
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

/// The links that are no programs: load, add and store with one place each, add_store with two, end with none.
template <class T, std::size_t Registers>
using chain_links = detail::chain_code<T, std::make_index_sequence<Registers>>;
template <class T>
using wide_links = chain_links<T, chain_registers>;
template <class T>
using narrow_links = chain_links<T, narrow_chain_registers<T>>;

/// How many bytes run_chain wants for so many arrays and blocks, which so many words name; a multiple of 64.
constexpr std::size_t chain_arena_bytes(int numbers, int words) {
  return static_cast<std::size_t>(numbers) * chain_bytes + detail::padded_bytes(static_cast<std::size_t>(words) * sizeof(char*));
}

namespace detail {

/// Memory of one step for each number, and behind it room for what each word named.
struct chain_arena {
  char* blocks;
  char** original;

  chain_arena(char* memory, const chain_places& p)
      : blocks(memory), original(reinterpret_cast<char**>(memory + static_cast<std::size_t>(p.numbers) * chain_bytes)) {}
  char* block(int number) const { return blocks + static_cast<std::size_t>(number) * chain_bytes; }
};

/// The words of blocks find them when the step begins i bytes behind the first element.
EBB_INLINE void place_blocks(chain_word* code, const chain_places& places, char* memory, std::size_t i) {
  const chain_arena arena(memory, places);
  for (const chain_place *p = places.first + places.arrays(), *end = p + places.blocks; p != end; ++p)
    code[p->word].stand_at(arena.block(p->number), i);
}

/// Steps from one byte to another.
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

/// f(line, its copy) for lines of all arrays that are written, from one byte to another.
EBB_INLINE void each_written_line(const chain_word* code, const chain_places& places, std::size_t from, std::size_t to, char* memory,
                                  auto&& f) {
  const chain_arena arena(memory, places);
  for (int w = 0; w < places.written; ++w) {
    const chain_place& p = places.first[w];
    char *const at = code[p.word].at(0), *copy = arena.block(p.number);
    for (std::size_t i = from; i < to; i += 64, copy += 64) f(at + i, copy);
  }
}

/// Arrays of at most 64 bytes are read from copies where a narrow step takes more.
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

/// Wide steps up to one byte, narrow ones up to another; if that is not the end, one more of so many bytes, which ends there. What wide
/// steps leave takes narrow ones if it is little, else a wide one.
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

/// Runs a chain of links for elements T on so many bytes, in narrow steps only or, from chain_bytes on, in wide ones. Arrays, whose words
/// know where they stand, are as storage has them: aligned to 64 and padded to the next multiple of 64, with zeros if they are written. An
/// array that is written is one number only, or one that is read and one that is written by a link that reads it first; no link reads in
/// it what an earlier one wrote by another number. The arena, chain_arena_bytes(...) aligned to 64, holds the blocks, and copies.
template <class T>
[[gnu::noinline]] void run_chain(chain_word* code, const chain_places& places, std::size_t bytes, char* memory, bool is_narrow) {
  using wide = wide_links<T>;
  using narrow = narrow_links<T>;
  const auto steps = detail::chain_steps::of<T>(bytes, is_narrow);
  if (steps.end < narrow::bytes) {
    if constexpr (narrow::bytes > 64)
      if (bytes != 0) detail::run_short<narrow>(code, places, bytes, memory);
  } else {
    // The last step may read what it writes, and finds there what the one before has found.
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
