// ebb/kernel/nest.hpp — one loop nest of a plan as straight-line SIMD code; see [note: one nest for each group] for what it does.
// SPDX-License-Identifier: BSL-1.0
//
// [note: kernels have short names]
// A kernel is instantiated on a nominal type P, which names the program, and a number. P::plan holds the nests as constants, P::shape_at(i)
// the shapes. Each equation names its op's function as a template argument, so that the call is direct for the front end and can be
// inlined; there is no function for each equation. Whole steps of lanes and tails run the same code: a tail is copied to padded
// scratch first, since a second copy of the body would double compile time.
#pragma once

#include "../base/repeat.hpp"
#include "../tensor/nest.hpp"
#include "../tensor/reduction_tree.hpp"
#include "run_state.hpp"
#include "slots.hpp"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// What a kernel is told at a call.
struct nest_call {
  void* const* buffer = nullptr;
  const std::size_t* symbol = nullptr;  // the values of the symbols
  const char* name = "ebb";             // of the call, for errors
};

template <class P, int Number>
class nest_kernel {
  static constexpr nest n = P::plan.nests[Number];
  static constexpr int inner = n.loops - 1;
  static constexpr bool has_run = n.run_from < n.loops || (n.reduces.count > 0 && [] {
    for (int i = 0; i < n.reduces.count; ++i)
      if (P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].run) return true;
    return false;
  }());
  static constexpr std::uint32_t all_lanes = lane_count >= 32 ? ~0u : (1u << lane_count) - 1u;

  /// Whether a row can hold a whole step. Where it cannot, none is compiled: g++ would warn of reading beyond the end of a short array.
  static constexpr bool whole_steps = [] {
    int row = 1;
    for (int a = n.axis[inner]; a < n.axis[inner + 1]; ++a) {
      const int e = P::shape_at(n.shape).e[a];
      if (e < 0) return true;
      row *= e;
    }
    return row >= lane_count;
  }();

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

  using locals = detail::locals_of<n>;
  using loads = std::make_integer_sequence<int, n.loads.count>;
  using reduces = std::make_integer_sequence<int, n.reduces.count>;
  using stores = std::make_integer_sequence<int, n.stores.count>;

  /// Where the current row of each array begins, and how far the outer loops are.
  struct pointers {
    const char* in[n.loads.count + 1];
    char* out[n.stores.count + 1];
    char* red[n.reduces.count + 1];
    std::size_t index[n.loops];
  };
  using extents = std::array<std::size_t, static_cast<std::size_t>(n.loops)>;

  /// The accumulators of all reductions along the last loops, and how far they are.
  template <class>
  struct run_states;
  template <int... I>
  struct run_states<std::integer_sequence<int, I...>> {
    std::tuple<run_state<std::conditional_t<reduce_at<I>.run, reduced<I>, bool>>...> of;
    std::size_t index = 0, leaves = 0;
  };
  using states = run_states<reduces>;

  template <auto Function>
  static constexpr auto combiner = []<class V>(V a, V b) EBB_LAMBDA {
    V r;
    Function(&a, &b, nullptr, &r);
    return r;
  };

  static constexpr int along_of_reduce(const nest_reduce& r) {
    const int all = (1 << n.loops) - 1;
    const int combined = ((1 << r.last) - 1) & ~((1 << r.first) - 1);
    return all & ~combined;
  }

  // One equation of a step.
  template <int I>
  static EBB_INLINE void load_one(locals& v, const pointers& p, std::size_t j, auto part) {
    constexpr nest_load e = load_at<I>;
    using T = loaded<I>;
    lanes<T>& to = v.template at<e.to>();
    if constexpr (e.source == nest_load::from::literal) to = lanes<T>::all(from_cell<T>(e.bits));
    else if constexpr (e.source == nest_load::from::index) {
      if constexpr (e.along >> inner & 1) {
        const auto first = lanes<std::int64_t>::all(static_cast<std::int64_t>(p.index[inner] + j));
        to = convert<T>(first + lane_index<std::int64_t>());
      } else {
        constexpr int loop = std::countr_zero(static_cast<unsigned>(e.along));
        to = convert<T>(lanes<std::int64_t>::all(static_cast<std::int64_t>(p.index[loop])));
      }
    } else {
      const T* from = reinterpret_cast<const T*>(p.in[I]);
      if constexpr (e.along >> inner & 1) to = part.load(from + j);
      else to = lanes<T>::all(*from);
    }
  }
  template <auto Function, slot A, slot B, slot C, slot To>
  static EBB_INLINE void compute_one(locals& v) {
    const auto given = [&]<slot S>() EBB_LAMBDA -> const void* {
      if constexpr (S.number >= 0) return &v.template at<S>();
      else return nullptr;
    };
    Function(given.template operator()<A>(), given.template operator()<B>(), given.template operator()<C>(), &v.template at<To>());
  }
  template <int First>
  static EBB_INLINE void compute_from(locals& v) {  // in chunks: folds of more than 250 stop clang
    constexpr int count = n.computes.count - First < 100 ? n.computes.count - First : 100;
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      (compute_one<compute_at<First + I>.vector, compute_at<First + I>.in[0], compute_at<First + I>.in[1], compute_at<First + I>.in[2],
                   compute_at<First + I>.to>(v),
       ...);
    }(std::make_integer_sequence<int, count>{});
    if constexpr (First + count < n.computes.count) compute_from<First + count>(v);
  }
  template <int I>
  static EBB_INLINE void reduce_one(locals& v, const pointers& p, std::size_t j, lanes<reduced<I>>* rest, std::uint32_t valid, auto part) {
    constexpr nest_reduce e = reduce_at<I>;
    using T = reduced<I>;
    lanes<T> x = v.template at<e.in>();
    if constexpr (e.run) {
      if (valid != all_lanes) [[unlikely]] x = lane::select(lanes<bool>::from_bits(valid), x, lanes<T>::all(from_cell<T>(e.identity)));
      e.combine(rest, &x, nullptr, rest);
    } else {
      T* to = reinterpret_cast<T*>(p.red[I]) + j;
      lanes<T> sum = part.load(to);
      e.combine(&sum, &x, nullptr, &sum);
      part.store(sum, to);
    }
  }
  template <int I>
  static EBB_INLINE void store_one(locals& v, const pointers& p, std::size_t j, auto part) {
    part.store(v.template at<store_at<I>.from>(), reinterpret_cast<stored<I>*>(p.out[I]) + j);
  }

  /// One step of lanes, in two parts. `rest(I)` gives the accumulator of reduction I.
  static EBB_INLINE void compute(locals& v, const pointers& p, std::size_t j, auto part) {
    [&]<int... L>(std::integer_sequence<int, L...>) EBB_LAMBDA { (load_one<L>(v, p, j, part), ...); }(loads{});
    compute_from<0>(v);
  }
  static EBB_INLINE void finish(locals& v, const pointers& p, std::size_t j, std::uint32_t valid, auto part, auto&& rest) {
    [&]<int... R, int... S>(std::integer_sequence<int, R...>, std::integer_sequence<int, S...>) EBB_LAMBDA {
      (reduce_one<R>(v, p, j, rest.template operator()<R>(), valid, part), ...);
      (store_one<S>(v, p, j, part), ...);
    }(reduces{}, stores{});
  }
  static EBB_INLINE void step(const pointers& p, std::size_t j, std::uint32_t valid, auto part, auto&& rest) {
    locals v;
    compute(v, p, j, part);
    finish(v, p, j, valid, part, rest);
  }
  /// Two steps at once: the second one's loads need not wait for the first one's stores.
  static EBB_INLINE void two_steps(const pointers& p, std::size_t j, auto&& first, auto&& second) {
    locals v, w;
    compute(v, p, j, detail::whole_step{});
    compute(w, p, j + lane_count, detail::whole_step{});
    finish(v, p, j, all_lanes, detail::whole_step{}, first);
    finish(w, p, j + lane_count, all_lanes, detail::whole_step{}, second);
  }

  /// Whole steps; the accumulators stay in memory.
  EBB_FLATTEN static void sweep(states& s, const pointers& given, std::size_t j, std::size_t steps, std::size_t u, std::uint32_t valid) {
    const pointers p = given;  // a copy: SIMD stores may alias anything, and pointers behind a reference would be loaded again each time
    for (; steps > 0; --steps, j += lane_count) {
      step(p, j, valid, detail::whole_step{}, [&]<int R>() EBB_LAMBDA { return accumulator<R>(s, u); });
      u = (u + 1) % accumulators;
    }
  }
  template <int R>
  static EBB_INLINE lanes<reduced<R>>* accumulator(states& s, [[maybe_unused]] std::size_t u) {
    if constexpr (reduce_at<R>.run) return &std::get<R>(s.of).rest[u];
    else return nullptr;
  }
  /// The last lanes of a row by masked loads and stores: a second copy of the body, so for small nests only.
  EBB_FLATTEN static void tail(states& s, const pointers& p, std::size_t j, int count, std::size_t u) {
    step(p, j, (1u << count) - 1u, detail::first_lanes{count}, [&]<int R>() EBB_LAMBDA { return accumulator<R>(s, u); });
  }
  /// Whole turns of all accumulators, which stay in registers: for nests in which an addition's latency would show.
  EBB_FLATTEN static void turns(states& s, const pointers& given, std::size_t j, std::size_t count) {
    const pointers p = given;
    [&]<int... R>(std::integer_sequence<int, R...>) EBB_LAMBDA {
      std::tuple<std::array<lanes<reduced<R>>, accumulators>...> rest;
      each_run(s, [&]<int I>(auto& state) EBB_LAMBDA {
        for (std::size_t u = 0; u < accumulators; ++u) std::get<I>(rest)[u] = state.rest[u];
      });
      for (; count > 0; --count, j += logical_lanes)
        [&]<std::size_t... U>(std::index_sequence<U...>) EBB_LAMBDA {
          (two_steps(p, j + 2 * U * lane_count, [&]<int I>() EBB_LAMBDA { return &std::get<I>(rest)[2 * U]; },
                     [&]<int I>() EBB_LAMBDA { return &std::get<I>(rest)[2 * U + 1]; }), ...);
        }(std::make_index_sequence<accumulators / 2>{});
      each_run(s, [&]<int I>(auto& state) EBB_LAMBDA {
        for (std::size_t u = 0; u < accumulators; ++u) state.rest[u] = std::get<I>(rest)[u];
      });
    }(reduces{});
  }

  /// x from lane number `lane` on; the lanes before it, which nobody uses, have values too.
  template <class T>
  static EBB_INLINE void place(const lanes<T>& x, char* scratch, int lane) {
    x.store(reinterpret_cast<T*>(scratch));
    x.store(reinterpret_cast<T*>(scratch) + lane);
  }
  template <class T>
  static EBB_INLINE lanes<T> take(const char* scratch, int lane) {
    return lanes<T>::load(reinterpret_cast<const T*>(scratch) + lane);
  }
  /// `count` elements from j on, fewer than a step, in the lanes from `lane` on: through padded scratch.
  static void partial(states& s, const pointers& p, std::size_t j, int lane, int count, std::size_t u) {
    constexpr std::size_t room = 2 * lane_count * 8;
    [[maybe_unused]] alignas(64) char in[n.loads.count + 1][room], out[n.stores.count + 1][room], red[n.reduces.count + 1][room];
    pointers q = p;
    q.index[inner] += j - static_cast<std::size_t>(lane);
    repeat<n.loads.count>([&]<int I>() {
      if constexpr (load_at<I>.source == nest_load::from::array && (load_at<I>.along >> inner & 1)) {
        place(lanes<loaded<I>>::load(reinterpret_cast<const loaded<I>*>(p.in[I]) + j, count), in[I], lane);
        q.in[I] = in[I];
      }
    });
    repeat<n.reduces.count>([&]<int R>() {
      if constexpr (!reduce_at<R>.run) {
        place(lanes<reduced<R>>::load(reinterpret_cast<const reduced<R>*>(p.red[R]) + j, count), red[R], lane);
        q.red[R] = red[R];
      }
    });
    repeat<n.stores.count>([&]<int S>() { q.out[S] = out[S]; });
    sweep(s, q, 0, 1, u, ((1u << count) - 1u) << lane);
    repeat<n.reduces.count>([&]<int R>() {
      if constexpr (!reduce_at<R>.run) take<reduced<R>>(red[R], lane).store(reinterpret_cast<reduced<R>*>(p.red[R]) + j, count);
    });
    repeat<n.stores.count>([&]<int S>() {
      take<stored<S>>(out[S], lane).store(reinterpret_cast<stored<S>*>(p.out[S]) + j, count);
    });
  }

  /// Elements [j, j + count) of a row; the first of them belongs to logical lane `phase`.
  static void segment(states& s, const pointers& p, std::size_t j, std::size_t count, std::size_t phase) {
    const int lane = static_cast<int>(phase % lane_count);
    std::size_t u = phase / lane_count;
    if (lane != 0) {
      const std::size_t c = count < static_cast<std::size_t>(lane_count - lane) ? count : static_cast<std::size_t>(lane_count - lane);
      partial(s, p, j, lane, static_cast<int>(c), u);
      if (c == count) return;
      j += c;
      count -= c;
      u = (u + 1) % accumulators;
    }
    std::size_t steps = count / lane_count;
    if constexpr (whole_steps && n.small && has_run) {
      if (u != 0) {
        const std::size_t first = accumulators - u < steps ? accumulators - u : steps;
        sweep(s, p, j, first, u, all_lanes);
        j += first * lane_count;
        steps -= first;
        u = (u + first) % accumulators;
      }
      if (const std::size_t whole = steps / accumulators) {
        turns(s, p, j, whole);
        j += whole * logical_lanes;
        steps %= accumulators;
      }
    }
    if constexpr (whole_steps)
      if (steps > 0) sweep(s, p, j, steps, u, all_lanes);
    j += steps * lane_count;
    u = (u + steps) % accumulators;
    if (const int rest = static_cast<int>(count % lane_count)) {
      if constexpr (n.small) tail(s, p, j, rest, u);
      else partial(s, p, j, 0, rest, u);
    }
  }

  // Reductions along the last loops.
  static void each_run(states& s, auto&& f) {
    repeat<n.reduces.count>([&]<int R>() {
      if constexpr (reduce_at<R>.run) f.template operator()<R>(std::get<R>(s.of));
    });
  }
  template <int R>
  static constexpr auto identity = from_cell<reduced<R>>(reduce_at<R>.identity);

  static void begin_run(states& s) {
    s.index = s.leaves = 0;
    each_run(s, []<int R>(auto& state) { state.begin(identity<R>); });
  }
  static void end_leaf(states& s) {
    each_run(s, [&]<int R>(auto& state) { state.end_leaf(s.leaves, identity<R>, combiner<reduce_at<R>.combine>); });
    ++s.leaves;
  }
  static void end_run(states& s, const pointers& p) {
    each_run(s, [&]<int R>(auto& state) {
      *reinterpret_cast<reduced<R>*>(p.red[R]) = state.total(s.leaves, combiner<reduce_at<R>.combine>);
    });
  }

  static void row(states& s, const pointers& p, std::size_t count) {
    if constexpr (!has_run) segment(s, p, 0, count, 0);
    else
      for (std::size_t j = 0; j < count;) {
        const std::size_t room = leaf_length - s.index % leaf_length, c = count - j < room ? count - j : room;
        segment(s, p, j, c, s.index % logical_lanes);
        j += c;
        s.index += c;
        if (c == room) end_leaf(s);
      }
  }

  /// Bytes between two indices of loop l, for an array of elements of `size` bytes.
  static constexpr std::size_t stride(const extents& e, std::size_t size, int along, int l) {
    if (!(along >> l & 1)) return 0;
    for (int k = l + 1; k < n.loops; ++k)
      if (along >> k & 1) size *= e[static_cast<std::size_t>(k)];
    return size;
  }
  template <int L>
  static void advance(pointers& p, const extents& e) {
    repeat<n.loads.count>([&]<int I>() {
      if constexpr (load_at<I>.source == nest_load::from::array) p.in[I] += stride(e, sizeof(loaded<I>), load_at<I>.along, L);
    });
    repeat<n.reduces.count>([&]<int R>() { p.red[R] += stride(e, sizeof(reduced<R>), along_of_reduce(reduce_at<R>), L); });
    repeat<n.stores.count>([&]<int S>() { p.out[S] += stride(e, sizeof(stored<S>), (1 << n.loops) - 1, L); });
    ++p.index[L];
  }
  /// Fills the rows that the reductions beginning at loop L add to.
  template <int L>
  static void begin_rows(const pointers& p, const extents& e) {
    repeat<n.reduces.count>([&]<int R>() {
      if constexpr (!reduce_at<R>.run && reduce_at<R>.first == L) {
        std::size_t count = 1;
        for (int k = reduce_at<R>.last; k < n.loops; ++k) count *= e[static_cast<std::size_t>(k)];
        reduced<R>* to = reinterpret_cast<reduced<R>*>(p.red[R]);
        for (std::size_t i = 0; i < count; ++i) to[i] = identity<R>;
      }
    });
  }
  template <int L>
  static void walk(states& s, const pointers& given, const extents& e) {
    begin_rows<L>(given, e);
    if constexpr (has_run && L == n.run_from) begin_run(s);
    if constexpr (L == inner) row(s, given, e[L]);
    else {
      pointers p = given;
      for (std::size_t i = 0; i < e[L]; ++i) {
        walk<L + 1>(s, p, e);
        advance<L>(p, e);
      }
    }
    if constexpr (has_run && L == n.run_from) end_run(s, given);
  }

 public:
  static void run(const nest_call& c) {
    extents e;
    for (int l = 0; l < n.loops; ++l) {
      e[static_cast<std::size_t>(l)] = 1;
      for (int a = n.axis[l]; a < n.axis[l + 1]; ++a) e[static_cast<std::size_t>(l)] *= extent_value(P::shape_at(n.shape).e[a], c.symbol);
    }
    pointers p{};
    repeat<n.loads.count>([&]<int I>() {
      if constexpr (load_at<I>.source == nest_load::from::array) p.in[I] = static_cast<const char*>(c.buffer[load_at<I>.buffer]);
    });
    repeat<n.reduces.count>([&]<int R>() { p.red[R] = static_cast<char*>(c.buffer[reduce_at<R>.buffer]); });
    repeat<n.stores.count>([&]<int S>() { p.out[S] = static_cast<char*>(c.buffer[store_at<S>.buffer]); });
    for (std::size_t& i : p.index) i = 0;
    states s;
    walk<0>(s, p, e);
  }
};

}  // namespace ebb::inline EBB_ABI
