// ebb/kernel/row_sums.hpp — reductions over rows, whose result has an element for each column.
// SPDX-License-Identifier: BSL-1.0
//
// [note: sums of rows]
// A sum over rows that is in memory while they are added to it takes a load and a store for each element, and each row waits for the
// stores of the row before. So some registers of it are kept while rows are added: each element has the same chain. Rows that fit into
// these registers are added all at once. Of longer rows a block is added, which is short, so that its rows stay in the nearest cache while
// all columns are added.
#pragma once

#include "nest_step.hpp"

#include <algorithm>
#include <cstddef>

namespace ebb::inline EBB_ABI {

template <class P, int Number>
class row_sums {
  using code = nest_step<P, Number>;
  using pointers = typename code::pointers;
  using extents = typename code::extents;
  using row_numbers = typename code::row_numbers;
  static constexpr nest n = code::n;
  static constexpr int inner = code::inner;
  static constexpr std::ptrdiff_t known_row = code::template known_extent<inner>;
  template <int R>
  using reduced = typename code::template reduced<R>;

  static constexpr int kept_steps = 4, kept_columns = kept_steps * lane_count;
  static constexpr std::size_t rows_together = 16;

  /// Whether the nest reduces over rows alone, all of them over the loop before the last one.
  static constexpr bool adds_rows = [] {
    bool r = inner > 0 && n.reduces.count > 0;
    for (int i = 0; i < n.reduces.count; ++i) {
      const nest_reduce& e = P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)];
      r = r && !e.run && e.first < inner && e.last == inner;
    }
    return r;
  }();
  /// Whether registers hold so many steps of each sum, and leave as many for what is added.
  static constexpr bool may_keep(std::ptrdiff_t steps) {
    std::ptrdiff_t registers = 0;
    for (int i = 0; i < n.reduces.count; ++i)
      registers += steps * (size_of(P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].type) > 4 ? 2 : 1);
    return registers <= target_has::registers / 2;
  }
  static constexpr std::ptrdiff_t steps_of(std::ptrdiff_t columns) { return (columns + lane_count - 1) / lane_count; }
  /// Rows of a known length that fit into the registers.
  static constexpr bool is_short = adds_rows && known_row > 0 && known_row < kept_columns && may_keep(steps_of(known_row));
  /// Rows that fit into one step if the call says so.
  static constexpr bool may_be_short = adds_rows && n.small && known_row < 0 && may_keep(1);
  /// Rows that are at least that long, or may be.
  static constexpr bool are_long = adds_rows && n.small && n.stores.count == 0 && n.reduces.count <= 2 && !code::has_reciprocals &&
                                   (known_row < 0 || known_row >= kept_columns);

  template <int Steps, class T>
  struct kept_lanes {
    lanes<T> of[Steps];
  };
  template <int, class>
  struct kept_of;
  template <int Steps, int... R>
  struct kept_of<Steps, std::integer_sequence<int, R...>> {
    record<kept_lanes<Steps, reduced<R>>...> of;
  };
  /// Step U of Steps: all but the last one are whole.
  template <int Steps, int U>
  static EBB_PART auto part_of([[maybe_unused]] auto last) {
    if constexpr (U == Steps - 1) return last;
    else return detail::whole_step{};
  }
  /// The columns of Steps steps from j on, of `count` rows.
  template <int Steps>
  static EBB_PART void add_columns(pointers p, const extents& e, std::size_t j, std::size_t count, auto last, auto continues) {
    kept_of<Steps, typename code::reduces> kept;
    const auto each = [&](auto&& f) EBB_PART_LAMBDA {
      repeat<n.reduces.count>([&]<int R>() EBB_PART_LAMBDA {
        repeat<Steps>([&]<int U>() EBB_PART_LAMBDA {
          f.template operator()<R>(member<R>(kept.of).of[U], reinterpret_cast<reduced<R>*>(p.red[R]) + j + U * lane_count,
                                   part_of<Steps, U>(last));
        });
      });
    };
    each([&]<int R, class T>(lanes<T>& x, T* at, auto part) EBB_PART_LAMBDA {
      if (begins && !(code::template reduce_at<R>.continues && continues)) x = lanes<T>::all(code::template identity<R>);
      else x = part.load(at);
    });
    row_numbers r;
    code::find_reciprocals(r, p, 0);  // short rows divide
    for (std::size_t i = 0; i < count; ++i) {
      code::find_kept(r, p);
      constexpr bool whole = std::is_same_v<decltype(last), detail::whole_step>;
      constexpr int pairs = whole ? Steps / 2 : (Steps - 1) / 2;
      repeat<pairs>([&]<int U>() EBB_PART_LAMBDA {
        code::two_steps(p, r, j + 2 * U * lane_count, [&]<int R>() EBB_PART_LAMBDA { return &member<R>(kept.of).of[2 * U]; },
                        [&]<int R>() EBB_PART_LAMBDA { return &member<R>(kept.of).of[2 * U + 1]; }, typename code::pieces{});
      });
      repeat<Steps - 2 * pairs>([&]<int K>() EBB_PART_LAMBDA {
        constexpr int u = 2 * pairs + K;
        code::step(p, r, j + u * lane_count, part_of<Steps, u>(last), [&]<int R>() EBB_PART_LAMBDA { return &member<R>(kept.of).of[u]; },
                   typename code::pieces{});
      });
      p.template advance<inner - 1>(e);
    }
    each([]<int, class T>(lanes<T>& x, T* at, auto part) EBB_PART_LAMBDA { part.store(x, at); });
  }
  /// The last columns of rows whose length is known, `Columns` of them from j on.
  template <int Columns>
  static EBB_PART void add_known_columns(const pointers& p, const extents& e, std::size_t j, std::size_t count, auto continues) {
    constexpr int steps = static_cast<int>(steps_of(Columns)), rest = Columns % lane_count;
    if constexpr (rest == 0) add_columns<steps>(p, e, j, count, detail::whole_step{}, continues);
    else if constexpr (rest == 1) add_columns<steps>(p, e, j, count, detail::one_lane{}, continues);
    else add_columns<steps>(p, e, j, count, detail::known_lanes<rest>{}, continues);
  }

 public:
  static constexpr bool any = is_short || may_be_short || are_long;
  /// Whether the sums begin with these rows: they need no memory before.
  static constexpr bool begins = [] {
    bool r = is_short;
    for (int i = 0; i < n.reduces.count; ++i) r = r && P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].first == inner - 1;
    return r;
  }();

  /// Adds all rows. row(p, j, count) adds columns [j, j + count) of the row at p to the sums in memory. `continues`: as of the nest.
  static EBB_PART void add_rows(pointers p, const extents& e, auto continues, [[maybe_unused]] auto&& row) {
    const std::size_t rows = e.template at<inner - 1>(), columns = e.template at<inner>();
    if constexpr (is_short) add_known_columns<static_cast<int>(known_row)>(p, e, 0, rows, continues);
    else {
      const bool all = may_be_short && columns <= lane_count;
      const std::size_t height = all ? std::max<std::size_t>(rows, 1) : are_long ? rows_together : 1;
      for (std::size_t i = 0; i < rows; i += height) {
        const std::size_t count = std::min(rows - i, height);
        std::size_t j = 0;
        if constexpr (are_long)
          for (; j + kept_columns <= columns; j += kept_columns)
            add_columns<kept_steps>(p, e, j, count, detail::whole_step{}, continues);
        if constexpr (known_row > 0) {
          if constexpr (constexpr int rest = static_cast<int>(known_row % kept_columns); rest > 0)
            add_known_columns<rest>(p, e, j, count, continues);
        } else if (all || are_long) {
          for (; j < columns; j += lane_count) {
            const auto left = static_cast<int>(std::min<std::size_t>(columns - j, lane_count));
            add_columns<1>(p, e, j, count, detail::first_lanes<true>{left}, continues);
          }
        } else row(p, 0, columns);
        p.template advance<inner - 1>(e, count);
      }
    }
  }
};

}  // namespace ebb::inline EBB_ABI
