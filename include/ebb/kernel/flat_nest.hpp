// ebb/kernel/flat_nest.hpp — nests of short rows whose lanes run across the ends of rows.
// SPDX-License-Identifier: BSL-1.0
//
// [note: short rows in one piece]
// A row of 3 numbers fills 3 of 16 lanes. If the rows of all arrays follow each other in memory, they are one long row, and steps are
// whole. Element j of the long row is element j % E of an array that each row repeats: a register that holds this array is permuted. A
// longer one, and the index along the row, are tables with as many elements after the row as a step has lanes. An array with one number
// for each row is permuted as well: the lanes take elements j / E and the next ones.
#pragma once

#include "../base/record.hpp"
#include "../base/repeat.hpp"
#include "few.hpp"
#include "nest_places.hpp"

#include <algorithm>
#include <cstddef>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A nest by the extents of its last two loops, -1 where a call decides.
struct short_rows {
  nest n;
  std::ptrdiff_t rows, row;

  static constexpr std::ptrdiff_t most = 32, least_in_piece = 128;
  static constexpr std::ptrdiff_t least_rows = 4;  // that a step has if it permutes: a row by itself takes 2 to 3 cycles

  static constexpr bool is_read(const nest_load& e) {
    return e.source == nest_load::from::array || e.source == nest_load::from::index;
  }
  constexpr bool varies_in_row(const nest_load& e) const { return e.along >> (n.loops - 1) & 1; }
  constexpr bool varies_by_row(const nest_load& e) const { return e.along >> (n.loops - 2) & 1; }
  /// Whether a load is the same in each row, but not in each element.
  constexpr bool repeats(const nest_load& e) const { return is_read(e) && varies_in_row(e) && !varies_by_row(e); }
  constexpr bool has_each_row(const nest_load& e) const { return is_read(e) && varies_by_row(e) && !varies_in_row(e); }
  constexpr bool fits(const nest_load& e) const {
    if (e.source == nest_load::from::literal) return e.reciprocal.number < 0;
    if (e.source == nest_load::from::placed || e.view >= 0 || e.reciprocal.number >= 0) return false;
    if (e.source == nest_load::from::index) return !has_each_row(e) && size_of(e.to.type) >= 4;
    return !has_each_row(e) || (size_of(e.to.type) >= 4 && target_has::permutations);
  }
  /// Whether the two loops are one. The nest has both.
  constexpr bool are_one(const auto& plan) const {
    if (row < 2 || row > most) return false;
    bool joins = false;
    for (int i = 0; i < n.reduces.count; ++i) {
      const nest_reduce& e = plan.reduces.data()[n.reduces.first + i];
      if (!e.run || e.first != n.loops - 2) return false;
      joins = true;
    }
    if (!joins && row % lane_count == 0) return false;
    // The tables are made for each index of the loops around.
    if (n.loops > 2 && rows >= 0 && rows * row < least_in_piece) return false;
    for (int i = 0; i < n.loads.count; ++i) {
      const nest_load& e = plan.loads.data()[n.loads.first + i];
      if (!fits(e) || (has_each_row(e) && !joins && row * least_rows > lane_count)) return false;
    }
    for (int i = 0; i < n.stores.count; ++i)
      if (plan.stores.data()[n.stores.first + i].view >= 0) return false;
    return true;
  }
};

/// For each lane of a register whose first lane has element p of a row: its place in its row, and the number of rows before that row.
template <std::ptrdiff_t Row, class Index>
struct lane_places {
  alignas(64) Index place[Row][simd::count_of<Index>], row[Row][simd::count_of<Index>];
};
template <std::ptrdiff_t Row, class Index>
inline constexpr lane_places<Row, Index> lanes_of_rows = [] {
  lane_places<Row, Index> r{};
  for (int p = 0; p < Row; ++p)
    for (int l = 0; l < simd::count_of<Index>; ++l) {
      r.place[p][l] = static_cast<Index>((p + l) % Row);
      r.row[p][l] = static_cast<Index>((p + l) / Row);
    }
  return r;
}();

/// A part of a step whose first lane has element `place` of a row: then it need not be computed.
template <class Part>
struct at_place : Part {
  std::size_t place;
};

}  // namespace detail

template <class P, int Number>
class flat_nest {
  using places = nest_places<P, Number>;
  static constexpr nest n = places::n;
  static constexpr int inner = places::inner, rows = inner > 0 ? inner - 1 : 0;

 public:
  /// The elements of a row.
  static constexpr std::ptrdiff_t row = places::template known_extent<inner>;
  static constexpr detail::short_rows form{n, places::template known_extent<rows>, row};
  /// Whether the last two loops are one.
  static constexpr bool is = inner > 0 && form.are_one(P::plan);
  /// The loop that lanes run along.
  static constexpr int lane_loop = is ? rows : inner;
  static constexpr std::ptrdiff_t known_row = [] {
    constexpr std::ptrdiff_t count = is ? places::template known_extent<rows> : 1;
    return count < 0 || row < 0 ? -1 : count * row;
  }();

  /// Whether a load has one element for each row, which some lanes of a step share.
  static constexpr bool spreads(const nest_load& e) { return is && form.has_each_row(e); }
  template <int I>
  static constexpr bool is_repeated = is && form.repeats(places::template load_at<I>);
  template <int I>
  static constexpr bool is_spread = spreads(places::template load_at<I>);

 private:
  /// Whether a register holds a row, whose lanes are permuted.
  template <class T>
  static constexpr bool in_register = row <= simd::count_of<T> && sizeof(T) >= 4 && target_has::permutations;
  /// A row, and as much of what follows as a step may read.
  template <class T>
  struct table {
    static constexpr std::ptrdiff_t count = is ? row - 1 + lane_count : 1;
    T of[count];

    /// get(k): element k of a row.
    constexpr void fill(auto&& get) {
      for (std::ptrdiff_t i = 0; i < count; i += row)
        for (std::ptrdiff_t k = 0; k < row && i + k < count; ++k) of[i + k] = get(k);
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
          own.fill([](std::ptrdiff_t k) { return static_cast<T>(k); });
        else if constexpr (in_register<T>) simd::store(own.of, simd::load_few<static_cast<int>(row)>(reinterpret_cast<const T*>(p.in[I])));
        else own.fill([from = reinterpret_cast<const T*>(p.in[I])](std::ptrdiff_t k) { return from[k]; });
        p.in[I] = reinterpret_cast<const char*>(own.of);
      }
    });
  }
  /// Element j of the long row, the first one of a step, as a place in a row.
  static EBB_PART std::size_t place_of(std::size_t j) {
    if constexpr (lane_count % row == 0) return 0;
    else return j % static_cast<std::size_t>(row);
  }
  /// The place `Count` elements later.
  template <std::ptrdiff_t Count>
  static EBB_PART std::size_t place_after(std::size_t place) {
    constexpr std::size_t length = static_cast<std::size_t>(row), more = Count % row;
    if constexpr (more == 0) return place;
    else return place + more - (place + more >= length ? length : 0);
  }
  /// The elements of an array that each row repeats, from `place` in a row on. `row_at`: its table.
  template <class T>
  static EBB_PART lanes<T> repeated(const T* row_at, std::size_t place) {
    if constexpr (!in_register<T>) return lanes<T>::load(row_at + place);
    else {
      lanes<T> r;
      repeat<lanes<T>::parts>([&]<int Part>() EBB_PART_LAMBDA {
        const auto* const order = detail::lanes_of_rows<row, simd::int_of<T>>.place[place_after<Part * simd::count_of<T>>(place)];
        r.part[Part] = simd::permuted<T>(simd::load(row_at), simd::load(order));
      });
      return r;
    }
  }
  /// The elements of an array with one number for each row, from element j of the long row on. `left`: the elements up to its end.
  template <class T>
  static EBB_PART lanes<T> spread(const T* from, std::size_t j, std::ptrdiff_t left) {
    lanes<T> r;
    repeat<lanes<T>::parts>([&]<int Part>() EBB_PART_LAMBDA {
      constexpr int before = Part * simd::count_of<T>;
      const std::size_t first = j + before, length = static_cast<std::size_t>(row), place = first % length;
      const std::ptrdiff_t count = (left - before + static_cast<std::ptrdiff_t>(place) + row - 1) / row;
      const auto order = simd::load(detail::lanes_of_rows<row, simd::int_of<T>>.row[place]);
      r.part[Part] = simd::permuted<T>(simd::load_between(from + first / length, 0, count), order);
    });
    return r;
  }
};

}  // namespace ebb::inline EBB_ABI
