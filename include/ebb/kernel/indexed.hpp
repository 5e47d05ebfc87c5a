// ebb/kernel/indexed.hpp — rows selected, written, combined and added by index.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "move.hpp"

namespace ebb::inline EBB_ABI::kernel {

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

/// f.operator()<Bytes>() if rows have that many bytes, which is a usual number, else f.operator()<0>().
EBB_INLINE void with_row_bytes(std::size_t row_bytes, auto&& f) {
  switch (row_bytes) {
    case 4: return f.template operator()<4>();
    case 8: return f.template operator()<8>();
    case 12: return f.template operator()<12>();
    case 16: return f.template operator()<16>();
    case 24: return f.template operator()<24>();
    case 32: return f.template operator()<32>();
    case 64: return f.template operator()<64>();
    case 128: return f.template operator()<128>();
    case 256: return f.template operator()<256>();
    default: return f.template operator()<0>();
  }
}
/// Indices of rows: `times` groups of `count` indices. Each group names rows of its own, of which there are `rows`. Index LeftOut, if it is
/// not negative, names none.
template <class Index, std::int64_t LeftOut = -1>
struct row_list {
  const Index* index;
  std::size_t count, times = 1, rows = 0;
};

/// f(row, i) for index i, which names that row. Short rows take several in one turn of the loop.
template <std::size_t Known, class Index, std::int64_t LeftOut>
EBB_INLINE void each_row(const row_list<Index, LeftOut>& list, auto&& f) {
  constexpr std::size_t together = Known == 0 || Known > 64 ? 1 : Known > 8 ? 2 : 8;
  const auto run = [](std::size_t count, auto&& one) EBB_LAMBDA {
    std::size_t i = 0;
    if constexpr (together > 1)
      for (; i + together <= count; i += together) repeat<together>([&]<int U>() EBB_LAMBDA { one(i + U); });
    for (; i < count; ++i) one(i);
  };
  const auto call = [&f](std::size_t first, Index index, std::size_t i) EBB_LAMBDA {
    if constexpr (LeftOut >= 0)
      if (static_cast<std::int64_t>(index) == LeftOut) return;
    f(first + static_cast<std::size_t>(index), i);
  };
  const Index* index = list.index;
  if (list.count == 1) return run(list.times, [=, rows = list.rows](std::size_t i) EBB_LAMBDA { call(i * rows, index[i], i); });
  std::size_t first = 0, before = 0;
  for (std::size_t t = 0; t < list.times; ++t, first += list.rows, before += list.count, index += list.count)
    run(list.count, [=](std::size_t i) EBB_LAMBDA { call(first, index[i], before + i); });
}
/// Known bytes, or row_bytes if Known is 0.
template <std::size_t Known>
EBB_INLINE void copy_known_row(char* to, const char* from, std::size_t row_bytes) {
  constexpr std::size_t size = simd::register_bytes;
  if constexpr (Known == 0) copy_row(to, from, row_bytes);
  else if constexpr (Known > size && Known % size == 0) copy_rows_of<static_cast<int>(Known / size)>(to, 0, from, 0, 1);
  else std::memcpy(to, from, Known);
}

/// Copies row from_row(row, i) of the source to row to_row(row, i) of the result, for each index i, which names `row`.
template <class Index>
EBB_INLINE void copy_listed(void* to, const void* from, const row_list<Index>& list, std::size_t row_bytes, auto to_row, auto from_row) {
  with_row_bytes(row_bytes, [&]<std::size_t Known>() EBB_LAMBDA {
    const std::size_t bytes = Known > 0 ? Known : row_bytes;
    char* const out = static_cast<char*>(to);
    const char* const in = static_cast<const char*>(from);
    each_row<Known>(list, [=](std::size_t row, std::size_t i) EBB_LAMBDA {
      copy_known_row<Known>(out + to_row(row, i) * bytes, in + from_row(row, i) * bytes, bytes);
    });
  });
}
inline constexpr auto named_row = [](std::size_t row, std::size_t) EBB_LAMBDA { return row; };
inline constexpr auto row_of_index = [](std::size_t, std::size_t i) EBB_LAMBDA { return i; };

/// Elements of 4 bytes by index, if the rows of each group, whose number is given, fit into four registers: these are permuted. False:
/// nothing is written.
template <class Index>
EBB_INLINE bool gather_in_registers(std::int32_t* to, const std::int32_t* from, const row_list<Index>& list) {
  using T = std::int32_t;
  constexpr std::size_t n = simd::count_of<T>;
  if constexpr (n < 8) return false;
  else {
    if (list.count < n || list.rows == 0 || list.rows > 4 * n) return false;
    const Index* index = list.index;
    const auto each = [&index, &to, count = list.count](auto&& element) EBB_LAMBDA {
      const auto one = [&](std::size_t i) EBB_LAMBDA {
        simd::vector<T> at;
        if constexpr (sizeof(Index) == sizeof(T)) std::memcpy(&at, index + i, sizeof at);
        else at = simd::every<2>(reinterpret_cast<const T*>(index + i));
        simd::store(to + i, element(at));
      };
      std::size_t i = 0;
      for (; i + n <= count; i += n) one(i);
      if (i < count) one(count - n);
    };
    for (std::size_t t = 0; t < list.times; ++t, from += list.rows, index += list.count, to += list.count) {
      const auto part = [&](std::size_t first) EBB_LAMBDA {
        if (first + n <= list.rows) return simd::load(from + first);
        return first < list.rows ? simd::load_first(from + first, static_cast<int>(list.rows - first)) : simd::vector<T>{};
      };
      const auto a = part(0), b = part(n), c = part(2 * n), d = part(3 * n);
      if (list.rows <= n) each([=](auto at) EBB_LAMBDA { return simd::permuted<T>(a, at); });
      else if (list.rows <= 2 * n) each([=](auto at) EBB_LAMBDA { return simd::permuted<T>(a, b, at); });
      else
        each([=](auto at) EBB_LAMBDA {
          constexpr T last = 2 * n - 1;
          const auto near = at & last;
          return simd::select<T>(simd::less<T>(simd::all(last), at), simd::permuted<T>(c, d, near), simd::permuted<T>(a, b, near));
        });
    }
    return true;
  }
}

/// Row i of the result is row index[i] of the source.
template <class Index>
EBB_TEMPLATE void gather_rows(void* to, const void* from, const row_list<Index>& list, std::size_t row_bytes) {
  using bits = std::int32_t;
  if (row_bytes == sizeof(bits) && gather_in_registers(static_cast<bits*>(to), static_cast<const bits*>(from), list)) return;
  copy_listed(to, from, list, row_bytes, row_of_index, named_row);
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
EBB_TEMPLATE void gather_turned(void* to, const void* from, const Index* index, std::size_t count, std::size_t row_bytes,
                                std::size_t size) {
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
template <class Index>
EBB_TEMPLATE void write_rows(void* to, const void* from, const row_list<Index>& list, std::size_t row_bytes) {
  copy_listed(to, from, list, row_bytes, named_row, row_of_index);
}

/// Combines row i of the source with row index[i] of the result, in rising order of i: to = combine(to, from), on elements and on lanes.
/// `ordered` is the same for a `from` that is no NaN.
template <element T, class Index>
inline void combine_rows(T* to, const T* from, const row_list<Index>& list, std::size_t row_length, auto combine, auto ordered) {
  using wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const auto one = [combine](T& x, T y) EBB_LAMBDA { x = static_cast<T>(combine(static_cast<wide>(x), static_cast<wide>(y))); };
  if (row_length == 1) {
    each_row<sizeof(T)>(list, [=](std::size_t row, std::size_t i) EBB_LAMBDA {
      T& x = to[row];
      if constexpr (std::is_floating_point_v<T>) {
        if (from[i] == from[i]) [[likely]] x = ordered(x, from[i]);
        else x = combine(x, from[i]);
      } else one(x, from[i]);
    });
    return;
  }
  each_row<0>(list, [=](std::size_t place, std::size_t i) EBB_LAMBDA {
    T* const row = to + place * row_length;
    const T* const x = from + i * row_length;
    std::size_t j = 0;
    if constexpr (full_width<T>)
      for (; j + lane_count <= row_length; j += lane_count) combine(lanes<T>::load(row + j), lanes<T>::load(x + j)).store(row + j);
    for (; j < row_length; ++j) one(row[j], x[j]);
  });
}

/// Adds Count elements, as many as a register has or fewer.
template <std::size_t Count, full_width T>
EBB_INLINE void add_part(T* to, const T* from) {
  using W = typename simd::wrapping_of<T>::type;
  if constexpr (Count == 1) *to = static_cast<T>(static_cast<W>(*to) + static_cast<W>(*from));
  else {
    simd::vector<W, Count * sizeof(T)> x, y;
    std::memcpy(&x, to, sizeof x);
    std::memcpy(&y, from, sizeof y);
    x += y;
    std::memcpy(to, &x, sizeof x);
  }
}
/// Adds fewer than twice Most elements, without a mask: memory that was stored with one is slow to read again.
template <std::size_t Most, full_width T>
EBB_INLINE void add_last(T* to, const T* from, std::size_t count) {
  if (count >= Most) {
    add_part<Most>(to, from);
    to += Most, from += Most, count -= Most;
  }
  if constexpr (Most > 1) add_last<Most / 2>(to, from, count);
}

/// Adds row i of the source to row index[i] of the result, in rising order of i: repeated indices are summed in that order.
template <full_width T, class Index, std::int64_t LeftOut>
EBB_TEMPLATE void add_rows(T* to, const T* from, const row_list<Index, LeftOut>& list, std::size_t row_length) {
  constexpr std::size_t most = simd::count_of<T>;
  with_row_bytes(row_length * sizeof(T), [&]<std::size_t Known>() EBB_LAMBDA {
    constexpr std::size_t known = Known / sizeof(T);
    const std::size_t length = known > 0 ? known : row_length;
    each_row<Known>(list, [=](std::size_t place, std::size_t i) EBB_LAMBDA {
      T* const row = to + place * length;
      const T* const added = from + i * length;
      std::size_t j = 0;
      if constexpr (known >= most && known % most == 0)
        repeat<static_cast<int>(known / most)>([&]<int J>() EBB_LAMBDA { add_part<most>(row + J * most, added + J * most); });
      else
        for (; j + most <= length; j += most) add_part<most>(row + j, added + j);
      if constexpr (known == 0 || known % most != 0) add_last<most / 2>(row + j, added + j, length - j);
    });
  });
}
template <element T, class Index, std::int64_t LeftOut>
  requires(!full_width<T>)
inline void add_rows(T* to, const T* from, const row_list<Index, LeftOut>& list, std::size_t row_length) {
  each_row<0>(list, [=](std::size_t place, std::size_t i) EBB_LAMBDA {
    T* const row = to + place * row_length;
    const T* const x = from + i * row_length;
    std::size_t j = 0;
    for (; j + lane_count <= row_length; j += lane_count) (lanes<T>::load(row + j) + lanes<T>::load(x + j)).store(row + j);
    const int rest = static_cast<int>(row_length - j);
    if (rest > 0) (lanes<T>::load(row + j, rest) + lanes<T>::load(x + j, rest)).store(row + j, rest);
  });
}

EBB_ONCE_FOR_ALL(void gather_rows<std::int32_t>(void*, const void*, const row_list<std::int32_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void gather_turned<std::int32_t>(void*, const void*, const std::int32_t*, std::size_t, std::size_t, std::size_t))
EBB_ONCE_FOR_ALL(void write_rows<std::int32_t>(void*, const void*, const row_list<std::int32_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void add_rows(float*, const float*, const row_list<std::int32_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void add_rows(double*, const double*, const row_list<std::int32_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void gather_rows<std::int64_t>(void*, const void*, const row_list<std::int64_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void gather_turned<std::int64_t>(void*, const void*, const std::int64_t*, std::size_t, std::size_t, std::size_t))
EBB_ONCE_FOR_ALL(void write_rows<std::int64_t>(void*, const void*, const row_list<std::int64_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void add_rows(float*, const float*, const row_list<std::int64_t>&, std::size_t))
EBB_ONCE_FOR_ALL(void add_rows(double*, const double*, const row_list<std::int64_t>&, std::size_t))

}  // namespace ebb::inline EBB_ABI::kernel
