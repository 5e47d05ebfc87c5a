// ebb/kernel/move.hpp — moves of elements: strided boxes, rows selected, written, combined and added by index.
// SPDX-License-Identifier: BSL-1.0
//
// Permutations, transposes, slices (with steps, also backwards), the pieces of a concatenation and broadcasts are all one strided_copy.
#pragma once

#include "../tensor/strided.hpp"
#include "narrow.hpp"
#include "transpose.hpp"

#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::kernel {

/// `bytes` bytes of a row. Short rows are copied in registers: a call of memcpy costs as much as they do.
EBB_INLINE void copy_row(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t size = simd::register_bytes, longest = 16 * size;
  if (bytes < size || bytes > longest) {
    std::memcpy(to, from, bytes);
    return;
  }
  const auto copy_at = [=](std::size_t i) EBB_LAMBDA {
    simd::vector<char> x;
    std::memcpy(&x, from + i, size);
    std::memcpy(to + i, &x, size);
  };
  std::size_t i = 0;
  for (; i + size <= bytes; i += size) copy_at(i);
  if (i < bytes) copy_at(bytes - size);
}

/// Rows of Registers registers each, so many bytes apart.
template <int Registers>
EBB_INLINE void copy_rows_of(char* to, std::ptrdiff_t to_step, const char* from, std::ptrdiff_t from_step, std::size_t rows) {
  constexpr auto size = static_cast<std::ptrdiff_t>(simd::register_bytes);
  for (; rows > 0; --rows, to += to_step, from += from_step) {
    simd::vector<char> x[Registers];
    for (int i = 0; i < Registers; ++i) std::memcpy(&x[i], from + i * size, simd::register_bytes);
    for (int i = 0; i < Registers; ++i) std::memcpy(to + i * size, &x[i], simd::register_bytes);
  }
}
/// Rows of `bytes` bytes. The usual lengths need no loop for each row.
EBB_INLINE void copy_rows(char* to, std::ptrdiff_t to_step, const char* from, std::ptrdiff_t from_step, std::size_t rows,
                          std::size_t bytes) {
  switch (bytes) {
    case 1 * simd::register_bytes: return copy_rows_of<1>(to, to_step, from, from_step, rows);
    case 2 * simd::register_bytes: return copy_rows_of<2>(to, to_step, from, from_step, rows);
    case 4 * simd::register_bytes: return copy_rows_of<4>(to, to_step, from, from_step, rows);
    case 8 * simd::register_bytes: return copy_rows_of<8>(to, to_step, from, from_step, rows);
    default:
      for (; rows > 0; --rows, to += to_step, from += from_step) copy_row(to, from, bytes);
  }
}

namespace move {

struct axis {
  std::size_t extent;
  std::ptrdiff_t from, to;
};

/// The axes of a box in normal form, with steps in bytes. Axes of extent 1 are left out, and adjacent axes are merged. The last axis has
/// the smallest steps in the result, and the one before it the smallest steps in the source: so the last two may be a transpose.
struct axes {
  int rank = 0;
  axis a[max_rank] = {};

  EBB_ONCE_CTOR axes(const strided_copy& c, std::ptrdiff_t size) {
    for (int i = 0; i < c.rank; ++i) {
      if (c.extent[i] == 1) continue;
      axis next{c.extent[i], c.from[i] * size, c.to[i] * size};
      int at = rank++;
      for (; at > 0 && magnitude(a[at - 1].to) < magnitude(next.to); --at) a[at] = a[at - 1];
      a[at] = next;
    }
    merge();
    for (int i = 0; i + 2 < rank; ++i)
      if (a[i].from == size && a[rank - 1].from != size) std::swap(a[i], a[rank - 2]);
  }

 private:
  static std::ptrdiff_t magnitude(std::ptrdiff_t x) { return x < 0 ? -x : x; }
  EBB_ONCE void merge() {
    int kept = 0;
    for (int i = 1; i < rank; ++i) {
      const auto n = static_cast<std::ptrdiff_t>(a[i].extent);
      if (a[kept].from == n * a[i].from && a[kept].to == n * a[i].to) a[kept] = {a[kept].extent * a[i].extent, a[i].from, a[i].to};
      else a[++kept] = a[i];
    }
    if (rank > 0) rank = kept + 1;
  }
};

/// `extent` elements from `from` on backwards: a register is read as one and reversed.
template <std::size_t Size>
EBB_INLINE void copy_backwards(char* to, const char* from, std::size_t extent) {
  std::size_t i = 0;
  if constexpr (Size >= 4) {
    using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
    constexpr auto together = static_cast<std::size_t>(simd::count_of<T>);
    for (; i + together <= extent; i += together) {
      simd::vector<T> x;
      std::memcpy(&x, from - (i + together - 1) * Size, sizeof x);
      x = simd::reversed<T>(x);
      std::memcpy(to + i * Size, &x, sizeof x);
    }
  }
  for (; i < extent; ++i) std::memcpy(to + i * Size, from - i * Size, Size);
}

/// Every Step-th of the elements from `from` on.
template <std::size_t Size, int Step>
EBB_INLINE void copy_every(char* to, const char* from, std::size_t extent) {
  std::size_t i = 0;
  if constexpr (Size >= 4) {
    using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
    constexpr auto together = static_cast<std::size_t>(simd::count_of<T>);
    for (; i + together <= extent; i += together) {
      const simd::vector<T> x = simd::every<Step>(reinterpret_cast<const T*>(from) + i * Step);
      std::memcpy(to + i * Size, &x, sizeof x);
    }
  }
  for (; i < extent; ++i) std::memcpy(to + i * Size, from + i * Step * Size, Size);
}

template <std::size_t Size>
EBB_TEMPLATE void run(const axes& x, int depth, const char* from, char* to) {
  constexpr auto size = static_cast<std::ptrdiff_t>(Size);
  const int left = x.rank - depth;
  if (left == 0) {
    std::memcpy(to, from, Size);
    return;
  }
  const axis outer = x.a[depth];
  if (left == 1 && outer.from == size && outer.to == size) {
    std::memcpy(to, from, outer.extent * Size);
  } else if (left == 1 && outer.from == -size && outer.to == size) {
    copy_backwards<Size>(to, from, outer.extent);
  } else if (left == 1 && outer.from == 2 * size && outer.to == size) {
    copy_every<Size, 2>(to, from, outer.extent);
  } else if (left == 1 && outer.from == 3 * size && outer.to == size) {
    copy_every<Size, 3>(to, from, outer.extent);
  } else if (left == 1) {
    for (std::size_t i = 0; i < outer.extent; ++i, from += outer.from, to += outer.to) std::memcpy(to, from, Size);
  } else if (left == 2 && x.a[depth + 1].from == size && x.a[depth + 1].to == size) {
    copy_rows(to, outer.to, from, outer.from, outer.extent, x.a[depth + 1].extent * Size);
  } else if (left == 2 && outer.from == size && x.a[depth + 1].to == size) {
    transpose<Size>(to, outer.to, from, x.a[depth + 1].from, x.a[depth + 1].extent, outer.extent);
  } else {
    for (std::size_t i = 0; i < outer.extent; ++i, from += outer.from, to += outer.to) run<Size>(x, depth + 1, from, to);
  }
}

EBB_ONCE_FOR_ALL(void run<1>(const axes&, int, const char*, char*))
EBB_ONCE_FOR_ALL(void run<2>(const axes&, int, const char*, char*))
EBB_ONCE_FOR_ALL(void run<4>(const axes&, int, const char*, char*))
EBB_ONCE_FOR_ALL(void run<8>(const axes&, int, const char*, char*))

}  // namespace move

/// Copies a box of elements of `size` bytes (1, 2, 4 or 8). Source and result do not overlap; no element of the result is named twice.
template <std::same_as<strided_copy> Copy>  // see [note: compiled where used]
void copy(const Copy& c, const void* from, void* to, std::size_t size) {
  for (int i = 0; i < c.rank; ++i)
    if (c.extent[i] == 0) return;
  const auto step = static_cast<std::ptrdiff_t>(size);
  const move::axes axes(c, step);
  const char* const p = static_cast<const char*>(from) + c.from_offset * step;
  char* const q = static_cast<char*>(to) + c.to_offset * step;
  switch (size) {
    case 1: return move::run<1>(axes, 0, p, q);
    case 2: return move::run<2>(axes, 0, p, q);
    case 4: return move::run<4>(axes, 0, p, q);
    default: return move::run<8>(axes, 0, p, q);
  }
}

/// The first i for which index[i] is no row (0 ... rows - 1), or count. Call it before gather_rows and add_rows, which do not check
/// indices.
template <class Index>
inline std::size_t first_bad_index(const Index* index, std::size_t count, std::size_t rows) {
  using U = std::make_unsigned_t<Index>;
  constexpr std::size_t largest = std::numeric_limits<Index>::max(), n = simd::count_of<U>, together = 8 * n;
  const U last = static_cast<U>((rows < largest ? rows : largest + 1) - 1);
  std::size_t i = 0;
  // The sign of one of the two is set if x is negative, or larger than the last row: no comparison, so lanes can do it.
  const simd::vector<U> limit = simd::all(last);
  const auto signs = [=](std::size_t at) EBB_LAMBDA {
    simd::vector<U> x;
    std::memcpy(&x, index + at, sizeof x);
    return x | (limit - x);
  };
  for (; i + together <= count; i += together) {
    simd::vector<U> any = signs(i), other = signs(i + n);
    for (std::size_t j = 2 * n; j < together; j += 2 * n) {
      any |= signs(i + j);
      other |= signs(i + j + n);
    }
    any |= other;
    U bits = 0;
    for (int lane = 0; lane < simd::count_of<U>; ++lane) bits = static_cast<U>(bits | any[lane]);
    if (static_cast<Index>(bits) < 0) break;
  }
  for (; i < count; ++i)
    if (index[i] < 0 || static_cast<std::size_t>(index[i]) >= rows) return i;
  return count;
}

/// Row i of the result is row index[i] of the source. Known: the bytes of a row, if they are known.
template <std::size_t Known, class Index>
EBB_INLINE void gather_rows_of(char* to, const char* from, const Index* index, std::size_t count, std::size_t row_bytes) {
  const std::size_t bytes = Known > 0 ? Known : row_bytes;
  for (std::size_t i = 0; i < count; ++i, to += bytes) {
    const char* const row = from + static_cast<std::size_t>(index[i]) * bytes;
    if constexpr (Known > 0) std::memcpy(to, row, bytes);
    else copy_row(to, row, bytes);
  }
}
template <class Index>
inline void gather_rows(void* to, const void* from, const Index* index, std::size_t count, std::size_t row_bytes) {
  char* const out = static_cast<char*>(to);
  const char* const in = static_cast<const char*>(from);
  switch (row_bytes) {
    case 0: return;
    case 4: return gather_rows_of<4>(out, in, index, count, 4);
    case 8: return gather_rows_of<8>(out, in, index, count, 8);
    case 16: return gather_rows_of<16>(out, in, index, count, 16);
    case 24: return gather_rows_of<24>(out, in, index, count, 24);
    default: return gather_rows_of<0>(out, in, index, count, row_bytes);
  }
}

/// The same, turned: element j of row i of the result is element i of row index[j] of the source.
template <std::size_t Size, class Index>
inline void gather_turned_of(char* to, const char* from, const Index* index, std::size_t count, std::size_t row_bytes) {
  const auto row = [=](std::size_t i) { return from + static_cast<std::size_t>(index[i]) * row_bytes; };
  const std::size_t columns = row_bytes / Size, to_row = count * Size;
  std::size_t i = 0;
  if constexpr (Size >= 4) {
    using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
    constexpr std::size_t n = simd::count_of<T>;
    const auto step = static_cast<std::ptrdiff_t>(to_row);
    for (; i + n <= count; i += n) {
      const char* rows[n];
      for (std::size_t r = 0; r < n; ++r) rows[r] = row(i + r);
      const auto at = [&](std::size_t j) EBB_LAMBDA { return [&rows, j](int r) EBB_LAMBDA { return rows[r] + j * Size; }; };
      std::size_t j = 0;
      for (; j + n <= columns; j += n) turn_square<T>(at(j), to + j * to_row + i * Size, step);
      if (j == columns) continue;
      if (columns >= n) turn_square<T>(at(columns - n), to + (columns - n) * to_row + i * Size, step);
      else turn_narrow<T>(at(0), to + i * Size, step, static_cast<int>(columns));
    }
  }
  for (; i < count; ++i)
    for (std::size_t j = 0; j < columns; ++j) std::memcpy(to + j * to_row + i * Size, row(i) + j * Size, Size);
}
template <class Index>
inline void gather_turned(void* to, const void* from, const Index* index, std::size_t count, std::size_t row_bytes, std::size_t size) {
  char* const out = static_cast<char*>(to);
  const char* const in = static_cast<const char*>(from);
  switch (size) {
    case 1: return gather_turned_of<1>(out, in, index, count, row_bytes);
    case 2: return gather_turned_of<2>(out, in, index, count, row_bytes);
    case 4: return gather_turned_of<4>(out, in, index, count, row_bytes);
    default: return gather_turned_of<8>(out, in, index, count, row_bytes);
  }
}

/// Row index[i] of the result is row i of the source, in rising order of i: of repeated indices the last one is written.
template <std::size_t Known, class Index>
EBB_INLINE void write_rows_of(char* to, const char* from, const Index* index, std::size_t count, std::size_t row_bytes) {
  for (std::size_t i = 0; i < count; ++i, from += row_bytes) {
    char* const row = to + static_cast<std::size_t>(index[i]) * row_bytes;
    if constexpr (Known > 0) std::memcpy(row, from, Known);
    else copy_row(row, from, row_bytes);
  }
}
template <class Index>
inline void write_rows(void* to, const void* from, const Index* index, std::size_t count, std::size_t row_bytes) {
  char* const out = static_cast<char*>(to);
  const char* const in = static_cast<const char*>(from);
  switch (row_bytes) {
    case 1: return write_rows_of<1>(out, in, index, count, 1);
    case 2: return write_rows_of<2>(out, in, index, count, 2);
    case 4: return write_rows_of<4>(out, in, index, count, 4);
    case 8: return write_rows_of<8>(out, in, index, count, 8);
    default: return write_rows_of<0>(out, in, index, count, row_bytes);
  }
}

/// Combines row i of the source with row index[i] of the result, in rising order of i: to = combine(to, from), on elements and on lanes.
/// `ordered` is the same for a `from` that is no NaN.
template <element T, class Index>
inline void combine_rows(T* to, const T* from, const Index* index, std::size_t count, std::size_t row_length, auto combine, auto ordered) {
  using wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const auto one = [combine](T& x, T y) EBB_LAMBDA { x = static_cast<T>(combine(static_cast<wide>(x), static_cast<wide>(y))); };
  if (row_length == 1) {
    for (std::size_t i = 0; i < count; ++i) {
      T& x = to[index[i]];
      if constexpr (std::is_floating_point_v<T>) {
        if (from[i] == from[i]) [[likely]] x = ordered(x, from[i]);
        else x = combine(x, from[i]);
      } else one(x, from[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i, from += row_length) {
    T* const row = to + static_cast<std::size_t>(index[i]) * row_length;
    std::size_t j = 0;
    if constexpr (full_width<T>)
      for (; j + lane_count <= row_length; j += lane_count) combine(lanes<T>::load(row + j), lanes<T>::load(from + j)).store(row + j);
    for (; j < row_length; ++j) one(row[j], from[j]);
  }
}

/// Adds row i of the source to row index[i] of the result, in rising order of i: repeated indices are summed in that order.
template <element T, class Index>
inline void add_rows(T* to, const T* from, const Index* index, std::size_t count, std::size_t row_length) {
  if constexpr (std::is_arithmetic_v<T>)
    if (row_length == 1) {
      for (std::size_t i = 0; i < count; ++i) to[index[i]] += from[i];
      return;
    }
  for (std::size_t i = 0; i < count; ++i, from += row_length) {
    T* const row = to + static_cast<std::size_t>(index[i]) * row_length;
    std::size_t j = 0;
    for (; j + lane_count <= row_length; j += lane_count) (lanes<T>::load(row + j) + lanes<T>::load(from + j)).store(row + j);
    const int rest = static_cast<int>(row_length - j);
    if (rest > 0) (lanes<T>::load(row + j, rest) + lanes<T>::load(from + j, rest)).store(row + j, rest);
  }
}

}  // namespace ebb::inline EBB_ABI::kernel
