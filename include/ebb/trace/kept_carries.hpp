// ebb/trace/kept_carries.hpp — the carries that a scan keeps for its backward: all, some, or the first one.
// SPDX-License-Identifier: BSL-1.0
//
// [note: kept carries]
// A scan that keeps the carry before each k-th step is a scan of scans: the outer loop has a step for k rows, and keeps its own carries
// only. Its pull-back runs the inner loop again, from the carry before it, and then goes back through its k steps. The remaining rows are
// another loop. The order of all sums is that of a plain scan.
#pragma once

#include "map.hpp"

#include "../graph/loop.hpp"
#include "../op/move.hpp"

namespace ebb::inline EBB_ABI {

/// The values that a scan keeps. all: the carries and saved values of each step; a number k: the carry before each k-th step.
enum class kept_carries : int { all = -1, square_root = 0, of_each_step = 1, first = 2147483647 };

/// Options of scan and fori, beside ebb::reversed; see scan.
template <kept_carries Kept>
struct keep_option {
  static constexpr kept_carries kept = Kept;
};
inline constexpr keep_option<kept_carries::all> keep_all{};
inline constexpr keep_option<kept_carries::of_each_step> keep_carries{};
inline constexpr keep_option<kept_carries::square_root> keep_sqrt{};
inline constexpr keep_option<kept_carries::first> recompute{};
namespace detail {

template <int Steps>
constexpr auto every_so_many() {
  static_assert(Steps > 0,
                "[ebb E0557] the number of an option is too small: keep_every, by_cg and tolerance take 1 or more, at_most "
                "takes 0 or more");
  constexpr kept_carries kept{Steps < 1 ? 1 : Steps};
  return keep_option<kept>{};
}

}  // namespace detail

template <int Steps>
inline constexpr auto keep_every = detail::every_so_many<Steps>();

template <bool Reversed, kept_carries Kept>
struct scan_options {
  static constexpr bool reversed = Reversed;
  static constexpr kept_carries kept = Kept;
};

namespace functions {

/// F over the rows of its arguments, with a carry first. Whole: the arguments after it that are not split into rows.
template <class F, class Options, bool... Whole>
struct scan {};

}  // namespace functions

namespace detail {

/// Whether steps are grouped so that some carries are not kept.
template <kept_carries Kept>
inline constexpr bool in_segments = Kept != kept_carries::all && Kept != kept_carries::of_each_step;

/// Several steps of a loop as one step of an outer loop.
template <class F, bool Reversed, bool... Whole>
struct segment_of {
  template <class... A>
  constexpr auto operator()(const A&... a) const {
    return apply_function(functions::scan<F, scan_options<Reversed, kept_carries::all>, Whole...>{}, a...);
  }
};

/// A scan of Count rows that keeps some of its carries. Segment: several steps, on a carry and their rows.
template <class Segment, class Options, std::size_t Count, bool... Whole>
struct segments {
  static constexpr int wanted = static_cast<int>(Options::kept);
  static constexpr std::size_t asked = [] {
    if (Options::kept != kept_carries::square_root) return static_cast<std::size_t>(wanted);
    return Count == dyn ? dyn : static_cast<std::size_t>(root_of_extent(static_cast<std::int64_t>(Count)));
  }();
  static constexpr bool is_one_group = Options::kept == kept_carries::first || (Count != dyn && asked >= Count);
  /// The number of steps in a group. dyn: the call says it.
  static constexpr std::size_t length = is_one_group ? Count : asked;
  static constexpr bool divides = is_one_group || (Count != dyn && Count % length == 0);
  static constexpr std::size_t rest = Count == dyn ? dyn : divides ? 0 : Count % length;
  static constexpr std::size_t outer = is_one_group ? 1 : Count == dyn ? dyn : Count / length;
  using around = scan_options<Options::reversed, kept_carries::of_each_step>;
  using function = functions::scan<Segment, around, Whole...>;

  template <class Row>
  using segments_of = with_step<with_step<Row, all_rows<length>>, all_rows<outer>>;

  /// The extents in the graph.
  struct sizes {
    int all, main, outer, length, rest;
  };
  static constexpr sizes in(graph& g, int all) {
    symbols& s = g.syms;
    if (is_one_group) return {all, all, 1, all, 0};
    const int k = length == dyn ? s.derive(extent_rule::root, all, 0) : static_cast<int>(length);
    const int up = s.derive(extent_rule::quotient, all, k);
    const int missing = s.derive(extent_rule::difference, s.derive(extent_rule::product, up, k), all);
    const int whole_ones = s.derive(extent_rule::difference, up, s.derive(extent_rule::quotient, missing, k));
    const int used = s.derive(extent_rule::product, whole_ones, k);
    return {all, used, whole_ones, k, s.derive(extent_rule::difference, all, used)};
  }
  template <class T>
  static constexpr operand<T> with_first(operand<T> x, int extent, stride from) {
    shape s = x.extents();
    s.e[0] = extent;
    return slice_as(x, from, x.g->intern(s));
  }
  template <bool IsWhole, class A>
  static constexpr auto main_rows(graph& g, const sizes& n, const A& a) {
    if constexpr (IsWhole) return a;
    else
      return filled<segments_of<typename row<A>::type>>([&]<class To, class From>(const From& x) {
        using T = typename From::value_type;
        operand<T> used{&g, x.id};
        if constexpr (!divides) used = with_first(used, n.main, {0, 0});
        shape s = rows_of_shape(n.outer, g.shape_of(x.id));
        s.e[1] = n.length;
        return To{&g, reshape_to(used, g.intern(s)).id};
      }, a);
  }
  template <bool IsWhole, class A>
  static constexpr auto rows_left(graph& g, const sizes& n, const A& a) {
    if constexpr (IsWhole) return a;
    else
      return filled<with_step<typename row<A>::type, all_rows<rest>>>([&]<class To, class From>(const From& x) {
        using T = typename From::value_type;
        return To{&g, with_first(operand<T>{&g, x.id}, n.rest, {0, stride::at_the_end}).id};
      }, a);
  }

  template <class Carry, class... A>
  static constexpr auto apply(graph& g, const Carry& carry, const A&... a) {
    int all = 0;
    ((Whole ? void() : each_leaf([&](const auto& leaf) { all = g.syms.find(g.shape_of(leaf.id).e[0]); }, a)), ...);
    const sizes n = in(g, all);
    const auto run = [&](const Carry& c) { return apply_function(function{}, c, main_rows<Whole>(g, n, a)...); };
    const auto run_rest = [&](const Carry& c) { return Segment{}(c, rows_left<Whole>(g, n, a)...); };
    if constexpr (divides) {
      const auto [end, ys] = run(carry);
      return std::tuple(end, joined(g, n, ys));
    } else if constexpr (Options::reversed) {
      const auto [before, last] = run_rest(carry);
      const auto [end, ys] = run(before);
      return std::tuple(end, joined(g, n, ys, last));
    } else {
      const auto [before, ys] = run(carry);
      const auto [end, last] = run_rest(before);
      return std::tuple(end, joined(g, n, ys, last));
    }
  }
  /// The rows of all segments and the remaining rows, as one array.
  template <class Ys, class... Last>
  static constexpr auto joined(graph& g, const sizes& n, const Ys& ys, const Last&... last) {
    using all = with_step<with_step<typename row<Ys>::type, first_row>, all_rows<Count>>;
    return filled<all>([&]<class To, class From>(const From& x, const auto&... more) {
      using T = typename From::value_type;
      shape s = row_of_shape(g.shape_of(x.id));
      s.e[0] = n.main;
      const operand<T> flat = reshape_to(operand<T>{&g, x.id}, g.intern(s));
      if constexpr (sizeof...(more) == 0) return To{&g, flat.id};
      else {
        const int in[] = {flat.id, more.id...};
        const int joined = emit<op::concat, T>(g, number_range{in, 1 + sizeof...(more)}, {0});
        g.syms.unify(n.all, g.shape_of(joined).e[0]);
        return To{&g, joined};
      }
    }, ys, last...);
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
