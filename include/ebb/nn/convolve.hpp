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
// Method: the array that is read through windows is never written out as a matrix. Most convolutions and transposes read bands of it with
// zeros around them, see [note: bands with margins]. For others, with many filters, few taps or large strides, a block of its columns is
// packed into panels, as a matrix product packs its right operand anyway, and the tiles of kernel/tile.hpp do the rest. So scratch memory
// is one block of at most 256 x 256 elements of the array, 256 sums for each row of weights, and a copy of the weights if they cannot be
// read where they are: of all of them if they have at most 2^20 elements, else of at most 256 columns.
#pragma once

#include "padded.hpp"

namespace ebb::inline EBB_ABI::kernel {

namespace conv_parts {

inline constexpr std::ptrdiff_t few_rows = 4;
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

/// to[m x windows] = w[m x links] * x[links x windows] for each of the n arrays of a batch. The m planes of a result are `to_plane`
/// elements apart: they consist of planes with `to_rows` rows of `to_row` elements. `adjacent`: the links of a row of weights are adjacent
/// in memory.
template <class T>
inline void slide(const weights<T>& w, slid<T> x, std::ptrdiff_t m, std::ptrdiff_t links, bool adjacent, T* to, std::ptrdiff_t to_plane,
                  std::ptrdiff_t to_rows, std::ptrdiff_t to_row, std::ptrdiff_t n, std::ptrdiff_t x_next, std::ptrdiff_t to_next,
                  void* scratch) {
  using S = sum_of<T>;
  constexpr int width = tile::width<S>;
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
  shifts<S> by_shifts;
  for (std::ptrdiff_t b = 0; b < n; ++b, x.planes += x_next, to += to_next)
    for (std::ptrdiff_t begin = 0; begin < x.count(); begin += block_size) {
      const std::ptrdiff_t end = std::min(begin + block_size, x.count());
      if constexpr (std::is_same_v<S, T>) by_shifts.prepare(x, begin, end);
      for (std::ptrdiff_t p = 0; p == 0 || p < links; p += cut.cut) {
        const std::ptrdiff_t depth = std::min(cut.cut, links - p);
        if (!in_place && !cut.at_once) w.template copy<S>(copied, x, m, p, depth);
        matrix<S> a{copied + (cut.at_once ? p : 0), cut.at_once ? links : depth, 1};
        if constexpr (std::is_same_v<S, T>)
          if (in_place) a = {w.data + p, w.by_row, 1};
        for (std::ptrdiff_t j = begin; j < end; j += width)
          pack_panel(panels + (j - begin) * depth, x, by_shifts, p, depth, j, std::min(j + width, end));
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
  auto margins = conv_parts::with_margins<T>::of_result(c);
  const bool pays = margins.fits() && margins.pays();
  for (std::ptrdiff_t g = 0; g < c.groups; ++g) {
    const conv_parts::slid<T> in = conv_parts::slid<T>::of_result(c, x + g * c.from * c.places());
    const conv_parts::weights<T> by{w + g * c.to * links, links, c.taps(), c.row.taps, c.column.taps};
    if (pays) {
      margins.slide(by, c.n, in.planes, c.groups * c.from * c.places(), out + g * c.to * c.windows(), all, scratch);
      continue;
    }
    conv_parts::slide<T>(by, in, c.to, links, true, out + g * c.to * c.windows(), c.windows(), c.row.windows, c.column.windows, c.n,
                         c.groups * c.from * c.places(), all, scratch);
  }
}

/// out [n, groups * from, places...] = the sum of what every window of g adds to each place through w: the convolution's gradient by x.
template <element T>
inline void convolve_back(const conv_extents& c, const T* g, const T* w, T* out, void* scratch) {
  using conv_parts::weights, conv_parts::windows, conv_parts::with_margins, conv_parts::window_sets;
  const std::ptrdiff_t taps = c.taps(), all = c.groups * c.from * c.places();
  const bool few = std::max({c.deep.stride, c.row.stride, c.column.stride}) <= window_sets::most;
  auto margins = few ? with_margins<T>::of_places(c) : with_margins<T>::of_result(c);  // the second one is not used
  // Panels need a copy of the weights, in the order of the links: it is cheap only beside many places.
  const bool panels = std::max({c.deep.stride, c.row.stride, c.column.stride}) == 1 && c.n * c.places() >= 1024;
  const bool pays = few && margins.fits() && (!panels || margins.pays());
  for (std::ptrdiff_t group = 0; group < c.groups; ++group) {
    const T* const from = g + group * c.to * c.windows();
    T* const to = out + group * c.from * c.places();
    const weights<T> by{w + group * c.to * c.from * taps, taps, c.from * taps, c.row.taps, c.column.taps};
    if (pays) {
      margins.slide(by, c.n, from, c.groups * c.to * c.windows(), to, all, scratch);
      continue;
    }
    for (std::ptrdiff_t h = 0; h < c.deep.stride; ++h)
      for (std::ptrdiff_t i = 0; i < c.row.stride; ++i)
        for (std::ptrdiff_t j = 0; j < c.column.stride; ++j) {
          const conv_parts::slid<T> in{from, c.windows(), c.to * c.windows(), windows::of_places(c.deep, h),
                                       windows::of_places(c.row, i), windows::of_places(c.column, j)};
          conv_parts::slide<T>(by, in, c.from, c.to * in.taps(), false, to, c.places(), c.row.places, c.column.places, c.n,
                               c.groups * c.to * c.windows(), all, scratch);
        }
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
  conv_parts::shifts<S> by_shifts;
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
            if constexpr (std::is_same_v<S, T>) by_shifts.prepare(in, p, p + depth);
            conv_parts::pack_rows(rows, in, by_shifts, i, m, p, p + depth);
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
