// ebb/kernel/nest_step.hpp — one step of lanes of a loop nest: its loads, computations, reductions and stores.
// SPDX-License-Identifier: BSL-1.0
//
// [note: kernels have short names]
// A kernel is instantiated on a nominal type P, which names the program, and a number. P::plan holds the nests as constants, P::shape_at(i)
// the shapes. Each equation names its op's function as a template argument: the front end sees a direct call, which can be inlined. There
// is no function for each equation: that would be a third of the compile time of a large program. Whole steps of lanes and tails run the
// same code and differ in how they load and store, see part.hpp: a second copy of the body would double compile time.
#pragma once

#include "../base/record.hpp"
#include "../base/repeat.hpp"
#include "../num/quotient.hpp"
#include "nest_loads.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Calls the function of an op on values that lie a, b, c bytes after v.
template <auto Function>
EBB_PART void apply(char* v, std::size_t a, std::size_t b, std::size_t c, std::size_t to) {
  Function(v + a, v + b, v + c, v + to);
}

}  // namespace detail

template <class P, int Number>
struct nest_step : nest_loads<P, Number> {
  using places = nest_places<P, Number>;
  using loads = nest_loads<P, Number>;
  static constexpr nest n = places::n;
  static constexpr int inner = places::inner;

  template <int I>
  static constexpr nest_load load_at = places::template load_at<I>;
  template <int I>
  static constexpr nest_reduce reduce_at = places::template reduce_at<I>;
  template <int I>
  static constexpr nest_store store_at = places::template store_at<I>;
  template <int I>
  using loaded = typename places::template loaded<I>;
  template <int I>
  using reduced = typename places::template reduced<I>;
  template <int I>
  using stored = typename places::template stored<I>;
  template <int R>
  static constexpr auto identity = places::template identity<R>;
  using locals = typename places::locals;
  using pointers = typename places::pointers;

  // [note: one number in each row]
  // A number that a row repeats is loaded once, before its loop: a compiler cannot do that by itself, since a store may change it.
  // Conversions of the number leave the loop, too. If there are many, they would have no registers, and are loaded where they are used.
  // With 16 registers, so are real numbers, which need no conversion.
  static constexpr int most_kept = 4;
  static constexpr bool may_keep(const nest_load& e) {
    const bool is_real = e.to.type == dtype::f32 || e.to.type == dtype::f64, varies = e.along >> inner & 1 || loads::flat::spreads(e);
    return e.source == nest_load::from::array && !varies && !(is_real && target_has::registers < 32);
  }
  static constexpr bool keeps_repeated = [] {
    int count = 0;
    for (int i = 0; i < n.loads.count; ++i) count += may_keep(P::plan.loads[static_cast<std::size_t>(n.loads.first + i)]);
    return n.stores.count > 0 && count > 0 && count <= most_kept;
  }();
  template <int I>
  static constexpr bool is_kept = keeps_repeated && may_keep(load_at<I>);

  /// The reciprocals of divisors that are one number in each row, of short rows NaN: then quotients divide. `kept`: numbers that a row
  /// repeats.
  static constexpr std::size_t least_row = 4 * lane_count;
  template <class>
  struct row_numbers_of;
  template <int... I>
  struct row_numbers_of<std::integer_sequence<int, I...>> {
    record<std::conditional_t<(load_at<I>.reciprocal.number >= 0), lane::negative_reciprocal<lanes<loaded<I>>>, bool>...> of;
    record<std::conditional_t<is_kept<I>, loaded<I>, bool>...> kept;
  };
  static constexpr bool has_reciprocals = [] {
    for (int i = 0; i < n.loads.count; ++i)
      if (P::plan.loads[static_cast<std::size_t>(n.loads.first + i)].reciprocal.number >= 0) return true;
    return false;
  }();
  struct no_numbers {};
  static constexpr bool has_row_numbers = keeps_repeated || has_reciprocals;
  using row_numbers = std::conditional_t<has_row_numbers, row_numbers_of<std::make_integer_sequence<int, n.loads.count>>, no_numbers>;
  /// Finds the numbers of a row of `count` elements, if there are such numbers.
  static EBB_PART void find_numbers(row_numbers& r, const pointers& p, std::size_t count) {
    find_kept(r, p);
    find_reciprocals(r, p, count);
  }
  static EBB_PART void find_kept([[maybe_unused]] row_numbers& r, [[maybe_unused]] const pointers& p) {
    if constexpr (keeps_repeated) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (is_kept<I>) member<I>(r.kept) = *reinterpret_cast<const loaded<I>*>(p.in[I]);
    });
  }
  static EBB_PART void find_reciprocals([[maybe_unused]] row_numbers& r, [[maybe_unused]] const pointers& p,
                                        [[maybe_unused]] std::size_t count) {
    if constexpr (has_reciprocals) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (constexpr nest_load e = load_at<I>; e.reciprocal.number >= 0) {
        using T = loaded<I>;
        const T y = e.source == nest_load::from::literal ? from_cell<T>(e.bits) : *reinterpret_cast<const T*>(p.in[I]);
        const auto x = lane::negative_reciprocal_of(count < least_row ? T(0) : y);
        member<I>(r.of) = {lanes<T>::all(x.high), lanes<T>::all(x.low)};
      }
    });
  }
  static EBB_PART void take(locals& v, const row_numbers& r) {
    if constexpr (keeps_repeated) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (is_kept<I>) v.template at<load_at<I>.to>() = lanes<loaded<I>>::all(member<I>(r.kept));
    });
    if constexpr (has_reciprocals) repeat<n.loads.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (constexpr slot high = load_at<I>.reciprocal; high.number >= 0) {
        constexpr slot low{high.type, high.number + 1};
        v.template at<high>() = member<I>(r.of).high;
        v.template at<low>() = member<I>(r.of).low;
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
  // [note: computed in pieces]
  // clang stops at folds of more than 250 items. g++ optimizes each function before it inlines it: there, referenced values are
  // memory, and the time to analyse memory grows with the square of its size. So pieces are short, and the function that joins them owns
  // the values.
  static constexpr int piece_length = 64;
  using pieces = std::make_integer_sequence<int, (n.computes.count + piece_length - 1) / piece_length>;
  template <int Piece>
  using piece = std::make_integer_sequence<int, std::min(n.computes.count - Piece * piece_length, piece_length)>;
  template <int Piece, bool Reciprocals = false, int... I>
  static EBB_PART void compute_piece(locals& values, std::integer_sequence<int, I...>) {
    constexpr const auto& c = code<Reciprocals>;
    constexpr int first = Piece * piece_length;
    char* const v = reinterpret_cast<char*>(&values);
    (detail::apply<c.at[first + I].function>(v, c.at[first + I].in[0], c.at[first + I].in[1], c.at[first + I].in[2],
                                             c.at[first + I].to), ...);
  }
  // [note: extrema without NaN]
  // A maximum that passes on NaNs takes three instructions: the larger one, a comparison, a choice. Without a NaN among the elements the
  // larger one alone has the same bits. So two steps of lanes are asked for NaNs at once, and only those with one take all three.
  static constexpr bool has_ordered = [] {
    for (int i = 0; i < n.reduces.count; ++i)
      if (P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].ordered) return true;
    return false;
  }();
  static constexpr bool has_wide_ordered = [] {  // two steps of doubles are four registers, too many beside their accumulators
    for (int i = 0; i < n.reduces.count; ++i) {
      const nest_reduce& e = P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)];
      if (e.ordered && size_of(e.type) > 4) return true;
    }
    return false;
  }();
  template <int Steps>
  static EBB_PART bool any_nan(locals& v, locals& w) {
    bool r = false;
    repeat<n.reduces.count>([&]<int I>() EBB_PART_LAMBDA {
      if constexpr (constexpr nest_reduce e = reduce_at<I>; e.ordered != nullptr) {
        const lanes<reduced<I>> x[] = {v.template at<e.in>(), w.template at<e.in>()};
        r |= any_nan_in<Steps>(x);
      }
    });
    return r;
  }
  /// Whether any of the first Count is NaN.
  template <int Count, class T>
  static EBB_PART bool any_nan_in(const lanes<T>* x) {
    constexpr int parts = lanes<T>::parts, registers = parts * Count;
    const auto pair = [&]<int K>(std::integral_constant<int, K>) EBB_PART_LAMBDA {
      constexpr int i = 2 * K, j = i + 1 < registers ? i + 1 : i;
      return simd::unordered(x[i / parts].part[i % parts], x[j / parts].part[j % parts]);
    };
    using M = decltype(pair(std::integral_constant<int, 0>()));
    M m = pair(std::integral_constant<int, 0>());
    repeat<(registers + 1) / 2 - 1>([&]<int K>() EBB_PART_LAMBDA {
      m = static_cast<M>(m | pair(std::integral_constant<int, K + 1>()));
    });
    return simd::any_lane(m);
  }

  /// Ordered: no element that is combined by nest_reduce::ordered is NaN.
  template <int I, bool Ordered = false>
  static EBB_PART void reduce_one(locals& v, const pointers& p, std::size_t j, lanes<reduced<I>>* rest, auto part) {
    constexpr nest_reduce e = reduce_at<I>;
    using T = reduced<I>;
    lanes<T> x = v.template at<e.in>();
    if (e.run || rest != nullptr) {
      if (e.run && !part.whole()) x = lane::select(part.valid(), x, lanes<T>::all(identity<I>));
      if constexpr (Ordered && e.ordered != nullptr) e.ordered(rest, &x, nullptr, rest);
      else e.combine(rest, &x, nullptr, rest);
    } else {
      T* to = reinterpret_cast<T*>(p.red[I]) + j;
      lanes<T> sum = part.load(to);
      e.combine(&sum, &x, nullptr, &sum);
      part.store(sum, to);
    }
  }
  template <int I>
  static EBB_PART void store_one(locals& v, const pointers& p, std::size_t j, auto part) {
    constexpr nest_store e = store_at<I>;
    using T = stored<I>;
    T* const to = reinterpret_cast<T*>(p.out[I]);
    if constexpr (e.joined.count == 0) part.store(v.template at<e.from>(), to + j);
    else {
      lanes<T> x[e.joined.count];
      repeat<e.joined.count>([&]<int C>() EBB_PART_LAMBDA { x[C] = v.template at<places::template joined_slot<I, C>>(); });
      part.store_joined(x, to + j * e.joined.count);
    }
  }

  /// The loads of a step in a row, whose kept numbers `take` gives. Others call load_one for all loads.
  static constexpr bool loads_each = !keeps_repeated && P::plan.size.columns == 0;
  template <int I>
  static EBB_PART void load_in_row(locals& v, const pointers& p, std::size_t j, auto part) {
    constexpr int leader = places::template columns_at<I>.leader();
    if constexpr (leader < 0 && !is_kept<I>) loads::template load_one<I>(v, p, j, part);
    else if constexpr (leader == I) load_columns<I>(v, p, j, part);
  }
  /// The columns that lie beside that of load I: see [note: columns side by side].
  template <int I>
  static EBB_PART void load_columns(locals& v, const pointers& p, std::size_t j, auto part) {
    using T = loaded<I>;
    constexpr int step = places::template columns_at<I>.step;
    if constexpr (full_width<T>)
      if (part.whole()) [[likely]] {
        const T* const from = reinterpret_cast<const T*>(p.in[places::template columns_at<I>.load[0]]) + step * j;
        repeat<lanes<T>::parts>([&]<int Part>() EBB_PART_LAMBDA {
          simd::vector<T> x[step];
          repeat<step>([&]<int C>() EBB_PART_LAMBDA { x[C] = simd::load(from + (Part * step + C) * simd::count_of<T>); });
          repeat<step>([&]<int C>() EBB_PART_LAMBDA {
            if constexpr (constexpr int k = places::template columns_at<I>.load[C]; k >= 0)
              v.template at<load_at<k>.to>().part[Part] = simd::chosen<step, C, 0, T>(x);
          });
        });
        return;
      }
    repeat<step>([&]<int C>() EBB_PART_LAMBDA {
      if constexpr (constexpr int k = places::template columns_at<I>.load[C]; k >= 0) loads::template load_one<k>(v, p, j, part);
    });
  }
  template <int First, int... I>
  static EBB_PART void load_from([[maybe_unused]] locals& v, const pointers& p, std::size_t j, auto part,
                                 std::integer_sequence<int, I...>) {
    if constexpr (loads_each) (loads::template load_one<First + I>(v, p, j, part), ...);
    else (load_in_row<First + I>(v, p, j, part), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < n.loads.count)
      load_from<next>(v, p, j, part, typename places::template loads_from<next>{});
  }
  template <int First, int... S>
  static EBB_PART void store_from(locals& v, const pointers& p, std::size_t j, auto part, std::integer_sequence<int, S...>) {
    (store_one<First + S>(v, p, j, part), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < n.stores.count)
      store_from<next>(v, p, j, part, typename places::template stores_from<next>{});
  }
  template <int First, bool Ordered, int... R>
  static EBB_PART void reduce_from(locals& v, const pointers& p, std::size_t j, auto part, auto&& rest, std::integer_sequence<int, R...>) {
    (reduce_one<First + R, Ordered>(v, p, j, rest.template operator()<First + R>(), part), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < n.reduces.count)
      reduce_from<next, Ordered>(v, p, j, part, rest, typename places::template reduces_from<next>{});
  }
  using all_loads = typename places::template loads_from<0>;
  using all_stores = typename places::template stores_from<0>;
  using all_reduces = typename places::template reduces_from<0>;
  static EBB_PART void reduce_asking(locals& v, const pointers& p, std::size_t j, auto&& rest) {
    if (any_nan<1>(v, v)) [[unlikely]] reduce_from<0, false>(v, p, j, detail::whole_step{}, rest, all_reduces{});
    else reduce_from<0, true>(v, p, j, detail::whole_step{}, rest, all_reduces{});
  }
  /// One step of lanes: the elements from j on that `part` selects. `rest(I)` is the accumulator of reduction I. The last argument is
  /// pieces{}.
  template <int... Piece>
  static EBB_PART void step(const pointers& p, [[maybe_unused]] const row_numbers& r, std::size_t j, auto part,
                            [[maybe_unused]] auto&& rest, std::integer_sequence<int, Piece...>) {
    locals v;
    load_from<0>(v, p, j, part, all_loads{});
    if constexpr (has_row_numbers) take(v, r);
    (compute_piece<Piece, has_reciprocals>(v, piece<Piece>{}), ...);
    if constexpr (n.stores.count > 0) store_from<0>(v, p, j, part, all_stores{});
    if constexpr (n.reduces.count > 0) reduce_from<0, false>(v, p, j, part, rest, all_reduces{});
  }
  /// Two steps at once: the second one's loads need not wait for the first one's stores.
  template <int... Piece>
  static EBB_PART void two_steps(const pointers& p, [[maybe_unused]] const row_numbers& r, std::size_t j, auto&& first, auto&& second,
                                 std::integer_sequence<int, Piece...>) {
    locals v, w;
    constexpr detail::whole_step whole;
    load_from<0>(v, p, j, whole, all_loads{});
    if constexpr (has_row_numbers) take(v, r);
    (compute_piece<Piece, has_reciprocals>(v, piece<Piece>{}), ...);
    load_from<0>(w, p, j + lane_count, whole, all_loads{});
    if constexpr (has_row_numbers) take(w, r);
    (compute_piece<Piece, has_reciprocals>(w, piece<Piece>{}), ...);
    if constexpr (n.stores.count > 0) {
      store_from<0>(v, p, j, whole, all_stores{});
      store_from<0>(w, p, j + lane_count, whole, all_stores{});
    }
    if constexpr (has_wide_ordered) {
      reduce_asking(v, p, j, first);
      reduce_asking(w, p, j + lane_count, second);
    } else {
      if constexpr (has_ordered)
        if (!any_nan<2>(v, w)) [[likely]] {
          reduce_from<0, true>(v, p, j, whole, first, all_reduces{});
          return reduce_from<0, true>(w, p, j + lane_count, whole, second, all_reduces{});
        }
      reduce_from<0, false>(v, p, j, whole, first, all_reduces{});
      reduce_from<0, false>(w, p, j + lane_count, whole, second, all_reduces{});
    }
  }
};

}  // namespace ebb::inline EBB_ABI
