// ebb/order/sorting.hpp — the kernels of sort, argsort and topk: they give the places of elements in order.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of elements]
// Numbers come in rising order, -0 equals 0, and a NaN is larger than all numbers and equal to other NaNs: NaNs come last, or first in
// falling order. Equal elements keep their order, in falling order too. So the places are the same on all machines.
//
// Method: each element becomes a key, an integer with that order. In short rows the place of each element is counted: how many come before
// it, with all lanes and without a branch. Longer rows are sorted in such parts, and these are merged; long ones by a radix sort over the
// bytes of the keys, from the lowest byte on. If only the first few of a row are wanted, they are selected before they are sorted.
#pragma once

#include "../kernel/lanes.hpp"
#include "../kernel/workspace.hpp"
#include "../num/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

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

/// Rows up to so many elements are sorted by counting, and parts of longer ones.
template <class Number>
inline constexpr std::size_t counted = 256 / sizeof(Number);
/// Rows up to so many are merged from these.
template <class Number>
inline constexpr std::size_t merged = sizeof(Number) == 4 ? 2048 : 65536;

/// The signed integer in whose order the elements are, and the other way.
template <class Int>
constexpr auto unsigned_key(Int key) {
  using bits = std::make_unsigned_t<Int>;
  return static_cast<bits>(static_cast<bits>(key) ^ bits{1} << (sizeof(bits) * 8 - 1));
}
template <class Int, element T>
constexpr Int signed_key(T x, bool descending) {
  return static_cast<Int>(unsigned_key(static_cast<Int>(sort_key(x, descending))));
}
/// signed_key of n elements, and then the largest one up to a whole register.
template <class Int, element T>
inline void write_keys(const T* x, std::size_t n, bool descending, Int* keys) {
  constexpr std::size_t width = simd::count_of<Int>;
  std::size_t i = 0;
  if constexpr (std::is_floating_point_v<T>)
    for (; i + width <= n; i += width) {
      const simd::vector<T> each = simd::load(x + i);
      const auto b = reinterpret_cast<simd::vector<Int>>(each);
      const auto is_nan = reinterpret_cast<simd::vector<Int>>(each != each), is_zero = reinterpret_cast<simd::vector<Int>>(each == T(0));
      const auto key = ((b ^ (b >> static_cast<Int>(sizeof(Int) * 8 - 1) & std::numeric_limits<Int>::max())) & ~(is_zero | is_nan)) |
                       (is_nan & std::numeric_limits<Int>::max());
      simd::store<Int>(keys + i, descending ? ~key : key);
    }
  for (; i < n; ++i) keys[i] = signed_key<Int>(x[i], descending);
  for (; i % width != 0; ++i) keys[i] = std::numeric_limits<Int>::max();
}

/// For each element of some registers from `first` on, the number of those that come before it: smaller ones, and equal ones at earlier
/// places. The registers are named one by one, never in a loop: g++ would leave them in memory.
template <class Int, std::size_t... R>
EBB_INLINE void count_before(const Int* keys, std::size_t n, std::size_t first, Int* ranks, std::index_sequence<R...>) {
  using V = simd::vector<Int>;
  constexpr std::size_t width = simd::count_of<Int>;
  const V mine[] = {simd::load(keys + first + R * width)...};
  V count[] = {simd::all(static_cast<Int>(first + R * width))...};  // all at places before its register: then without those that are larger
  const auto earlier = [&](V other, std::size_t r) EBB_LAMBDA { count[r] += reinterpret_cast<V>(other > mine[r]); };  // true is -1
  const auto later = [&](V other, std::size_t r) EBB_LAMBDA { count[r] -= reinterpret_cast<V>(other < mine[r]); };
  const auto own = [&](V other, std::size_t r, std::size_t lane) EBB_LAMBDA {
    const auto is_after = reinterpret_cast<V>(simd::count_up<Int>() > static_cast<Int>(lane));
    count[r] -= reinterpret_cast<V>(other < mine[r]) | (reinterpret_cast<V>(other == mine[r]) & is_after);
  };
  const auto all_of_register = [&]<std::size_t Own>(std::integral_constant<std::size_t, Own>) EBB_LAMBDA {
    for (std::size_t lane = 0; lane < width; ++lane) {
      const V other = simd::all(keys[first + Own * width + lane]);
      ((R < Own ? later(other, R) : R > Own ? earlier(other, R) : own(other, R, lane)), ...);
    }
  };
  for (std::size_t j = 0; j < first; ++j) (earlier(simd::all(keys[j]), R), ...);
  (all_of_register(std::integral_constant<std::size_t, R>()), ...);
  for (std::size_t j = first + sizeof...(R) * width; j < n; ++j) (later(simd::all(keys[j]), R), ...);
  (simd::store(ranks + first + R * width, count[R]), ...);
}
/// The number of elements before each of n; zeros and more follow them, up to a whole register.
template <class Int>
inline void rank_all(const Int* keys, std::size_t n, Int* ranks) {
  constexpr std::size_t width = simd::count_of<Int>;
  const std::size_t padded = (n + width - 1) / width * width;
  std::size_t i = 0;
  for (; i + 4 * width <= padded; i += 4 * width) count_before(keys, padded, i, ranks, std::make_index_sequence<4>());
  for (; i < padded; i += width) count_before(keys, padded, i, ranks, std::make_index_sequence<1>());
}

/// Merges two sorted runs next to each other. Entries of the first one come first where keys are equal.
template <class Number>
inline void merge(const entry<Number>* x, std::size_t left, std::size_t right, entry<Number>* to) {
  const entry<Number>*a = x, *b = x + left;
  const auto take_first = [&] {
    const bool second = b->key < a->key;
    *to++ = *(second ? b : a);
    b += second;
    a += !second;
  };
  if (left == right) {  // from both ends: neither run ends before half of the way, so no branch asks
    const entry<Number>*c = b - 1, *d = b + right - 1;
    for (entry<Number>* last = to + left + right - 1; to <= last; --last) {
      take_first();
      const bool first = d->key < c->key;
      *last = *(first ? c : d);
      c -= first;
      d -= !first;
    }
    return;
  }
  const entry<Number>*const middle = b, *const end = b + right;
  while (a < middle && b < end) take_first();
  std::copy(b, end, std::copy(a, middle, to));
}
/// Sorts n elements in parts, and merges them. Returns the sorted entries, in x or in other.
template <class Number, class Int>
inline entry<Number>* by_merges(const Int* keys, entry<Number>* x, entry<Number>* other, std::size_t n) {
  constexpr std::size_t part = counted<Int>;
  Int ranks[part];
  for (std::size_t first = 0; first < n; first += part) {
    const std::size_t count = n - first < part ? n - first : part;
    rank_all(keys + first, count, ranks);
    for (std::size_t i = first; i < first + count; ++i)
      x[first + static_cast<std::size_t>(ranks[i - first])] = {static_cast<Number>(unsigned_key(keys[i])), static_cast<Number>(i)};
  }
  for (std::size_t run = part; run < n; run *= 2) {
    for (std::size_t first = 0; first < n; first += 2 * run) {
      const std::size_t left = n - first < run ? n - first : run, both = n - first < 2 * run ? n - first : 2 * run;
      merge(x + first, left, both - left, other + first);
    }
    std::swap(x, other);
  }
  return x;
}

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
  using Int = std::make_signed_t<sort_number<T>>;
  constexpr std::size_t part = counted<Int>;
  const entry<Number>* sorted = scratch;
  if (n <= part) {
    Int keys[part] = {}, ranks[part], order[part];  // g++ -O1 does not see that all keys are written
    write_keys(x, n, descending, keys);
    rank_all(keys, n, ranks);
    for (std::size_t i = 0; i < n; ++i) order[static_cast<std::size_t>(ranks[i])] = static_cast<Int>(i);
    std::copy(order, order + wanted, places);
    return;
  }
  if (n <= merged<Int> && (wanted == n || n <= 4 * part)) {  // to select the first few of short rows takes as long
    auto* const keys = reinterpret_cast<Int*>(scratch + 2 * n);
    write_keys(x, n, descending, keys);
    sorted = by_merges(keys, scratch, scratch + n, n);
  } else {
    for (std::size_t i = 0; i < n; ++i) scratch[i] = {sort_key(x[i], descending), static_cast<Number>(i)};
    if (wanted < n) {
      std::nth_element(scratch, scratch + wanted - 1, scratch + n);
      std::sort(scratch, scratch + wanted);
    } else {
      sorted = by_bytes(scratch, scratch + n, n);
    }
  }
  for (std::size_t i = 0; i < wanted; ++i) places[i] = static_cast<std::int64_t>(sorted[i].place);
}

}  // namespace sorting

/// Writes, for each of `rows` rows of n elements, the places of the first `wanted` elements in order, 0 < wanted <= n.
template <element T>
[[gnu::noinline]] void sort_rows(const T* x, std::size_t rows, std::size_t n, std::int64_t* places, std::size_t wanted, bool descending) {
  const auto sort = [&]<class Number>(Number) {
    const std::size_t room = 2 * n * sizeof(sorting::entry<Number>) + n * sizeof(Number) + simd::register_bytes;
    auto* const scratch = reinterpret_cast<sorting::entry<Number>*>(thread_scratch().take(room));
    for (std::size_t i = 0; i < rows; ++i) sorting::row(x + i * n, n, places + i * wanted, wanted, descending, scratch);
  };
  if constexpr (sizeof(T) < 8)
    if (n <= std::numeric_limits<std::uint32_t>::max()) return sort(std::uint32_t{});
  sort(std::uint64_t{});
}

}  // namespace ebb::inline EBB_ABI::kernel
