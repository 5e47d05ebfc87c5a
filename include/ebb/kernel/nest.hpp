// ebb/kernel/nest.hpp — one loop nest of a plan as straight-line SIMD code; see [note: one nest for each group].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/reduction_tree.hpp"
#include "nest_step.hpp"
#include "part.hpp"
#include "row_sums.hpp"
#include "run_state.hpp"
#include "scalar_nest.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

namespace detail {

/// For nests without a reduction along the last loops.
struct no_accumulator {
  template <int>
  constexpr std::nullptr_t operator()() const {
    return nullptr;
  }
};

}  // namespace detail

template <class P, int Number>
class nest_kernel {
  using code = nest_step<P, Number>;
  using pointers = typename code::pointers;
  using extents = typename code::extents;
  using loops = typename code::loops;
  using row_numbers = typename code::row_numbers;
  using sums = row_sums<P, Number>;
  using flat = typename code::flat;
  static constexpr nest n = code::n;
  static constexpr int inner = code::inner, lane_loop = flat::lane_loop;  // lane_loop: the one that lanes run along

  template <int R>
  static constexpr nest_reduce reduce_at = code::template reduce_at<R>;
  template <int R>
  using reduced = typename code::template reduced<R>;
  template <int R>
  static constexpr auto identity = code::template identity<R>;

  /// The reductions along the last loops; the others add to rows.
  static constexpr auto runs = [] {
    number_list<n.reduces.count> r;
    for (int i = 0; i < n.reduces.count; ++i)
      if (P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].run) r.push(i);
    return r;
  }();
  static constexpr bool has_run = runs.count > 0, has_rows = runs.count < n.reduces.count;
  /// A run of several rows: its second row may begin in any lane.
  static constexpr bool joins_rows = has_run && n.run_from < lane_loop;

  // Whether a row can hold a whole step, and a rest. If it cannot hold a whole step, none may be compiled: g++ would warn of reads beyond
  // the end of a short array.
  static constexpr std::ptrdiff_t known_row = flat::known_row;
  static constexpr bool whole_steps = known_row < 0 || known_row >= lane_count;
  static constexpr bool tails = known_row <= 0 || known_row % lane_count != 0;
  static constexpr bool has_interior = code::has_interior && !joins_rows && whole_steps;
  /// Whether a row that can hold all logical lanes takes them in one turn.
  static constexpr bool takes_turns = n.small && has_run && (known_row < 0 || known_row >= logical_lanes);

  // The accumulators of all reductions along the last loops. Whole leaves are another object: a variable whose address is passed on keeps
  // all members of its object in memory.
  template <template <class> class, class>
  struct for_each_run;
  template <template <class> class State, int... R>
  struct for_each_run<State, std::integer_sequence<int, R...>> {
    record<State<std::conditional_t<reduce_at<R>.run, reduced<R>, bool>>...> of;
  };
  struct no_runs {};
  struct run_leaves : for_each_run<cascade, typename code::reduces> {
    std::size_t index = 0, count = 0;  // elements of the current leaf so far; whole leaves
  };
  using leaf = std::conditional_t<has_run, for_each_run<leaf_lanes, typename code::reduces>, no_runs>;
  using leaves = std::conditional_t<has_run, run_leaves, no_runs>;

  // One type for each nest: if only one nest calls a function, g++ knows which registers it does not change.
  template <auto Function>
  struct own_combiner : combiner<Function> {};
  /// f<R>(merge) for each reduction along the last loops.
  static EBB_PART void each_run(auto&& f) {
    if constexpr (runs.count == 1) f.template operator()<runs.number[0]>(own_combiner<reduce_at<runs.number[0]>.combine>{});
    else each_run_from<0>(f, numbers_of_fold<0, runs.count>{});
  }
  template <int First, int... I>
  static EBB_PART void each_run_from(auto&& f, std::integer_sequence<int, I...>) {
    (f.template operator()<runs.number[First + I]>(own_combiner<reduce_at<runs.number[First + I]>.combine>{}), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < runs.count)
      each_run_from<next>(f, numbers_of_fold<next, runs.count>{});
  }
  static EBB_PART void begin_leaf(leaf& x, leaves& whole) {
    whole.index = 0;
    each_run([&]<int R>(auto) EBB_PART_LAMBDA { member<R>(x.of).begin(identity<R>); });
  }
  static EBB_PART void begin_run(leaf& x, leaves& whole) {
    begin_leaf(x, whole);
    whole.count = 0;
  }
  static EBB_PART void end_leaf(const leaf& x, leaves& whole) {
    each_run([&]<int R>(auto merge) EBB_PART_LAMBDA { member<R>(whole.of).add(member<R>(x.of), whole.count, merge); });
    ++whole.count;
  }
  template <int R>
  static EBB_INLINE reduced<R> combined(const leaf_lanes<reduced<R>>& x, auto merge) {
    if constexpr (reduce_at<R>.ordered != nullptr) {
      if (!code::template any_nan_in<accumulators>(x.rest)) [[likely]] return combine(x.rest, own_combiner<reduce_at<R>.ordered>{});
    }
    return combine(x.rest, merge);
  }
  static EBB_PART void end_run(const leaf& x, const leaves& whole, const pointers& p) {
    each_run([&]<int R>(auto merge) EBB_PART_LAMBDA {
      const auto& last = member<R>(x.of);
      reduced<R>& to = *reinterpret_cast<reduced<R>*>(p.red[R]);
      if (whole.count > 0) [[unlikely]] {
        to = combined<R>(member<R>(whole.of).total(last, whole.count, merge), merge);
      } else to = combined<R>(last, merge);
    });
  }
  static EBB_PART void turn(leaf& x) {
    each_run([&]<int R>(auto) EBB_PART_LAMBDA { member<R>(x.of).turn(); });
  }

  /// One step whose elements begin at j; accumulator number u is next.
  static EBB_PART void step([[maybe_unused]] leaf& x, const pointers& p, const row_numbers& r, std::size_t j,
                            [[maybe_unused]] std::size_t u, auto part) {
    if constexpr (!has_run) code::step(p, r, j, part, detail::no_accumulator{}, typename code::pieces{});
    else {
      code::step(p, r, j, part, [&]<int R>() EBB_PART_LAMBDA -> lanes<reduced<R>>* {
        if constexpr (reduce_at<R>.run) return member<R>(x.of).next(u);
        else return nullptr;
      }, typename code::pieces{});
      turn(x);
    }
  }
  /// All accumulators in turn, for nests that would wait for the latency of an addition.
  static EBB_PART void turns(leaf& x, const pointers& p, const row_numbers& r, std::size_t& j, std::ptrdiff_t& left) {
    const auto accumulator = [&]<int R>(std::size_t u) EBB_PART_LAMBDA -> lanes<reduced<R>>* {
      if constexpr (reduce_at<R>.run) return &member<R>(x.of).rest[u];
      else return nullptr;
    };
    for (; left >= logical_lanes; left -= logical_lanes, j += logical_lanes)
      repeat<accumulators / 2>([&]<int U>() EBB_PART_LAMBDA {
        code::two_steps(p, r, j + 2 * U * lane_count, [&]<int R>() EBB_PART_LAMBDA { return accumulator.template operator()<R>(2 * U); },
                        [&]<int R>() EBB_PART_LAMBDA { return accumulator.template operator()<R>(2 * U + 1); }, typename code::pieces{});
      });
  }

  /// Elements [j, j + count) of a row. The first one belongs to logical lane `phase`: 0 unless a run joins rows.
  static EBB_PART void segment(leaf& x, const pointers& p, std::size_t j, std::size_t count, std::size_t phase) {
    row_numbers r;
    if constexpr (code::has_row_numbers) code::find_numbers(r, p, count);
    auto left = static_cast<std::ptrdiff_t>(count);
    // Steps index their accumulators, which keeps these in memory. A row of whole turns needs no steps: its accumulators stay in registers.
    if constexpr (takes_turns && !joins_rows) turns(x, p, r, j, left);
    if constexpr (!takes_turns || joins_rows || known_row < 0 || known_row % logical_lanes != 0)
      if (!(takes_turns && !joins_rows) || left > 0) steps(x, p, r, j, left, phase);
  }
  static EBB_PART void steps(leaf& given, const pointers& p, const row_numbers& r, std::size_t j, std::ptrdiff_t left, std::size_t phase) {
    leaf x = given;  // a copy stays in registers; a referenced object may not
    [[maybe_unused]] std::size_t lane = phase % lane_count, u = phase / lane_count;
    if constexpr (joins_rows)
      if (u != 0) turn(x);
    [[maybe_unused]] std::size_t place = 0;
    if constexpr (flat::is) place = flat::place_of(j);
    [[maybe_unused]] typename code::interval interior;
    std::ptrdiff_t stop = 0;  // so many elements are left where the steps without zeros begin
    if constexpr (has_interior) {
      interior = code::interior(p, static_cast<std::ptrdiff_t>(j) + left);
      const std::ptrdiff_t with_zeros = std::max<std::ptrdiff_t>(interior.first - static_cast<std::ptrdiff_t>(j), 0);
      const std::ptrdiff_t before = (with_zeros + lane_count - 1) / lane_count;
      if (static_cast<std::ptrdiff_t>(j) + (before + 1) * lane_count <= interior.last) stop = left - before * lane_count;
    }
    for (;;) {
      // The number of elements that are left may become negative: if a step took off only what it has, its minimum would be part of the
      // loop's chain, which costs two more cycles a step.
      while (left > stop) {
        if constexpr (takes_turns && joins_rows)
          if (u == 0 && lane == 0 && left >= logical_lanes) {
            turns(x, p, r, j, left);
            continue;
          }
        const std::ptrdiff_t room = lane_count - (joins_rows ? static_cast<std::ptrdiff_t>(lane) : 0);
        const int c = static_cast<int>(left < room ? left : room);
        if constexpr (known_row == 1 && !joins_rows) step(x, p, r, j, u, detail::one_lane{});
        else if constexpr (!tails) step(x, p, r, j, u, detail::whole_step{});
        else if constexpr (known_row > 0 && !whole_steps && !joins_rows) step(x, p, r, j, u, detail::known_lanes<known_row>{});
        else if constexpr (joins_rows) step(x, p, r, j, u, detail::middle_lanes{lane, c});
        else {
          const detail::first_lanes<whole_steps, n.loops == 1> first{c};
          if constexpr (flat::is) {
            step(x, p, r, j, u, detail::at_place<detail::first_lanes<whole_steps, n.loops == 1>>{first, place});
            place = flat::template place_after<lane_count>(place);
          } else step(x, p, r, j, u, first);
        }
        j += static_cast<std::size_t>(room);
        left -= room;
        lane = 0;
        u = (u + 1) % accumulators;
      }
      if constexpr (!has_interior) break;
      else {
        if (stop == 0) break;
        do {
          step(x, p, r, j, u, detail::step_without_zeros{});
          j += lane_count;
          left -= lane_count;
          u = (u + 1) % accumulators;
        } while (static_cast<std::ptrdiff_t>(j) + lane_count <= interior.last);
        stop = 0;
      }
    }
    if constexpr (has_run)
      if (u != 0) turn(x);
    given = x;
  }

  /// A row of a nest with runs: one of another nest is a segment.
  static EBB_PART void row(leaf& x, leaves& whole, const pointers& p, std::size_t count) {
    for (std::size_t j = 0;;) {
      const std::size_t room = leaf_length - (joins_rows || n.banded ? whole.index : 0), c = count - j < room ? count - j : room;
      segment(x, p, j, c, joins_rows ? whole.index % logical_lanes : 0);
      j += c;
      whole.index += c;
      if (c < room) break;
      end_leaf(x, whole);
      begin_leaf(x, whole);
    }
  }

  static EBB_PART void run_row(leaf& x, leaves& whole, const pointers& p, std::size_t count) {
    if constexpr (has_run) row(x, whole, p, count);
    else segment(x, p, 0, count, 0);
  }

  /// Fills the rows that the reductions beginning at loop L add to.
  template <int L>
  static EBB_PART void begin_rows(const pointers& p, const extents& e, [[maybe_unused]] auto continues) {
    repeat<n.reduces.count>([&]<int R>() EBB_PART_LAMBDA {
      if constexpr (!reduce_at<R>.run && reduce_at<R>.first == L) {
        if constexpr (reduce_at<R>.continues)
          if (continues) return;
        std::size_t count = 1;
        repeat<n.loops>([&]<int K>() EBB_PART_LAMBDA { count *= K >= reduce_at<R>.last ? e.template at<K>() : 1; });
        reduced<R>* to = reinterpret_cast<reduced<R>*>(p.red[R]);
        for (std::size_t i = 0; i < count; ++i) to[i] = identity<R>;
      }
    });
  }
  template <int L>
  static EBB_PART void walk(leaf& x, leaves& whole, const pointers& given, const extents& e, auto continues) {
    if constexpr (has_rows && !(sums::begins && L == inner - 1)) begin_rows<L>(given, e, continues);
    if constexpr (has_run && L == n.run_from) begin_run(x, whole);
    if constexpr (L == lane_loop && flat::is) {
      typename flat::tables tables;
      pointers p = given;
      flat::make_tables(tables, p);
      run_row(x, whole, p, e.template at<lane_loop>() * e.template at<inner>());
    } else if constexpr (L == lane_loop) run_row(x, whole, given, e.template at<lane_loop>());
    else if constexpr (sums::any && L == inner - 1)
      sums::add_rows(given, e, continues, [&](const pointers& p, std::size_t j, std::size_t count) EBB_PART_LAMBDA {
        segment(x, p, j, count, 0);
      });
    else {
      pointers p = given;
      for (std::size_t i = 0; i < e.template at<L>(); ++i) {
        walk<L + 1>(x, whole, p, e, continues);
        p.template advance<L>(e);
      }
    }
    if constexpr (has_run && L == n.run_from) end_run(x, whole, given);
  }

  /// Whether the nest only counts, as the gradient of a mean does: then it needs no loop.
  static constexpr bool only_counts = [] {
    bool r = n.reduces.count > 0 && n.computes.count == 0 && n.stores.count == 0 && n.run_from == 0;
    for (int i = 0; i < n.reduces.count; ++i) r = r && P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].counts;
    return r;
  }();
  static constexpr std::size_t exact_count = std::size_t{1} << 24;  // in float, and so in all wider types
  static EBB_INLINE bool count(const nest_call& c) {
    const extents e(c.symbol, loops{});
    std::size_t elements = 1;
    repeat<n.loops>([&]<int L>() EBB_LAMBDA { elements *= e.template at<L>(); });
    if (elements == 0 || elements > exact_count) return false;
    repeat<n.reduces.count>([&]<int R>() EBB_LAMBDA {
      *static_cast<reduced<R>*>(c.buffer[reduce_at<R>.buffer]) = static_cast<reduced<R>>(elements);
    });
    return true;
  }

  // [note: arguments in registers]
  // The addresses of few arrays are passed as arguments. In a table that was just written, they would delay the first loads of a nest, and
  // so a short call as a whole.
  static constexpr int most_in_registers = code::buffer_list::room - 1;
  struct few : address_list<code::used_buffers.count + 1> {
    static constexpr int place_of(int b) { return code::used_buffers.place_of(b); }
  };
  // These are separate functions: if g++ 12 sees the caller's short array, it warns of whole steps that are never taken.
  template <class... Buffer>
  [[gnu::noinline]] EBB_FLATTEN static void run_from_registers(const std::size_t* symbol, Buffer*... buffer) {
    run_nest(few{{{buffer...}}}, symbol, std::false_type{});
  }
  [[gnu::noinline]] EBB_FLATTEN static void run_from_table(const nest_call& c) {
    if constexpr (any_continues) run_nest(c, c.symbol, c.continues);
    else run_nest(c, c.symbol, std::false_type{});
  }
  static EBB_PART void run_nest(const auto& buffers, const std::size_t* symbol, auto goes_on) {
    if constexpr (scalar_nest<P, Number>::fits) scalar_nest<P, Number>::run(buffers);
    else {
      leaf x;
      leaves whole;
      const extents e(symbol, loops{});
      walk<0>(x, whole, pointers(buffers, &e), e, goes_on);
    }
  }
  static constexpr bool any_continues = [] {
    for (int i = 0; i < n.reduces.count; ++i)
      if (P::plan.reduces[static_cast<std::size_t>(n.reduces.first + i)].continues) return true;
    return false;
  }();

 public:
  /// The numbers of the buffers that it uses, in their list.
  using arguments = std::make_integer_sequence<int, code::used_buffers.count>;
  template <int... I>
  static EBB_INLINE void run(const nest_call& c, std::integer_sequence<int, I...>) {
    if constexpr (only_counts)
      if (count(c)) return;
    if constexpr (any_continues || code::used_buffers.count > most_in_registers) run_from_table(c);
    else run_from_registers(c.symbol, c.address(std::integral_constant<int, code::used_buffers.number[I]>::value)...);
  }

  /// The state of a banded nest between two bands.
  struct progress {
    leaf x;
    leaves whole;
  };
  /// Indices [first, first + count) of its only loop; first is a multiple of the logical lanes.
  [[gnu::noinline]] EBB_FLATTEN static void run_rows(const nest_call& c, progress& s, std::size_t first, std::size_t count,
                                                    [[maybe_unused]] bool last) {
    static_assert(n.loops == 1);
    const extents e(c.symbol, loops{});
    pointers p(c, &e);
    p.template advance<0>(e, first);
    leaf x;
    if constexpr (!has_run) segment(x, p, 0, count, 0);
    else {
      if (first == 0) begin_run(x, s.whole);
      else x = s.x;
      row(x, s.whole, p, count);
      if (last) end_run(x, s.whole, p);
      else s.x = x;
    }
  }
};

}  // namespace ebb::inline EBB_ABI
