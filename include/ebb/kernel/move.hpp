// ebb/kernel/move.hpp — moves of elements: strided boxes, and rows.
// SPDX-License-Identifier: BSL-1.0
//
// Permutations, transposes, slices (with steps, also backwards), the pieces of a concatenation and broadcasts are all one strided_copy.
#pragma once

#include "../base/repeat.hpp"
#include "../tensor/strided.hpp"
#include "narrow.hpp"
#include "transpose.hpp"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::kernel {

/// `bytes` bytes, fewer than twice Most: two parts of equal length, which may overlap.
template <std::size_t Most>
EBB_INLINE void copy_short(char* to, const char* from, std::size_t bytes) {
  if constexpr (Most == 1) {
    if (bytes > 0) *to = *from;
  } else {
    if (bytes < Most) return copy_short<Most / 2>(to, from, bytes);
    simd::vector<char, Most> first, last;
    std::memcpy(&first, from, Most);
    std::memcpy(&last, from + bytes - Most, Most);
    std::memcpy(to, &first, Most);
    std::memcpy(to + bytes - Most, &last, Most);
  }
}

/// At least four registers: stores are aligned, but for the first and the last ones. memcpy copies more than some kilobytes by one
/// instruction, which is ten to eighty times slower on AMD's Zen 4 if `to` begins a few bytes after `from`, modulo 4096: as an array
/// does that is another one without its first elements.
EBB_ONCE void copy_long(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t size = simd::register_bytes, most = std::size_t{1} << 22;
  if (bytes > most) {  // memcpy stores around the cache
    std::memcpy(to, from, bytes);
    return;
  }
  const auto copy_at = [=](std::size_t i) EBB_LAMBDA {
    simd::vector<char> x;
    std::memcpy(&x, from + i, size);
    std::memcpy(to + i, &x, size);
  };
  copy_at(0);
  std::size_t i = size - reinterpret_cast<std::uintptr_t>(to) % size;
  for (; i + 4 * size <= bytes; i += 4 * size) repeat<4>([&]<int I>() EBB_LAMBDA { copy_at(i + I * size); });
  for (; i + size <= bytes; i += size) copy_at(i);
  copy_at(bytes - size);
}
/// Rows of more bytes than that are long: a call costs as much as it takes to copy these.
inline constexpr std::size_t longest_short_row = 16 * simd::register_bytes;

/// `bytes` bytes of a row: of a short one by the caller, in registers.
EBB_INLINE void copy_row(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t size = simd::register_bytes;
  if (bytes < size) return copy_short<size / 2>(to, from, bytes);
  if (bytes > longest_short_row) return copy_long(to, from, bytes);
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
template <int Registers, std::size_t Bytes = simd::register_bytes>
EBB_INLINE void copy_rows_of(char* to, std::ptrdiff_t to_step, const char* from, std::ptrdiff_t from_step, std::size_t rows) {
  for (; rows > 0; --rows, to += to_step, from += from_step)
    repeat<Registers>([&]<int I>() EBB_LAMBDA {
      constexpr auto at = I * static_cast<std::ptrdiff_t>(Bytes);
      simd::vector<char, Bytes> x;
      std::memcpy(&x, from + at, sizeof x);
      std::memcpy(to + at, &x, sizeof x);
    });
}
/// Rows of an odd number of halves of a cache line, each of which lies in one line: some registers would be stored to two lines, which
/// takes longer. False: there are too many of them.
EBB_INLINE bool copy_rows_by_halves(char* to, std::ptrdiff_t to_step, const char* from, std::ptrdiff_t from_step, std::size_t rows,
                                    std::size_t bytes) {
  constexpr std::size_t half = simd::register_bytes / 2;
  const auto copy = [&]<int Halves>() EBB_LAMBDA {
    copy_rows_of<Halves, half>(to, to_step, from, from_step, rows);
    return true;
  };
  switch (bytes / half) {
    case 1: return copy.template operator()<1>();
    case 3: return copy.template operator()<3>();
    case 5: return copy.template operator()<5>();
    case 7: return copy.template operator()<7>();
    default: return false;
  }
}
/// Rows of `bytes` bytes. The usual lengths need no loop for each row.
EBB_INLINE void copy_rows(char* to, std::ptrdiff_t to_step, const char* from, std::ptrdiff_t from_step, std::size_t rows,
                          std::size_t bytes) {
  if constexpr (constexpr std::size_t line = 64; simd::register_bytes == line) {
    const std::size_t places = reinterpret_cast<std::uintptr_t>(to) | static_cast<std::size_t>(to_step) | bytes;
    if (places % line == line / 2 && bytes % line != 0 && copy_rows_by_halves(to, to_step, from, from_step, rows, bytes)) return;
  }
  switch (bytes) {
    case 1 * simd::register_bytes: return copy_rows_of<1>(to, to_step, from, from_step, rows);
    case 2 * simd::register_bytes: return copy_rows_of<2>(to, to_step, from, from_step, rows);
    case 3 * simd::register_bytes: return copy_rows_of<3>(to, to_step, from, from_step, rows);
    case 4 * simd::register_bytes: return copy_rows_of<4>(to, to_step, from, from_step, rows);
    case 8 * simd::register_bytes: return copy_rows_of<8>(to, to_step, from, from_step, rows);
    default:
      for (; rows > 0; --rows, to += to_step, from += from_step) copy_row(to, from, bytes);
  }
}

/// Arrays of elements of `size` bytes, joined along an axis; what lies in the result already is not copied. `strides`: those of arrays
/// that do not lie row by row, or nullptr. False: nothing is written, since only a strided copy can do it, or does it faster.
EBB_ONCE bool join_rows(char* to, const void* const* from, const extent_list* shapes, const std::ptrdiff_t* const* strides, int count,
                        int axis, std::size_t size) {
  const auto part = [=](int j) EBB_LAMBDA { return shapes[j].volume(axis, shapes[j].rank) * size; };
  const auto apart = [=](int j) EBB_LAMBDA { return strides ? strides[j] : nullptr; };
  std::size_t row = 0;
  for (int j = 0; j < count; ++j) {
    if (axis > 0 && part(j) == size) return false;
    if (apart(j)) {
      std::ptrdiff_t step = 1;
      for (int i = shapes[j].rank - 1; i >= axis; step *= static_cast<std::ptrdiff_t>(shapes[j].e[i--]))
        if (axis != 1 || (shapes[j].e[i] > 1 && apart(j)[i] != step)) return false;
    }
    row += part(j);
  }
  const std::size_t rows = shapes[0].volume(0, axis);
  for (int j = 0; j < count; to += part(j++)) {
    const auto step = apart(j) ? apart(j)[0] * static_cast<std::ptrdiff_t>(size) : static_cast<std::ptrdiff_t>(part(j));
    if (to != from[j] && part(j) > 0)
      copy_rows(to, static_cast<std::ptrdiff_t>(row), static_cast<const char*>(from[j]), step, rows, part(j));
  }
  return true;
}

/// Zeros in the first and the last bytes of rows. False: they are fewer than a register has, which would take as many stores as whole rows,
/// or many more, and nothing is written.
EBB_ONCE bool clear_around(char* to, std::size_t rows, std::size_t row_bytes, std::size_t before, std::size_t after) {
  constexpr std::size_t size = simd::register_bytes;
  const auto is_short = [](std::size_t n) { return n == 0 || (n >= size && n <= longest_short_row); };
  if (!is_short(before) || !is_short(after)) return false;
  const auto clear = [](char* at, std::size_t bytes) EBB_LAMBDA {
    constexpr simd::vector<char> zeros{};
    std::size_t i = 0;
    for (; i + size <= bytes; i += size) std::memcpy(at + i, &zeros, size);
    if (i < bytes) std::memcpy(at + bytes - size, &zeros, size);
  };
  for (; rows > 0; --rows, to += row_bytes) {
    clear(to, before);
    clear(to + row_bytes - after, after);
  }
  return true;
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

/// Every Step-th of the elements from `from` on: in registers of so many bytes, the last ones in shorter registers.
template <std::size_t Size, int Step, std::size_t Bytes = simd::register_bytes>
EBB_INLINE void copy_every(char* to, const char* from, std::size_t extent) {
  std::size_t i = 0;
  if constexpr (Size >= 4) {
    using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
    constexpr std::size_t together = Bytes / Size;
    for (; i + together <= extent; i += together) {
      const simd::vector<T, Bytes> x = simd::every<Step, T, Bytes>(reinterpret_cast<const T*>(from) + i * Step);
      std::memcpy(to + i * Size, &x, sizeof x);
    }
    if constexpr (Bytes > 16) return copy_every<Size, Step, Bytes / 2>(to + i * Size, from + i * Step * Size, extent - i);
  }
  for (; i < extent; ++i) std::memcpy(to + i * Size, from + i * Step * Size, Size);
}
/// The same for rows of elements. A transpose of two rows, which is the other way to see it, takes 1.5 times as long for 8 columns.
template <std::size_t Size, int Step>
EBB_INLINE void copy_every_of_rows(char* to, const char* from, const axis& rows, std::size_t extent) {
  for (std::size_t i = 0; i < rows.extent; ++i, from += rows.from, to += rows.to) copy_every<Size, Step>(to, from, extent);
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
    copy_row(to, from, outer.extent * Size);
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
  } else if (left == 2 && x.a[depth + 1].from == 2 * size && x.a[depth + 1].to == size) {
    copy_every_of_rows<Size, 2>(to, from, outer, x.a[depth + 1].extent);
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

}  // namespace ebb::inline EBB_ABI::kernel
