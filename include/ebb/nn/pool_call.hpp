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
  /// Windows side by side that have all their places: from `first` on before `last`. Neighbours begin `distance` places apart.
  struct run {
    std::ptrdiff_t first = 0, last = 0, distance = 1;
  };
  constexpr run whole_windows(bool adaptive) const {
    if (adaptive) return even > 0 ? run{0, windows, even} : run{};
    const std::ptrdiff_t rest = places + by.before - static_cast<std::ptrdiff_t>(size - 1) * by.dilation - 1;
    const std::ptrdiff_t first = (by.before + by.stride - 1) / by.stride;
    const std::ptrdiff_t last = rest < 0 ? 0 : std::min(windows, rest / by.stride + 1);
    return {first, std::max(first, last), by.stride};
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
  pool_axis::run whole_rows, whole;  // of rows, and of columns
  bool pairs_apart = false;

  constexpr pool_call(const std::int64_t* attr, const extent_list& x, const extent_list& y) : pool_attributes(unpacked(attr)) {
    planes = x.volume(0, x.rank - axes);
    pool_axis* const own[] = {&column, &row, &deep};
    for (int i = 0; i < axes; ++i) {
      const pool_axis& a = axis[axes - 1 - i];
      const int at = x.rank - 1 - i;
      *own[i] = {a.by, a.size};
      own[i]->set_extents(x.e[at], y.e[at]);
    }
    whole_rows = row.whole_windows(adaptive);
    whole = column.whole_windows(adaptive);
    pairs_apart = are_pairs_apart();
  }
  /// A pool along one axis: the images become the rows of a single one.
  constexpr void join_rows() {
    if (axes > 1) return;
    row.set_extents(planes, planes);
    whole_rows = row.whole_windows(adaptive);
    planes = 1;
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
  /// Whether windows are pairs of columns side by side, of rows and planes that no other window has.
  constexpr bool are_pairs_apart() const {
    const auto apart = [this](const pool_axis& a) {
      if (adaptive) return a.even > 0;
      return a.by.stride >= a.size && a.by.dilation == 1 && a.by.before == 0 && (a.windows - 1) * a.by.stride + a.size <= a.places;
    };
    const bool pairs = adaptive ? column.even == 2 : column.size == 2 && column.by.stride == 2;
    return pairs && apart(column) && apart(row) && apart(deep);
  }
  /// All windows of a plane: take(so far, element) in the order of each_place, from `initial` on, then what finish(window) makes of it.
  /// Neighbours go together, so that no element waits for the one before it in its window: in lanes, if they begin up to four places apart.
  /// AnyOrder: the elements of a window are taken in any order.
  template <bool AnyOrder, class T, class S>
  void pool_plane(const T* x, T* out, auto take, S initial, auto finish) const {
    const auto with_distance = [&]<int Distance>() { plane_at<Distance, AnyOrder>(x, out, take, initial, finish); };
    if constexpr (std::is_same_v<T, S>) {
      if (whole.distance == 1) return with_distance.template operator()<1>();
      if (whole.distance == 2) return with_distance.template operator()<2>();
      if (whole.distance == 3) return with_distance.template operator()<3>();
      if (whole.distance == 4) return with_distance.template operator()<4>();
    }
    with_distance.template operator()<0>();
  }
  /// The elements of a window, as steps from its first one.
  struct steps {
    std::ptrdiff_t planes, to_plane, rows, to_row, columns, to_column;
  };
  /// Distance: that of the whole windows, or 0 for any.
  template <int Distance, bool AnyOrder, class T, class S>
  void plane_at(const T* x, T* out, auto take, S initial, auto finish) const {
    constexpr int most = Distance == 0 ? 1 : AnyOrder && Distance > 1 ? 2 : 4;  // rows together: a sum in order is a chain
    const pool_axis::range first = column.inside(whole.first, adaptive);
    const std::ptrdiff_t of_row = column.places, of_plane = row.places * of_row;
    for (std::ptrdiff_t h = 0; h < deep.windows; ++h) {
      window w{deep.inside(h, adaptive), {}, {}};
      for (std::ptrdiff_t y = 0, n = 0; y < row.windows;) {
        const bool together = most > 1 && y >= whole_rows.first && y + most <= whole_rows.last;
        w.row = row.inside(y, adaptive);
        const std::ptrdiff_t at = w.deep.first * of_plane + w.row.first * of_row, next = whole_rows.distance * of_row;
        steps s{w.deep.count(), w.deep.step * of_plane, w.row.count(), w.row.step * of_row, 0, 0};
        for (std::ptrdiff_t z = 0; z < column.windows; z += n, out += n) {
          const bool is_whole = z >= whole.first && z < whole.last;
          const std::ptrdiff_t rest = is_whole ? whole.last - z : 0;
          w.column = is_whole ? first.moved((z - whole.first) * whole.distance) : column.inside(z, adaptive);
          s.columns = w.column.count(), s.to_column = w.column.step;
          const auto result = finish(w);
          n = 0;
          if constexpr (Distance > 0) {
            const auto lanes_of = [&]<int Rows>() EBB_LAMBDA {
              return in_lanes<Distance, AnyOrder, simd::register_bytes, Rows>(x, at + w.column.first, next, s, rest, out, take, initial,
                                                                              result);
            };
            n = together ? lanes_of.template operator()<most>() : lanes_of.template operator()<1>();
          }
          for (std::ptrdiff_t u = 0, one = n; one == 0 && u < (together ? most : 1); ++u)
            n = side_by_side(x, at + w.column.first + u * next, s, rest, whole.distance, out + u * column.windows, take, initial, result);
        }
        out += together ? (most - 1) * column.windows : 0;
        y += together ? most : 1;
      }
    }
  }

  /// The window whose first element is number `at`, with its neighbours, of which there are at least `rest`, and those of the Rows - 1
  /// next rows, each `next` elements further: in lanes of a register of so many bytes or fewer. Returns the number of neighbours, or 0.
  template <int Distance, bool AnyOrder, std::size_t Bytes, int Rows, class T>
  EBB_INLINE std::ptrdiff_t in_lanes(const T* x, std::ptrdiff_t at, std::ptrdiff_t next, const steps& s, std::ptrdiff_t rest, T* out,
                                     auto take, T initial, auto result) const {
    using V = simd::vector<T, Bytes>;
    constexpr std::ptrdiff_t count = Bytes / sizeof(T);
    const bool has_groups = Distance > 1 && s.to_column == 1 && s.columns % Distance == 0;
    if (rest < count || (Distance == 4 && !has_groups)) {
      if constexpr (Bytes >= 32) return in_lanes<Distance, AnyOrder, Bytes / 2, Rows>(x, at, next, s, rest, out, take, initial, result);
      else return 0;
    }
    const auto each = [=](std::ptrdiff_t by, auto&& f) EBB_LAMBDA {
      for (std::ptrdiff_t h = 0, plane = at; h < s.planes; ++h, plane += s.to_plane)
        if constexpr (AnyOrder) {  // a window has fewer columns than rows here: often one
          for (std::ptrdiff_t z = 0, first = plane; z < s.columns; z += by, first += by * s.to_column)
            for (std::ptrdiff_t y = 0, i = first; y < s.rows; ++y, i += s.to_row) f(i);
        } else
          for (std::ptrdiff_t y = 0, first = plane; y < s.rows; ++y, first += s.to_row)
            for (std::ptrdiff_t z = 0, i = first; z < s.columns; z += by, i += by * s.to_column) f(i);
    };
    const auto put = [=, this](int u, V so_far) EBB_LAMBDA {
      const V r = result(so_far);
      std::memcpy(out + u * column.windows, &r, sizeof r);
    };
    if constexpr (Distance > 1)
      if (has_groups) {
        // Groups of Distance adjacent elements, each for one lane: in the registers that they are loaded to, or one after the other.
        V so_far[Rows][AnyOrder ? Distance : 1];
        repeat<Rows>([&]<int U>() EBB_LAMBDA {
          for (V& v : so_far[U]) v = V{} + initial;
        });
        each(Distance, [&](std::ptrdiff_t i) EBB_LAMBDA {
          repeat<Rows>([&]<int U>() EBB_LAMBDA {
            V all[Distance];
            repeat<Distance>([&]<int C>() EBB_LAMBDA { all[C] = simd::load_bytes<T, Bytes>(x + i + U * next + C * count); });
            repeat<Distance>([&]<int C>() EBB_LAMBDA {
              if constexpr (AnyOrder) so_far[U][C] = take(so_far[U][C], all[C]);
              else so_far[U][0] = take(so_far[U][0], simd::chosen_apart<Distance, C, T, Bytes>(all));
            });
          });
        });
        repeat<Rows>([&]<int U>() EBB_LAMBDA {
          if constexpr (AnyOrder) {
            V all = simd::chosen_apart<Distance, 0, T, Bytes>(so_far[U]);
            repeat<Distance - 1>([&]<int C>() EBB_LAMBDA { all = take(all, simd::chosen_apart<Distance, C + 1, T, Bytes>(so_far[U])); });
            put(U, simd::together<Distance, T, Bytes>(all));
          } else put(U, simd::together<Distance, T, Bytes>(so_far[U][0]));
        });
        return count;
      }
    if constexpr (Distance < 4) {
      V so_far[Rows];
      repeat<Rows>([&]<int U>() EBB_LAMBDA { so_far[U] = V{} + initial; });
      each(1, [&](std::ptrdiff_t i) EBB_LAMBDA {
        repeat<Rows>([&]<int U>() EBB_LAMBDA {
          if constexpr (Distance == 1) so_far[U] = take(so_far[U], simd::load_bytes<T, Bytes>(x + i + U * next));
          else so_far[U] = take(so_far[U], simd::every<Distance, T, Bytes>(x + i + U * next));
        });
      });
      repeat<Rows>([&]<int U>() EBB_LAMBDA { put(U, so_far[U]); });
    }
    return count;
  }
  /// The same one by one: up to 8 together.
  template <class T, class S>
  static std::ptrdiff_t side_by_side(const T* x, std::ptrdiff_t at, const steps& s, std::ptrdiff_t rest, std::ptrdiff_t distance, T* out,
                                     auto take, S initial, auto result) {
    S so_far[8];
    for (S& e : so_far) e = initial;
    const auto together = [&]<std::size_t... K>(std::index_sequence<K...>) {
      for (std::ptrdiff_t h = 0; h < s.planes; ++h)
        for (std::ptrdiff_t y = 0; y < s.rows; ++y)
          for (std::ptrdiff_t z = 0; z < s.columns; ++z) {
            const T* const from = x + at + h * s.to_plane + y * s.to_row + z * s.to_column;
            ((so_far[K] = take(so_far[K], static_cast<S>(from[static_cast<std::ptrdiff_t>(K) * distance]))), ...);
          }
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
