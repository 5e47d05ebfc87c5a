// ebb/trace/scan.hpp — loops in traced functions: a step is traced once, and runs as often as there are rows.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [h, ys] = ebb::scan(step, h0, xs, ebb::whole(w));          step(h, x, w) returns std::tuple(h, y)
//   auto h = ebb::fori(100, step, h0, ebb::whole(w));               step(i, h, w) returns h
// See [note: loops] for loops in graphs.
#pragma once

#include "kept_carries.hpp"
#include "map.hpp"
#include "numbers_among_terms.hpp"

#include "../graph/loop.hpp"
#include "../op/scan.hpp"

#include <concepts>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 320, 321, 322, 323, 325, 327, 328, 329, 331, 332, 334>
struct refuse_function<Code> {
  static_assert(Code != 320, "[ebb E0320] scan: there must be an argument that is not whole(...), and none may be a scalar");
  static_assert(Code != 321, "[ebb E0321] scan: the function returns std::tuple(carry, y); std::tuple<>() is an empty y");
  static_assert(Code != 322, "[ebb E0322] scan, fori: a step returns the carry in another form, dtype or shape than it receives: the next "
                             "step could not take it");
  static_assert(Code != 323, "[ebb E0323] scan: the arguments have different numbers of rows");
  static_assert(Code != 325, "[ebb E0325] scan, fori: an array has eight axes, and one is needed for the steps");
  static_assert(Code != 327, "[ebb E0327] fori: the arguments after the carry are whole(...): use scan to pass a row to each step");
  static_assert(Code != 328, "[ebb E0328] fori is called in a traced function: ebb::compile([](auto x) { return ebb::fori(n, f, x); })(x)");
  static_assert(Code != 329, "[ebb E0329] scan, fori: options are ebb::reversed and one of keep_all, keep_carries, keep_every<k>, "
                             "keep_sqrt, recompute");
  static_assert(Code != 331, "[ebb E0331] scan: variables are passed to a region that has the scan in it: "
                             "ebb::compile([](auto h, auto x) { return ebb::scan(f, h, x); })(h, x)");
  static_assert(Code != 332, "[ebb E0332] fori: the number of steps changes from step to step of another loop: pass it in whole(...)");
  static_assert(Code != 334, "[ebb E0334] fori: the number of steps is an integer without axes: int or std::int64_t");
};

/// The result of a step: a tuple of the carry and a row, in their traced forms.
template <class R>
struct step_result {
  static constexpr bool exists = false;
  using carry = void;
  using row = void;
};
template <class Carry, class Row>
struct step_result<std::tuple<Carry, Row>> {
  static constexpr bool exists = true;
  using carry = typename argument<Carry>::traced;
  using row = Row;
};

/// Adds a loop with this body over the operands `in`; one without rows has one step. Returns its results, the carries and then the rows,
/// or -code if they do not fit.
/// (A template, so that clang looks up the op's table when kernels are known, not here.)
template <class T = float>
constexpr vec<int> add_loop(graph& g, graph body, const loop_parts& parts, const vec<int>& in) {
  const int given = body.out.size();
  const int steps = parts.rows > 0 ? g.shape_of(in[parts.carries]).e[0] : 1;
  for (int j = parts.carries; j < parts.carries + parts.rows; ++j)
    if (!g.syms.unify(steps, g.shape_of(in[j]).e[0])) return vec<int>(given, -323);
  bool computed = false;
  const auto extent = [&](const extent_origin& o) {
    const int e = extent_around(g, in[o.a], parts, o);
    if (e == computed_extent) computed = true;
    return e;
  };
  const vec<int> symbol = symbols_in(g, body, extent);
  if (symbol.size() < body.syms.count() || !unify_arguments(g, body, symbol, extent)) return vec<int>(given, computed ? -332 : -102);
  g.casts.asked.ask(body.casts.asked);
  const vec<int> out = body.out;
  vec<const dtype_kit*> kits;
  vec<int> shapes;
  for (int i = 0; i < given; ++i) {
    const shape s = shape_in(g, body.shape_of(out[i]), symbol);
    shapes.push(g.intern(i < parts.carries ? s : rows_of_shape(g.syms.find(steps), s)));
    kits.push(body.op(out[i]).kit);
  }
  shape count;
  count.push(g.syms.find(steps));
  equation e{.op = &info<op::loop, T>, .shape = g.intern(count)};
  e.attr[0] = parts.attribute();
  e.sub = add_sub(g.subs, body);
  const int loop = g.add(e, range_of(in));
  vec<int> r;
  for (int i = 0; i < given; ++i) {
    const bool carry = i < parts.carries;
    const loop_result what = carry ? loop_result::carry : loop_result::row;
    r.push(kits[i]->result(g, loop, shapes[i], {carry ? i : i - parts.carries, static_cast<std::int64_t>(what)}));
  }
  return r;
}

template <class Leaf>
using has_most_axes = std::bool_constant<(Leaf::rank >= max_rank)>;
template <class Leaf>
using has_almost_most_axes = std::bool_constant<(Leaf::rank >= max_rank - 1)>;

/// A loop of F with this carry over these arguments, all forms of terms.
template <class F, class Options, class Flags, class Carry, class... A>
struct scanned;
template <class F, class Options, bool... Whole, class Carry, class... A>
struct scanned<F, Options, std::integer_sequence<bool, Whole...>, Carry, A...> {
  static constexpr bool has_rows = !(Whole && ...) && (row<A, Whole>::exists && ...);
  static constexpr int carries = argument<Carry>::leaves, rows = (0 + ... + (Whole ? 0 : argument<A>::leaves));
  static constexpr std::size_t count = known_rows({row<A, Whole>::count...});
  using trace = trace_of<F, Carry, typename row<A, Whole>::type...>;
  template <class Trace = trace>  // used only if the function can be called
  using step = step_result<typename Trace::result>;
  template <class Trace = trace>
  using result = std::tuple<Carry, detail::rows<typename step<Trace>::row, count>>;

  /// The step as the body of a loop: rows come before wholes, and each new carry has the extents of the old one.
  struct body {
    static constexpr graph make() {
      graph g = trace::make();
      const vec<int> number = numbers();
      renumber_arguments(g, number, number.size());
      g.syms.asking = "scan";
      for (int j = 0; j < carries; ++j)
        if (g.out[j] >= 0 && !g.syms.unify(g.shape_of(g.out[j]), g.shape_of(g.input(j)))) g.out[j] = -1;
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// The operand number of each leaf, in the order of the step's parameters.
  static constexpr vec<int> numbers() {
    vec<int> r;
    for (int j = 0; j < carries; ++j) r.push(j);
    int row = carries, whole = carries + rows;
    const auto put = [&](bool is_whole, int leaves) {
      for (int i = 0; i < leaves; ++i) r.push(is_whole ? whole++ : row++);
    };
    (put(Whole, argument<A>::leaves), ...);
    return r;
  }

  /// Adds the loop and returns its results: the carry, then the rows; a negative code if the arguments do not fit.
  static constexpr vec<int> add_to(graph& g, const Carry& carry, const A&... a) {
    const vec<int> number = numbers();
    vec<int> in(number.size(), -1);
    int leaf = 0;
    const auto put = [&](const auto& x) { in[number[leaf++]] = x.id; };
    each_leaf(put, carry);
    (each_leaf(put, a), ...);
    constexpr bool recomputes = Options::kept == kept_carries::of_each_step;
    return add_loop(g, frozen<body>::g.thaw(), {carries, rows, Options::reversed, recomputes}, in);
  }
  template <class Trace = trace>
  static constexpr bool is_of_most_axes = any_leaf<Carry, has_most_axes> || (any_leaf<A, has_most_axes> || ...) ||
                                          any_leaf<typename argument<typename step<Trace>::row>::traced, has_most_axes> ||
                                          (in_segments<Options::kept> &&
                                           any_leaf<typename argument<typename step<Trace>::row>::traced, has_almost_most_axes>);
  static constexpr int find_code() {
    if constexpr (!has_rows) return 320;
    else if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace>{}); of_function != 0) return of_function;
    else if constexpr (!step<>::exists) return 321;
    else if constexpr (!std::is_same_v<typename step<>::carry, Carry>) return 322;
    else if constexpr (is_refused<frozen<trace>>) return already_reported;
    else if constexpr (is_refused<frozen<body>>) return 322;
    else if constexpr (is_of_most_axes<>) return 325;
    else {
      graph g;
      int number = 0;
      const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
      const std::tuple<Carry, A...> arguments{filled<Carry>(next), filled<A>(next)...};
      return std::apply([&](const auto&... x) {
        const vec<int> out = add_to(g, x...);
        return out.empty() || out[0] >= 0 ? 0 : -out[0];
      }, arguments);
    }
  }
  static constexpr int code = find_code();
  static constexpr int show_reason() { return not_constant<trace>::make().size(); }
};

/// The code that refuses a call of scan, or 0, as far as the arguments' types tell: numbers and terms in a context are looked at later.
template <class F, class Options, class Flags, class... A>
constexpr int code_of_scan() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr ((holds_refused<A> || ...)) return already_reported;
  else if constexpr ((holds_variables<A> || ...)) return 331;
  else if constexpr ((is_in_context<A> || ...) || (holds_duals<A> || ...)) return 0;
  else if constexpr (!(argument<A>::is_argument && ...)) return 111;
  else if constexpr ((any_leaf<A, is_a_number> || ...)) return 0;
  else return scanned<F, Options, Flags, typename argument<A>::traced...>::code;
}

template <class Option>
inline constexpr bool is_keep_option = false;
template <kept_carries Kept>
inline constexpr bool is_keep_option<keep_option<Kept>> = true;
template <class Option>
constexpr kept_carries kept_by() {
  if constexpr (is_keep_option<Option>) return Option::kept;
  else return kept_carries::all;
}
/// Whether the options are at most one direction and one that says what is kept.
template <class... Option>
inline constexpr bool are_scan_options =
    ((is_keep_option<Option> || std::is_same_v<Option, reversed_tag>) && ...) && (0 + ... + is_keep_option<Option>) <= 1 &&
    sizeof...(Option) <= 1 + (0 + ... + is_keep_option<Option>);
template <class... Option>
struct read_options {
  static constexpr kept_carries kept() {
    kept_carries r = kept_carries::all;
    ((r = is_keep_option<Option> ? kept_by<Option>() : r), ...);
    return r;
  }
  using type = scan_options<(std::is_same_v<Option, reversed_tag> || ...), kept()>;
};
template <class... Option>
using options_of = typename read_options<Option...>::type;

/// A step of fori as a step of scan: its row is the number of the step, and it returns no row.
template <class F>
struct counted_step {
  template <class Carry, class I, class... W>
    requires std::is_invocable_v<F, const I&, const Carry&, const W&...>
  constexpr auto operator()(const Carry& carry, const I& i, const W&... w) const {
    return std::tuple(F{}(i, carry, w...), std::tuple<>());
  }
};
/// 0, 1, 2... below an extent. (A template: see add_loop.)
template <class Number = std::int32_t>
constexpr term<Number, dyn> numbers_below(graph& g, int extent) {
  shape s;
  s.push(extent);
  return {&g, emit_as<op::index, Number>(g, g.intern(s), {}, {0})};
}

template <class N>
inline constexpr bool is_term_of_steps = false;
template <class T>
inline constexpr bool is_term_of_steps<term<T>> = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;
template <class C, class T>
inline constexpr bool is_term_of_steps<term_under<C, T>> = is_term_of_steps<term<T>>;
template <class N>
inline constexpr bool is_number_of_steps = (std::integral<N> && !std::is_same_v<N, bool>) || is_term_of_steps<N>;

/// The results of a loop or a call. Throws: if a number of steps in its body is computed around it.
constexpr const vec<int>& with_known_steps(const graph& g, const vec<int>& results) {
  if (!results.empty() && results[0] == -332 && !g.tolerant)
    refuse_steps("[ebb E0335] fori: the number of steps is computed in the function");
  return results;
}
/// A number of steps as an extent of g.
template <class N>
constexpr int extent_of_steps(graph& g, const N& n) {
  g.syms.asking = "fori";
  if constexpr (std::integral<N>) {
    const bool fits = std::in_range<int>(n) && n >= 0;
    if (!fits && !g.tolerant) refuse_steps("[ebb E0326] fori: the number of steps is negative, or above 2147483647");
    return fits ? static_cast<int>(n) : 1;
  } else if constexpr (is_term_under<N>) return extent_of_steps(g, n.plain);
  else {
    const int e = n.id < 0 ? computed_extent : value_as_extent(g, n.id);
    if (e == computed_extent && !g.tolerant) refuse_steps("[ebb E0335] fori: the number of steps is computed in the function");
    return e == computed_extent ? 1 : e;
  }
}

}  // namespace detail

/// On terms, and tuples and structs of them. On arrays it is traced like any function.
template <class F, class Options, bool... Whole, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::scan<F, Options, Whole...>, const A&... a) {
  using scanned = detail::scanned<F, Options, std::integer_sequence<bool, Whole...>, A...>;
  static_cast<void>(detail::refuse_call<scanned>{});
  if constexpr (scanned::code != 0) return refused_result{};
  else if constexpr (detail::in_segments<Options::kept>)
    return detail::segments<detail::segment_of<F, Options::reversed, Whole...>, Options, scanned::count, Whole...>::apply(
        *detail::first_graph(a...), a...);
  else {
    graph* g = detail::first_graph(a...);
    g->syms.asking = "scan";
    return detail::terms_at<typename scanned::template result<>>(*g, detail::with_known_steps(*g, scanned::add_to(*g, a...)));
  }
}

/// The same with numbers among the arguments.
template <class F, class Options, bool... Whole, class... A>
  requires detail::have_numbers<A...>
constexpr auto apply_function(functions::scan<F, Options, Whole...> f, const A&... a) {
  return detail::apply_to_terms(f, a...);
}

/// On tuples and structs of arrays, and on duals: see exec/eager.hpp.
template <class F, class Options, bool... Whole, class... A>
  requires detail::have_forms_or_duals<A...>
constexpr auto apply_function(functions::scan<F, Options, Whole...>, const A&... a);

/// f for one row after another along the first axis of the arguments, with a carry from step to step: f(carry, rows..., wholes...)
/// returns std::tuple(carry, y). Arguments in whole(...) are the same in each step. scan<ebb::reversed> begins with the last row. f must
/// not capture.
///   auto [h, ys] = ebb::scan([](auto h, auto x, auto w) {
///     const auto next = ebb::tanh(ebb::matmul(w, h) + x);
///     return std::tuple(next, ebb::sum(next));
///   }, h0, xs, ebb::whole(w));
/// f is traced, differentiated and compiled once, for any number of rows. The carry, the arguments and y are arrays, tuples or structs;
/// std::tuple<>() is an empty y.
/// Options choose the values that are kept for the backward: scan<ebb::keep_every<16>>, scan<ebb::reversed, ebb::recompute>...
///   keep_all        the carry before each step, and the saved values of each step: see [note: saved or recomputed]
///   keep_carries    the carry before each step; the backward computes each step again
///   keep_every<k>   the carry before each k-th step, n / k of them; the backward runs k steps again at a time, and keeps all of these
///   keep_sqrt       keep_every<k>, where k is the root of n, rounded up
///   recompute       the first carry; the backward runs all steps again before it begins
/// They change memory and time, but no bit of a value or a gradient. Second derivatives agree to rounding: their sums have another order.
/// Shape: that of the carry, and y with a leading axis. Over no rows the result is the given carry.
/// Dtype: a real number as a carry takes its dtype from the arrays, an integer stays one.
/// Saves: what the options say.
/// Error: each step has the bits of a call of f. The order of sums in gradients: see [note: a loop pulled back].
template <auto... Option, class F, class Carry, class... A>
constexpr auto scan(F, const Carry& carry, const A&... a) {
  using options = detail::options_of<std::remove_const_t<decltype(Option)>...>;
  using flags = std::integer_sequence<bool, detail::is_whole<A>...>;
  constexpr int code = [] {
    if constexpr (!detail::are_scan_options<std::remove_const_t<decltype(Option)>...>) return 329;
    else return detail::code_of_scan<F, options, flags, Carry, std::remove_cvref_t<decltype(detail::unwrapped(a))>...>();
  }();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code)) {
    using scanned = detail::scanned<F, options, flags, typename argument<Carry>::traced,
                                    typename argument<std::remove_cvref_t<decltype(detail::unwrapped(a))>>::traced...>;
    [[maybe_unused]] constexpr int size = scanned::show_reason();
  }
  if constexpr (code != 0) return refused_result{};
  else return apply_function(functions::scan<F, options, detail::is_whole<A>...>{}, carry, detail::unwrapped(a)...);
}

/// f(i, carry, wholes...) for i = 0, 1... n - 1, from carry to carry: f returns the next one. In a traced function. n is a constant,
/// ebb::extent<0>(x), or an integer that is an argument of the function. fori<ebb::reversed> begins with n - 1. f must not capture: pass
/// other values in whole(...).
///   auto x = ebb::fori(20, [](auto i, auto x, auto a) { return x - ebb::matmul(a, x) / (i + 1); }, x0, ebb::whole(a));
///   auto solve = ebb::compile([](auto n, auto x0, auto a) { return ebb::fori(n, step, x0, ebb::whole(a)); });
/// Options, derivatives and bits: as for scan. i is an integer of 32 bits: 0.1 * i is a float, 0.1 * ebb::cast<double>(i) a double. An n
/// that is an argument decides at the call how much memory is kept; in a map it is the same for all rows.
/// Shape: that of the carry.   Saves: what the options say.
/// Throws: error if n is an argument of the call and negative, or above 2147483647.
template <auto... Option, class N, class F, class Carry, class... A>
constexpr auto fori(const N& n, F, const Carry& carry, const A&... a) {
  using options = detail::options_of<std::remove_const_t<decltype(Option)>...>;
  constexpr int code = [] {
    if constexpr (!detail::are_scan_options<std::remove_const_t<decltype(Option)>...>) return 329;
    else if constexpr (detail::code_of_function<F> != 0) return detail::code_of_function<F>;
    else if constexpr ((detail::holds_refused<N> || ... || detail::holds_refused<A>) || detail::holds_refused<Carry>)
      return detail::already_reported;
    else if constexpr (!(detail::is_whole<A> && ...)) return 327;
    else if constexpr (!detail::are_traced<Carry, std::remove_cvref_t<decltype(detail::unwrapped(a))>...>) return 328;
    else if constexpr (!detail::is_number_of_steps<N>) return 334;
    else return 0;
  }();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else {
    graph& g = *detail::first_graph(carry, detail::unwrapped(a)...);
    const auto r = apply_function(functions::scan<detail::counted_step<F>, options, false, detail::is_whole<A>...>{}, carry,
                                  detail::numbers_below(g, detail::extent_of_steps(g, n)), detail::unwrapped(a)...);
    if constexpr (std::is_same_v<decltype(r), const refused_result>) return r;
    else return std::get<0>(r);
  }
}

}  // namespace ebb::inline EBB_ABI
