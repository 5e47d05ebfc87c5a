// ebb/nn/pool_call.hpp — the windows of a pool for given extents, and runs of neighbours in lanes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "sliding.hpp"

#include "../base/repeat.hpp"
#include "../kernel/every.hpp"
#include "../op/whole.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// One axis of a pool. A call sets `places`, `windows` and `even`.
struct pool_axis {
  sliding_axis by;
  int size = 1;
  std::ptrdiff_t places = 1, windows = 1, even = 0;  // even: the places of a window of an adaptive pool, if all have so many

  constexpr void set_extents(std::size_t of_array, std::size_t of_windows) {
    places = static_cast<std::ptrdiff_t>(of_array), windows = static_cast<std::ptrdiff_t>(of_windows);
    even = windows > 0 && places % windows == 0 ? places / windows : 0;
  }

  struct range {
    std::ptrdiff_t first, last;
    std::ptrdiff_t step = 1;
    std::ptrdiff_t padded = 1;  // the number of places with those of the padding, for a step of 1
    constexpr std::ptrdiff_t count() const {
      if (step == 1) return last > first ? last - first : 0;  // a division takes as long as a small window
      return last > first ? (last - first + step - 1) / step : 0;
    }
    constexpr range moved(std::ptrdiff_t n) const { return {first + n, last + n, step, padded}; }
    constexpr bool has_size_of(const range& other) const {
      return last - first == other.last - other.first && step == other.step && padded == other.padded;
    }
    /// Whether it is adjacent groups of so many places.
    constexpr bool has_groups(std::ptrdiff_t of) const { return step == 1 && (last - first) % of == 0; }
  };
  /// The places of window i that are inside of the array.
  constexpr range inside(std::ptrdiff_t i, bool adaptive) const {
    if (adaptive && even > 0) return {i * even, (i + 1) * even};
    if (adaptive) return {i * places / windows, ((i + 1) * places + windows - 1) / windows};
    const std::ptrdiff_t start = i * by.stride - by.before, end = start + static_cast<std::ptrdiff_t>(size) * by.dilation;
    const std::ptrdiff_t skipped = start < 0 ? (by.dilation - 1 - start) / by.dilation : 0;
    const std::ptrdiff_t edge = places + by.before;  // a window that begins before the edge may end after it: see pool::ceil_mode
    return {start + skipped * by.dilation, end < places ? end : places, by.dilation, (end < edge ? end : edge) - start};
  }
};

/// The attributes of a pool. `padded`: an average counts the padding. `largest`: pool_pick gives the largest element itself: that is
/// -infinity if there is none. `sums`: pool_mean does not divide. With three axes the numbers are smaller, so that they fit.
struct pool_attributes {
  pool_axis axis[3];
  int axes = 1;
  bool adaptive = false, padded = true, largest = false, sums = false;

  static constexpr int stride_bits(int axes) { return axes == 3 ? 10 : 12; }
  static constexpr int bits(int axes) { return axes == 3 ? 10 : 16; }
  constexpr attributes packed() const {
    packed_numbers to;
    to.put(axes, 2);
    to.put(adaptive + 2 * padded + 4 * largest + 8 * sums, 4);
    for (int i = 0; i < axes; ++i) {
      axis[i].by.put(to, stride_bits(axes), bits(axes));
      to.put(axis[i].size, stride_bits(axes));
    }
    return to.packed();
  }
  static constexpr pool_attributes unpacked(const std::int64_t* attr) {
    packed_numbers from = packed_numbers::of(attr);
    pool_attributes r;
    r.axes = from.take(2);
    const int flags = from.take(4);
    r.adaptive = (flags & 1) != 0, r.padded = (flags & 2) != 0, r.largest = (flags & 4) != 0, r.sums = (flags & 8) != 0;
    for (int i = 0; i < r.axes; ++i) {
      r.axis[i].by = sliding_axis::taken(from, stride_bits(r.axes), bits(r.axes));
      r.axis[i].size = from.take(stride_bits(r.axes));
    }
    return r;
  }
};

/// A pool for arrays with these extents. It runs image by image: an image has the axes of a window.
struct pool_call : pool_attributes {
  pool_axis deep, row, column;  // an axis that is not there has one place and one window
  std::size_t planes = 1;

  constexpr pool_call(const std::int64_t* attr, const extent_list& x, const extent_list& y) : pool_attributes(unpacked(attr)) {
    planes = x.volume(0, x.rank - axes);
    pool_axis* const own[] = {&column, &row, &deep};
    for (int i = 0; i < axes; ++i) {
      const pool_axis& a = axis[axes - 1 - i];
      const int at = x.rank - 1 - i;
      *own[i] = {a.by, a.size};
      own[i]->set_extents(x.e[at], y.e[at]);
    }
  }
  constexpr std::size_t places() const { return static_cast<std::size_t>(deep.places * row.places * column.places); }

  /// The places of one window.
  struct window {
    pool_axis::range deep, row, column;
  };
  /// Calls f(number, window) for each window of an image.
  constexpr void each_window(auto&& f) const {
    std::size_t number = 0;
    for (std::ptrdiff_t h = 0; h < deep.windows; ++h)
      for (std::ptrdiff_t y = 0; y < row.windows; ++y) {
        window w{deep.inside(h, adaptive), row.inside(y, adaptive), {}};
        for (std::ptrdiff_t z = 0; z < column.windows; ++z) {
          w.column = column.inside(z, adaptive);
          f(number++, w);
        }
      }
  }
  /// Windows side by side that have all their columns: from `first` on before `last`. Neighbours begin `distance` places apart.
  struct run {
    std::ptrdiff_t first = 0, last = 0, distance = 1;
  };
  constexpr run whole_windows() const {
    if (adaptive) return column.even > 0 ? run{0, column.windows, column.even} : run{};
    const std::ptrdiff_t rest = column.places + column.by.before - static_cast<std::ptrdiff_t>(column.size - 1) * column.by.dilation - 1;
    const std::ptrdiff_t first = (column.by.before + column.by.stride - 1) / column.by.stride;
    const std::ptrdiff_t last = rest < 0 ? 0 : std::min(column.windows, rest / column.by.stride + 1);
    return {first, std::max(first, last), column.by.stride};
  }
  /// Whether windows are pairs of columns side by side, of rows and planes that no other window has.
  constexpr bool are_pairs_apart() const {
    const auto apart = [this](const pool_axis& a) {
      if (adaptive) return a.even > 0;
      return a.by.stride >= a.size && a.by.dilation == 1 && a.by.before == 0 && (a.windows - 1) * a.by.stride + a.size <= a.places;
    };
    const bool pairs = adaptive ? column.even == 2 : column.size == 2 && column.by.stride == 2;
    return pairs && apart(column) && apart(row) && apart(deep);
  }
  /// All windows of all planes: take(so far, element) in the order of each_place, from `initial` on, then what finish(window) makes of it.
  /// Neighbours go together, so that no element waits for the one before it in its window: in lanes, if they begin up to four places apart.
  template <class T, class S>
  void each_plane(const whole_call& c, auto take, S initial, auto finish) const {
    const run whole = whole_windows();
    const auto with_distance = [&]<int Distance>() { planes_at<T, S, Distance>(c, whole, take, initial, finish); };
    if constexpr (std::is_same_v<T, S>) {
      if (whole.distance == 1) return with_distance.template operator()<1>();
      if (whole.distance == 2) return with_distance.template operator()<2>();
      if (whole.distance == 3) return with_distance.template operator()<3>();
      if (whole.distance == 4) return with_distance.template operator()<4>();
    }
    with_distance.template operator()<0>();
  }
  /// Distance: that of the whole windows, or 0 for any.
  template <class T, class S, int Distance>
  void planes_at(const whole_call& c, const run& whole, auto take, S initial, auto finish) const {
    constexpr int most = Distance > 0 ? rows_together : 1;
    const pool_axis::range first = column.inside(whole.first, adaptive);
    T* out = static_cast<T*>(c.out);
    for (std::size_t i = 0; i < planes; ++i) {
      const T* const x = static_cast<const T*>(c.in[0]) + i * places();
      for (std::ptrdiff_t h = 0; h < deep.windows; ++h) {
        const pool_axis::range planes_of_window = deep.inside(h, adaptive);
        for (std::ptrdiff_t y = 0, n = 0, together = 1; y < row.windows; y += together) {
          window w[most];
          together = 0;
          for (; together < most && y + together < row.windows; ++together) {
            w[together] = {planes_of_window, row.inside(y + together, adaptive), {}};
            if (!w[together].row.has_size_of(w[0].row)) break;
          }
          if (together < most) together = 1;
          for (std::ptrdiff_t z = 0; z < column.windows; z += n, out += n) {
            const bool is_whole = z >= whole.first && z < whole.last;
            const std::ptrdiff_t rest = is_whole ? whole.last - z : 0;
            const pool_axis::range columns = is_whole ? first.moved((z - whole.first) * whole.distance) : column.inside(z, adaptive);
            for (std::ptrdiff_t u = 0; u < together; ++u) w[u].column = columns;
            n = 0;
            if constexpr (Distance > 0) {
              const auto result = finish(w[0]);
              n = together == 1 ? in_lanes<Distance, simd::register_bytes, 1>(x, w, rest, out, take, initial, result)
                                : in_lanes<Distance, simd::register_bytes, most>(x, w, rest, out, take, initial, result);
            }
            for (std::ptrdiff_t u = 0, one = n; one == 0 && u < together; ++u)
              n = side_by_side(x, w[u], rest, whole.distance, out + u * column.windows, take, initial, finish(w[u]));
          }
          out += (together - 1) * column.windows;
        }
      }
    }
  }
  static constexpr int rows_together = 4;

  /// The windows w[0], w[1], ... of Rows rows with their neighbours, of which there are at least `rest`, in lanes of a register of so many
  /// bytes or fewer: several rows, since each sum is a chain. Returns the number of neighbours, or 0.
  template <int Distance, std::size_t Bytes, int Rows, class T>
  EBB_INLINE std::ptrdiff_t in_lanes(const T* x, const window* w, std::ptrdiff_t rest, T* out, auto take, T initial, auto result) const {
    using V = simd::vector<T, Bytes>;
    constexpr std::ptrdiff_t count = Bytes / sizeof(T), distance = Distance;
    const pool_axis::range columns = w->column;
    const bool has_groups = columns.has_groups(distance);
    if (rest >= count && (Distance < 4 || has_groups)) {
      V so_far[Rows];
      repeat<Rows>([&]<int U>() EBB_LAMBDA { so_far[U] = V{} + initial; });
      for (std::ptrdiff_t h = w->deep.first; h < w->deep.last; h += w->deep.step)
        for (std::ptrdiff_t y = 0; y < w->row.last - w->row.first; y += w->row.step) {
          const auto from = [=, this](int u) EBB_LAMBDA { return x + (h * row.places + w[u].row.first + y) * column.places; };
          std::ptrdiff_t z = columns.first;
          if constexpr (Distance > 1)
            for (; has_groups && z < columns.last; z += distance)
              repeat<Rows>([&]<int U>() EBB_LAMBDA { so_far[U] = group_taken<Distance, Bytes>(from(U) + z, so_far[U], take); });
          if constexpr (Distance < 4)
            for (; z < columns.last; z += columns.step)
              repeat<Rows>([&]<int U>() EBB_LAMBDA {
                if constexpr (Distance == 1) so_far[U] = take(so_far[U], simd::load_bytes<T, Bytes>(from(U) + z));
                else so_far[U] = take(so_far[U], simd::every<Distance, T, Bytes>(from(U) + z));
              });
        }
      repeat<Rows>([&]<int U>() EBB_LAMBDA {
        const V r = result(so_far[U]);
        std::memcpy(out + U * column.windows, &r, sizeof r);
      });
      return count;
    }
    if constexpr (Bytes >= 32) return in_lanes<Distance, Bytes / 2, Rows>(x, w, rest, out, take, initial, result);
    else return 0;
  }
  /// Groups of Distance adjacent elements, each for one lane: their first elements are taken first.
  template <int Distance, std::size_t Bytes, class T>
  static EBB_INLINE auto group_taken(const T* from, simd::vector<T, Bytes> so_far, auto take) {
    return [&]<int... C>(std::integer_sequence<int, C...>) EBB_LAMBDA {
      const simd::vector<T, Bytes> all[] = {simd::load_bytes<T, Bytes>(from + C * static_cast<int>(Bytes / sizeof(T)))...};
      simd::vector<T, Bytes> r = so_far;
      ((r = take(r, simd::chosen<Distance, C, 0, T, Bytes>(all))), ...);
      return r;
    }(std::make_integer_sequence<int, Distance>());
  }
  /// The same one by one: up to 8 together.
  template <class T, class S>
  std::ptrdiff_t side_by_side(const T* x, const window& w, std::ptrdiff_t rest, std::ptrdiff_t distance, T* out, auto take, S initial,
                              auto result) const {
    S so_far[8];
    for (S& e : so_far) e = initial;
    const auto together = [&]<std::size_t... K>(std::index_sequence<K...>) {
      each_place(w, [&](std::size_t at) {
        const T* const from = x + at;
        ((so_far[K] = take(so_far[K], static_cast<S>(from[static_cast<std::ptrdiff_t>(K) * distance]))), ...);
      });
    };
    const std::ptrdiff_t n = rest >= 8 ? 8 : rest >= 4 ? 4 : 1;
    if (n == 8) together(std::make_index_sequence<8>());
    else if (n == 4) together(std::make_index_sequence<4>());
    else together(std::make_index_sequence<1>());
    for (std::ptrdiff_t k = 0; k < n; ++k) out[k] = static_cast<T>(result(so_far[k]));
    return n;
  }
  constexpr void each_place(const window& w, auto&& f) const {
    for (std::ptrdiff_t h = w.deep.first; h < w.deep.last; h += w.deep.step)
      for (std::ptrdiff_t y = w.row.first; y < w.row.last; y += w.row.step)
        for (std::ptrdiff_t z = w.column.first; z < w.column.last; z += w.column.step)
          f(static_cast<std::size_t>((h * row.places + y) * column.places + z));
  }
  /// The place of the first largest element, or of the last NaN; -1 if the window has no place.
  template <class S>
  constexpr std::ptrdiff_t largest_in(const window& w, auto&& x) const {
    std::ptrdiff_t at = -1;
    S best = 0;
    each_place(w, [&](std::size_t i) {
      const S e = x(i);
      if (e > best || e != e || at < 0) best = e, at = static_cast<std::ptrdiff_t>(i);
    });
    return at;
  }
  template <class S>
  constexpr S count(const window& w) const {
    if (sums) return S(1);
    if (padded && !adaptive) return static_cast<S>(w.deep.padded * w.row.padded * w.column.padded);
    return static_cast<S>(w.deep.count() * w.row.count() * w.column.count());
  }
};

}  // namespace ebb::inline EBB_ABI::detail
