// ebb/kernel/flat_nest.hpp — nests of short rows whose lanes run across the ends of rows.
// SPDX-License-Identifier: BSL-1.0
//
// [note: short rows in one piece]
// A row of 3 numbers fills 3 of 16 lanes. If the rows of all arrays follow each other in memory, they are one long row, and steps are
// whole. An array that each row repeats, and the index along the row, are read from a table of the row and as many elements after it as a
// step has lanes: element j of the long row is element j % E of the table. An array with one number for each row is permuted: its lanes
// take elements j / E and the next ones.
#pragma once

#include "nest_places.hpp"

#include <algorithm>
#include <cstddef>

namespace ebb::inline EBB_ABI {

template <class P, int Number>
class flat_nest {
  using places = nest_places<P, Number>;
  static constexpr nest n = places::n;
  static constexpr int inner = places::inner, rows = inner > 0 ? inner - 1 : 0;
  static constexpr std::ptrdiff_t most = 32, least_in_piece = 128;
  static constexpr std::ptrdiff_t least_rows = 4;  // that a step has if it permutes: a row by itself takes 2 to 3 cycles

  static constexpr bool varies(const nest_load& e, int loop) { return e.along >> loop & 1; }
  static constexpr bool is_read(const nest_load& e) {
    return e.source == nest_load::from::array || e.source == nest_load::from::index;
  }
  /// Whether a load is the same in each row, but not in each element.
  static constexpr bool repeats(const nest_load& e) { return is_read(e) && varies(e, inner) && !varies(e, rows); }
  static constexpr bool has_each_row(const nest_load& e) { return is_read(e) && varies(e, rows) && !varies(e, inner); }
  static constexpr bool fits(const nest_load& e) {
    if (e.source == nest_load::from::literal) return e.reciprocal.number < 0;
    if (e.source == nest_load::from::placed || e.view >= 0 || e.reciprocal.number >= 0) return false;
    if (e.source == nest_load::from::index) return !has_each_row(e) && size_of(e.to.type) >= 4;
    return !has_each_row(e) || (size_of(e.to.type) >= 4 && target_has::permutations);
  }

 public:
  /// The elements of a row.
  static constexpr std::ptrdiff_t row = places::template known_extent<inner>;
  /// Whether the last two loops are one.
  static constexpr bool is = [] {
    if (inner == 0 || row < 2 || row > most) return false;
    bool joins = false;
    for (int i = 0; i < n.reduces.count; ++i) {
      const nest_reduce& e = P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)];
      if (!e.run || e.first != rows) return false;
      joins = true;
    }
    if (!joins && row % lane_count == 0) return false;
    // The tables are made for each index of the loops around.
    if (constexpr std::ptrdiff_t r = places::template known_extent<rows>; inner > 1 && r >= 0 && r * row < least_in_piece) return false;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& e = P::plan.loads[static_cast<std::size_t>(n.loads.first + i)];
      if (!fits(e) || (has_each_row(e) && !joins && row * least_rows > lane_count)) return false;
    }
    for (int i = 0; i < n.stores.count; ++i)
      if (P::plan.stores[static_cast<std::size_t>(n.stores.first + i)].view >= 0) return false;
    return true;
  }();
  /// The loop that lanes run along.
  static constexpr int lane_loop = is ? rows : inner;
  static constexpr std::ptrdiff_t known_row = [] {
    constexpr std::ptrdiff_t count = is ? places::template known_extent<rows> : 1;
    return count < 0 || row < 0 ? -1 : count * row;
  }();

  /// Whether a load has one element for each row, which some lanes of a step share.
  static constexpr bool spreads(const nest_load& e) { return is && has_each_row(e); }
  template <int I>
  static constexpr bool is_repeated = is && repeats(places::template load_at<I>);
  template <int I>
  static constexpr bool is_spread = spreads(places::template load_at<I>);

 private:
  template <class T>
  struct table {
    static constexpr std::ptrdiff_t count = is ? (row + lane_count + row - 1) / row * row : 1;
    T of[count];

    /// get(k): element k of a row.
    EBB_PART void fill(auto&& get) {
      for (std::ptrdiff_t i = 0; i < count; i += row)
        for (std::ptrdiff_t k = 0; k < row; ++k) of[i + k] = get(k);
    }
  };

 public:
  template <class>
  struct tables_of;
  template <int... I>
  struct tables_of<std::integer_sequence<int, I...>> {
    record<std::conditional_t<is_repeated<I>, table<typename places::template loaded<I>>, bool>...> of;
  };
  using tables = tables_of<std::make_integer_sequence<int, n.loads.count>>;
  /// Makes p point to tables where the nest reads these.
  static EBB_PART void make_tables(tables& t, typename places::pointers& p) {
    repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (is_repeated<I>) {
        using T = typename places::template loaded<I>;
        auto& own = member<I>(t.of);
        if constexpr (places::template load_at<I>.source == nest_load::from::index)
          own.fill([](std::ptrdiff_t k) EBB_PART_LAMBDA { return static_cast<T>(k); });
        else own.fill([from = reinterpret_cast<const T*>(p.in[I])](std::ptrdiff_t k) EBB_PART_LAMBDA { return from[k]; });
        p.in[I] = reinterpret_cast<const char*>(own.of);
      }
    });
  }
  /// Element j of the long row, the first one of a step, as a place in a row.
  static EBB_PART std::size_t place_in_row(std::size_t j) {
    if constexpr (lane_count % row == 0) return 0;
    else return j % static_cast<std::size_t>(row);
  }
  /// The elements of an array with one number for each row, from element j of the long row on. `left`: the elements up to its end.
  template <class T>
  static EBB_PART lanes<T> spread(const T* from, std::size_t j, std::ptrdiff_t left) {
    using Index = simd::int_of<T>;
    static constexpr auto steps = [] {
      table<Index> t{};
      for (std::ptrdiff_t k = 0; k < t.count; ++k) t.of[k] = static_cast<Index>(k / row);
      return t;
    }();
    lanes<T> r;
    repeat<lanes<T>::parts>([&]<int Part>() EBB_PART_LAMBDA {
      constexpr int before = Part * simd::count_of<T>;
      const std::size_t first = j + before, length = static_cast<std::size_t>(row), place = first % length;
      const std::ptrdiff_t count = (left - before + static_cast<std::ptrdiff_t>(place) + row - 1) / row;
      r.part[Part] = simd::permuted<T>(simd::load_between(from + first / length, 0, count), simd::load(steps.of + place));
    });
    return r;
  }
};

}  // namespace ebb::inline EBB_ABI
