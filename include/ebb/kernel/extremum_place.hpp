// ebb/kernel/extremum_place.hpp — the places of the first extrema along an axis, in one pass.
// SPDX-License-Identifier: BSL-1.0
//
// The elements are [before, length, after], and the places are those along the middle axis. Lanes run
//   along rows       if the axis is the last one and rows fill lanes: each lane keeps its best element and that one's place
//   across rows      if rows are short: some rows are turned, and each lane has a row
//   along `after`    if there are elements after the axis: each lane has a column
// Of equal elements the first one is taken, and a NaN before all numbers.
#pragma once

#include "convert.hpp"
#include "fold.hpp"
#include "transpose.hpp"
#include "workspace.hpp"

#include <cstdint>
#include <limits>

namespace ebb::inline EBB_ABI::kernel {

/// Whether x comes before `best`, which has an earlier place: how argmin and argmax compare.
struct smallest_first {
  template <class V>
  static EBB_INLINE constexpr auto less(V x, V y) { return x < y; }
  template <class V>
  static EBB_INLINE constexpr auto not_after(V x, V y) { return x <= y; }
};
struct largest_first {
  template <class V>
  static EBB_INLINE constexpr auto less(V x, V y) { return x > y; }
  template <class V>
  static EBB_INLINE constexpr auto not_after(V x, V y) { return x >= y; }
};

namespace extremum {

/// The type in which elements of type T are compared: narrow floats as float, bool as an integer.
template <class T>
using compared = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, std::conditional_t<full_width<T>, T, float>>;

template <class Order, class V>
EBB_INLINE constexpr auto comes_before(V x, V best) {
  if constexpr (std::is_integral_v<typename V::element>) return Order::less(x, best);
  else return (best == best) & (!Order::not_after(best, x));  // if x is NaN, too, but not after a NaN
}
/// The same for two elements.
template <class Order, class C>
constexpr bool number_comes_before(C x, C best) {
  if constexpr (std::is_integral_v<C>) return Order::less(x, best);
  else return !Order::not_after(best, x) && best == best;
}

/// The best elements so far of some lanes, and their places.
template <class C>
struct best_lanes {
  lanes<C> value;
  lanes<std::int32_t> place;

  template <class Order>
  EBB_INLINE void take(lanes<C> x, lanes<std::int32_t> at) {
    const auto m = comes_before<Order>(x, value);
    value = lanes<C>::select(m, x, value);
    place = lanes<std::int32_t>::select(m, at, place);
  }
  /// The same where neither is NaN.
  template <class Order>
  EBB_INLINE void take_number(lanes<C> x, lanes<std::int32_t> at) {
    const auto m = Order::less(x, value);
    value = lanes<C>::select(m, x, value);
    place = lanes<std::int32_t>::select(m, at, place);
  }
  /// Joins the best of other elements, whose places may be smaller.
  template <class Order>
  EBB_INLINE void join(const best_lanes& b) {
    auto same = b.value == value;
    if constexpr (!std::is_integral_v<C>) same = same | ((b.value != b.value) & (value != value));
    const lanes<bool> m = lanes<bool>(comes_before<Order>(b.value, value)) | (lanes<bool>(same) & lanes<bool>(b.place < place));
    value = lanes<C>::select(m, b.value, value);
    place = lanes<std::int32_t>::select(m, b.place, place);
  }
  template <class Order, int Shift = lane_count / 2>
  EBB_INLINE std::int32_t first() {
    join<Order>({lanes_from<Shift>(value), lanes_from<Shift>(place)});
    if constexpr (Shift > 1) return first<Order, Shift / 2>();
    else return place[0];
  }
};

template <class C, class T>
EBB_INLINE lanes<C> load(const T* p) {
  return convert<C>(lanes<T>::load(p));
}
template <class C, class T>
EBB_INLINE lanes<C> load(const T* p, int count) {
  return convert<C>(lanes<T>::load(p, count));
}

/// The place in a row of at least lane_count elements, and fewer than 2^31.
template <class Order, class T>
std::int32_t in_long_row(const T* x, std::size_t n) {
  using C = compared<T>;
  using I = lanes<std::int32_t>;
  constexpr int together = lanes<C>::parts == 1 ? 4 : 2;
  constexpr std::size_t step = lane_count;
  const auto index = [](std::size_t i) EBB_LAMBDA { return I::all(static_cast<std::int32_t>(i)) + lane_index<std::int32_t>(); };
  best_lanes<C> best[together];
  for (auto& b : best) b = {load<C>(x), index(0)};  // elements that several lanes see do not change the place
  std::size_t i = step;
  for (; i + together * step <= n; i += together * step)
    repeat<together>([&]<int U>() EBB_LAMBDA { best[U].template take<Order>(load<C>(x + i + U * step), index(i + U * step)); });
  for (; i + step <= n; i += step) best[0].template take<Order>(load<C>(x + i), index(i));
  if (i < n) best[1].template take<Order>(load<C>(x + n - step), index(n - step));
  repeat<together - 1>([&]<int U>() EBB_LAMBDA { best[0].template join<Order>(best[U + 1]); });
  return best[0].template first<Order>();
}

/// Element by element: rows of any length.
template <class Order, class T>
std::int64_t in_row(const T* x, std::size_t n, std::size_t step) {
  using C = compared<T>;
  C best = static_cast<C>(x[0]);
  std::size_t place = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (const C e = static_cast<C>(x[i * step]); number_comes_before<Order>(e, best)) best = e, place = i;
  return static_cast<std::int64_t>(place);
}

EBB_INLINE void store_places(const lanes<std::int32_t>& place, std::int64_t* to, std::size_t count) {
  const lanes<std::int64_t> wide = convert<std::int64_t>(place);
  if (count >= lane_count) wide.store(to);
  else wide.store(to, static_cast<int>(count));
}

/// Rows of n elements: they are turned some at a time.
inline constexpr std::size_t longest_turned = 4 * lane_count;
template <class Order, class T>
void in_short_rows(const T* x, std::size_t rows, std::size_t n, std::int64_t* to) {
  using C = compared<T>;
  constexpr std::size_t height = 4 * lane_count;
  C turned[longest_turned * height] = {};
  for (std::size_t i = 0; i < rows; i += height) {
    const std::size_t here = rows - i < height ? rows - i : height;
    const T* const from = x + i * n;
    if constexpr (std::is_same_v<C, T>)
      transpose<sizeof(T)>(reinterpret_cast<char*>(turned), static_cast<std::ptrdiff_t>(height * sizeof(T)),
                           reinterpret_cast<const char*>(from), static_cast<std::ptrdiff_t>(n * sizeof(T)), here, n);
    else
      for (std::size_t r = 0; r < here; ++r)
        for (std::size_t j = 0; j < n; ++j) turned[j * height + r] = static_cast<C>(from[r * n + j]);
    best_lanes<C> best[4];
    repeat<4>([&]<int U>() EBB_LAMBDA { best[U] = {load<C>(turned + U * lane_count), lanes<std::int32_t>::all(0)}; });
    for (std::size_t j = 1; j < n; ++j) {
      const lanes<std::int32_t> at = lanes<std::int32_t>::all(static_cast<std::int32_t>(j));
      repeat<4>([&]<int U>() EBB_LAMBDA { best[U].template take<Order>(load<C>(turned + j * height + U * lane_count), at); });
    }
    repeat<4>([&]<int U>() EBB_LAMBDA {
      if (here > U * lane_count) store_places(best[U].place, to + i + U * lane_count, here - U * lane_count);
    });
  }
}

/// Whether x or y is NaN in any lane.
template <class C>
EBB_INLINE lanes<bool> unordered(lanes<C> x, lanes<C> y) {
  const auto pair = [](auto a, auto b) EBB_LAMBDA { return simd::unordered(a, b); };
  if constexpr (lanes<C>::parts == 1) return {pair(x.part[0], y.part[0])};
  else return lanes<bool>(wide_mask(pair(x.part[0], y.part[0]), pair(x.part[1], y.part[1])));
}

/// The columns of a matrix of n rows that lie `row` elements apart: `Steps` steps of lanes of them, or fewer than lane_count columns.
/// Numbers: without NaN; false if there is one, then the places are not those.
template <class Order, int Steps, bool Numbers, class T>
EBB_INLINE bool in_columns(const T* x, std::size_t n, std::size_t row, std::int64_t* to, std::size_t count) {
  using C = compared<T>;
  const auto at = [&](const T* p) EBB_LAMBDA {
    if constexpr (Steps > 1) return load<C>(p);
    else return count < lane_count ? load<C>(p, static_cast<int>(count)) : load<C>(p);
  };
  best_lanes<C> best[Steps];
  repeat<Steps>([&]<int U>() EBB_LAMBDA { best[U] = {at(x + U * lane_count), lanes<std::int32_t>::all(0)}; });
  lanes<bool> wrong = lanes<bool>::all(false);
  if constexpr (Numbers) repeat<Steps>([&]<int U>() EBB_LAMBDA { wrong = wrong | unordered(best[U].value, best[U].value); });
  for (std::size_t i = 1; i < n; ++i) {
    x += row;
    const lanes<std::int32_t> place = lanes<std::int32_t>::all(static_cast<std::int32_t>(i));
    lanes<C> e[Steps];
    repeat<Steps>([&]<int U>() EBB_LAMBDA { e[U] = at(x + U * lane_count); });
    repeat<Steps>([&]<int U>() EBB_LAMBDA {
      if constexpr (!Numbers) best[U].template take<Order>(e[U], place);
      else {
        best[U].template take_number<Order>(e[U], place);
        if constexpr (U % 2 == 0) wrong = wrong | unordered(e[U], e[U + 1 < Steps ? U + 1 : U]);
      }
    });
  }
  repeat<Steps>([&]<int U>() EBB_LAMBDA { store_places(best[U].place, to + U * lane_count, Steps > 1 ? lane_count : count); });
  return !Numbers || wrong.to_bits() == 0;
}
template <class Order, int Steps, class T>
EBB_INLINE void in_some_columns(const T* x, std::size_t n, std::size_t row, std::int64_t* to, std::size_t count) {
  if constexpr (!std::is_integral_v<compared<T>>)
    if (in_columns<Order, Steps, true>(x, n, row, to, count)) return;
  in_columns<Order, Steps, false>(x, n, row, to, count);
}

}  // namespace extremum

/// The places of the first extrema of x, [before, length, after], along its middle axis, which has elements.
template <class Order, class T>
void extremum_places(const T* x, std::size_t before, std::size_t length, std::size_t after, std::int64_t* to) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (length > most) {
    for (std::size_t i = 0; i < before * after; ++i)
      to[i] = extremum::in_row<Order>(x + i / after * length * after + i % after, length, after);
    return;
  }
  if (after == 1) {
    if (length <= extremum::longest_turned && before >= lane_count) return extremum::in_short_rows<Order>(x, before, length, to);
    for (std::size_t i = 0; i < before; ++i, x += length)
      to[i] = length < lane_count ? extremum::in_row<Order>(x, length, 1) : extremum::in_long_row<Order>(x, length);
    return;
  }
  constexpr int steps = 8;
  constexpr std::size_t wide = steps * lane_count;
  for (std::size_t b = 0; b < before; ++b, x += length * after, to += after) {
    std::size_t j = 0;
    for (; j + wide <= after; j += wide) extremum::in_some_columns<Order, steps>(x + j, length, after, to + j, wide);
    if (j + wide / 2 <= after) {
      extremum::in_some_columns<Order, steps / 2>(x + j, length, after, to + j, wide / 2);
      j += wide / 2;
    }
    for (; j + wide / 4 <= after; j += wide / 4) extremum::in_some_columns<Order, steps / 4>(x + j, length, after, to + j, wide / 4);
    for (; j < after; j += lane_count) extremum::in_some_columns<Order, 1>(x + j, length, after, to + j, after - j);
  }
}

EBB_ONCE_FOR_ALL(void extremum_places<largest_first, float>(const float*, std::size_t, std::size_t, std::size_t, std::int64_t*))
EBB_ONCE_FOR_ALL(void extremum_places<largest_first, double>(const double*, std::size_t, std::size_t, std::size_t, std::int64_t*))
EBB_ONCE_FOR_ALL(void extremum_places<smallest_first, float>(const float*, std::size_t, std::size_t, std::size_t, std::int64_t*))
EBB_ONCE_FOR_ALL(void extremum_places<smallest_first, double>(const double*, std::size_t, std::size_t, std::size_t, std::int64_t*))

}  // namespace ebb::inline EBB_ABI::kernel
