// ebb/order/sorting.hpp — the kernels of sort, argsort and topk: they give the places of elements in order.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of elements]
// Numbers come in rising order, -0 equals 0, and a NaN is larger than all numbers and equal to other NaNs: NaNs come last, or first in
// falling order. Equal elements keep their order, in falling order too. So the places are the same on all machines.
//
// Method: each element becomes an unsigned key with that order. Short rows are sorted by comparisons, long ones by a radix sort over the
// bytes of the keys, from the lowest byte on. If only the first few of a row are wanted, they are selected before they are sorted.
#pragma once

#include "../kernel/workspace.hpp"
#include "../num/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ebb::inline EBB_ABI::kernel {

/// The type of the unsigned key of an element: see [note: order of elements].
template <element T>
using sort_number = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <element T>
constexpr sort_number<T> sort_key(T x, bool descending) {
  using bits = sort_number<T>;
  constexpr bits sign = bits{1} << (sizeof(bits) * 8 - 1);
  const auto ordered = [descending](bits key) { return descending ? static_cast<bits>(~key) : key; };
  if constexpr (std::is_same_v<T, bool>) return ordered(x);
  else if constexpr (std::is_integral_v<T>) return ordered(static_cast<bits>(x) ^ sign);
  else if constexpr (!std::is_floating_point_v<T>) return sort_key<float>(static_cast<float>(x), descending);
  else {
    if (x != x) return ordered(std::numeric_limits<bits>::max());
    const bits b = std::bit_cast<bits>(x == 0 ? T(0) : x);
    return ordered(b & sign ? ~b : b | sign);
  }
}

namespace sorting {

/// An element: its key and its place in the row.
template <class Number>
struct entry {
  Number key, place;
  friend constexpr bool operator<(const entry& a, const entry& b) {
    if constexpr (sizeof(Number) == 4) return a.joined() < b.joined();  // one comparison: sorts take about two thirds of the time
    else return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
  constexpr std::uint64_t joined() const { return std::uint64_t{key} << 32 | place; }
};

inline constexpr std::size_t short_row = 384;

/// Sorts n entries by the bytes of their keys; entries with equal keys keep their order. `other` has room for n entries. Returns the sorted
/// ones, in x or in other.
template <class Number>
inline entry<Number>* by_bytes(entry<Number>* x, entry<Number>* other, std::size_t n) {
  constexpr int bytes = sizeof(Number);
  std::size_t count[bytes][256] = {};
  for (std::size_t i = 0; i < n; ++i)
    for (int b = 0; b < bytes; ++b) ++count[b][x[i].key >> (8 * b) & 255];
  for (int b = 0; b < bytes; ++b) {
    if (count[b][x[0].key >> (8 * b) & 255] == n) continue;
    std::size_t next[256], sum = 0;
    for (int digit = 0; digit < 256; ++digit) {
      next[digit] = sum;
      sum += count[b][digit];
    }
    for (std::size_t i = 0; i < n; ++i) other[next[x[i].key >> (8 * b) & 255]++] = x[i];
    std::swap(x, other);
  }
  return x;
}

template <class Number, class T>
inline void row(const T* x, std::size_t n, std::int64_t* places, std::size_t wanted, bool descending, entry<Number>* scratch) {
  for (std::size_t i = 0; i < n; ++i) scratch[i] = {sort_key(x[i], descending), static_cast<Number>(i)};
  if (wanted < n) std::nth_element(scratch, scratch + wanted - 1, scratch + n);
  const entry<Number>* sorted = scratch;
  if (wanted < n || n <= short_row) std::sort(scratch, scratch + wanted);
  else sorted = by_bytes(scratch, scratch + n, n);
  for (std::size_t i = 0; i < wanted; ++i) places[i] = static_cast<std::int64_t>(sorted[i].place);
}

}  // namespace sorting

/// Writes, for each of `rows` rows of n elements, the places of the first `wanted` elements in order, 0 < wanted <= n.
template <element T>
[[gnu::noinline]] void sort_rows(const T* x, std::size_t rows, std::size_t n, std::int64_t* places, std::size_t wanted, bool descending) {
  const auto sort = [&]<class Number>(Number) {
    auto* const scratch = reinterpret_cast<sorting::entry<Number>*>(thread_scratch().take(2 * n * sizeof(sorting::entry<Number>)));
    for (std::size_t i = 0; i < rows; ++i) sorting::row(x + i * n, n, places + i * wanted, wanted, descending, scratch);
  };
  if constexpr (sizeof(T) < 8)
    if (n <= std::numeric_limits<std::uint32_t>::max()) return sort(std::uint32_t{});
  sort(std::uint64_t{});
}

}  // namespace ebb::inline EBB_ABI::kernel
