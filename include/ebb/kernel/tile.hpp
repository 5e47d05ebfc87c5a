// ebb/kernel/tile.hpp — a small part of a matrix product, kept in registers; and panels of a matrix laid out for it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lanes.hpp"
#include "transpose.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel {

/// A matrix in memory: element (i, j) is data[i * row + j * col]. It is passed by reference: copying one that was just written stalls.
template <class T>
struct matrix {
  const T* data;
  std::ptrdiff_t row, col;

  EBB_INLINE const T* at(std::ptrdiff_t i, std::ptrdiff_t j) const { return data + i * row + j * col; }
  EBB_INLINE matrix from(std::ptrdiff_t i, std::ptrdiff_t j) const { return {at(i, j), row, col}; }
  EBB_INLINE matrix transposed() const { return {data, col, row}; }
};

namespace tile {

// A tile is height x vectors accumulators: enough chains to hide the latency of fma, and few enough to stay in registers.
inline constexpr int height = target_has::registers == 32 ? 8 : 6;
inline constexpr int vectors = 2;
template <class T>
inline constexpr int width = vectors * simd::count_of<T>;

/// The type in which products of T are summed.
template <class T>
struct sum_type { using type = T; };
template <class T>
using sum_of = typename sum_type<T>::type;

/// acc + a * b: one link of the chain.
template <class T>
EBB_INLINE simd::vector<sum_of<T>> link(simd::vector<T> a, simd::vector<T> b, simd::vector<sum_of<T>> acc) {
  if constexpr (std::is_floating_point_v<T>) return simd::fma(a, b, acc);
  else return simd::unwrap<T>(simd::wrap<T>(a) * simd::wrap<T>(b) + simd::wrap<T>(acc));
}

/// How a tile of c begins and ends.
template <class T>
struct tile_ends {
  bool more = false;                // its chains go on from c, not from 0
  const sum_of<T>* onto = nullptr;  // the sums are added to the tile here, which has the rows of c, and may be c

  EBB_INLINE tile_ends from(std::ptrdiff_t elements) const { return {more, onto ? onto + elements : nullptr}; }
};

/// Hides x from the compiler. Else it computes the addresses of all rows before the loop over k and keeps them in memory, which takes as
/// long as the loop for small products.
EBB_INLINE void forget([[maybe_unused]] std::ptrdiff_t& x) {
#if defined(__GNUC__)
  __asm__("" : "+r"(x));
#endif
}

/// Whether narrow last columns of T are computed in halves of registers.
template <class T>
inline constexpr bool has_halves = target_has::halves && std::is_floating_point_v<T>;

/// c[Rows x Vectors registers] = (more ? c : 0) + a[Rows x k] * b[k x ...]. b's columns are adjacent. If Masked, only `last` elements of
/// the last register of each row exist: an int, or a std::integral_constant if that is static.
template <int Rows, int Vectors, bool Masked, class T>
inline void run(std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_row, sum_of<T>* c, std::ptrdiff_t c_row,
                const tile_ends<T>& ends, auto last) {
  using V = simd::vector<T>;
  using Sum = simd::vector<sum_of<T>>;
  constexpr int n = simd::count_of<T>;
  static_assert(sizeof(T) == sizeof(sum_of<T>));
  const auto load = [=]<int J>(const auto* p, std::integral_constant<int, J>) EBB_LAMBDA {
    if constexpr (Masked && J == Vectors - 1) return simd::load_first(p + J * n, last);
    else return simd::load(p + J * n);
  };
  const auto load_right = [=]<int J>(const T* p, std::integral_constant<int, J> part) EBB_LAMBDA {
    if constexpr (Rows == 1 && Masked && J == Vectors - 1)  // there are as many loads as links, so loads of two cache lines cost time
      if (last <= simd::per_lane<T>) return simd::load_first_lane(p + J * n, last);
    return load(p, part);
  };
  [&]<int... J, int... I>(std::integer_sequence<int, J...>, std::integer_sequence<int, I...>) EBB_LAMBDA {
    Sum acc[Rows * Vectors] = {};
    if (ends.more) ((acc[I] = load(c + I / Vectors * c_row, std::integral_constant<int, I % Vectors>{})), ...);
    const T* p = a.data;
    for (; k > 0; --k, p += a.col, b += b_row) {
      const V right[] = {load_right(b, std::integral_constant<int, J>{})...};
      ((acc[I] = link<T>(simd::all(p[I / Vectors * a.row]), right[I % Vectors], acc[I])), ...);
    }
    forget(c_row);
    if constexpr (std::is_floating_point_v<T>)
      if (ends.onto) ((acc[I] = load(ends.onto + I / Vectors * c_row, std::integral_constant<int, I % Vectors>{}) + acc[I]), ...);
    const auto store = [&]<int K>(std::integral_constant<int, K>) EBB_LAMBDA {
      sum_of<T>* const to = c + K / Vectors * c_row + K % Vectors * n;
      if constexpr (Masked && K % Vectors == Vectors - 1) simd::store_first(to, acc[K], last);
      else simd::store(to, acc[K]);
    };
    (store(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, Vectors>{}, std::make_integer_sequence<int, Rows * Vectors>{});
}

/// The same with Wholes registers and a half, of which `last` elements exist. A half takes half of the time where registers of 64 bytes are
/// computed in two turns.
template <int Rows, int Wholes, class T>
inline void run_half(std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_row, T* c, std::ptrdiff_t c_row,
                     const tile_ends<T>& ends, int last) {
  constexpr int n = simd::count_of<T>, at = Wholes * n, per_row = std::max(Wholes, 1);
  [&]<int... R, int... I>(std::integer_sequence<int, R...>, std::integer_sequence<int, I...>) EBB_LAMBDA {
    simd::vector<T> acc[Rows * Wholes + 1] = {};
    simd::half<T> half[Rows] = {};
    if (ends.more) {
      ((acc[I] = simd::load(c + I / per_row * c_row + I % per_row * n)), ...);
      ((half[R] = simd::load_half(c + R * c_row + at, last)), ...);
    }
    const T* p = a.data;
    for (; k > 0; --k, p += a.col, b += b_row) {
      const simd::half<T> right = simd::load_half(b + at, last);
      ((acc[I] = link<T>(simd::all(p[I / per_row * a.row]), simd::load(b + I % per_row * n), acc[I])), ...);
      ((half[R] = simd::fma(simd::lower_half<T>(simd::all(p[R * a.row])), right, half[R])), ...);
    }
    forget(c_row);
    if (ends.onto) {
      ((acc[I] = simd::load(ends.onto + I / per_row * c_row + I % per_row * n) + acc[I]), ...);
      ((half[R] = simd::load_half(ends.onto + R * c_row + at, last) + half[R]), ...);
    }
    (simd::store(c + I / per_row * c_row + I % per_row * n, acc[I]), ...);
    (simd::store_half(c + R * c_row + at, half[R], last), ...);
  }(std::make_integer_sequence<int, Rows>{}, std::make_integer_sequence<int, Rows * Wholes>{});
}

/// The width of a tile in registers. A single row needs more: there are no other rows to hide the latency of its chains.
template <int Rows>
inline constexpr int widest = Rows == 1 ? 8 : vectors;

/// One tile of up to Vectors registers for `columns` columns; the last one is masked.
template <int Rows, int Vectors, class T>
inline void last_tile(std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_row, sum_of<T>* c, std::ptrdiff_t c_row,
                      std::ptrdiff_t columns, const tile_ends<T>& ends) {
  constexpr int before = (Vectors - 1) * simd::count_of<T>;
  if constexpr (Vectors > 1)
    if (columns <= before) return last_tile<Rows, Vectors - 1>(k, a, b, b_row, c, c_row, columns, ends);
  if constexpr (has_halves<T> && Rows > 1)
    if (const int last = static_cast<int>(columns) - before; last <= simd::count_of<T> / 2)
      return run_half<Rows, Vectors - 1>(k, a, b, b_row, c, c_row, ends, last);
  run<Rows, Vectors, true>(k, a, b, b_row, c, c_row, ends, static_cast<int>(columns) - before);
}

/// One row of tiles side by side for `columns` columns.
template <int Rows, class T>
inline void strip(std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_row, sum_of<T>* c, std::ptrdiff_t c_row,
                  std::ptrdiff_t columns, const tile_ends<T>& ends) {
  constexpr int n = widest<Rows> * simd::count_of<T>;
  std::ptrdiff_t j = 0;
  for (; columns - j >= n; j += n) run<Rows, widest<Rows>, false>(k, a, b + j, b_row, c + j, c_row, ends.from(j), 0);
  if (j < columns) last_tile<Rows, widest<Rows>>(k, a, b + j, b_row, c + j, c_row, columns - j, ends.from(j));
}

/// One row of Columns elements, from number First on.
template <int Columns, int First = 0, class T>
inline void known_strip(std::ptrdiff_t k, const matrix<T>& a, const T* b, sum_of<T>* c, bool more) {
  constexpr int n = simd::count_of<T>, left = Columns - First, registers = std::min((left + n - 1) / n, widest<1>);
  constexpr int last = std::min(left - (registers - 1) * n, n);
  run<1, registers, (last < n)>(k, a, b + First, Columns, c + First, Columns, tile_ends<T>{more}, std::integral_constant<int, last>{});
  if constexpr (left > registers * n) known_strip<Columns, First + registers * n>(k, a, b, c, more);
}

/// The rows of the next tile if so many are left. Tiles of few rows have few chains, which wait for each other: so the last two tiles share
/// their rows evenly, where a whole tile would leave one or two. A single row of several tiles has enough chains.
constexpr int rows_of_tile(std::ptrdiff_t left, bool is_one_wide) {
  if (left > height + 2 || left == height) return height;
  if (left > height) return height == 6 ? 4 : left == height + 1 && !is_one_wide ? height : 5;
  return left == 5 ? 5 : left >= 4 ? 4 : static_cast<int>(left);
}

/// Calls f(i, rows) with tiles of `count` rows from i on; rows is a constant. is_one_wide: the tiles have no neighbours in their rows.
EBB_INLINE void each_tile(std::ptrdiff_t count, auto f, bool is_one_wide = false) {
  for (std::ptrdiff_t i = 0; i < count;) {
    const auto tiles = [&]<int Rows>(std::integral_constant<int, Rows> rows) EBB_LAMBDA {
      f(i, rows);
      i += Rows;
    };
    switch (rows_of_tile(count - i, is_one_wide)) {
      case height: tiles(std::integral_constant<int, height>{}); break;
      case 5: tiles(std::integral_constant<int, 5>{}); break;
      case 4: tiles(std::integral_constant<int, 4>{}); break;
      case 3: tiles(std::integral_constant<int, 3>{}); break;
      case 2: tiles(std::integral_constant<int, 2>{}); break;
      default: tiles(std::integral_constant<int, 1>{});
    }
  }
}

/// All rows, in tiles.
template <class T>
inline void block(std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_row, sum_of<T>* c,
                  std::ptrdiff_t c_row, std::ptrdiff_t columns, const tile_ends<T>& ends) {
  each_tile(m, [&]<int Rows>(std::ptrdiff_t i, std::integral_constant<int, Rows>) EBB_LAMBDA {
    strip<Rows>(k, a.from(i, 0), b, b_row, c + i * c_row, c_row, columns, ends.from(i * c_row));
  }, columns <= width<T>);
}

/// The same, without other sums: `more` as in tile_ends.
template <class T>
inline void block(std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_row, sum_of<T>* c,
                  std::ptrdiff_t c_row, std::ptrdiff_t columns, bool more) {
  block(m, k, a, b, b_row, c, c_row, columns, tile_ends<T>{.more = more});
}

/// A panel: its row p holds elements (p, 0) to (p, width - 1) of b side by side, with zeros from column number `columns` on as far as
/// tiles of so many columns read.
template <class T>
inline void pack(T* to, std::ptrdiff_t k, const matrix<T>& b, std::ptrdiff_t columns) {
  constexpr int n = simd::count_of<T>, w = width<T>;
  if (b.col == 1) {
    for (std::ptrdiff_t p = 0; p < k; ++p, to += w) {
      const T* const from = b.at(p, 0);
      for (int j = 0; j < w; j += n) {
        const int rest = static_cast<int>(columns) - j;
        simd::store(to + j, rest >= n ? simd::load(from + j) : simd::load_first(from + (rest > 0 ? j : 0), rest));
      }
    }
    return;
  }
  if (b.row != 1) {
    for (std::ptrdiff_t p = 0; p < k; ++p)
      for (int j = 0; j < w; ++j) to[p * w + j] = j < columns ? *b.at(p, j) : T(0);
    return;
  }
  // A tile of so few columns that they fit into one register does not read the next one.
  const int registers_end = columns > n ? w : n;
  const auto turn = [&](std::ptrdiff_t p, auto load, auto store) EBB_LAMBDA {
    for (int j = 0; j < registers_end; j += n)
      [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
        simd::vector<T> x[] = {(j + I < columns ? load(b.at(p, j + I)) : simd::vector<T>{})...};
        simd::transpose<T>(x);
        (store(to + (p + I) * w + j, x[I], I), ...);
      }(std::make_integer_sequence<int, n>{});
  };
  if (k < n) {
    const int rows = static_cast<int>(k);
    turn(0, [=](const T* p) EBB_LAMBDA { return simd::load_first(p, rows); },
         [=](T* p, simd::vector<T> x, int i) EBB_LAMBDA { if (i < rows) simd::store(p, x); });
    return;
  }
  for (std::ptrdiff_t p = 0; p < k; p += n)  // some rows may be written twice
    turn(std::min(p, k - n), [](const T* q) EBB_LAMBDA { return simd::load(q); },
         [](T* q, simd::vector<T> x, int) EBB_LAMBDA { simd::store(q, x); });
}

}  // namespace tile
}  // namespace ebb::inline EBB_ABI::kernel
