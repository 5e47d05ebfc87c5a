// ebb/kernel/transpose.hpp — square blocks transposed in registers, and whole arrays by such blocks.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "every.hpp"
#include "under_mask.hpp"

namespace ebb::inline EBB_ABI {

namespace simd {

// A register is a row of lanes of 16 bytes, each of `per_lane` elements: x86 has cheap instructions within these lanes, and for whole
// lanes. Step one transposes small squares within each lane, step two moves the lanes to their places.
template <class T>
inline constexpr int per_lane = 16 / static_cast<int>(sizeof(T));

/// Within each lane: a0 b0 a1 b1 ... of the lower halves, or of the upper ones.
template <bool Upper, class T>
EBB_INLINE vector<T> zip(vector<T> a, vector<T> b) {
  constexpr int e = per_lane<T>;
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(a, b, (I / e * e + I % e / 2 + (Upper ? e / 2 : 0) + I % 2 * count_of<T>)...);
  }(std::make_integer_sequence<int, count_of<T>>{});
}
/// The even lanes of a, then those of b; or the odd ones.
template <bool Odd, class T>
EBB_INLINE vector<T> unzip_lanes(vector<T> a, vector<T> b) {
  constexpr int e = per_lane<T>;
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(a, b, (I / e * 2 * e + (Odd ? e : 0) + I % e)...);
  }(std::make_integer_sequence<int, count_of<T>>{});
}

/// x[i] and x[i + Half] of each run of 2 * Half, Stride apart, become the zips of the two: log2 times this is a transposition.
template <int Stages, class T, int N>
EBB_INLINE void transpose_in_lanes(vector<T> (&x)[N]) {
  if constexpr (Stages > 0) {
    constexpr int e = per_lane<T>;
    vector<T> y[N];
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      ((y[I / e * e + I % e] = zip<I % 2 == 1, T>(x[I / e * e + I % e / 2], x[I / e * e + I % e / 2 + e / 2])), ...);
      ((x[I] = y[I]), ...);
    }(std::make_integer_sequence<int, N>{});
    transpose_in_lanes<Stages - 1, T>(x);
  }
}
template <int Stages, class T, int N>
EBB_INLINE void transpose_lanes(vector<T> (&x)[N]) {
  if constexpr (Stages > 0) {
    // Number q * e + r is lane q of row r; pairs of neighbours in q are unzipped, the odd ones go to the upper half.
    constexpr int e = per_lane<T>, half = N / e / 2;
    vector<T> y[N];
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      ((y[I] = unzip_lanes<(I / e >= half), T>(x[I / e % half * 2 * e + I % e], x[(I / e % half * 2 + 1) * e + I % e])), ...);
      ((x[I] = y[I]), ...);
    }(std::make_integer_sequence<int, N>{});
    transpose_lanes<Stages - 1, T>(x);
  }
}
/// Whether groups of Step elements are turned within lanes of 16 bytes: a register is loaded and stored in two halves, and nothing crosses
/// its lanes in between.
template <int Step, class T>
inline constexpr bool fours_in_lanes = Step == 4 && sizeof(T) == 4 && count_of<T> == 8;
template <class T = std::int32_t>
EBB_INLINE vector<T> load_two(const char* low, const char* high) {
  vector<T, 16> a, b;
  std::memcpy(&a, low, sizeof a);
  std::memcpy(&b, high, sizeof b);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
template <class V>
EBB_INLINE void store_two(char* low, char* high, V x) {
  const auto a = __builtin_shufflevector(x, x, 0, 1, 2, 3), b = __builtin_shufflevector(x, x, 4, 5, 6, 7);
  std::memcpy(low, &a, sizeof a);
  std::memcpy(high, &b, sizeof b);
}

constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

/// Swaps element j of x[i] and element i of x[j].
template <class T>
EBB_INLINE void transpose(vector<T> (&x)[static_cast<std::size_t>(count_of<T>)]) {
  transpose_in_lanes<log2_of(per_lane<T>), T>(x);
  transpose_lanes<log2_of(count_of<T> / per_lane<T>), T>(x);
}

}  // namespace simd

namespace kernel {

/// Turns as many columns as a register has elements, of so many rows: row(i) is the address of row i, asked for in rising order.
/// For elements of 4 bytes addresses are sums: the products of each row's number and a distance, 32 of them, would not fit into registers.
template <class T>
EBB_INLINE void turn_square(auto row, char* to, std::ptrdiff_t to_row) {
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    simd::vector<T> x[sizeof...(I)];
    (std::memcpy(&x[I], row(I), sizeof x[I]), ...);
    simd::transpose<T>(x);
    if constexpr (sizeof(T) > 4) (std::memcpy(to + I * to_row, &x[I], sizeof x[I]), ...);
    else ((std::memcpy(to, &x[I], sizeof x[I]), to += to_row), ...);
  }(std::make_integer_sequence<int, simd::count_of<T>>{});
}
/// The same for fewer columns.
template <class T>
EBB_INLINE void turn_narrow(auto row, char* to, std::ptrdiff_t to_row, int columns) {
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    simd::vector<T> x[sizeof...(I)] = {simd::load_first(reinterpret_cast<const T*>(row(I)), columns)...};
    simd::transpose<T>(x);
    ((I < columns ? static_cast<void>(std::memcpy(to + I * to_row, &x[I], sizeof x[I])) : void()), ...);
  }(std::make_integer_sequence<int, simd::count_of<T>>{});
}

/// The same for as many columns as a register has elements, of fewer rows.
template <class T>
EBB_INLINE void turn_low(auto row, char* to, std::ptrdiff_t to_row, int rows) {
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    simd::vector<T> x[sizeof...(I)] = {};
    ((I < rows ? static_cast<void>(std::memcpy(&x[I], row(I), sizeof x[I])) : void()), ...);
    simd::transpose<T>(x);
    (simd::store_first(reinterpret_cast<T*>(to + I * to_row), x[I], rows), ...);
  }(std::make_integer_sequence<int, simd::count_of<T>>{});
}

/// Element c of each of `count` adjacent groups of Step elements, as row c of the result.
template <int Step, class T>
EBB_INLINE void part_groups(char* to, std::ptrdiff_t to_row, const char* from, std::size_t count) {
  constexpr std::size_t n = simd::count_of<T>, bytes = sizeof(simd::vector<T>);
  std::size_t i = 0;
  [&]<int... C>(std::integer_sequence<int, C...>) EBB_LAMBDA {
    if constexpr (simd::fours_in_lanes<Step, T>)
      for (; i + n <= count; i += n, from += Step * bytes, to += bytes) {
        simd::vector<T> x[] = {simd::load_two(from + C * 16, from + (C + 4) * 16)...};
        simd::transpose_in_lanes<2, T>(x);
        (std::memcpy(to + C * to_row, &x[C], bytes), ...);
      }
    for (; i + n <= count; i += n, from += Step * bytes, to += bytes) {
      const simd::vector<T> x[] = {simd::load(reinterpret_cast<const T*>(from + C * bytes))...};
      const simd::vector<T> turned[] = {simd::chosen<Step, C, 0, T>(x)...};
      (std::memcpy(to + C * to_row, &turned[C], bytes), ...);
    }
    for (; i < count; ++i, from += Step * sizeof(T), to += sizeof(T)) (std::memcpy(to + C * to_row, from + C * sizeof(T), sizeof(T)), ...);
  }(std::make_integer_sequence<int, Step>{});
}
/// The other way: element i of each column, column(c) for c below Step, as group i.
template <int Step, class T>
EBB_INLINE void join_groups(char* to, auto column, std::size_t count) {
  constexpr std::size_t n = simd::count_of<T>, bytes = sizeof(simd::vector<T>);
  [&]<int... C>(std::integer_sequence<int, C...>) EBB_LAMBDA {
    const char* const from[] = {column(C)...};
    std::size_t i = 0, at = 0;
    if constexpr (simd::fours_in_lanes<Step, T>)
      for (; i + n <= count; i += n, at += bytes, to += Step * bytes) {
        simd::vector<T> x[Step];
        (std::memcpy(&x[C], from[C] + at, bytes), ...);
        simd::transpose_in_lanes<2, T>(x);
        (simd::store_two(to + C * 16, to + (C + 4) * 16, x[C]), ...);
      }
    for (; i + n <= count; i += n, at += bytes, to += Step * bytes) {
      simd::vector<T> x[Step];
      (std::memcpy(&x[C], from[C] + at, bytes), ...);
      simd::mix<T>(x);
      (std::memcpy(to + C * bytes, &x[C], bytes), ...);
    }
    for (; i < count; ++i, at += sizeof(T), to += Step * sizeof(T)) (std::memcpy(to + C * sizeof(T), from[C] + at, sizeof(T)), ...);
  }(std::make_integer_sequence<int, Step>{});
}

/// Element i of each of these columns, at least two, as row i of the result; elements of Size bytes, 4 or 8.
template <std::size_t Size>
EBB_TEMPLATE void join_columns(char* to, const void* const* column, std::size_t columns, std::size_t rows) {
  using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
  constexpr std::size_t n = simd::count_of<T>;
  const auto at = [=](auto c) EBB_LAMBDA { return static_cast<const char*>(column[c]); };
  if (columns == 2) return join_groups<2, T>(to, at, rows);
  if (columns == 3) return join_groups<3, T>(to, at, rows);
  if (columns == 4 && Size == 4) return join_groups<4, T>(to, at, rows);
  T* const out = reinterpret_cast<T*>(to);
  std::size_t i = 0;
  for (; i + n <= rows; i += n)
    for (std::size_t c = 0; c < columns; c += n) {
      // The last columns are taken with some before them. If all are fewer than lanes, the next row is written over what follows a row.
      const std::size_t first = c + n <= columns || columns < n ? c : columns - n;
      [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
        simd::vector<T> x[n] = {};
        ((first + I < columns ? static_cast<void>(std::memcpy(&x[I], at(first + I) + i * Size, sizeof x[I])) : void()), ...);
        simd::transpose<T>(x);
        const auto write = [&](std::size_t turned, simd::vector<T> y) EBB_LAMBDA {
          const std::size_t place = (i + turned) * columns + first;
          if (place + n <= rows * columns) simd::store(out + place, y);
          else simd::store_first(out + place, y, static_cast<int>(rows * columns - place));
        };
        (write(I, x[I]), ...);
      }(std::make_integer_sequence<int, static_cast<int>(n)>{});
    }
  for (; i < rows; ++i)
    for (std::size_t c = 0; c < columns; ++c) std::memcpy(to + (i * columns + c) * Size, at(c) + i * Size, Size);
}
EBB_ONCE_FOR_ALL(void join_columns<4>(char*, const void* const*, std::size_t, std::size_t))
EBB_ONCE_FOR_ALL(void join_columns<8>(char*, const void* const*, std::size_t, std::size_t))

/// Transposes rows of two to four adjacent elements, or as many rows into such; elements of Size bytes, 4 or 8. False: it has done nothing.
template <std::size_t Size>
EBB_INLINE bool transpose_groups(char* to, std::ptrdiff_t to_row, const char* from, std::ptrdiff_t from_row, std::size_t rows,
                                 std::size_t cols) {
  using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
  constexpr std::size_t most = Size == 4 ? 4 : 3;
  if (cols >= 2 && cols <= most && from_row == static_cast<std::ptrdiff_t>(cols * Size)) {
    if (cols == 2) part_groups<2, T>(to, to_row, from, rows);
    else if (cols == 3) part_groups<3, T>(to, to_row, from, rows);
    else if constexpr (Size == 4) part_groups<4, T>(to, to_row, from, rows);
    return true;
  }
  if (rows >= 2 && rows <= most && to_row == static_cast<std::ptrdiff_t>(rows * Size)) {
    const auto column = [=](std::ptrdiff_t c) EBB_LAMBDA { return from + c * from_row; };
    if (rows == 2) join_groups<2, T>(to, column, cols);
    else if (rows == 3) join_groups<3, T>(to, column, cols);
    else if constexpr (Size == 4) join_groups<4, T>(to, column, cols);
    return true;
  }
  return false;
}

/// Element j of row i in `from` becomes element i of row j in `to`; elements of Size bytes (1, 2, 4, 8), row distances in bytes.
/// Whole rows of the longer side are done one after the other: memory is read, or written, in its order.
template <std::size_t Size>
EBB_TEMPLATE void transpose(char* to, std::ptrdiff_t to_row, const char* from, std::ptrdiff_t from_row, std::size_t rows,
                            std::size_t cols) {
  const auto from_at = [=](std::size_t i, std::size_t j) { return from + static_cast<std::ptrdiff_t>(i) * from_row + j * Size; };
  const auto to_at = [=](std::size_t j, std::size_t i) { return to + static_cast<std::ptrdiff_t>(j) * to_row + i * Size; };
  const auto block = [&](std::size_t i0, std::size_t i1, std::size_t j0, std::size_t j1) {
    for (std::size_t j = j0; j < j1; ++j)
      for (std::size_t i = i0; i < i1; ++i)
        std::memcpy(to_at(j, i), from_at(i, j), Size);
  };
  if constexpr (Size >= 4) {
    using T = std::conditional_t<Size == 4, std::int32_t, std::int64_t>;
    if (transpose_groups<Size>(to, to_row, from, from_row, rows, cols)) return;
    constexpr std::size_t n = simd::count_of<T>;
    const auto rows_from = [=](const char* p) EBB_LAMBDA {
      return [p, from_row]([[maybe_unused]] int r) mutable {
        if constexpr (Size > 4) return p + r * from_row;
        return (p += from_row) - from_row;  // without a name that could shadow one of the user's
      };
    };
    const auto square = [&](std::size_t i, std::size_t j) EBB_LAMBDA {
      turn_square<T>(rows_from(from_at(i, j)), to_at(j, i), to_row);
    };
    const auto narrow = [&](std::size_t i, std::size_t j, int count) EBB_LAMBDA {
      turn_narrow<T>(rows_from(from_at(i, j)), to_at(j, i), to_row, count);
    };
    const auto low = [&](std::size_t i, std::size_t j, int count) EBB_LAMBDA {
      turn_low<T>(rows_from(from_at(i, j)), to_at(j, i), to_row, count);
    };
    // The result may not be in the cache, and stores wait for it. Longer rows are streams that the processor foresees.
    constexpr std::size_t line = 64, ahead = 4096;
    const bool fetches = n * rows * Size >= 8 * line && n * rows * Size <= ahead;
    const auto fetch_ahead = [&](char* p) EBB_LAMBDA {
      for (std::size_t b = 0; b < n * rows * Size; b += line) __builtin_prefetch(p + ahead + b, 1);
    };
    const std::size_t whole_rows = rows / n * n, whole_cols = cols / n * n, last_rows = rows - whole_rows, last_cols = cols - whole_cols;
    // The last rows and columns go through registers, too, unless there are so few that single copies take less time. A square that
    // begins earlier, and repeats what its neighbour did, needs no masks.
    const bool rows_in_tiles = 3 * last_rows >= n, cols_in_tiles = 3 * last_cols >= n;
    if (rows > cols) {
      for (std::size_t i = 0; i < whole_rows; i += n) {
        for (std::size_t j = 0; j < whole_cols; j += n) square(i, j);
        if (!cols_in_tiles) continue;
        if (whole_cols > 0) square(i, cols - n);
        else narrow(i, 0, static_cast<int>(last_cols));
      }
      for (std::size_t j = 0; rows_in_tiles && j < whole_cols; j += n) {
        if (whole_rows > 0) square(rows - n, j);
        else low(0, j, static_cast<int>(last_rows));
      }
    } else {
      for (std::size_t j = 0; whole_rows > 0 && j < whole_cols; j += n) {
        if (fetches) fetch_ahead(to_at(j, 0));
        for (std::size_t i = 0; i < whole_rows; i += n) square(i, j);
        if (rows_in_tiles) square(rows - n, j);
      }
      for (std::size_t j = 0; rows_in_tiles && whole_rows == 0 && j < whole_cols; j += n) low(0, j, static_cast<int>(last_rows));
      for (std::size_t i = 0; cols_in_tiles && i < whole_rows; i += n) {
        if (whole_cols > 0) square(i, cols - n);
        else narrow(i, 0, static_cast<int>(last_cols));
      }
    }
    if (!cols_in_tiles) block(0, whole_rows, whole_cols, cols);
    block(whole_rows, rows, rows_in_tiles ? whole_cols : 0, cols);
  } else {
    constexpr std::size_t n = 32;
    for (std::size_t i = 0; i < rows; i += n)
      for (std::size_t j = 0; j < cols; j += n) block(i, i + n < rows ? i + n : rows, j, j + n < cols ? j + n : cols);
  }
}
EBB_ONCE_FOR_ALL(void transpose<1>(char*, std::ptrdiff_t, const char*, std::ptrdiff_t, std::size_t, std::size_t))
EBB_ONCE_FOR_ALL(void transpose<2>(char*, std::ptrdiff_t, const char*, std::ptrdiff_t, std::size_t, std::size_t))
EBB_ONCE_FOR_ALL(void transpose<4>(char*, std::ptrdiff_t, const char*, std::ptrdiff_t, std::size_t, std::size_t))
EBB_ONCE_FOR_ALL(void transpose<8>(char*, std::ptrdiff_t, const char*, std::ptrdiff_t, std::size_t, std::size_t))

}  // namespace kernel
}  // namespace ebb::inline EBB_ABI
