// ebb/kernel/nest_step.hpp — one step of lanes of a loop nest: its loads, computations, reductions and stores.
// SPDX-License-Identifier: BSL-1.0
//
// [note: kernels have short names]
// A kernel is instantiated on a nominal type P, which names the program, and a number. P::plan holds the nests as constants, P::shape_at(i)
// the shapes. Each equation names its op's function as a template argument: the front end sees a direct call, which can be inlined. There
// is no function for each equation: that would be a third of the compile time of a large program. Whole steps of lanes and tails run the
// same code and differ in how they load and store, see part.hpp: a second copy of the body would double compile time.
#pragma once

#include "../base/repeat.hpp"
#include "../num/quotient.hpp"
#include "../tensor/nest.hpp"
#include "part.hpp"
#include "slots.hpp"

#include <bit>
#include <cstddef>
#include <tuple>
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
struct nest_step {
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

  /// The number of indices of loop L if that is static, else -1.
  template <int L>
  static constexpr std::ptrdiff_t known_extent = [] {
    std::ptrdiff_t r = 1;
    for (int a = n.axis[L]; a < n.axis[L + 1]; ++a) {
      const int e = P::shape_at(n.shape).e[a];
      if (e < 0 || n.banded) return std::ptrdiff_t{-1};
      r *= e;
    }
    return r;
  }();
  static constexpr auto any_apart = [](const auto& of, part list) {
    for (int i = 0; i < list.count; ++i)
      if (of[static_cast<std::size_t>(list.first + i)].whole >= 0) return true;
    return false;
  };
  static constexpr bool loads_apart = any_apart(P::plan.loads, n.loads), stores_apart = any_apart(P::plan.stores, n.stores);
  struct extents {
    std::size_t of[n.loops];
    // Of a load or store with rows apart: the indices of its loop that lie in the whole array.
    std::size_t of_load[loads_apart ? n.loads.count : 1], of_store[stores_apart ? n.stores.count : 1];

    explicit extents(const std::size_t* symbol) {
      repeat<n.loops>([&]<int L>() EBB_PART_LAMBDA {
        of[L] = 1;
        repeat<n.axis[L + 1] - n.axis[L]>([&]<int A>() EBB_PART_LAMBDA {
          constexpr int e = P::shape_at(n.shape).e[n.axis[L] + A];
          of[L] *= extent_value(e, symbol);
        });
      });
      if constexpr (loads_apart)
        repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
          if constexpr (constexpr nest_load x = load_at<I>; x.whole >= 0) of_load[I] = indices_in_whole<x.whole, x.axis, x.one_row>(symbol);
        });
      if constexpr (stores_apart)
        repeat<n.stores.count>([&]<int I>() EBB_PART_LAMBDA {
          if constexpr (constexpr nest_store x = store_at<I>; x.whole >= 0)
            of_store[I] = indices_in_whole<x.whole, x.axis, x.one_row>(symbol);
        });
    }
    template <int Whole, int Axis, bool OneRow>
    static EBB_PART std::size_t indices_in_whole(const std::size_t* symbol) {
      constexpr int axis = Axis, loop = loop_from(axis);
      std::size_t r = extent_value(P::shape_at(Whole).e[axis], symbol);
      constexpr int first = OneRow ? axis : axis + 1;
      repeat<n.axis[loop + 1] - first>([&]<int A>() EBB_PART_LAMBDA {
        constexpr int e = P::shape_at(n.shape).e[first + A];
        r *= extent_value(e, symbol);
      });
      return r;
    }
    static constexpr int loop_from(int axis) {
      int l = 0;
      while (n.axis[l] != axis) ++l;
      return l;
    }
    template <int L>
    EBB_PART std::size_t at() const {
      if constexpr (known_extent<L> >= 0) return static_cast<std::size_t>(known_extent<L>);
      else return of[L];
    }
    /// Bytes between two indices of loop L for load I, or store I.
    template <int L, int I>
    EBB_PART std::size_t stride_of_load(std::size_t size) const {
      constexpr nest_load x = load_at<I>;
      if constexpr (x.whole < 0) return stride<L, x.along>(size);
      else if constexpr (x.step != 1 && n.axis[L] == x.axis) return static_cast<std::size_t>(x.step) * stride<L, x.along>(size);
      else return stride_apart<L, x.axis>(size, of_load[I]);
    }
    template <int L, int I>
    EBB_PART std::size_t stride_of_store(std::size_t size) const {
      constexpr nest_store x = store_at<I>;
      if constexpr (x.whole < 0) return stride<L, (1 << n.loops) - 1>(size);
      else return stride_apart<L, x.axis>(size, of_store[I]);
    }
    /// The same for an array with rows apart along Axis: so many indices of their loop lie in the whole array.
    template <int L, int Axis, int K = n.loops - 1>
    EBB_PART std::size_t stride_apart(std::size_t size, std::size_t indices) const {
      if constexpr (K == L) return size;
      else return (n.axis[K] == Axis ? indices : at<K>()) * stride_apart<L, Axis, K - 1>(size, indices);
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
  struct pointers {
    const char* in[n.loads.count + 1] = {};
    char* out[n.stores.count + 1] = {};
    char* red[n.reduces.count + 1] = {};
    std::size_t index[n.loops] = {};

    /// `buffers` has the address of buffer B: at<B>().
    explicit EBB_PART pointers(const auto& buffers) {
      repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
        if constexpr (load_at<I>.source == nest_load::from::array)
          in[I] = static_cast<const char*>(buffers.template at<load_at<I>.buffer>());
      });
      repeat<n.reduces.count>([&]<int R>() EBB_PART_LAMBDA {
        red[R] = static_cast<char*>(buffers.template at<reduce_at<R>.buffer>());
      });
      repeat<n.stores.count>([&]<int S>() EBB_PART_LAMBDA { out[S] = static_cast<char*>(buffers.template at<store_at<S>.buffer>()); });
    }
    /// Advances loop L by `count` indices.
    template <int L>
    EBB_PART void advance(const extents& e, std::size_t count = 1) {
      repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
        if constexpr (load_at<I>.source == nest_load::from::array)
          in[I] += static_cast<std::ptrdiff_t>(count * e.template stride_of_load<L, I>(sizeof(loaded<I>)));
      });
      repeat<n.reduces.count>([&]<int R>() EBB_PART_LAMBDA {
        red[R] += count * e.template stride<L, kept_loops(reduce_at<R>)>(sizeof(reduced<R>));
      });
      repeat<n.stores.count>([&]<int S>() EBB_PART_LAMBDA {
        out[S] += count * e.template stride_of_store<L, S>(sizeof(stored<S>));
      });
      index[L] += count;
    }
  };
  static constexpr int kept_loops(const nest_reduce& r) {
    const int all = (1 << n.loops) - 1, combined = ((1 << r.last) - 1) & ~((1 << r.first) - 1);
    return all & ~combined;
  }

  // One equation of a step.
  template <int I>
  static EBB_PART void load_one(locals& v, const pointers& p, std::size_t j, auto part) {
    constexpr nest_load e = load_at<I>;
    using T = loaded<I>;
    lanes<T>& to = v.template at<e.to>();
    if constexpr (e.source == nest_load::from::literal) to = lanes<T>::all(from_cell<T>(e.bits));
    else if constexpr (e.source == nest_load::from::index) {
      if constexpr (e.along >> inner & 1) {
        using Index = std::conditional_t<std::is_same_v<T, std::int32_t>, std::int32_t, std::int64_t>;
        to = convert<T>(lanes<Index>::all(static_cast<Index>(p.index[inner] + j - part.lane())) + lane_index<Index>());
      } else {
        constexpr int loop = std::countr_zero(static_cast<unsigned>(e.along));
        to = convert<T>(lanes<std::int64_t>::all(static_cast<std::int64_t>(p.index[loop])));
      }
    } else {
      const T* from = reinterpret_cast<const T*>(p.in[I]);
      if constexpr (e.whole >= 0 && e.step != 1 && n.axis[inner] == e.axis)
        to = part.load_back(from - j);
      else if constexpr (e.along >> inner & 1) to = part.load(from + j);
      else to = lanes<T>::all(*from);
    }
  }
  /// The reciprocals of divisors that are one number in each row, of short rows NaN: then quotients divide.
  static constexpr std::size_t least_row = 4 * lane_count;
  template <class>
  struct reciprocals_of;
  template <int... I>
  struct reciprocals_of<std::integer_sequence<int, I...>> {
    std::tuple<std::conditional_t<(load_at<I>.reciprocal.number >= 0), lane::negative_reciprocal<lanes<loaded<I>>>, bool>...> of;
  };
  using reciprocals = reciprocals_of<std::make_integer_sequence<int, n.loads.count>>;
  static constexpr bool has_reciprocals = [] {
    for (int i = 0; i < n.loads.count; ++i)
      if (P::plan.loads[static_cast<std::size_t>(n.loads.first + i)].reciprocal.number >= 0) return true;
    return false;
  }();
  static EBB_PART reciprocals reciprocals_in(const pointers& p, std::size_t count) {
    reciprocals r;
    repeat<has_reciprocals ? n.loads.count : 0>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (constexpr nest_load e = load_at<I>; e.reciprocal.number >= 0) {
        using T = loaded<I>;
        const T y = e.source == nest_load::from::literal ? from_cell<T>(e.bits) : *reinterpret_cast<const T*>(p.in[I]);
        const auto x = lane::negative_reciprocal_of(count < least_row ? T(0) : y);
        std::get<I>(r.of) = {lanes<T>::all(x.high), lanes<T>::all(x.low)};
      }
    });
    return r;
  }
  static EBB_PART void take(locals& v, const reciprocals& r) {
    repeat<has_reciprocals ? n.loads.count : 0>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (constexpr slot high = load_at<I>.reciprocal; high.number >= 0) {
        constexpr slot low{high.type, high.number + 1};
        v.template at<high>() = std::get<I>(r.of).high;
        v.template at<low>() = std::get<I>(r.of).low;
      }
    });
  }

  /// The operands of an equation, in bytes from the beginning of the locals.
  struct computation {
    nest_compute::vector_function function = nullptr;
    std::size_t in[3] = {}, to = 0;
  };
  struct computations {
    computation at[n.computes.count + 1];
  };
  template <bool Reciprocals>
  static constexpr computations code = [] {
    computations r;
    for (int i = 0; i < n.computes.count; ++i) {
      const nest_compute& e = P::plan.computes[static_cast<std::size_t>(n.computes.first + i)];
      const bool divided = Reciprocals && e.reciprocal.number >= 0;
      r.at[i].function = divided ? e.divided : e.vector;
      for (int j = 0; j < e.count; ++j) r.at[i].in[j] = locals::offset_of(e.in[j]);
      if (divided) r.at[i].in[2] = locals::offset_of(e.reciprocal);
      r.at[i].to = locals::offset_of(e.to);
    }
    return r;
  }();
  template <auto Function>
  static EBB_PART void apply(char* v, std::size_t a, std::size_t b, std::size_t c, std::size_t to) {
    Function(v + a, v + b, v + c, v + to);
  }
  template <bool Reciprocals, int First, int... I>
  static EBB_PART void compute_some(char* v, std::integer_sequence<int, I...>) {
    constexpr const auto& c = code<Reciprocals>;
    (apply<c.at[First + I].function>(v, c.at[First + I].in[0], c.at[First + I].in[1], c.at[First + I].in[2], c.at[First + I].to), ...);
  }
  // [note: computed in pieces]
  // clang stops at folds of more than 250 items. g++ optimizes each function before it inlines it: there, referenced values are
  // memory, and the time to analyse memory grows with the square of its size. So pieces are short, and the function that joins them owns
  // the values.
  static constexpr int piece_length = 64;
  using pieces = std::make_integer_sequence<int, (n.computes.count + piece_length - 1) / piece_length>;
  template <int Piece, bool Reciprocals = false>
  static EBB_PART void compute_piece(locals& v) {
    constexpr int first = Piece * piece_length, rest = n.computes.count - first;
    using each = std::make_integer_sequence<int, rest < piece_length ? rest : piece_length>;
    compute_some<Reciprocals, first>(reinterpret_cast<char*>(&v), each{});
  }
  template <int I>
  static EBB_PART void reduce_one(locals& v, const pointers& p, std::size_t j, lanes<reduced<I>>* rest, auto part) {
    constexpr nest_reduce e = reduce_at<I>;
    using T = reduced<I>;
    lanes<T> x = v.template at<e.in>();
    if constexpr (e.run) {
      if (!part.whole()) x = lane::select(part.valid(), x, lanes<T>::all(identity<I>));
      e.combine(rest, &x, nullptr, rest);
    } else {
      T* to = reinterpret_cast<T*>(p.red[I]) + j;
      lanes<T> sum = part.load(to);
      e.combine(&sum, &x, nullptr, &sum);
      part.store(sum, to);
    }
  }
  template <int I>
  static EBB_PART void store_one(locals& v, const pointers& p, std::size_t j, auto part) {
    part.store(v.template at<store_at<I>.from>(), reinterpret_cast<stored<I>*>(p.out[I]) + j);
  }

  static EBB_PART void load(locals& v, const pointers& p, std::size_t j, auto part) {
    repeat_part<n.loads.count>([&]<int L>() EBB_PART_LAMBDA { load_one<L>(v, p, j, part); });
  }
  static EBB_PART void finish(locals& v, const pointers& p, std::size_t j, auto part, auto&& rest) {
    repeat_part<n.stores.count>([&]<int S>() EBB_PART_LAMBDA { store_one<S>(v, p, j, part); });
    repeat_part<n.reduces.count>([&]<int R>() EBB_PART_LAMBDA { reduce_one<R>(v, p, j, rest.template operator()<R>(), part); });
  }
  template <int... Piece>
  static EBB_PART void step(std::integer_sequence<int, Piece...>, const pointers& p, const reciprocals& r, std::size_t j, auto part,
                            auto&& rest) {
    locals v;
    load(v, p, j, part);
    take(v, r);
    (compute_piece<Piece, has_reciprocals>(v), ...);
    finish(v, p, j, part, rest);
  }
  template <int... Piece>
  static EBB_PART void two_steps(std::integer_sequence<int, Piece...>, const pointers& p, const reciprocals& r, std::size_t j, auto&& first,
                                 auto&& second) {
    locals v, w;
    load(v, p, j, detail::whole_step{});
    take(v, r);
    (compute_piece<Piece, has_reciprocals>(v), ...);
    load(w, p, j + lane_count, detail::whole_step{});
    take(w, r);
    (compute_piece<Piece, has_reciprocals>(w), ...);
    finish(v, p, j, detail::whole_step{}, first);
    finish(w, p, j + lane_count, detail::whole_step{}, second);
  }

  /// One step of lanes: the elements from j on that `part` selects. `rest(I)` is the accumulator of reduction I.
  static EBB_PART void step(const pointers& p, const reciprocals& r, std::size_t j, auto part, auto&& rest) {
    step(pieces{}, p, r, j, part, rest);
  }
  /// Two steps at once: the second one's loads need not wait for the first one's stores.
  static EBB_PART void two_steps(const pointers& p, const reciprocals& r, std::size_t j, auto&& first, auto&& second) {
    two_steps(pieces{}, p, r, j, first, second);
  }
};

}  // namespace ebb::inline EBB_ABI
