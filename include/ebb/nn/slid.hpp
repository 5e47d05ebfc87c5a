// ebb/nn/slid.hpp — an array that is read through sliding windows, as a matrix of which parts are copied.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/product.hpp"

#include <numeric>

namespace ebb::inline EBB_ABI::kernel {

/// One axis of a convolution: tap k of window i is at place i * stride + k * dilation - before.
struct conv_axis {
  std::ptrdiff_t places = 1, taps = 1, windows = 1;
  std::ptrdiff_t stride = 1, dilation = 1, before = 0;
};

/// x [n, groups * from, places...], w [groups * to, from, taps...], result [n, groups * to, windows...]; row-major.
struct conv_extents {
  std::ptrdiff_t n = 0, groups = 1, from = 0, to = 0;
  conv_axis deep, row, column;  // an axis that is not there has one place, one tap and one window

  constexpr std::ptrdiff_t places() const { return deep.places * row.places * column.places; }
  constexpr std::ptrdiff_t taps() const { return deep.taps * row.taps * column.taps; }
  constexpr std::ptrdiff_t windows() const { return deep.windows * row.windows * column.windows; }
};

namespace conv_parts {

/// The most windows of a block, and the most links.
inline constexpr std::ptrdiff_t block_size = 256;

/// The type that elements are summed in.
template <class T>
using sum_of = std::conditional_t<half_width<T>, float, T>;

/// Some windows along one axis of an array, and their taps: tap j of window a reads place at + j * by + a * stride.
struct windows {
  std::ptrdiff_t count = 0, places = 0, taps = 0;
  std::ptrdiff_t at = 0, by = 0, stride = 1;
  std::ptrdiff_t first_tap = 0, next_tap = 1;    // tap j is tap first_tap + j * next_tap of the kernel
  std::ptrdiff_t first = 0, next = 1;            // window a is place first + a * next of the result

  static constexpr windows of_result(const conv_axis& c) {
    return {c.windows, c.places, c.taps, -c.before, c.dilation, c.stride};
  }
  /// The places p of x with (p + before) mod stride == phase, as windows over the result: tap k reads there the window with the number
  /// (p + before - k * dilation) / stride, where that is whole.
  static constexpr windows of_places(const conv_axis& c, std::ptrdiff_t phase) {
    windows r;
    r.first = ((phase - c.before) % c.stride + c.stride) % c.stride;
    r.next = c.stride;
    r.count = r.first < c.places ? (c.places - r.first + c.stride - 1) / c.stride : 0;
    r.places = c.windows;
    r.next_tap = c.stride / std::gcd(c.stride, c.dilation);
    while (r.first_tap < r.next_tap && (r.first + c.before - r.first_tap * c.dilation) % c.stride != 0) ++r.first_tap;
    if (r.first_tap == r.next_tap || r.first_tap >= c.taps) return r;
    r.taps = (c.taps - r.first_tap + r.next_tap - 1) / r.next_tap;
    r.at = (r.first + c.before - r.first_tap * c.dilation) / c.stride;
    r.by = -(r.next_tap * c.dilation / c.stride);
    return r;
  }
  /// The first of the windows [from, to) that reads a place of the array through a tap at `place`, and one past the last.
  constexpr std::ptrdiff_t first_inside(std::ptrdiff_t place, std::ptrdiff_t from, std::ptrdiff_t to) const {
    const std::ptrdiff_t r = place >= 0 ? 0 : stride == 1 ? -place : (-place + stride - 1) / stride;
    return std::clamp(r, from, to);
  }
  constexpr std::ptrdiff_t last_inside(std::ptrdiff_t place, std::ptrdiff_t from, std::ptrdiff_t to) const {
    const std::ptrdiff_t left = places - place, r = left <= 0 ? 0 : stride == 1 ? left : (left + stride - 1) / stride;
    return std::clamp(r, from, to);
  }
};

/// Channels of an array read through windows: the matrix with a row for each (channel, tap), a column for each window.
template <class T>
struct slid {
  const T* planes = nullptr;
  std::ptrdiff_t plane = 0;  // the distance from one channel to the next
  std::ptrdiff_t size = 0;   // of all channels
  windows deep, row, column;

  static constexpr slid of_result(const conv_extents& c, const T* first) {
    return {first, c.places(), c.from * c.places(), windows::of_result(c.deep), windows::of_result(c.row), windows::of_result(c.column)};
  }
  constexpr std::ptrdiff_t count() const { return deep.count * row.count * column.count; }
  constexpr std::ptrdiff_t taps() const { return deep.taps * row.taps * column.taps; }
  /// The number of the row of places, in a channel, that row `tap` of taps reads for row q of windows; -1 beyond the edge.
  EBB_INLINE std::ptrdiff_t row_of(std::ptrdiff_t q, std::ptrdiff_t tap) const {
    const std::ptrdiff_t y = row.at + tap % row.taps * row.by + q % row.count * row.stride;
    const std::ptrdiff_t z = deep.at + tap / row.taps * deep.by + q / row.count * deep.stride;
    return y < 0 || y >= row.places || z < 0 || z >= deep.places ? -1 : z * row.places + y;
  }
  /// The number of the row of a result's places that row q of windows is, in a result with so many rows in a plane.
  constexpr std::ptrdiff_t to_row(std::ptrdiff_t q, std::ptrdiff_t rows) const {
    return (deep.first + q / row.count * deep.next) * rows + row.first + q % row.count * row.next;
  }
  /// Each tap reads the places themselves, shifted: adjacent windows read adjacent elements, in all rows of windows.
  /// Not along three axes: there one plane ends where the next begins.
  constexpr bool is_shifted() const {
    const bool is_plane = deep.places == 1 && deep.count == 1 && deep.taps == 1 && deep.at == 0;
    return is_plane && row.stride == 1 && column.stride == 1 && column.count == column.places;
  }

  /// Calls f(first, count, from, inside) for each run of columns [first, first + count) of matrix row r, among [begin, end), that lies in
  /// one row of windows. Columns [inside.a, inside.b) of the run read elements of the array, the others read zeros. `from` is the number
  /// of the element in `planes` that the run's first column reads, or would read if it were inside. No address: one outside of an array is
  /// undefined.
  struct part { std::ptrdiff_t a, b; };
  EBB_INLINE void each_run(std::ptrdiff_t r, std::ptrdiff_t begin, std::ptrdiff_t end, auto&& f) const {
    const std::ptrdiff_t c = r / taps(), tap = r % taps(), tap_row = tap / column.taps, tap_column = tap % column.taps;
    const std::ptrdiff_t from = c * plane, at = column.at + tap_column * column.by;
    std::ptrdiff_t q = begin / column.count, x = begin % column.count;
    for (std::ptrdiff_t i = begin; i < end; ++q, x = 0) {
      const std::ptrdiff_t n = std::min(column.count - x, end - i);
      const std::ptrdiff_t place = row_of(q, tap_row);
      if (place < 0) f(i, n, from, part{0, 0});
      else {
        const std::ptrdiff_t a = column.first_inside(at, x, x + n), b = std::max(a, column.last_inside(at, x, x + n));
        f(i, n, from + place * column.places + at + x * column.stride, part{a - x, b - x});
      }
      i += n;
    }
  }
};

/// to[i] = all[from + i * step] for i in `inside`, zeros before and after.
template <class S, class T>
EBB_INLINE void put(S* to, std::ptrdiff_t n, const T* all, std::ptrdiff_t from, std::ptrdiff_t step, auto inside) {
  constexpr int width = simd::count_of<S>;
  std::ptrdiff_t i = 0;
  for (; i < inside.a; ++i) to[i] = S(0);
  if constexpr (std::is_same_v<S, T>)
    if (step == 1) {
      for (; i + width <= inside.b; i += width) simd::store(to + i, simd::load(all + from + i));
      if (i < inside.b) {
        const int rest = static_cast<int>(inside.b - i);
        simd::store_first(to + i, simd::load_first(all + from + i, rest), rest);
        i = inside.b;
      }
    }
  for (; i < inside.b; ++i) to[i] = static_cast<S>(all[from + i * step]);
  for (; i < n; ++i) to[i] = S(0);
}

/// For each tap of an array that is_shifted: the distance of the place that a window reads from the window's own, and which of some
/// windows read a place of the array. It is the same for all channels and all arrays of a batch: so it is found once for them.
template <class T>
class shifts {
  static constexpr std::ptrdiff_t n = simd::count_of<T>, most = 128;
  static_assert(n <= 16);
  std::ptrdiff_t begin = 0, end = 0;
  std::ptrdiff_t distance[most];
  std::uint16_t inside[most][block_size / n];

 public:
  /// Whether the packing of x is by shifts.
  static constexpr bool fit(const slid<T>& x) { return x.is_shifted() && x.taps() <= most; }

  /// For the windows [from, to) of x, at most block_size, if it fits.
  void prepare(const slid<T>& x, std::ptrdiff_t from, std::ptrdiff_t to) {
    if (!fit(x) || (begin == from && end == to)) return;
    begin = from, end = to;
    const std::ptrdiff_t wide = x.column.places;
    for (std::ptrdiff_t k = 0; k < x.taps(); ++k) {
      const std::ptrdiff_t down = x.row.at + k / x.column.taps * x.row.by, right = x.column.at + k % x.column.taps * x.column.by;
      const std::ptrdiff_t a = std::clamp<std::ptrdiff_t>(-right, 0, wide), b = std::clamp<std::ptrdiff_t>(wide - right, a, wide);
      distance[k] = down * wide + right;
      std::ptrdiff_t row = begin / wide, column = begin % wide;
      for (std::ptrdiff_t i = begin; i < end; i += n) {
        std::uint32_t bits = 0;
        for (std::ptrdiff_t j = 0, left = std::min(n, end - i); j < left;) {
          const std::ptrdiff_t run = std::min(wide - column, left - j);
          if (row + down >= 0 && row + down < x.row.places) {
            const std::ptrdiff_t first = std::max(a, column), last = std::min(b, column + run);
            if (first < last) bits |= ((std::uint32_t{1} << (last - first)) - 1) << (j + first - column);
          }
          j += run, column += run;
          if (column == wide) column = 0, ++row;
        }
        inside[k][(i - begin) / n] = static_cast<std::uint16_t>(bits);
      }
    }
  }

  /// Links [first, first + depth) of the windows [from, to) of x, which prepare has got: each row `next` elements after the other, and
  /// with `width` elements, of which those of no window are zeros. Requires that `from` is whole registers after the first window.
  void pack(T* out, std::ptrdiff_t next, std::ptrdiff_t width, const slid<T>& x, std::ptrdiff_t first, std::ptrdiff_t depth,
            std::ptrdiff_t from, std::ptrdiff_t to) const {
    if (depth == 0) return;  // there may be no taps either
    const std::ptrdiff_t taps = x.taps();
    std::ptrdiff_t plane = first / taps, tap = first % taps;
    for (std::ptrdiff_t k = 0; k < std::min(taps, depth); ++k) {
      for (std::ptrdiff_t i = 0; i < width; i += n)
        pack_tap(out + k * next + i, taps * next, std::min(n, width - i), x, plane * x.plane + from + i + distance[tap],
                 (depth - k + taps - 1) / taps, from + i < to ? inside[tap][(from - begin + i) / n] : std::uint32_t{0});
      if (++tap == taps) tap = 0, ++plane;
    }
  }

 private:
  /// One register of windows through one tap, for so many channels.
  EBB_INLINE static void pack_tap(T* out, std::ptrdiff_t next, std::ptrdiff_t count, const slid<T>& x, std::ptrdiff_t at,
                                  std::ptrdiff_t channels, std::uint32_t bits) {
    const auto mask = [&] {
      if constexpr (sizeof(T) == sizeof(float)) return simd::from_bits(bits);
      else return simd::part_of<0>(simd::from_bits(bits));
    }();
    const T* const all = x.planes;
    const std::ptrdiff_t plane = x.plane, last = x.size - n;
    const auto by_element = [&]() EBB_LAMBDA {  // a register would begin before the array or end after it
      for (; channels > 0 && (at < 0 || at > last); --channels, at += plane, out += next)
        for (std::ptrdiff_t j = 0; j < count; ++j) out[j] = bits >> j & 1 ? all[at + j] : T(0);
    };
    const auto by_register = [&](auto store) EBB_LAMBDA {
      for (; channels > 0 && at <= last; --channels, at += plane, out += next)
        store(out, simd::select<T>(mask, simd::load(all + at), simd::vector<T>{}));
    };
    by_element();
    if (count == n) by_register([](T* p, simd::vector<T> v) EBB_LAMBDA { simd::store(p, v); });
    else by_register([&](T* p, simd::vector<T> v) EBB_LAMBDA { simd::store_first(p, v, static_cast<int>(count)); });
    by_element();
  }
};

/// Links [first, first + depth) of the windows [begin, end) of x as a panel of a matrix product, whose rows have the width of a tile.
template <class S, class T>
inline void pack_panel(S* to, const slid<T>& x, const shifts<S>& by, std::ptrdiff_t first, std::ptrdiff_t depth, std::ptrdiff_t begin,
                       std::ptrdiff_t end) {
  constexpr int width = tile::width<S>, n = simd::count_of<S>;
  if constexpr (std::is_same_v<S, T>)  // a tile of so few columns that they fit into one register does not read the next one
    if (by.fit(x)) return by.pack(to, width, end - begin > n ? width : n, x, first, depth, begin, end);
  for (std::ptrdiff_t r = first; r < first + depth; ++r, to += width) {
    x.each_run(r, begin, end, [&](std::ptrdiff_t i, std::ptrdiff_t run, std::ptrdiff_t from, auto inside) EBB_LAMBDA {
      put(to + (i - begin), run, x.planes, from, x.column.stride, inside);
    });
    for (std::ptrdiff_t i = end - begin; i < width; ++i) to[i] = S(0);
  }
}
/// The same links, each with its windows side by side.
template <class S, class T>
inline void pack_rows(S* to, const slid<T>& x, const shifts<S>& by, std::ptrdiff_t first, std::ptrdiff_t rows, std::ptrdiff_t begin,
                      std::ptrdiff_t end) {
  if constexpr (std::is_same_v<S, T>)
    if (by.fit(x)) return by.pack(to, end - begin, end - begin, x, first, rows, begin, end);
  for (std::ptrdiff_t r = first; r < first + rows; ++r, to += end - begin)
    x.each_run(r, begin, end, [&](std::ptrdiff_t i, std::ptrdiff_t n, std::ptrdiff_t from, auto inside) EBB_LAMBDA {
      put(to + (i - begin), n, x.planes, from, x.column.stride, inside);
    });
}

}  // namespace conv_parts
}  // namespace ebb::inline EBB_ABI::kernel
