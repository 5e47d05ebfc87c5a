// ebb/base/hash_index.hpp — finds items of an array by their hash.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vec.hpp"

namespace ebb::inline EBB_ABI {

/// A table of the numbers of items. The array is somebody else's, and so is the hash of an item: the low bits of it are used.
class hash_index {
 public:
  /// The item with this hash for which is_it(number) is true, or -1.
  constexpr int find(unsigned hash, auto&& is_it) const {
    if (at_.empty()) return -1;
    const int* const table = at_.data();
    const unsigned mask = static_cast<unsigned>(at_.size()) - 1;
    for (unsigned at = hash & mask; table[at] != 0; at = (at + 1) & mask)
      if (table[at] > 0 && is_it(table[at] - 1)) return table[at] - 1;
    return -1;
  }
  /// Adds an item that is not there yet; hash_of(number) is the hash of each that is.
  constexpr void add(unsigned hash, int number, auto&& hash_of) {
    if (2 * (used_ + 1) > at_.size()) grow(hash_of);
    put(hash, number);
  }
  /// Forgets an item, if it is there.
  constexpr void erase(unsigned hash, int number) {
    if (at_.empty()) return;
    int* const table = at_.data();
    const unsigned mask = static_cast<unsigned>(at_.size()) - 1;
    unsigned at = hash & mask;
    while (table[at] != 0 && table[at] != number + 1) at = (at + 1) & mask;
    if (table[at] != 0) table[at] = erased;
  }

 private:
  static constexpr int erased = -1;

  constexpr void put(unsigned hash, int number) {
    const unsigned mask = static_cast<unsigned>(at_.size()) - 1;
    unsigned at = hash & mask;
    while (at_.data()[at] != 0) at = (at + 1) & mask;
    at_.data()[at] = number + 1;
    ++used_;
  }
  constexpr void grow(auto&& hash_of) {
    int items = 0;
    for (int number : at_) items += number > 0;
    int size = 32;
    while (size < 4 * (items + 1)) size *= 2;
    vec<int> before;
    before.swap(at_);
    at_.extend(size);  // of zeros
    used_ = 0;
    for (int number : before)
      if (number > 0) put(hash_of(number - 1), number - 1);
  }

  vec<int> at_;  // open addressing; numbers are counted from 1, and 0 is free
  int used_ = 0;
};

}  // namespace ebb::inline EBB_ABI
