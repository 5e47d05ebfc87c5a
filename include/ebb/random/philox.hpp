// ebb/random/philox.hpp — random numbers from a counter: a key and a number give random bits, the same on every machine.
// SPDX-License-Identifier: BSL-1.0
//
// Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// It passes BigCrush, has no state, and computes any element of a random array without the others.
#pragma once

#include "../base/config.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

/// Four random words for a counter of four words and a key of two: ten rounds of a bijection.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int turn = 0; turn < 10; ++turn) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0], b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;  // the golden ratio
    key[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

/// The seed of a random array. An integer converts to a key: `ebb::normal<float, 64, 10>(42)`. The same key gives the same numbers: use
/// each key for one array, and derive as many keys as you need with `split` or `fold_in`.
class random_key {
 public:
  constexpr random_key(std::integral auto seed) : seed_(static_cast<std::uint64_t>(seed)) {}

  /// Count new keys: auto [weights, bias] = key.split<2>().
  template <std::size_t Count>
  constexpr std::array<random_key, Count> split() const {
    return [this]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<random_key, Count>{derived(I, purpose::split)...};
    }(std::make_index_sequence<Count>{});
  }
  /// Key `number` of split.
  constexpr random_key part(std::uint64_t number) const { return derived(number, purpose::split); }
  /// A new key for each number, such as that of a layer or a step; independent of the keys of `split`.
  constexpr random_key fold_in(std::integral auto number) const { return derived(static_cast<std::uint64_t>(number), purpose::fold_in); }

  /// 128 random bits, different for each number.
  constexpr std::array<std::uint32_t, 4> block(std::uint64_t number) const { return block(number, purpose::numbers); }
  constexpr std::uint64_t seed() const { return seed_; }
  constexpr bool operator==(const random_key&) const = default;

 private:
  enum class purpose : std::uint32_t { numbers, split, fold_in };

  constexpr std::array<std::uint32_t, 4> block(std::uint64_t number, purpose what) const {
    return philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 0, static_cast<std::uint32_t>(what)},
                  {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  }
  constexpr random_key derived(std::uint64_t number, purpose what) const {
    const auto words = block(number, what);
    return std::uint64_t{words[1]} << 32 | words[0];
  }

  std::uint64_t seed_;
};

/// Calls take(i, bits) for i = 0 ... count - 1 with 32 or 64 random bits each. The bits for i depend on the key and on i alone: a shorter
/// array is the beginning of a longer one.
template <int Bits, class Take>
  requires(Bits == 32 || Bits == 64)
constexpr void draw(random_key key, std::size_t count, Take take) {
  constexpr std::size_t per_block = 128 / Bits;
  for (std::size_t i = 0; i < count; i += per_block) {
    const auto words = key.block(i / per_block);
    for (std::size_t k = 0; k < per_block && i + k < count; ++k) {
      if constexpr (Bits == 32) take(i + k, words[k]);
      else take(i + k, std::uint64_t{words[2 * k + 1]} << 32 | words[2 * k]);
    }
  }
}

}  // namespace ebb::inline EBB_ABI
