// ebb/nn/pool_op.hpp — the ops of pools: the largest element of each window and its place, the mean or the sum, and their pulls.
// SPDX-License-Identifier: BSL-1.0
//
// [note: forms of a pool]
// pool_pick(u, x) takes from u the element at the place where the window of x has its largest one, and pool_place(g, x) adds g there.
// max_pool(x) is pool_pick(x, x), and pool_at(x) has its places. pool_mean averages windows, and pool_spread adds parts of g to the places
// of windows. The two ops of a pair are the pulls of each other, so there are derivatives of every order.
// Sums run over planes, rows, then columns of a window, and over windows in rising order where several add to one place. bf16 and f16 are
// summed in float and rounded once.
#pragma once

#include "sliding.hpp"

#include "../op/reduce.hpp"
#include "../op/whole.hpp"

#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// One axis of a pool. A call sets `places` and `windows`.
struct pool_axis {
  sliding_axis by;
  int size = 1;
  std::ptrdiff_t places = 1, windows = 1;

  struct range {
    std::ptrdiff_t first, last;
    std::ptrdiff_t step = 1;
    std::ptrdiff_t padded = 1;  // the number of places with those of the padding, for a step of 1
    constexpr std::ptrdiff_t count() const { return last > first ? (last - first + step - 1) / step : 0; }
  };
  /// The places of window i that are inside of the array.
  constexpr range inside(std::ptrdiff_t i, bool adaptive) const {
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
      *own[i] = {a.by, a.size, static_cast<std::ptrdiff_t>(x.e[at]), static_cast<std::ptrdiff_t>(y.e[at])};
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
    if (adaptive) {
      const std::ptrdiff_t size = column.places / std::max<std::ptrdiff_t>(column.windows, 1);
      return size > 0 && size * column.windows == column.places ? run{0, column.windows, size} : run{};
    }
    const std::ptrdiff_t rest = column.places + column.by.before - static_cast<std::ptrdiff_t>(column.size - 1) * column.by.dilation - 1;
    const std::ptrdiff_t first = (column.by.before + column.by.stride - 1) / column.by.stride;
    const std::ptrdiff_t last = rest < 0 ? 0 : std::min(column.windows, rest / column.by.stride + 1);
    return {first, std::max(first, last), column.by.stride};
  }
  /// All windows of all planes: take(so far, element) in the order of each_place, from `initial` on, then what finish(window) makes of it.
  /// Up to 8 neighbours go together, so that no element waits for the one before it in its window.
  template <class T, class S>
  void each_plane(const whole_call& c, auto take, S initial, auto finish) const {
    const run whole = whole_windows();
    T* out = static_cast<T*>(c.out);
    for (std::size_t i = 0; i < planes; ++i) {
      const T* const x = static_cast<const T*>(c.in[0]) + i * places();
      for (std::ptrdiff_t h = 0; h < deep.windows; ++h)
        for (std::ptrdiff_t y = 0; y < row.windows; ++y) {
          window w{deep.inside(h, adaptive), row.inside(y, adaptive), {}};
          for (std::ptrdiff_t z = 0; z < column.windows;) {
            w.column = column.inside(z, adaptive);
            const std::ptrdiff_t rest = z >= whole.first ? whole.last - z : 0, n = rest >= 8 ? 8 : rest >= 4 ? 4 : 1;
            S so_far[8];
            for (S& e : so_far) e = initial;
            const auto side_by_side = [&]<std::size_t... K>(std::index_sequence<K...>) {
              each_place(w, [&](std::size_t at) {
                const T* const from = x + at;
                ((so_far[K] = take(so_far[K], static_cast<S>(from[static_cast<std::ptrdiff_t>(K) * whole.distance]))), ...);
              });
            };
            if (n == 8) side_by_side(std::make_index_sequence<8>());
            else if (n == 4) side_by_side(std::make_index_sequence<4>());
            else side_by_side(std::make_index_sequence<1>());
            const auto result = finish(w);
            for (std::ptrdiff_t k = 0; k < n; ++k) *out++ = static_cast<T>(result(so_far[k]));
            z += n;
          }
        }
    }
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

template <class T>
bool has_nan(const T* x, std::size_t size) {
  if constexpr (std::is_same_v<T, computed_in<T>>) {
    constexpr auto width = static_cast<std::size_t>(lane_count);
    auto found = lanes<T>::isnan(lanes<T>::all(T(0)));
    std::size_t i = 0;
    for (; i + width <= size; i += width) found = found | lanes<T>::isnan(lanes<T>::load(x + i));
    bool any = lanes<T>::any(found);
    for (; i < size; ++i) any |= x[i] != x[i];
    return any;
  } else {
    bool any = false;
    for (std::size_t i = 0; i < size; ++i) any |= static_cast<computed_in<T>>(x[i]) != static_cast<computed_in<T>>(x[i]);
    return any;
  }
}

/// Op::plane<S>(call, in, put, sums) computes one plane: in(j, i) is element i of operand j there.
template <class Op>
struct pooling : op_base {
  static constexpr kind what = kind::own;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    const auto a = pool_attributes::unpacked(attr);
    int count = 0;
    for (int i = 0; i < a.axes && !a.adaptive; ++i) numbers[count++] = a.axis[i].size;
    for (int i = 0; i < a.axes && !a.adaptive; ++i) numbers[count++] = a.axis[i].by.stride;
    return count;
  }
  template <class T>
  static void whole(const whole_call& c) {
    using S = computed_in<T>;
    const pool_call p = call(c.shapes, c.result, c.attr);
    S* const sums = Op::adds ? reinterpret_cast<S*>(thread_scratch().take(p.places() * sizeof(S))) : nullptr;
    const std::size_t size[] = {c.shapes[0].volume() / std::max<std::size_t>(p.planes, 1), p.places()};
    using R = typename Op::template result<T>;
    R* out = static_cast<R*>(c.out);
    if constexpr (requires { Op::template planes<T>(c, p); })
      if (Op::template planes<T>(c, p)) return;
    for (std::size_t i = 0; i < p.planes; ++i, out += c.result.volume() / p.planes)
      Op::template plane<S>(
          p, [&](int j, std::size_t k) { return static_cast<S>(static_cast<const T*>(c.in[j])[i * size[j] + k]); },
          [&](std::size_t k, auto x) { out[k] = static_cast<R>(x); }, sums);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const pool_call p = call(c.in, c.out, c.attr);
    vec<S> sums(static_cast<int>(p.places()), S(0));
    const std::size_t size[] = {c.in[0].volume() / std::max<std::size_t>(p.planes, 1), p.places()};
    for (std::size_t i = 0; i < p.planes; ++i)
      Op::template plane<S>(
          p, [&](int j, std::size_t k) { return in(j, i * size[j] + k); },
          [&](std::size_t k, S x) { put(i * c.out.volume() / p.planes + k, x); }, sums.data());
  }

 private:
  static constexpr pool_call call(const extent_list* in, const extent_list& out, const std::int64_t* attr) {
    return Op::adds ? pool_call(attr, out, in[0]) : pool_call(attr, in[0], out);
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The element of u at the place where x has the largest one of a window; 0 if a window has no place.   Saves: x.   Error: exact.
struct pool_pick : ebb::detail::pooling<pool_pick> {
  static constexpr std::string_view name = "pool_pick";
  static constexpr int arity = 2;
  static constexpr bool adds = false;
  /// The largest elements themselves, side by side if none is NaN: then the larger of two numbers is one instruction.
  template <class T>
  static bool planes(const whole_call& c, const ebb::detail::pool_call& p) {
    using S = ebb::detail::computed_in<T>;
    const std::size_t size = c.shapes[0].volume();
    if (!p.largest || c.in[0] != c.in[1] || ebb::detail::has_nan(static_cast<const T*>(c.in[0]), size)) return false;
    const auto larger = [](S best, S x) { return x > best ? x : best; };
    p.template each_plane<T>(c, larger, -std::numeric_limits<S>::infinity(), [](const auto&) { return [](S best) { return best; }; });
    return true;
  }
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S*) {
    p.each_window([&](std::size_t window, const auto& w) {
      const std::ptrdiff_t at = p.template largest_in<S>(w, [&](std::size_t i) { return in(1, i); });
      put(window, at >= 0 ? in(0, static_cast<std::size_t>(at)) : p.largest ? -std::numeric_limits<S>::infinity() : S(0));
    });
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> u, operand<T> x, operand<T> out);
};

/// The place of the largest element of each window in its image, or -1 if a window has no place.   Saves: nothing, no gradient.
struct pool_at : ebb::detail::pooling<pool_at> {
  static constexpr std::string_view name = "pool_at";
  static constexpr int arity = 1;
  static constexpr bool adds = false;
  template <class T>
  using result = std::int64_t;
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S*) {
    p.each_window([&](std::size_t window, const auto& w) {
      using X = decltype(in(0, std::size_t{0}));  // the reference's S is the result's dtype
      put(window, static_cast<std::int64_t>(p.template largest_in<X>(w, [&](std::size_t i) { return in(0, i); })));
    });
  }
};

/// Adds g of each window to the place of the largest element of x. The shape is given, not inferred.   Saves: x.
struct pool_place : ebb::detail::pooling<pool_place> {
  static constexpr std::string_view name = "pool_place";
  static constexpr int arity = 2;
  static constexpr bool adds = true;
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S* sums) {
    for (std::size_t i = 0; i < p.places(); ++i) sums[i] = S(0);
    p.each_window([&](std::size_t window, const auto& w) {
      const std::ptrdiff_t at = p.template largest_in<S>(w, [&](std::size_t i) { return in(1, i); });
      if (at >= 0) sums[at] += in(0, window);
    });
    for (std::size_t i = 0; i < p.places(); ++i) put(i, sums[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> x, operand<T> out);
};

/// The mean of each window, or its sum.   Saves: nothing.   Error: that of a chain of additions, and of a division.
struct pool_mean : ebb::detail::pooling<pool_mean> {
  static constexpr std::string_view name = "pool_mean";
  static constexpr int arity = 1;
  static constexpr bool adds = false;
  template <class T>
  static bool planes(const whole_call& c, const ebb::detail::pool_call& p) {
    using S = ebb::detail::computed_in<T>;
    const auto plus = [](S sum, S x) { return sum + x; };
    p.template each_plane<T>(c, plus, S(0), [&p](const auto& w) {
      return [count = p.template count<S>(w)](S sum) { return sum / count; };
    });
    return true;
  }
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S*) {
    p.each_window([&](std::size_t window, const auto& w) {
      S sum = 0;
      p.each_place(w, [&](std::size_t i) { sum += in(0, i); });
      put(window, sum / p.template count<S>(w));
    });
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out);
};

/// Adds g of each window, divided by its count, to all its places. The shape is given, not inferred.   Saves: nothing.
struct pool_spread : ebb::detail::pooling<pool_spread> {
  static constexpr std::string_view name = "pool_spread";
  static constexpr int arity = 1;
  static constexpr bool adds = true;
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S* sums) {
    for (std::size_t i = 0; i < p.places(); ++i) sums[i] = S(0);
    p.each_window([&](std::size_t window, const auto& w) {
      const S part = in(0, window) / p.template count<S>(w);
      p.each_place(w, [&](std::size_t i) { sums[i] += part; });
    });
    for (std::size_t i = 0; i < p.places(); ++i) put(i, sums[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> out);
};

template <class T>
constexpr auto pool_pick::pull(operand<T> g, operand<T> u, operand<T> x, operand<T> out) {
  const std::int64_t own[] = {out.attribute(0), out.attribute(1)};
  auto attr = ebb::detail::pool_attributes::unpacked(own);
  attr.largest = false;
  return grads(operand<T>{g.g, emit_as<pool_place, T>(*g.g, u.shape_number(), {g.id, x.id}, attr.packed())}, nothing);
}
template <class T>
constexpr auto pool_place::pull(operand<T> g, operand<T> of, operand<T> x, operand<T> out) {
  const attributes attr{out.attribute(0), out.attribute(1)};
  return grads(operand<T>{g.g, emit_as<pool_pick, T>(*g.g, of.shape_number(), {g.id, x.id}, attr)}, nothing);
}
template <class T>
constexpr auto pool_mean::pull(operand<T> g, operand<T> x, operand<T> out) {
  return grads(operand<T>{g.g, emit_as<pool_spread, T>(*g.g, x.shape_number(), {g.id}, {out.attribute(0), out.attribute(1)})});
}
template <class T>
constexpr auto pool_spread::pull(operand<T> g, operand<T> of, operand<T> out) {
  return grads(operand<T>{g.g, emit_as<pool_mean, T>(*g.g, of.shape_number(), {g.id}, {out.attribute(0), out.attribute(1)})});
}

}  // namespace ebb::inline EBB_ABI::op
