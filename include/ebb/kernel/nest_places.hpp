// ebb/kernel/nest_places.hpp — the places of a nest's arrays: extents of loops, strides, the beginning of each array's row.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "../tensor/nest.hpp"
#include "part.hpp"
#include "slots.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The arguments of a kernel.
struct nest_call {
  void* const* buffer = nullptr;
  const std::size_t* symbol = nullptr;  // the values of the symbols
  const char* name = "ebb";             // of the call, for errors
  bool continues = false;               // it runs a block of rows that is not the first, see [note: blocks of rows]

  static constexpr int place_of(int b) { return b; }
  /// The address of buffer b, read by an instruction of its own: g++ joins reads of neighbouring places, and one that covers several
  /// stores waits until these have reached the cache.
  EBB_INLINE void* address(int b) const {
    void* p = buffer[b];
    asm("" : "+r"(p));
    return p;
  }
};

/// The addresses of the buffers that a kernel uses: that of buffer b is number place_of(b), see the kernel.
template <int Count>
struct address_list {
  void* of[Count];

  EBB_PART void* address(int place) const { return of[place]; }
};

namespace detail {
/// In place of the address of an array without elements, which may be null: zeros around it are rows with an address, which is not read.
inline constexpr char no_element = 0;
}  // namespace detail

template <class P, int Number>
struct nest_places {
  static constexpr nest n = P::plan.nests[Number];
  static constexpr int inner = n.loops > 0 ? n.loops - 1 : 0;  // a program without nests names the type of a first one without loops

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
  using loops = std::make_integer_sequence<int, n.loops>;
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
  /// The columns with which load I lies side by side; without a step if there are none.
  template <int I>
  static constexpr nest_columns columns_at = [] {
    if constexpr (load_at<I>.columns >= 0) return P::plan.columns[static_cast<std::size_t>(load_at<I>.columns)];
    else return nest_columns{};
  }();
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

    /// The last argument is loops{}.
    template <int... L>
    EBB_PART extents(const std::size_t* symbol, std::integer_sequence<int, L...>)
        : of{extent<L>(symbol, std::make_integer_sequence<int, n.axis[L + 1] - n.axis[L]>{})...} {
      if constexpr (has_unknown) {
        repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA { find_apart<load_at<I>.view, I>(symbol); });
        repeat<n.stores.count>([&]<int I>() EBB_PART_LAMBDA { find_apart<store_at<I>.view, n.loads.count + I>(symbol); });
      }
      if constexpr (any_zeros) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
        repeat<n.loops>([&]<int K>() EBB_PART_LAMBDA {
          if constexpr (constexpr placed_rows rows = placed<I, K>; rows.some) this->placed_count[I][K] = extent_value(rows.count, symbol);
        });
      });
    }
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

    /// The address of buffer b is buffers.address(place), where the place is buffers.place_of(b). `e`: null if all extents are known.
    explicit EBB_PART pointers(const auto& buffers, [[maybe_unused]] const extents* e = nullptr) {
      find<0>(buffers, loads_from<0>{}, reduces_from<0>{}, stores_from<0>{});
      if constexpr (has_unknown) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
        if constexpr (constexpr int view = load_at<I>.view; view >= 0)
          if constexpr (!is_known_apart<view, inner>) distance[I] = e->apart[I][inner];
      });
      if constexpr (any_zeros) static_cast<placed_counts&>(*this) = *e;
      if constexpr (any_zeros) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
        if constexpr (has_zeros<I>)
          if (!in[I]) in[I] = &detail::no_element;
      });
    }
    /// Advances loop L by `count` indices.
    template <int L>
    EBB_PART void advance(const extents& e, std::size_t count = 1) {
      advance_from<L, 0>(e, count, loads_from<0>{}, reduces_from<0>{}, stores_from<0>{});
      index[L] += count;
    }

   private:
    template <int First, class Buffers, int... I, int... R, int... S>
    EBB_PART void find(const Buffers& buffers, std::integer_sequence<int, I...>, std::integer_sequence<int, R...>,
                       std::integer_sequence<int, S...>) {
      using std::integral_constant;
      ((in[First + I] = static_cast<const char*>(
            buffers.address(integral_constant<int, Buffers::place_of(buffer_of_load(First + I))>::value))), ...);
      ((red[First + R] = static_cast<char*>(
            buffers.address(integral_constant<int, Buffers::place_of(reduce_at<First + R>.buffer)>::value))), ...);
      ((out[First + S] = static_cast<char*>(
            buffers.address(integral_constant<int, Buffers::place_of(store_at<First + S>.buffer)>::value))), ...);
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
