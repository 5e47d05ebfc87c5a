// ebb/kernel/nest_loads.hpp — the loads of a step of lanes: arrays, literals, indices, and zeros around what lies elsewhere.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "flat_nest.hpp"
#include "part.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace ebb::inline EBB_ABI {

template <class P, int Number>
struct nest_loads : nest_places<P, Number> {
  using places = nest_places<P, Number>;
  using flat = flat_nest<P, Number>;
  static constexpr nest n = places::n;
  static constexpr int inner = places::inner;

  template <int I>
  static constexpr nest_load load_at = places::template load_at<I>;
  template <int I>
  using loaded = typename places::template loaded<I>;
  using locals = typename places::locals;
  using pointers = typename places::pointers;

  // One equation of a step.
  template <int I>
  static EBB_PART void load_one(locals& v, const pointers& p, std::size_t j, auto part) {
    constexpr nest_load e = load_at<I>;
    using T = loaded<I>;
    lanes<T>& to = v.template at<e.to>();
    if constexpr (e.source == nest_load::from::literal) to = lanes<T>::all(from_cell<T>(e.bits));
    else if constexpr (flat::template is_repeated<I>) {
      const T* const row = reinterpret_cast<const T*>(p.in[I]);
      if constexpr (requires { part.place; }) to = flat::repeated(row, part.place);
      else to = flat::repeated(row, flat::place_of(j));
    } else if constexpr (flat::template is_spread<I>) {
      to = flat::spread(reinterpret_cast<const T*>(p.in[I]), j, detail::count_in_step(part));
    } else if constexpr (e.source == nest_load::from::index) {
      if constexpr (e.along >> inner & 1) {
        // A double holds each index that memory has room for, a float those of short rows; counting in integers of eight bytes may need
        // conversions one by one.
        constexpr bool is_short = places::template longest<inner> > 0 && places::template longest<inner> <= 1 << 24;
        using real = std::conditional_t<std::is_same_v<T, float> && is_short, float, double>;
        using Index = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, T, real>;
        const auto first = static_cast<std::ptrdiff_t>(p.index[inner] + j - part.lane());  // below 0 where a row begins within lanes
        to = convert<T>(lanes<Index>::all(static_cast<Index>(first)) + lane_index<Index>());
      } else {
        constexpr int loop = std::countr_zero(static_cast<unsigned>(e.along));
        to = convert<T>(lanes<std::int64_t>::all(static_cast<std::int64_t>(p.index[loop])));
      }
    } else {
      [[maybe_unused]] const T* from = reinterpret_cast<const T*>(p.in[I]);
      constexpr bool without_zeros = std::is_same_v<decltype(part), detail::step_without_zeros>;
      if constexpr (e.source == nest_load::from::placed) {
        constexpr T x = from_cell<T>(e.bits);
        if constexpr (without_zeros) to = lanes<T>::all(x);
        else if constexpr (std::is_same_v<T, bool>) to = placed_lanes<I>(p, static_cast<std::ptrdiff_t>(j), part) & lanes<bool>::all(x);
        else {
          const lanes<bool> m = placed_lanes<I>(p, static_cast<std::ptrdiff_t>(j), part);
          to = lanes<T>::select(m, lanes<T>::all(x), lanes<T>::all(T{}));
        }
      } else if constexpr (without_zeros && e.along >> inner & 1 && (e.view < 0 || places::template has_zeros<I>)) {
        to = part.load(from + j);
        if constexpr (full_width<T>)
          for (auto& x : to.part) x = simd::in_register(x);
      } else if constexpr (places::template has_zeros<I>) load_placed<I>(to, from + j, p, static_cast<std::ptrdiff_t>(j), part);
      else if constexpr (!(e.along >> inner & 1)) to = lanes<T>::all(*from);
      else if constexpr (e.view < 0) to = part.load(from + j);
      else load_apart<I>(to, from, p, static_cast<std::ptrdiff_t>(j), part);
    }
  }
  /// Elements [first, last) of a row.
  struct interval {
    std::ptrdiff_t first = 0, last = 0;
  };
  static constexpr int most_in_two_bodies = 128;
  static constexpr std::ptrdiff_t least_interior = 6 * lane_count;
  static constexpr bool has_interior = places::any_zeros && n.loops == 1 && n.computes.count <= most_in_two_bodies &&
                                       (places::template known_extent<inner> < 0 || places::template known_extent<inner> >= least_interior);
  /// The elements for which no load needs zeros. A loop along one axis has a body for these, and one for the steps around them that asks
  /// where zeros begin. Large nests and those of several loops have the second one alone.
  static EBB_PART interval interior(const pointers& p, std::ptrdiff_t count) {
    interval r{0, count};
    if (count < least_interior) return {0, 0};
    repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (constexpr placed_rows rows = places::template placed<I, inner>; rows.some) {
        const auto first = rows.first - static_cast<std::ptrdiff_t>(p.index[inner]);
        r.first = std::max(r.first, first);
        r.last = std::min(r.last, first + static_cast<std::ptrdiff_t>(p.placed_count[I][inner]));
      }
    });
    return r;
  }
  /// Whether the place has rows of its operand at the indices of the outer loops.
  template <int I>
  static EBB_PART bool is_in_placed_rows(const pointers& p) {
    bool is_inside = true;
    repeat<inner>([&]<int L>() EBB_PART_LAMBDA {
      if constexpr (constexpr placed_rows rows = places::template placed<I, L>; rows.some)
        is_inside = is_inside && p.index[L] - static_cast<std::size_t>(rows.first) < p.placed_count[I][L];
    });
    return is_inside;
  }
  /// The lanes in which a place has elements of its operand, from element j of a row on. They come from no memory: a mask of bools that is
  /// written as bytes is slow to read.
  template <int I>
  static EBB_PART lanes<bool> placed_lanes(const pointers& p, [[maybe_unused]] std::ptrdiff_t j, [[maybe_unused]] auto part) {
    const bool is_inside = is_in_placed_rows<I>(p);
    if constexpr (constexpr placed_rows rows = places::template placed<I, inner>; rows.some) {
      constexpr std::ptrdiff_t all = lane_count;
      const auto first = static_cast<std::ptrdiff_t>(p.index[inner]) + j - rows.first - static_cast<std::ptrdiff_t>(part.lane());
      const auto end = std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(p.placed_count[I][inner]) - first, 0, all);
      const auto begin = std::clamp<std::ptrdiff_t>(-first, 0, end);
      const std::uint64_t bits = detail::run_of_bits(end - begin, static_cast<std::size_t>(begin));
      return lanes<bool>::from_bits(is_inside ? static_cast<std::uint32_t>(bits) : 0u);
    } else return lanes<bool>::all(is_inside);
  }
  /// The elements of a place, from element j of a row on, which is at x: zeros outside of the rows that it puts somewhere, see
  /// [note: zeros around].
  template <int I, class T>
  static EBB_PART void load_placed(lanes<T>& to, const T* x, const pointers& p, std::ptrdiff_t j, auto part) {
    const bool is_inside = is_in_placed_rows<I>(p);
    if constexpr (constexpr placed_rows rows = places::template placed<I, inner>; rows.some) {
      const auto first = static_cast<std::ptrdiff_t>(p.index[inner]) + j - rows.first;
      const auto left = static_cast<std::ptrdiff_t>(p.placed_count[I][inner]) - first;
      const auto room = lane_count - static_cast<std::ptrdiff_t>(part.lane());
      if (is_inside && first >= 0 && left >= room) [[likely]] to = part.load(x);
      else if (is_inside && first > -room && left > 0) to = detail::load_between(x, -first, left, part.lane());
      else to = lanes<T>::all(T{});
    } else if (is_inside) [[likely]] to = part.load(x);
    else to = lanes<T>::all(T{});
  }
  template <int I, class T>
  static EBB_PART void load_apart(lanes<T>& to, const T* from, const pointers& p, std::ptrdiff_t j, auto part) {
    constexpr int view = load_at<I>.view;
    constexpr auto distance = places::template elements_apart<view, inner>;
    constexpr auto known = static_cast<std::ptrdiff_t>(distance.factor);
    if constexpr (distance.is(1)) to = part.load(from + j);
    else if constexpr (distance.is(-1)) to = part.load_back(from - j);
    else if constexpr (known > 1 && known < 5 && distance.is(known)) to = part.template load_every<known>(from + known * j);
    else if constexpr (distance.is(0)) to = lanes<T>::all(*from);
    else if constexpr (places::template is_known_apart<view, inner>) to = part.load_apart(from + known * j, known);
    else to = part.load_apart(from + p.distance[I] * j, p.distance[I]);
  }
};

}  // namespace ebb::inline EBB_ABI
