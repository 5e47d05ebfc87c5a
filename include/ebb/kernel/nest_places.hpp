// ebb/kernel/nest_places.hpp — where the arrays of a loop nest are: extents of loops, strides, the beginning of each array's row.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "../tensor/nest.hpp"
#include "part.hpp"
#include "slots.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The arguments of a kernel.
struct nest_call {
  void* const* buffer = nullptr;
  const std::size_t* symbol = nullptr;  // the values of the symbols
  const char* name = "ebb";             // of the call, for errors
  bool continues = false;               // it runs a block of rows that is not the first, see [note: blocks of rows]

  template <int B>
  EBB_INLINE void* at() const { return buffer[B]; }
};

template <class P, int Number>
struct nest_places {
  static constexpr nest n = P::plan.nests[Number];
  static constexpr int inner = n.loops - 1;

  template <int I>
  static constexpr nest_load load_at = P::plan.loads[static_cast<std::size_t>(n.loads.first + I)];
  template <int I>
  static constexpr nest_compute compute_at = P::plan.computes[static_cast<std::size_t>(n.computes.first + I)];
  template <int I>
  static constexpr nest_reduce reduce_at = P::plan.reduces[static_cast<std::size_t>(n.reduces.first + I)];
  template <int I>
  static constexpr nest_store store_at = P::plan.stores[static_cast<std::size_t>(n.stores.first + I)];

  /// The slot of component C of store I, which stores several side by side.
  template <int I, int C>
  static constexpr slot joined_slot = {store_at<I>.from.type, P::plan.joined[static_cast<std::size_t>(store_at<I>.joined.first + C)]};

  template <int I>
  using loaded = detail::type_of<load_at<I>.to.type>;
  template <int I>
  using reduced = detail::type_of<reduce_at<I>.type>;
  template <int I>
  using stored = detail::type_of<store_at<I>.from.type>;
  template <int R>
  static constexpr auto identity = from_cell<reduced<R>>(reduce_at<R>.identity);

  // The template argument is a number, not the nest itself: g++ 12 mistakes two nests for one if their arrays differ only in the number of
  // zeros at the beginning.
  using locals =
      detail::local_slots<n.slots[0], n.slots[1], n.slots[2], n.slots[3], n.slots[4], n.slots[5], n.slots[6]>;
  using reduces = std::make_integer_sequence<int, n.reduces.count>;

  // A function with a fold over loads, reductions or stores is one instantiation. `repeat` would be one for each of them, in each nest of a
  // program. Folds are short, see repeat.hpp: the function calls itself for the rest.
  template <int First>
  using loads_from = numbers_of_fold<First, n.loads.count>;
  template <int First>
  using reduces_from = numbers_of_fold<First, n.reduces.count>;
  template <int First>
  using stores_from = numbers_of_fold<First, n.stores.count>;
  static constexpr bool is_more(int first) { return first < n.loads.count || first < n.reduces.count || first < n.stores.count; }

  /// Any buffer for literals and indices: their pointers are not read.
  static constexpr int buffer_of_load(int i) {
    const int b = P::plan.loads[static_cast<std::size_t>(n.loads.first + i)].buffer;
    return b < 0 ? 0 : b;
  }

  /// The number of indices of loop L in all bands if that is static, else -1.
  template <int L>
  static constexpr std::ptrdiff_t longest = [] {
    std::ptrdiff_t r = 1;
    for (int a = n.axis[L]; a < n.axis[L + 1]; ++a) {
      const int e = P::shape_at(n.shape).e[a];
      if (e < 0) return std::ptrdiff_t{-1};
      r *= e;
    }
    return r;
  }();
  /// The number of indices of loop L if that is static, else -1.
  template <int L>
  static constexpr std::ptrdiff_t known_extent = n.banded ? std::ptrdiff_t{-1} : longest<L>;
  /// The elements between two indices of loop L, for a load or store that lies in another array with rows apart: see [note: rows apart].
  template <int View, int L>
  static constexpr auto elements_apart = P::plan.views[static_cast<std::size_t>(View)].along[L];
  template <int View, int L>
  static constexpr bool is_known_apart = elements_apart<View, L>.symbols[0] == 0;

  // [note: columns side by side]
  // Loads of columns that lie side by side in one array, as the elements of its rows, read the same registers: these are loaded once, and
  // each column is chosen from them. The first and the last element of the groups are columns, so that no element outside of the array is
  // read.
  struct column_group {
    int step = 0, leader = -1, of[4] = {-1, -1, -1, -1};  // the loads by their places in a group; the first of them loads all
  };
  static constexpr int lanes_along = inner < 0 ? 0 : inner;  // a nest of one element has no loop
  /// The elements of a static number before the part that load i reads; -1 if that is not a column.
  static constexpr std::int64_t before_column(int i) {
    const nest_load& e = P::plan.loads[static_cast<std::size_t>(n.loads.first + i)];
    if (inner < 0 || e.source != nest_load::from::array || e.view < 0 || !(e.along >> lanes_along & 1)) return -1;
    const auto& apart = P::plan.views[static_cast<std::size_t>(e.view)].along[lanes_along];
    const auto& b = P::plan.buffers[static_cast<std::size_t>(e.buffer)];
    using role = std::remove_cvref_t<decltype(b.is)>;
    using counted = std::remove_cvref_t<decltype(b.at.from)>;
    if (apart.symbols[0] != 0 || apart.factor < 2 || apart.factor > 4) return -1;
    for (const auto& rows : P::plan.views[static_cast<std::size_t>(e.view)].placed)
      if (rows.some) return -1;  // there are zeros between its elements: see [note: zeros around]
    if (b.is != role::part || b.at.from != counted::from_start) return -1;
    std::int64_t r = b.at.rows;
    const shape own = P::shape_at(b.at.shape);
    for (int a = b.at.axis + 1; a < own.rank && r > 0; ++a) r *= own.e[a];
    if (const int number = b.view; number >= 0) {
      const auto& v = P::plan.views[static_cast<std::size_t>(number)];
      for (int t = 0; t < v.terms && r >= 0; ++t) r = v.offset[t].symbols[0] == 0 ? r + v.offset[t].factor : -1;
    }
    return r;
  }
  /// Whether two columns are parts of one array that differ in nothing but their beginning.
  static constexpr bool are_columns_of_one(int i, int k) {
    const nest_load &x = P::plan.loads[static_cast<std::size_t>(n.loads.first + i)],
                    &y = P::plan.loads[static_cast<std::size_t>(n.loads.first + k)];
    const auto &a = P::plan.buffers[static_cast<std::size_t>(x.buffer)], &b = P::plan.buffers[static_cast<std::size_t>(y.buffer)];
    if (x.to.type != y.to.type || a.whole != b.whole || a.at.axis != b.at.axis) return false;
    const auto &v = P::plan.views[static_cast<std::size_t>(x.view)], &w = P::plan.views[static_cast<std::size_t>(y.view)];
    for (int l = 0; l < n.loops; ++l)
      if (!(v.along[l] == w.along[l])) return false;
    return true;
  }
  static constexpr auto column_groups = [] {
    std::array<column_group, static_cast<std::size_t>(n.loads.count + 1)> r{};
    std::array<std::int64_t, static_cast<std::size_t>(n.loads.count + 1)> before{};
    for (int i = 0; i < n.loads.count; ++i) before[static_cast<std::size_t>(i)] = before_column(i);
    for (int i = 0; i < n.loads.count; ++i) {
      const std::int64_t at = before[static_cast<std::size_t>(i)];
      if (at < 0 || r[static_cast<std::size_t>(i)].leader >= 0) continue;
      column_group g;
      g.step = static_cast<int>(P::plan.views[static_cast<std::size_t>(P::plan.loads[static_cast<std::size_t>(n.loads.first + i)].view)]
                                    .along[lanes_along].factor);
      g.leader = i;
      // Those that lie so near that they may be in one group, and the first of these.
      const auto is_near = [&](int k) {
        const std::int64_t other = before[static_cast<std::size_t>(k)];
        return other >= 0 && other > at - g.step && other < at + g.step && are_columns_of_one(i, k);
      };
      std::int64_t first = at;
      for (int k = 0; k < n.loads.count; ++k)
        if (before[static_cast<std::size_t>(k)] < first && is_near(k)) first = before[static_cast<std::size_t>(k)];
      for (int k = n.loads.count; k-- > i;)
        if (const std::int64_t place = before[static_cast<std::size_t>(k)] - first; place >= 0 && place < g.step && is_near(k))
          g.of[place] = k;
      if (g.of[0] < 0 || g.of[g.step - 1] < 0) continue;
      for (const int k : g.of)
        if (k >= 0) r[static_cast<std::size_t>(k)] = g;
    }
    return r;
  }();
  template <int I>
  static constexpr column_group columns_at = column_groups[static_cast<std::size_t>(I)];

  /// The rows of load I along loop L that are no zeros: see [note: zeros around].
  template <int I, int L>
  static constexpr placed_rows placed = [] {
    if constexpr (load_at<I>.view >= 0) return P::plan.views[static_cast<std::size_t>(load_at<I>.view)].placed[L];
    else return placed_rows{};
  }();
  template <int I>
  static constexpr bool has_zeros = [] {
    bool r = false;
    repeat<n.loops>([&]<int L>() { r = r || placed<I, L>.some; });
    return r;
  }();
  static constexpr bool any_zeros = [] {
    bool r = false;
    repeat<n.loads.count>([&]<int I>() { r = r || has_zeros<I>; });
    return r;
  }();
  /// Whether only a call knows some of these.
  static constexpr bool has_unknown = [] {
    bool r = false;
    const auto see = [&]<int View>(std::integral_constant<int, View>) {
      if constexpr (View >= 0) repeat<n.loops>([&]<int L>() { r = r || !is_known_apart<View, L>; });
    };
    repeat<n.loads.count>([&]<int I>() { see(std::integral_constant<int, load_at<I>.view>{}); });
    repeat<n.stores.count>([&]<int I>() { see(std::integral_constant<int, store_at<I>.view>{}); });
    return r;
  }();
  /// How many rows of load I along loop L are no zeros, if there are such loads.
  struct no_counts {};
  struct counts {
    std::size_t placed_count[n.loads.count + 1][n.loops];
  };
  using placed_counts = std::conditional_t<any_zeros, counts, no_counts>;
  struct extents : placed_counts {
    std::size_t of[n.loops];
    std::ptrdiff_t apart[has_unknown ? n.loads.count + n.stores.count : 1][n.loops];  // elements_apart of loads and stores, if unknown

    explicit extents(const std::size_t* symbol) : extents(symbol, std::make_integer_sequence<int, n.loops>{}) {
      if constexpr (has_unknown) {
        repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA { find_apart<load_at<I>.view, I>(symbol); });
        repeat<n.stores.count>([&]<int I>() EBB_PART_LAMBDA { find_apart<store_at<I>.view, n.loads.count + I>(symbol); });
      }
      if constexpr (any_zeros) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
        repeat<n.loops>([&]<int L>() EBB_PART_LAMBDA {
          if constexpr (constexpr placed_rows rows = placed<I, L>; rows.some) this->placed_count[I][L] = extent_value(rows.count, symbol);
        });
      });
    }
    template <int... L>
    EBB_PART extents(const std::size_t* symbol, std::integer_sequence<int, L...>)
        : of{extent<L>(symbol, std::make_integer_sequence<int, n.axis[L + 1] - n.axis[L]>{})...} {}
    template <int L, int... A>
    static EBB_PART std::size_t extent([[maybe_unused]] const std::size_t* symbol, std::integer_sequence<int, A...>) {
      return (std::size_t{1} * ... * extent_value(std::integral_constant<int, P::shape_at(n.shape).e[n.axis[L] + A]>::value, symbol));
    }
    template <int View, int Access>
    EBB_PART void find_apart([[maybe_unused]] const std::size_t* symbol) {
      if constexpr (View >= 0)
        repeat<n.loops>([&]<int L>() EBB_PART_LAMBDA {
          if constexpr (!is_known_apart<View, L>) apart[Access][L] = elements_apart<View, L>.value(symbol);
        });
    }
    template <int L>
    EBB_PART std::size_t at() const {
      if constexpr (known_extent<L> >= 0) return static_cast<std::size_t>(known_extent<L>);
      else return of[L];
    }
    template <int View, int Access, int L>
    EBB_PART std::ptrdiff_t distance() const {
      if constexpr (is_known_apart<View, L>) return static_cast<std::ptrdiff_t>(elements_apart<View, L>.factor);
      else return apart[Access][L];
    }
    /// Bytes between two indices of loop L for load I, or store I.
    template <int L, int I>
    EBB_PART std::ptrdiff_t stride_of_load(std::size_t size) const {
      constexpr nest_load x = load_at<I>;
      if constexpr (x.source != nest_load::from::array) return 0;
      else if constexpr (x.view < 0) return static_cast<std::ptrdiff_t>(stride<L, x.along>(size));
      else return distance<x.view, I, L>() * static_cast<std::ptrdiff_t>(size);
    }
    template <int L, int I>
    EBB_PART std::ptrdiff_t stride_of_store(std::size_t size) const {
      constexpr int view = store_at<I>.view;
      if constexpr (view < 0) return static_cast<std::ptrdiff_t>(stride<L, (1 << n.loops) - 1>(size));
      else return distance<view, n.loads.count + I, L>() * static_cast<std::ptrdiff_t>(size);
    }
    /// Bytes between two indices of loop L, for an array of elements of `size` bytes.
    template <int L, int Along, int K = n.loops - 1>
    EBB_PART std::size_t stride(std::size_t size) const {
      if constexpr (!(Along >> L & 1)) return 0;
      else if constexpr (K == L) return size;
      else return (Along >> K & 1 ? at<K>() : 1) * stride<L, Along, K - 1>(size);
    }
  };

  /// The buffers that the nest reads and writes, each once. If the array is full, there are too many to pass in registers: of six
  /// registers, one is for the symbols.
  struct buffer_list {
    static constexpr int room = 6;
    int count = 0, number[room] = {};

    constexpr int place_of(int buffer) const {
      int i = 0;
      while (i < count && number[i] != buffer) ++i;
      return i;
    }
    constexpr void add(int buffer) {
      if (place_of(buffer) == count && count < room) number[count++] = buffer;
    }
  };
  static constexpr buffer_list used_buffers = [] {
    buffer_list r;
    const auto each = [](const auto& of, part list, auto&& visit) {
      for (int i = list.first; i < list.first + list.count; ++i) visit(of[static_cast<std::size_t>(i)]);
    };
    each(P::plan.loads, n.loads, [&](const nest_load& e) {
      if (e.source == nest_load::from::array) r.add(e.buffer);
    });
    each(P::plan.reduces, n.reduces, [&](const nest_reduce& e) { r.add(e.buffer); });
    each(P::plan.stores, n.stores, [&](const nest_store& e) { r.add(e.buffer); });
    return r;
  }();

  /// The beginning of the current row of each array, and the indices of the outer loops.
  struct pointers : placed_counts {
    const char* in[n.loads.count + 1] = {};
    char* out[n.stores.count + 1] = {};
    char* red[n.reduces.count + 1] = {};
    std::size_t index[n.loops] = {};
    std::ptrdiff_t distance[has_unknown ? n.loads.count + 1 : 1];  // between lanes, in elements, if only the call knows it

    /// `buffers` has the address of buffer B: at<B>().
    explicit EBB_PART pointers(const auto& buffers) { find<0>(buffers, loads_from<0>{}, reduces_from<0>{}, stores_from<0>{}); }
    EBB_PART pointers(const auto& buffers, const extents& e) : pointers(buffers) {
      repeat<has_unknown ? n.loads.count : 0>([&]<int I>() EBB_PART_LAMBDA {
        if constexpr (constexpr int view = load_at<I>.view; view >= 0)
          if constexpr (!is_known_apart<view, inner>) distance[I] = e.apart[I][inner];
      });
      if constexpr (any_zeros) static_cast<placed_counts&>(*this) = e;
    }
    /// Advances loop L by `count` indices.
    template <int L>
    EBB_PART void advance(const extents& e, std::size_t count = 1) {
      advance_from<L, 0>(e, count, loads_from<0>{}, reduces_from<0>{}, stores_from<0>{});
      index[L] += count;
    }

   private:
    template <int First, int... I, int... R, int... S>
    EBB_PART void find(const auto& buffers, std::integer_sequence<int, I...>, std::integer_sequence<int, R...>,
                       std::integer_sequence<int, S...>) {
      ((in[First + I] = static_cast<const char*>(buffers.template at<buffer_of_load(First + I)>())), ...);
      ((red[First + R] = static_cast<char*>(buffers.template at<reduce_at<First + R>.buffer>())), ...);
      ((out[First + S] = static_cast<char*>(buffers.template at<store_at<First + S>.buffer>())), ...);
      if constexpr (constexpr int next = First + detail::most_in_fold; is_more(next))
        find<next>(buffers, loads_from<next>{}, reduces_from<next>{}, stores_from<next>{});
    }
    template <int L, int First, int... I, int... R, int... S>
    EBB_PART void advance_from(const extents& e, std::size_t count, std::integer_sequence<int, I...>, std::integer_sequence<int, R...>,
                               std::integer_sequence<int, S...>) {
      const auto times = static_cast<std::ptrdiff_t>(count);
      ((in[First + I] += times * e.template stride_of_load<L, First + I>(sizeof(loaded<First + I>))), ...);
      ((red[First + R] += count * e.template stride<L, kept_loops(reduce_at<First + R>)>(sizeof(reduced<First + R>))), ...);
      ((out[First + S] += times * e.template stride_of_store<L, First + S>(sizeof(stored<First + S>))), ...);
      if constexpr (constexpr int next = First + detail::most_in_fold; is_more(next))
        advance_from<L, next>(e, count, loads_from<next>{}, reduces_from<next>{}, stores_from<next>{});
    }
  };
  static constexpr int kept_loops(const nest_reduce& r) {
    const int all = (1 << n.loops) - 1, combined = ((1 << r.last) - 1) & ~((1 << r.first) - 1);
    return all & ~combined;
  }
};

}  // namespace ebb::inline EBB_ABI
