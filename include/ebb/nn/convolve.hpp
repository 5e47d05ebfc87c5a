// ebb/nn/convolve.hpp — the kernels of convolutions: three products of matrices, one of which is read through sliding windows.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a convolution]
// Each element of a result is one chain of fma from 0 on, as in [note: order of a product]. Its links are
//   the result     over channels of x, then taps of the kernel (planes, rows, then columns)
//   gradient of x  over channels of the result, then those taps that can reach the element: with stride s every s-th
//   gradient of w  over the batch, then places of the result (planes, rows, then columns)
// in rising order. A place beyond the edge of an array counts as 0: it is a link too. bf16 and f16 are summed in float and rounded once.
//
// Method: the array that is read through windows is never written out as a matrix. A block of its columns is packed into panels, as a
// matrix product packs its right operand anyway, and the tiles of kernel/tile.hpp do the rest. So scratch memory is one block of at most
// 256 x 256 elements of the array, 256 sums for each row of weights, and a copy of the weights if they cannot be read where they are: of
// all of them if they have at most 2^20 elements, else of at most 256 columns. Few rows of weights slide over small arrays without panels.
#pragma once

#include "slid.hpp"

namespace ebb::inline EBB_ABI::kernel {

namespace conv_parts {

inline constexpr std::ptrdiff_t block_size = 256, few_rows = 4;
inline constexpr std::ptrdiff_t most_weights = std::ptrdiff_t{1} << 20;

/// How a product of `rows` rows of weights with windows is cut into blocks. Each element of the result has `depth` links.
template <class T>
struct blocks {
  using S = sum_of<T>;
  std::ptrdiff_t rows, depth, cut;
  bool at_once;  // the weights are copied once for all windows

  constexpr blocks(std::ptrdiff_t m, std::ptrdiff_t k) : rows(m), depth(k) {
    const std::ptrdiff_t cuts = (k + block_size - 1) / block_size;
    cut = cuts > 0 ? (k + cuts - 1) / cuts : 1;
    at_once = m * k <= most_weights;
  }
  constexpr std::ptrdiff_t weights() const { return rows * (at_once ? depth : cut); }
  constexpr std::size_t bytes() const {
    return static_cast<std::size_t>(weights() + block_size * std::max(cut + rows, 3 + 2 * few_rows) + 64) * sizeof(S);
  }
};

/// The weights of a product: element (row, link) is at row * by_row + plane * by_plane + tap, for the plane and the tap of the link.
template <class T>
struct weights {
  const T* data;
  std::ptrdiff_t by_row, by_plane, rows, columns;  // of the kernel: rows in a plane of taps, columns in a row

  template <class S>
  void copy(S* to, const slid<T>& by, std::ptrdiff_t m, std::ptrdiff_t first, std::ptrdiff_t depth) const {
    const windows &row = by.row, &column = by.column;
    const std::ptrdiff_t taps = by.taps();
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const T* const from = data + i * by_row;
      std::ptrdiff_t plane = 0, z = 0, y = 0, x = 0;
      if (depth > 0) plane = first / taps, z = first % taps / (row.taps * column.taps), y = first / column.taps % row.taps;
      if (depth > 0) x = first % column.taps;
      for (std::ptrdiff_t p = 0; p < depth; ++p) {
        const std::ptrdiff_t tap_row = (by.deep.first_tap + z * by.deep.next_tap) * rows + row.first_tap + y * row.next_tap;
        *to++ = static_cast<S>(from[plane * by_plane + tap_row * columns + column.first_tap + x * column.next_tap]);
        if (++x == column.taps) x = 0, ++y;
        if (y == row.taps) y = 0, ++z;
        if (z == by.deep.taps) z = 0, ++plane;
      }
    }
  }
};

// A product of few rows would read each packed element once or twice: packing would not pay. There the lanes are adjacent windows, which
// read adjacent places of one row of the array. The row is copied, with zeros around it, and each tap is a load from another place of it.

template <class T>
constexpr bool is_thin(const slid<T>& x, std::ptrdiff_t m, std::ptrdiff_t links) {
  return m <= few_rows && links > 0 && m * links <= most_weights && x.column.stride == 1 &&
         (x.column.by < 0 ? -x.column.by : x.column.by) * (x.column.taps - 1) <= block_size;
}

/// sums[Rows x count] += w[Rows x taps] * the places that each tap reads: tap t reads them from row + t * by on.
template <int Rows, class S>
inline void add_taps(S* sums, std::ptrdiff_t count, const S* w, std::ptrdiff_t by_row, std::ptrdiff_t taps, const S* row,
                     std::ptrdiff_t by) {
  using V = simd::vector<S>;
  constexpr int n = simd::count_of<S>, vectors = Rows == 1 ? 4 : 2;
  const auto some = [&]<int Vectors>(std::integral_constant<int, Vectors>, std::ptrdiff_t j) EBB_LAMBDA {
    V acc[Rows * Vectors];
    for (int i = 0; i < Rows * Vectors; ++i) acc[i] = simd::load(sums + i / Vectors * 2 * block_size + j + i % Vectors * n);
    for (std::ptrdiff_t t = 0; t < taps; ++t)
      for (int v = 0; v < Vectors; ++v) {
        const V x = simd::load(row + t * by + j + v * n);
        for (int i = 0; i < Rows; ++i) acc[i * Vectors + v] = tile::link<S>(simd::all(w[i * by_row + t]), x, acc[i * Vectors + v]);
      }
    for (int i = 0; i < Rows * Vectors; ++i) simd::store(sums + i / Vectors * 2 * block_size + j + i % Vectors * n, acc[i]);
  };
  std::ptrdiff_t j = 0;
  for (; j + vectors * n <= count; j += vectors * n) some(std::integral_constant<int, vectors>{}, j);
  for (; j < count; j += n) some(std::integral_constant<int, 1>{}, j);
}

/// slide for few rows. Scratch: the weights, a row of places, and the sums of one row of windows.
template <class T>
inline void slide_thin(const weights<T>& w, const slid<T>& x, std::ptrdiff_t m, std::ptrdiff_t links, T* to, std::ptrdiff_t to_plane,
                       std::ptrdiff_t to_rows, std::ptrdiff_t to_row, sum_of<T>* copied) {
  using S = sum_of<T>;
  S* const row = copied + (m * links + 15) / 16 * 16;
  S* const sums = row + 3 * block_size;
  const std::ptrdiff_t taps = x.column.taps, reach = (taps - 1) * x.column.by, least = std::min<std::ptrdiff_t>(reach, 0);
  const std::ptrdiff_t planes = links / x.taps(), tap_rows = x.deep.taps * x.row.taps;
  w.template copy<S>(copied, x, m, 0, links);
  for (std::ptrdiff_t q = 0; q < x.deep.count * x.row.count; ++q)
    for (std::ptrdiff_t z = 0; z < x.column.count; z += block_size) {
      const std::ptrdiff_t count = std::min(block_size, x.column.count - z), width = count + (reach < 0 ? -reach : reach);
      const std::ptrdiff_t first = x.column.at + least + z;  // the place that `row` begins with
      const std::ptrdiff_t a = std::clamp<std::ptrdiff_t>(-first, 0, width);
      const std::ptrdiff_t b = std::clamp<std::ptrdiff_t>(x.column.places - first, a, width);
      for (std::ptrdiff_t i = 0; i < m; ++i) std::fill_n(sums + i * 2 * block_size, count + simd::count_of<S>, S(0));
      for (std::ptrdiff_t c = 0; c < planes; ++c)
        for (std::ptrdiff_t k = 0; k < tap_rows; ++k) {
          const std::ptrdiff_t place = x.row_of(q, k);
          const bool inside = place >= 0;
          const std::ptrdiff_t from = c * x.plane + place * x.column.places + first;
          put(row, width, x.planes, from, 1, typename slid<T>::part{inside ? a : 0, inside ? b : 0});
          const S* const by = copied + (c * tap_rows + k) * taps;
          if (m == 1) add_taps<1>(sums, count, by, links, taps, row - least, x.column.by);
          else if (m == 2) add_taps<2>(sums, count, by, links, taps, row - least, x.column.by);
          else if (m == 3) add_taps<3>(sums, count, by, links, taps, row - least, x.column.by);
          else add_taps<4>(sums, count, by, links, taps, row - least, x.column.by);
        }
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        T* const at = to + i * to_plane + x.to_row(q, to_rows) * to_row + x.column.first + z * x.column.next;
        for (std::ptrdiff_t j = 0; j < count; ++j) at[j * x.column.next] = static_cast<T>(sums[i * 2 * block_size + j]);
      }
    }
}

// A small array is copied whole, with zeros around it: then no tap asks for an edge, and sums stay in registers for all links.

/// The places that the windows along an axis read, with those beyond the edge.
struct padded_axis {
  std::ptrdiff_t lowest, size, tap;  // tap 0 of window 0 reads number `tap`
  constexpr explicit padded_axis(const windows& w) {
    const std::ptrdiff_t reach = (w.taps - 1) * w.by;
    tap = reach < 0 ? -reach : 0;
    lowest = w.at - tap;
    size = (w.count - 1) * w.stride + (reach < 0 ? -reach : reach) + 1;
  }
};
template <class T>
struct padded {
  using S = sum_of<T>;
  padded_axis deep, row, column;
  const slid<T>& x;

  constexpr explicit padded(const slid<T>& of) : deep(of.deep), row(of.row), column(of.column), x(of) {}
  constexpr std::ptrdiff_t volume() const { return deep.size * row.size * column.size; }
  /// Whether few rows of weights, with scratch memory for them and a copy, make that worth while.
  constexpr bool pays(std::ptrdiff_t m, std::ptrdiff_t links) const {
    constexpr std::ptrdiff_t most = 2 * block_size * block_size;  // the gradient by w needs more memory
    return m <= (x.is_shifted() ? few_rows : 2 * few_rows) && links > 0 && x.count() > 0 && x.column.stride == 1 && m * links <= most / 2 &&
           volume() <= most / 2 && links / x.taps() * volume() <= most / 2;
  }
  void copy(S* to, std::ptrdiff_t planes) const {
    const std::ptrdiff_t a = std::clamp<std::ptrdiff_t>(-column.lowest, 0, column.size);
    const std::ptrdiff_t b = std::clamp<std::ptrdiff_t>(x.column.places - column.lowest, a, column.size);
    for (std::ptrdiff_t c = 0; c < planes; ++c)
      for (std::ptrdiff_t z = deep.lowest; z < deep.lowest + deep.size; ++z)
        for (std::ptrdiff_t y = row.lowest; y < row.lowest + row.size; ++y, to += column.size) {
          const bool inside = z >= 0 && z < x.deep.places && y >= 0 && y < x.row.places;
          const std::ptrdiff_t from = c * x.plane + (z * x.row.places + y) * x.column.places + column.lowest;
          put(to, column.size, x.planes, from, 1, typename slid<T>::part{inside ? a : 0, inside ? b : 0});
        }
    std::fill_n(to, 2 * simd::count_of<S>, S(0));  // rows are read in whole registers, beyond their ends
  }
  /// sums[Rows x Vectors registers] of the windows from `from` on, where tap 0 of the first plane reads. The rows of sums are adjacent.
  template <int Rows, int Vectors>
  void sum(S* sums, const S* w, std::ptrdiff_t links, const S* from) const {
    using V = simd::vector<S>;
    constexpr int n = simd::count_of<S>;
    [&]<int... I, int... J>(std::integer_sequence<int, I...>, std::integer_sequence<int, J...>) EBB_LAMBDA {
      V acc[Rows * Vectors] = {};
      const std::ptrdiff_t planes = links / x.taps();
      for (std::ptrdiff_t c = 0; c < planes; ++c, from += volume())
        for (std::ptrdiff_t h = 0; h < x.deep.taps; ++h)
          for (std::ptrdiff_t i = 0; i < x.row.taps; ++i) {
            const S* p = from + (h * x.deep.by * row.size + i * x.row.by) * column.size;
            for (std::ptrdiff_t j = 0; j < x.column.taps; ++j, p += x.column.by, ++w) {
              const V right[] = {simd::load(p + J * n)...};
              ((acc[I] = tile::link<S>(simd::all(w[I / Vectors * links]), right[I % Vectors], acc[I])), ...);
            }
          }
      (simd::store(sums + I * n, acc[I]), ...);
    }(std::make_integer_sequence<int, Rows * Vectors>{}, std::make_integer_sequence<int, Vectors>{});
  }
  template <int Rows>
  void run(const S* w, std::ptrdiff_t links, const S* copied, T* to, std::ptrdiff_t to_plane, std::ptrdiff_t to_rows,
           std::ptrdiff_t to_row) const {
    constexpr std::ptrdiff_t n = simd::count_of<S>;
    S sums[Rows * 2 * n];
    const S* const first = copied + (deep.tap * row.size + row.tap) * column.size + column.tap;
    for (std::ptrdiff_t q = 0; q < x.deep.count * x.row.count; ++q) {
      const std::ptrdiff_t plane = q / x.row.count * x.deep.stride, line = q % x.row.count * x.row.stride;
      const S* const from = first + (plane * row.size + line) * column.size;
      T* const at = to + x.to_row(q, to_rows) * to_row + x.column.first;
      for (std::ptrdiff_t z = 0, next; z < x.column.count; z += next) {
        const std::ptrdiff_t left = x.column.count - z;
        next = left > n ? 2 * n : n;
        if (left > n) sum<Rows, 2>(sums, w, links, from + z);
        else sum<Rows, 1>(sums, w, links, from + z);
        for (std::ptrdiff_t i = 0; i < Rows; ++i)
          for (std::ptrdiff_t j = 0; j < std::min(next, left); ++j)
            at[i * to_plane + (z + j) * x.column.next] = static_cast<T>(sums[i * next + j]);
      }
    }
  }
  /// slide for an array. Scratch: the weights, and the copy.
  void slide(const weights<T>& w, std::ptrdiff_t m, std::ptrdiff_t links, T* to, std::ptrdiff_t to_plane, std::ptrdiff_t to_rows,
             std::ptrdiff_t to_row, S* by) const {
    S* const copied = by + (m * links + 15) / 16 * 16;
    w.template copy<S>(by, x, m, 0, links);
    copy(copied, links / x.taps());
    for (; m >= 4; m -= 4, by += 4 * links, to += 4 * to_plane) run<4>(by, links, copied, to, to_plane, to_rows, to_row);
    if (m == 3) run<3>(by, links, copied, to, to_plane, to_rows, to_row);
    else if (m == 2) run<2>(by, links, copied, to, to_plane, to_rows, to_row);
    else if (m == 1) run<1>(by, links, copied, to, to_plane, to_rows, to_row);
  }
};

/// to[m x windows] = w[m x links] * x[links x windows] for each of the n arrays of a batch. The m planes of a result are `to_plane`
/// elements apart: they consist of planes with `to_rows` rows of `to_row` elements. `adjacent`: the links of a row of weights are adjacent
/// in memory.
template <class T>
inline void slide(const weights<T>& w, slid<T> x, std::ptrdiff_t m, std::ptrdiff_t links, bool adjacent, T* to, std::ptrdiff_t to_plane,
                  std::ptrdiff_t to_rows, std::ptrdiff_t to_row, std::ptrdiff_t n, std::ptrdiff_t x_next, std::ptrdiff_t to_next,
                  void* scratch) {
  using S = sum_of<T>;
  constexpr int width = tile::width<S>;
  if (padded<T>(x).pays(m, links)) {
    for (std::ptrdiff_t b = 0; b < n; ++b, x.planes += x_next, to += to_next)
      padded<T>(x).slide(w, m, links, to, to_plane, to_rows, to_row, static_cast<S*>(scratch));
    return;
  }
  if (is_thin(x, m, links)) {
    S* const copied = static_cast<S*>(scratch);
    std::fill_n(copied, m * links + 3 * block_size + 16, S(0));  // a row is read in whole registers, beyond its end
    for (std::ptrdiff_t b = 0; b < n; ++b, x.planes += x_next, to += to_next)
      slide_thin<T>(w, x, m, links, to, to_plane, to_rows, to_row, copied);
    return;
  }
  const blocks<T> cut(m, links);
  S* const copied = static_cast<S*>(scratch);
  S* const panels = copied + (cut.weights() + 15) / 16 * 16;
  S* const sums = panels + block_size * cut.cut;
  const bool in_place = adjacent && std::is_same_v<S, T>;
  const bool direct = std::is_same_v<S, T> && x.deep.next == 1 && x.row.next == 1 && x.column.next == 1 && x.column.count == to_row;
  if (!in_place && cut.at_once) w.template copy<S>(copied, x, m, 0, links);
  for (std::ptrdiff_t b = 0; b < n; ++b, x.planes += x_next, to += to_next)
    for (std::ptrdiff_t begin = 0; begin < x.count(); begin += block_size) {
      const std::ptrdiff_t end = std::min(begin + block_size, x.count());
      for (std::ptrdiff_t p = 0; p == 0 || p < links; p += cut.cut) {
        const std::ptrdiff_t depth = std::min(cut.cut, links - p);
        if (!in_place && !cut.at_once) w.template copy<S>(copied, x, m, p, depth);
        matrix<S> a{copied + (cut.at_once ? p : 0), cut.at_once ? links : depth, 1};
        if constexpr (std::is_same_v<S, T>)
          if (in_place) a = {w.data + p, w.by_row, 1};
        for (std::ptrdiff_t j = begin; j < end; j += width)
          pack_panel(panels + (j - begin) * depth, x, p, depth, j, std::min(j + width, end));
        const std::ptrdiff_t strip = std::max<std::ptrdiff_t>(tile::height, 65536 / cut.cut / tile::height * tile::height);
        for (std::ptrdiff_t i = 0; i < m; i += strip)
          for (std::ptrdiff_t j = begin; j < end; j += width) {
            S* c = sums + i * block_size + (j - begin);
            if constexpr (std::is_same_v<S, T>)
              if (direct) c = to + i * to_plane + j;
            tile::block(std::min(strip, m - i), depth, a.from(i, 0), panels + (j - begin) * depth, width, c,
                        direct ? to_plane : block_size, std::min<std::ptrdiff_t>(width, end - j), p > 0);
          }
      }
      if (direct) continue;
      for (std::ptrdiff_t i = 0; i < m; ++i)
        for (std::ptrdiff_t j = begin; j < end;) {
          const std::ptrdiff_t q = j / x.column.count, first = j % x.column.count, count = std::min(x.column.count - first, end - j);
          T* const at = to + i * to_plane + x.to_row(q, to_rows) * to_row + x.column.first + first * x.column.next;
          for (std::ptrdiff_t k = 0; k < count; ++k) at[k * x.column.next] = static_cast<T>(sums[i * block_size + (j - begin) + k]);
          j += count;
        }
    }
}

}  // namespace conv_parts

/// The bytes of scratch of all three kernels, 64-byte aligned.
template <element T>
constexpr std::size_t convolve_scratch_bytes(const conv_extents& c) {
  const std::size_t forward = conv_parts::blocks<T>(c.to, c.from * c.taps()).bytes();
  const std::size_t back = conv_parts::blocks<T>(c.from, c.to * c.taps()).bytes();
  const std::size_t weight = 3 * conv_parts::block_size * conv_parts::block_size * sizeof(conv_parts::sum_of<T>);
  return std::max({forward, back, weight});
}

/// out [n, groups * to, windows...] = the convolution of x with w.   Error: half an ulp of each link's sum |x| |w|.
template <element T>
inline void convolve(const conv_extents& c, const T* x, const T* w, T* out, void* scratch) {
  const std::ptrdiff_t links = c.from * c.taps(), all = c.groups * c.to * c.windows();
  for (std::ptrdiff_t g = 0; g < c.groups; ++g) {
    const conv_parts::slid<T> in = conv_parts::slid<T>::of_result(c, x + g * c.from * c.places());
    const conv_parts::weights<T> by{w + g * c.to * links, links, c.taps(), c.row.taps, c.column.taps};
    conv_parts::slide<T>(by, in, c.to, links, true, out + g * c.to * c.windows(), c.windows(), c.row.windows, c.column.windows, c.n,
                         c.groups * c.from * c.places(), all, scratch);
  }
}

/// out [n, groups * from, places...] = the sum of what every window of g adds to each place through w: the convolution's gradient by x.
template <element T>
inline void convolve_back(const conv_extents& c, const T* g, const T* w, T* out, void* scratch) {
  const std::ptrdiff_t taps = c.taps(), all = c.groups * c.from * c.places();
  for (std::ptrdiff_t group = 0; group < c.groups; ++group)
    for (std::ptrdiff_t h = 0; h < c.deep.stride; ++h)
      for (std::ptrdiff_t i = 0; i < c.row.stride; ++i)
        for (std::ptrdiff_t j = 0; j < c.column.stride; ++j) {
          using conv_parts::windows;
          const conv_parts::slid<T> in{g + group * c.to * c.windows(), c.windows(), c.to * c.windows(), windows::of_places(c.deep, h),
                                       windows::of_places(c.row, i), windows::of_places(c.column, j)};
          const conv_parts::weights<T> by{w + group * c.to * c.from * taps, taps, c.from * taps, c.row.taps, c.column.taps};
          conv_parts::slide<T>(by, in, c.from, c.to * in.taps(), false, out + group * c.from * c.places(), c.places(), c.row.places,
                               c.column.places, c.n, c.groups * c.to * c.windows(), all, scratch);
        }
}

/// out [groups * to, from, taps...] = the sum over all windows of g with what each reads of x: the convolution's gradient by w.
template <element T>
inline void convolve_weights(const conv_extents& c, const T* x, const T* g, T* out, void* scratch) {
  using S = conv_parts::sum_of<T>;
  constexpr std::ptrdiff_t size = conv_parts::block_size, width = tile::width<S>;
  S* const rows = static_cast<S*>(scratch);
  S* const panels = rows + size * size;
  S* const sums = panels + size * size;
  const std::ptrdiff_t links = c.from * c.taps(), windows = c.windows();
  for (std::ptrdiff_t group = 0; group < c.groups; ++group)
    for (std::ptrdiff_t i = 0; i < links; i += size)
      for (std::ptrdiff_t j = 0; j < c.to; j += size) {
        const std::ptrdiff_t m = std::min(size, links - i), n = std::min(size, c.to - j);
        for (std::ptrdiff_t k = 0; k < m * size; ++k) sums[k] = S(0);
        for (std::ptrdiff_t b = 0; b < c.n; ++b) {
          const conv_parts::slid<T> in = conv_parts::slid<T>::of_result(c, x + (b * c.groups + group) * c.from * c.places());
          const T* const from = g + ((b * c.groups + group) * c.to + j) * windows;
          for (std::ptrdiff_t p = 0; p < windows; p += size) {
            const std::ptrdiff_t depth = std::min(size, windows - p);
            conv_parts::pack_rows(rows, in, i, m, p, p + depth);
            if constexpr (std::is_same_v<S, T>)
              if (n == 1) {  // one column is adjacent as it is
                tile::block(m, depth, matrix<S>{rows, depth, 1}, from + p, 1, sums, size, 1, true);
                continue;
              }
            for (std::ptrdiff_t t = 0; t < n; t += width) {
              const std::ptrdiff_t columns = std::min(width, n - t);
              S* const to = panels + t * depth;
              if constexpr (std::is_same_v<S, T>) tile::pack(to, depth, matrix<T>{from + t * windows + p, 1, windows}, columns);
              else
                for (std::ptrdiff_t q = 0; q < depth; ++q)
                  for (std::ptrdiff_t o = 0; o < width; ++o)
                    to[q * width + o] = o < columns ? static_cast<S>(from[(t + o) * windows + p + q]) : S(0);
              tile::block(m, depth, matrix<S>{rows, depth, 1}, to, width, sums + t, size, columns, true);
            }
          }
        }
        for (std::ptrdiff_t o = 0; o < n; ++o)
          for (std::ptrdiff_t k = 0; k < m; ++k) out[(group * c.to + j + o) * links + i + k] = static_cast<T>(sums[k * size + o]);
      }
}

}  // namespace ebb::inline EBB_ABI::kernel
