// ebb/nn/padded.hpp — convolutions of bands of an array that are copied with zeros around them: then no tap asks for an edge.
// SPDX-License-Identifier: BSL-1.0
//
// [note: bands with margins]
// All channels of a band of places are copied once, with the places beyond the edge. Each tap of each window is then a load from another
// place of the copy, so nothing is packed for a tap, and sums stay in registers for all links. Lanes are adjacent windows. They go on from
// one row of windows to the next where that fills registers better: the lanes between two rows are computed and left out. The places of a
// transpose with a stride are several sets of windows: they read the same copy, and those of one row are written side by side.
#pragma once

#include "slid.hpp"

namespace ebb::inline EBB_ABI::kernel::conv_parts {

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

/// The windows along one axis: those of a result, or the sets of places that windows reach with a stride, in the order of their first
/// places.
struct window_sets {
  static constexpr std::ptrdiff_t most = 8;
  windows set[most];
  std::ptrdiff_t size = 0, count = 0;  // count: of windows in the largest set

  static constexpr window_sets of_result(const conv_axis& c) {
    window_sets r;
    r.size = 1, r.set[0] = windows::of_result(c), r.count = c.windows;
    return r;
  }
  /// Requires stride <= most.
  static constexpr window_sets of_places(const conv_axis& c) {
    window_sets r;
    r.size = c.stride;
    for (std::ptrdiff_t i = 0; i < c.stride; ++i) {
      r.set[i] = windows::of_places(c, (i + c.before) % c.stride);
      r.count = std::max(r.count, r.set[i].count);
    }
    return r;
  }
  /// The places [from, to) that the windows [first, first + n) of all sets read.
  struct part { std::ptrdiff_t from, to; };
  constexpr part reads(std::ptrdiff_t first, std::ptrdiff_t n) const {
    part r{0, 0};
    bool any = false;
    for (std::ptrdiff_t i = 0; i < size; ++i) {
      const windows& w = set[i];
      const std::ptrdiff_t last = std::min(first + n, w.count) - 1, reach = (w.taps - 1) * w.by;
      if (w.taps == 0 || last < first) continue;
      const std::ptrdiff_t low = w.at + first * w.stride + std::min<std::ptrdiff_t>(reach, 0);
      const std::ptrdiff_t high = w.at + last * w.stride + std::max<std::ptrdiff_t>(reach, 0) + 1;
      r = any ? part{std::min(r.from, low), std::max(r.to, high)} : part{low, high};
      any = true;
    }
    return r;
  }
};

/// A tap: its place in the copy, and its weight in a plane of the kernel.
struct tap_at { std::ptrdiff_t x, w; };

/// sums[Rows x Vectors registers] = the links of all planes and taps. x and w are tap 0 of the first window and of the first row.
template <int Rows, int Vectors, class S>
inline void sum_links(S* sums, std::ptrdiff_t sums_row, const S* x, std::ptrdiff_t x_plane, const S* w, std::ptrdiff_t w_row,
                      std::ptrdiff_t w_plane, const tap_at* taps, std::ptrdiff_t count, std::ptrdiff_t planes) {
  using V = simd::vector<S>;
  constexpr int n = simd::count_of<S>;
  [&]<int... I, int... J>(std::integer_sequence<int, I...>, std::integer_sequence<int, J...>) EBB_LAMBDA {
    V acc[Rows * Vectors] = {};
    for (std::ptrdiff_t c = 0; c < planes; ++c, x += x_plane, w += w_plane)
      for (std::ptrdiff_t t = 0; t < count; ++t) {
        const S *const p = x + taps[t].x, *const q = w + taps[t].w;
        const V right[] = {simd::load(p + J * n)...};
        ((acc[I] = tile::link<S>(simd::all(q[I / Vectors * w_row]), right[I % Vectors], acc[I])), ...);
      }
    (simd::store(sums + I / Vectors * sums_row + I % Vectors * n, acc[I]), ...);
  }(std::make_integer_sequence<int, Rows * Vectors>{}, std::make_integer_sequence<int, Vectors>{});
}

/// A product of m rows of weights with the windows of arrays of `planes` channels.
template <class T>
struct with_margins {
  using S = sum_of<T>;
  static constexpr std::ptrdiff_t n = simd::count_of<S>, longest = 512, most_taps = 2048, most_copied = 65536;

  struct band_axis {
    std::ptrdiff_t first = 0, count = 0;  // of the windows
    window_sets::part places{};
    constexpr std::ptrdiff_t size() const { return places.to - places.from; }
  };

  window_sets deep, row, column;
  conv_axis of_deep, of_row, of_column;
  std::ptrdiff_t m, planes;
  std::ptrdiff_t x_places[3], x_plane;        // extents of the array that is read, and the distance of its channels
  std::ptrdiff_t to_rows, to_row, to_plane;  // rows in a plane of the result, places in a row, and the distance of its channels
  std::ptrdiff_t at_once[3] = {};            // the windows of a band along each axis
  band_axis band[3];

  /// read, written: the extents of the two arrays along an axis.
  using extent_of = std::ptrdiff_t conv_axis::*;
  constexpr with_margins(const conv_extents& c, std::ptrdiff_t rows, std::ptrdiff_t channels, window_sets (*sets)(const conv_axis&),
                         extent_of read, extent_of written)
      : deep(sets(c.deep)), row(sets(c.row)), column(sets(c.column)), of_deep(c.deep), of_row(c.row), of_column(c.column), m(rows),
        planes(channels), x_places{c.deep.*read, c.row.*read, c.column.*read}, x_plane(c.deep.*read * (c.row.*read) * (c.column.*read)),
        to_rows(c.row.*written), to_row(c.column.*written), to_plane(c.deep.*written * to_rows * to_row) {}
  static constexpr with_margins of_result(const conv_extents& c) {
    return {c, c.to, c.from, window_sets::of_result, &conv_axis::places, &conv_axis::windows};
  }
  /// Requires strides of at most window_sets::most.
  static constexpr with_margins of_places(const conv_extents& c) {
    return {c, c.from, c.to, window_sets::of_places, &conv_axis::windows, &conv_axis::places};
  }
  /// Whether the kernel can do it. Finds the bands.
  constexpr bool fits() {
    const bool few = std::is_same_v<S, T> || m * planes * taps() <= most_copied;
    return m > 0 && planes > 0 && taps() <= most_taps && few && stride() <= of_column.taps * of_column.dilation && cut();
  }
  /// Whether that takes less time than packing panels, for a result: those of many rows of weights cost little, and leave out no lanes.
  constexpr bool pays() const {
    if (m <= tile::height || stride() > 1) return true;
    const std::ptrdiff_t rows = at_once[1], count = at_once[2];
    const auto [at_a_time, registers] = together(rows, row.set[0].stride * (count + (of_column.taps - 1) * of_column.dilation), count);
    return m <= 64 && taps() > 2 && 10 * at_a_time * count > 9 * registers * n;
  }

  constexpr std::ptrdiff_t taps() const { return of_deep.taps * of_row.taps * of_column.taps; }
  /// A row of the copy: with a stride, every so many places are side by side, `apart` elements for each remainder.
  constexpr std::ptrdiff_t stride() const { return column.set[0].stride; }
  constexpr std::ptrdiff_t apart() const { return (band[2].size() + stride() - 1) / stride(); }
  constexpr std::ptrdiff_t pitch() const { return stride() * apart(); }
  constexpr std::ptrdiff_t volume() const { return band[0].size() * band[1].size() * pitch(); }

  /// Finds the bands. False if there are none that are small enough.
  constexpr bool cut() {
    std::ptrdiff_t &d = at_once[0] = deep.count, &r = at_once[1] = row.count, &c = at_once[2] = std::min(column.count, longest);
    const auto size = [](const window_sets& s, std::ptrdiff_t count) { const auto p = s.reads(0, count); return p.to - p.from; };
    while (planes * size(deep, d) * size(row, r) * (size(column, c) + stride() - 1) > most_copied) {
      if (d > 1) d = (d + 1) / 2;
      else if (r > 4) r = (r + 1) / 2;
      else if (c > 64) c = (c + 1) / 2;
      else if (r > 1) r = (r + 1) / 2;
      else return false;
    }
    return true;
  }

  /// The band of all channels, with zeros where there are no places, and after it: whole registers are read beyond its end.
  void copy(S* to, const T* from) const {
    const std::ptrdiff_t all = planes * volume() + 4 * n;
    std::fill_n(to, all, S(0));
    std::ptrdiff_t first[3], last[3];
    for (int i = 0; i < 3; ++i) {
      first[i] = std::max<std::ptrdiff_t>(band[i].places.from, 0);
      last[i] = std::max(std::min(band[i].places.to, x_places[i]), first[i]);
    }
    for (std::ptrdiff_t c = 0; c < planes; ++c)
      for (std::ptrdiff_t z = first[0]; z < last[0]; ++z)
        for (std::ptrdiff_t y = first[1]; y < last[1]; ++y)
          copy_row(to + c * volume() + ((z - band[0].places.from) * band[1].size() + y - band[1].places.from) * pitch(),
                   first[2] - band[2].places.from, from + c * x_plane + (z * x_places[1] + y) * x_places[2] + first[2], last[2] - first[2]);
  }
  /// Places [first, first + count) of a row of the copy.
  void copy_row(S* to, std::ptrdiff_t first, const T* from, std::ptrdiff_t count) const {
    std::ptrdiff_t i = 0;
    if constexpr (std::is_same_v<S, T>) {
      if (stride() == 1) {
        to += first;
        for (; i + n <= count; i += n) simd::store(to + i, simd::load(from + i));
        if (i < count) simd::store_first(to + i, simd::load_first(from + i, static_cast<int>(count - i)), static_cast<int>(count - i));
        return;
      }
      if (stride() == 2) {
        S* const even = to + first % 2 * apart() + first / 2;
        S* const odd = to + (first + 1) % 2 * apart() + (first + 1) / 2;
        for (; i + 2 * n <= count; i += 2 * n) {
          const simd::vector<S> both[] = {simd::load(from + i), simd::load(from + i + n)};
          simd::store(even + i / 2, simd::chosen<2, 0, 0, S>(both));
          simd::store(odd + i / 2, simd::chosen<2, 1, 0, S>(both));
        }
      }
    }
    for (std::ptrdiff_t j = i; j < std::min(i + stride(), count); ++j) {
      S* at = to + (first + j) % stride() * apart() + (first + j) / stride();
      for (std::ptrdiff_t k = j; k < count; k += stride()) *at++ = static_cast<S>(from[k]);
    }
  }

  /// The taps of a set of windows, as places of the copy.
  std::ptrdiff_t list(tap_at* to, const windows& d, const windows& r, const windows& c) const {
    const tap_at* const begin = to;
    if (d.count <= band[0].first || r.count <= band[1].first || c.count <= band[2].first) return 0;  // no windows here
    for (std::ptrdiff_t h = 0; h < d.taps; ++h)
      for (std::ptrdiff_t i = 0; i < r.taps; ++i)
        for (std::ptrdiff_t j = 0; j < c.taps; ++j) {
          const std::ptrdiff_t z = d.at + h * d.by + band[0].first * d.stride - band[0].places.from;
          const std::ptrdiff_t y = r.at + i * r.by + band[1].first * r.stride - band[1].places.from;
          const std::ptrdiff_t x = c.at + j * c.by + band[2].first * c.stride - band[2].places.from;
          const std::ptrdiff_t tap_row = (d.first_tap + h * d.next_tap) * of_row.taps + r.first_tap + i * r.next_tap;
          const std::ptrdiff_t place = stride() == 1 ? x : x % stride() * apart() + x / stride();
          *to++ = {(z * band[1].size() + y) * pitch() + place, tap_row * of_column.taps + c.first_tap + j * c.next_tap};
        }
    return to - begin;
  }

  /// How many of so many rows of windows, `next` lanes apart, lanes go through: 1 if the lanes between them would take as many registers.
  struct lines { std::ptrdiff_t rows, registers; };
  static constexpr lines together(std::ptrdiff_t rows, std::ptrdiff_t next, std::ptrdiff_t count) {
    const std::ptrdiff_t alone = (count + n - 1) / n, most = next == 0 ? 1 : std::min(rows, (longest - count) / next + 1);
    const std::ptrdiff_t all = ((most - 1) * next + count + n - 1) / n;
    return all < most * alone ? lines{most, all} : lines{1, alone};
  }

  /// A row of a result: its places from one set of windows, or from two sets by turns.
  void write(T* to, const S* from, std::ptrdiff_t next_set, std::ptrdiff_t first, std::ptrdiff_t sets) const {
    const std::ptrdiff_t begin = band[2].first, end = begin + band[2].count;
    const windows& w = column.set[first];
    std::ptrdiff_t k = 0, count = std::min(w.count, end) - begin;
    to += w.first + begin * w.next;
    if (sets == 2) {
      const std::ptrdiff_t others = std::min(column.set[1].count, end) - begin;
      if constexpr (std::is_same_v<S, T>)
        for (; k + n <= others; k += n) {
          simd::vector<S> both[] = {simd::load(from + k), simd::load(from + next_set + k)};
          simd::mix<S>(both);
          simd::store(to + 2 * k, both[0]);
          simd::store(to + 2 * k + n, both[1]);
        }
      for (; k < others; ++k) to[2 * k] = static_cast<T>(from[k]), to[2 * k + 1] = static_cast<T>(from[next_set + k]);
      if (k < count) to[2 * k] = static_cast<T>(from[k]);
      return;
    }
    if constexpr (std::is_same_v<S, T>)
      if (w.next == 1) {
        for (; k + n <= count; k += n) simd::store(to + k, simd::load(from + k));
        if (k < count) simd::store_first(to + k, simd::load(from + k), static_cast<int>(count - k));
        return;
      }
    for (; k < count; ++k) to[k * w.next] = static_cast<T>(from[k]);
  }

  /// The sums of `length` lanes, in tiles. Tiles of few rows are wider: there are fewer chains to hide the latency.
  template <int Rows>
  void run(S* sums, std::ptrdiff_t sums_row, const S* x, const S* w, std::ptrdiff_t w_row, std::ptrdiff_t w_plane, const tap_at* list_of,
           std::ptrdiff_t count, std::ptrdiff_t length) const {
    constexpr int wide = Rows <= 2 ? 4 : tile::vectors;
    for (std::ptrdiff_t left = (length + n - 1) / n, now; left > 0; left -= now, sums += now * n, x += now * n) {
      now = wide == 4 && left > 4 && left < 8 ? (left + 1) / 2 : std::min<std::ptrdiff_t>(left, wide);
      const auto some = [&]<int Vectors>(std::integral_constant<int, Vectors>) EBB_LAMBDA {
        sum_links<Rows, Vectors>(sums, sums_row, x, volume(), w, w_row, w_plane, list_of, count, planes);
      };
      if (now == 1) some(std::integral_constant<int, 1>{});
      else if (now == 2) some(std::integral_constant<int, 2>{});
      else if constexpr (wide == 4) {
        if (now == 3) some(std::integral_constant<int, 3>{});
        else some(std::integral_constant<int, 4>{});
      }
    }
  }

  /// Rows [0, Rows) of the results, for one set of planes and rows of windows.
  template <int Rows>
  void rows_of(const windows& d, const windows& r, const S* copied, const S* w, std::ptrdiff_t w_row, std::ptrdiff_t w_plane,
               const tap_at* lists, const std::ptrdiff_t* counts, S* sums, T* to) const {
    constexpr std::ptrdiff_t sums_row = longest + 4 * n;
    const std::ptrdiff_t sets = column.size == 2 ? 2 : 1, next = r.stride * pitch();
    const std::ptrdiff_t most = together(band[1].count, next, band[2].count).rows;
    const std::ptrdiff_t last_z = std::min(d.count, band[0].first + band[0].count);
    const std::ptrdiff_t last_y = std::min(r.count, band[1].first + band[1].count);
    for (std::ptrdiff_t z = band[0].first; z < last_z; ++z)
      for (std::ptrdiff_t y = band[1].first, rows; y < last_y; y += rows) {
        rows = std::min(most, last_y - y);
        const std::ptrdiff_t line = (z - band[0].first) * d.stride * band[1].size() + (y - band[1].first) * r.stride;
        const std::ptrdiff_t length = (rows - 1) * next + band[2].count;
        T* const at = to + ((d.first + z * d.next) * to_rows + r.first) * to_row;
        const tap_at* list_of = lists;
        for (std::ptrdiff_t j = 0; j < column.size; j += sets) {
          for (std::ptrdiff_t k = j; k < j + sets; list_of += counts[k], ++k)
            run<Rows>(sums + (k - j) * Rows * sums_row, sums_row, copied + line * pitch(), w, w_row, w_plane, list_of, counts[k], length);
          for (std::ptrdiff_t i = 0; i < Rows; ++i)
            for (std::ptrdiff_t q = 0; q < rows; ++q)
              write(at + i * to_plane + (y + q) * r.next * to_row, sums + i * sums_row + q * next, Rows * sums_row, j, sets);
        }
      }
  }

  /// All results of a band.
  void slide_band(const S* copied, const S* w, std::ptrdiff_t w_row, std::ptrdiff_t w_plane, tap_at* lists, S* sums, T* to) const {
    for (std::ptrdiff_t h = 0; h < deep.size; ++h)
      for (std::ptrdiff_t i = 0; i < row.size; ++i) {
        const windows &d = deep.set[h], &r = row.set[i];
        std::ptrdiff_t counts[window_sets::most], filled = 0;
        for (std::ptrdiff_t j = 0; j < column.size; ++j) filled += counts[j] = list(lists + filled, d, r, column.set[j]);
        tile::each_tile(m, [&]<int Rows>(std::ptrdiff_t k, std::integral_constant<int, Rows>) EBB_LAMBDA {
          rows_of<Rows>(d, r, copied, w + k * w_row, w_row, w_plane, lists, counts, sums, to + k * to_plane);
        });
      }
  }

  /// For each of `batch` arrays. Scratch: a copy of a band, sums of rows, lists of taps, and the weights if they are narrow.
  void slide(const weights<T>& by, std::ptrdiff_t batch, const T* x, std::ptrdiff_t x_next, T* to, std::ptrdiff_t to_next, void* scratch) {
    tap_at* const lists = static_cast<tap_at*>(scratch);
    S* const sums = reinterpret_cast<S*>(lists + most_taps);
    S* const copied = sums + 2 * tile::height * (longest + 4 * n);
    const S* w = nullptr;
    if constexpr (std::is_same_v<S, T>) w = by.data;
    else {
      S* const wide = copied + most_copied + 4 * n;
      const std::ptrdiff_t count = (m - 1) * by.by_row + (planes - 1) * by.by_plane + taps();
      for (std::ptrdiff_t i = 0; i < count; ++i) wide[i] = static_cast<S>(by.data[i]);
      w = wide;
    }
    const window_sets* const sets[] = {&deep, &row, &column};
    const auto move_to = [&](int i, std::ptrdiff_t first) {
      band[i].first = first;
      band[i].count = std::min(at_once[i], sets[i]->count - first);
      band[i].places = sets[i]->reads(first, band[i].count);
    };
    for (std::ptrdiff_t b = 0; b < batch; ++b, x += x_next, to += to_next)
      for (std::ptrdiff_t z = 0; z < deep.count; z += at_once[0])
        for (std::ptrdiff_t y = 0; y < row.count; y += at_once[1])
          for (std::ptrdiff_t c = 0; c < column.count; c += at_once[2]) {
            move_to(0, z), move_to(1, y), move_to(2, c);
            copy(copied, x);
            slide_band(copied, w, by.by_row, by.by_plane, lists, sums, to);
          }
  }
};

}  // namespace ebb::inline EBB_ABI::kernel::conv_parts
