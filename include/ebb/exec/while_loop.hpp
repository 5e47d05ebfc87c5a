// ebb/exec/while_loop.hpp — while_loop runs a step as long as a condition holds that the call computes.
// SPDX-License-Identifier: BSL-1.0
//
//   auto x = ebb::while_loop(condition, step, x0, ebb::whole(w));                   condition(x, w) is a bool, step(x, w) the next x
//   auto y = ebb::while_loop<ebb::at_most<50>>(condition, step, x0);                has gradients
//
// [note: while loops]
// With a bound it is a fori whose steps are a cond: each step after the end costs a condition. Without a bound it is an open loop, see
// [note: loops], whose first carry is the condition. A step keeps the carry where the condition is false: that happens only in a map, for
// rows that have ended.
//
// An open loop has no history, so it cannot be pulled back. Derivatives along a direction need none: they are another open loop, whose
// carries are those of the first one and their derivatives. Since ebb pushes by two pulls, see [note: a push is a pull of a pull], two
// custom equations lead there. The pull of the first one has the second one in place of cotangents; the values of that are NaN, and no
// program reads them. The pull of the second one is the loop with derivatives. The first equation is marked custom_parts::forward:
// gradients through it are refused.
#pragma once

#include "custom_jvp.hpp"
#include "eager.hpp"

#include "../trace/cond.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

/// The option of while_loop that bounds its steps.
template <int Steps>
struct at_most_option {};
template <int Steps>
  requires(Steps >= 0)
inline constexpr at_most_option<Steps> at_most{};

namespace functions {

/// F while C, at most Most times if that is not negative.
template <class C, class F, class Options, int Most, bool... Whole>
struct while_loop {};

}  // namespace functions

namespace detail {

template <class R>
inline constexpr bool is_condition = std::is_same_v<typename argument<R>::traced, term<bool>> && !std::is_same_v<R, bool>;

/// The condition of a loop without a bound that is not differentiated: then the derivative of its step is not compiled.
template <class C>
struct without_derivative : C {
  using C::operator();
};
template <class C>
without_derivative(C) -> without_derivative<C>;
template <class C>
inline constexpr bool is_without_derivative = false;
template <class C>
inline constexpr bool is_without_derivative<without_derivative<C>> = true;

/// A loop of F while C, on arguments with these forms of terms.
template <class C, class F, class Carry, class... W>
struct open_loop {
  using trace = trace_of<F, Carry, W...>;
  using condition = trace_of<C, Carry, W...>;
  static constexpr int carries = argument<Carry>::leaves, wholes = (0 + ... + argument<W>::leaves);
  using leaves = leaves_in<std::tuple<Carry, W...>>;
  /// Which leaves of the carry and the wholes are real.
  static constexpr vec<char> real() {
    vec<char> r;
    [&]<class... Leaf>(types<Leaf...>) { (r.push(real_element<typename Leaf::value_type>), ...); }(leaves{});
    return r;
  }
  struct arguments {
    vec<int> all;  // by leaf
    constexpr vec<int> on(graph& g, const graph& f) const { return splice(g, f, all); }
  };
  static constexpr arguments add_arguments(graph& g) {
    int number = g.inputs;
    const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
    const std::tuple<Carry, W...> a{filled<Carry>(next), filled<W>(next)...};
    return {std::apply([](const auto&... x) { return ids_of(x...); }, a)};
  }
  static constexpr int input_like(graph& g, int x) { return g.op(x).kit->input(g, g.eq[x].shape, g.inputs++); }

  /// A step: the condition and the carry -> the next ones. An output of -1: the carry changes its shape.
  struct body {
    static constexpr graph make() {
      graph g;
      const term<bool> live = add_argument<term<bool>>(g, 0);
      arguments a = add_arguments(g);
      const vec<int> old = a.all, next = a.on(g, frozen<trace>::g.thaw());
      vec<int> out;
      int i = 0;
      static_cast<void>(filled<Carry>([&]<class Term>() {
        using T = typename Term::value_type;
        const int x = next[i], was = old[i];
        const bool fits = x >= 0 && g.syms.unify(g.shape_of(x), g.shape_of(was));
        a.all[i++] = fits ? broadcasting<op::where>::apply(operand<bool>{&g, live.id}, operand<T>{&g, x}, operand<T>{&g, was}).id : -1;
        out.push(a.all[i - 1]);
        return Term{};
      }));
      for (int x : out)
        if (x < 0) {
          g.out = {-1};
          return g;
        }
      g.out = a.on(g, frozen<condition>::g.thaw());
      for (int x : out) g.out.push(x);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// A step and its derivative along a direction: the condition, the carry, directions of its real leaves, the wholes, directions of these.
  struct pushed_body {
    static constexpr graph make() {
      graph g = frozen<body>::g.thaw();
      const vec<char> is_real = real();
      const int first = g.inputs, seeds = first + g.out.size();
      vec<int> wrt;
      for (int i = 0; i < is_real.size(); ++i)
        if (is_real[i]) wrt.push(1 + i);
      g = with_push(static_cast<graph&&>(g), wrt, nullptr);
      vec<int> out;
      for (int i = 0; i <= carries; ++i) out.push(g.out[i]);
      for (int i = 0; i < carries; ++i)
        if (is_real[i]) out.push(g.out[carries + 2 + i]);
      g.out = out;
      g = drop_inputs(exact(g), first, seeds);
      vec<int> number{0};
      int next = 1;
      vec<int> directions;
      const auto put = [&](int from, int to) {
        for (int i = from; i < to; ++i) number.push(next++);
        for (int i = from; i < to; ++i)
          if (is_real[i]) directions.push(next++);
      };
      put(0, carries);
      put(carries, carries + wholes);
      for (int n : directions) number.push(n);
      renumber_arguments(g, number, next);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// Adds the loop, or the loop with derivatives if `directions` of the real leaves are given, and returns its results without the
  /// condition.
  static constexpr vec<int> add_steps(graph& g, const graph& step, const arguments& a, const vec<int>* directions) {
    const vec<char> is_real = real();
    vec<int> in = a.on(g, frozen<condition>::g.thaw());
    int given = 0, all = 1 + carries;
    const auto put = [&](int from, int to) {
      for (int i = from; i < to; ++i) in.push(a.all[i]);
      for (int i = from; directions && i < to; ++i)
        if (is_real[i]) in.push((*directions)[given++]);
    };
    put(0, carries);
    all = in.size();
    put(carries, carries + wholes);
    const vec<int> made = add_loop(g, step, {.carries = all, .open = true}, in);
    vec<int> r;
    for (int i = 1; i < made.size(); ++i) r.push(made[i]);
    return r;
  }

  /// The pull of the second custom equation: arguments, directions -> derivatives of the real leaves of the carry.
  struct second_pull {
    static constexpr graph make() {
      graph g;
      const arguments a = add_arguments(g);
      const vec<char> is_real = real();
      vec<int> directions;
      for (int i = 0; i < is_real.size(); ++i)
        if (is_real[i]) directions.push(input_like(g, a.all[i]));
      const vec<int> made = add_steps(g, frozen<pushed_body>::g.thaw(), a, &directions);
      for (int i = carries; i < made.size(); ++i) g.out.push(made[i]);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// The pull of the first one: arguments, cotangents of the carry -> values in place of cotangents of the arguments.
  struct first_pull {
    static constexpr graph make() {
      graph g;
      const arguments a = add_arguments(g);
      const vec<char> is_real = real();
      vec<int> cotangents, values;
      for (int i = 0; i < carries; ++i) {
        const int u = input_like(g, a.all[i]);
        if (is_real[i]) cotangents.push(u);
      }
      for (int i = 0; i < is_real.size(); ++i)
        if (is_real[i])
          values.push(g.op(a.all[i]).kit->literal(g, g.eq[a.all[i]].shape, std::numeric_limits<double>::quiet_NaN()));
      const vec<int> made = add_custom(g, frozen<second_pull>::g.thaw(), cotangents, values, a.all, 436);
      for (int i = 0, next = 0; i < is_real.size(); ++i) g.out.push(is_real[i] ? made[next++] : -1);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };

  static constexpr bool has_real_carry = has_real<Carry>;
  /// Whether each step has a derivative.
  static constexpr bool is_pushed() {
    const graph g = frozen<body>::g.thaw();
    return first_without_pull(g, ebb::real_inputs(g), true) < 0;
  }
  static constexpr vec<int> add_to(graph& g, const Carry& carry, const W&... w) {
    const arguments a{ids_of(carry, w...)};
    vec<int> made = add_steps(g, frozen<body>::g.thaw(), a, nullptr);
    if constexpr (!has_real_carry || is_without_derivative<C>) return made;
    else if constexpr (!is_pushed()) return made;
    else {
      vec<int> r = add_custom(g, frozen<first_pull>::g.thaw(), a.all, made, a.all, 436);
      if (r[0] >= 0) {
        equation& e = g.eq[g.operand(r[0], 0)];
        custom_parts p = custom_parts::of(e);
        p.forward = true;
        e.attr[0] = p.attribute();
      }
      return r;
    }
  }
  static constexpr int find_code() {
    if constexpr (constexpr int of_step = detail::code_of_trace(std::type_identity<trace>{}); of_step != 0) return of_step;
    else if constexpr (is_refused<frozen<trace>>) return already_reported;
    else if constexpr (!std::is_same_v<typename argument<typename trace::result>::traced, Carry>) return 436;
    else if constexpr (constexpr int of_test = detail::code_of_trace(std::type_identity<condition>{}); of_test != 0) return of_test;
    else if constexpr (is_refused<frozen<condition>>) return already_reported;
    else if constexpr (!is_condition<typename condition::result>) return 437;
    else if constexpr (is_refused<frozen<body>>) return 436;
    else return code_of_adding<open_loop, Carry, W...>();
  }
  static constexpr int code = find_code();
  static constexpr int show_reason() {
    if constexpr (!is_constant<frozen<trace>>) return not_constant<trace>::make().size();
    else return not_constant<condition>::make().size();
  }
};

struct as_it_is {
  template <class Carry, class... W>
  constexpr auto operator()(const Carry& carry, const W&...) const { return carry; }
};
/// A step of a while_loop with a bound, as a step of scan: it keeps the carry when the condition is false.
template <class C, class F>
struct bounded_step {
  template <class Carry, class I, class... W>
  constexpr auto operator()(const Carry& carry, const I&, const W&... w) const {
    return std::tuple(apply_function(functions::conditional<F, as_it_is>{}, C{}(carry, w...), carry, w...), std::tuple<>());
  }
};
template <class C, class F, class Options, bool... Whole, class N, class Carry, class... W>
constexpr auto loop_at_most(const N& n, const Carry& carry, const W&... w) {
  graph& g = *first_graph(carry, w...);
  const auto r = apply_function(functions::scan<bounded_step<C, F>, Options, false, Whole...>{}, carry,
                                numbers_below(g, extent_of_steps(g, n)), w...);
  if constexpr (std::is_same_v<decltype(r), const refused_result>) return r;
  else return std::get<0>(r);
}

template <class C, class F, class Options, int Most, bool... Whole, class... A>
struct acceptance<functions::while_loop<C, F, Options, Most, Whole...>, A...> : acceptance<functions::map<F>, A...> {};

/// The options of a while_loop: its bound, and what scan knows.
template <class... Option>
struct while_options {
  static constexpr int bounds = 0, most = -1;
  using others = types<Option...>;
};
template <int Most, class... Option>
struct while_options<at_most_option<Most>, Option...> {
  static constexpr int bounds = 1, most = Most;
  using others = types<Option...>;
};
template <int Most, class First, class... Option>
struct while_options<First, at_most_option<Most>, Option...> : while_options<at_most_option<Most>, First, Option...> {};
template <class... Option>
constexpr bool are_keep_options(types<Option...>) {
  return (is_keep_option<Option> && ...) && sizeof...(Option) <= 1;
}
template <class Others>
struct keep_options;
template <class... Option>
struct keep_options<types<Option...>> {
  using type = options_of<Option...>;
};

/// The code that refuses a while_loop as far as the types of its arguments tell, or 0.
template <class C, class F, class Carry, class... A>
constexpr int code_of_while() {
  if constexpr (code_of_function<C> != 0) return code_of_function<C>;
  else if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr (holds_refused<Carry> || (holds_refused<A> || ...)) return already_reported;
  else if constexpr (holds_variables<Carry> || (holds_variables<A> || ...)) return 439;
  else if constexpr (is_in_context<Carry> || (is_in_context<A> || ...)) return 0;
  else if constexpr (!(argument<Carry>::is_argument && ... && argument<A>::is_argument)) return 111;
  else if constexpr (any_leaf<Carry, is_a_number> || (any_leaf<A, is_a_number> || ...)) return 0;
  else return open_loop<C, F, typename argument<Carry>::traced, typename argument<A>::traced...>::code;
}
template <class A>
using plain_of = std::remove_cvref_t<decltype(unwrapped(std::declval<const A&>()))>;

}  // namespace detail

template <class C, class F, class Options, int Most, bool... Whole, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::while_loop<C, F, Options, Most, Whole...>, const A&... a) {
  using loop = detail::open_loop<C, F, A...>;
  static_cast<void>(detail::refuse_function<loop::code>{});
  if constexpr (detail::is_named_next(loop::code)) [[maybe_unused]] constexpr int size = loop::show_reason();
  if constexpr (loop::code != 0) return refused_result{};
  else if constexpr (Most >= 0) return detail::loop_at_most<C, F, Options, Whole...>(Most, a...);
  else {
    graph& g = *detail::first_graph(a...);
    g.syms.asking = "while_loop";
    return detail::terms_at<std::tuple_element_t<0, std::tuple<A...>>>(g, loop::add_to(g, a...));
  }
}
/// The same with numbers among the arguments.
template <class C, class F, class Options, int Most, bool... Whole, class... A>
  requires(!(is_traced<A> && ...)) && (detail::terms_and_numbers<A> && ...) && (detail::any_leaf<A, detail::is_a_term> || ...)
constexpr auto apply_function(functions::while_loop<C, F, Options, Most, Whole...> f, const A&... a) {
  return apply_function(f, detail::numbers_as_terms<detail::dtype_of_terms<A...>>(*detail::first_graph(a...), a)...);
}
template <class C, class F, class Options, int Most, bool... Whole, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::while_loop<C, F, Options, Most, Whole...>, const A&... a) {
  using In = detail::context_among<A...>;
  using function = functions::while_loop<detail::entered<In, C>, detail::entered<In, F>, Options, Most, Whole...>;
  return detail::into_context<In>(apply_function(function{}, detail::into_context<off>(a)...));
}
/// On tuples and structs of arrays.
template <class C, class F, class Options, int Most, bool... Whole, class... A>
  requires(!detail::form<A>::is_leaf || ...) && (!detail::are_traced<A...>)
constexpr auto apply_function(functions::while_loop<C, F, Options, Most, Whole...>, const A&... a) {
  using function = detail::eager_function<functions::while_loop<C, F, Options, Most, Whole...>>;
  return function{}(detail::as_eager_argument<detail::promoted_among<A...>>(a)...);
}

/// f(carry, wholes...) from carry to carry, as long as condition(carry, wholes...) holds; the condition is a bool without axes. It is asked
/// before each step: if it is false or compares a NaN at the beginning, the result is the given carry. Both functions must not capture:
/// pass other values in whole(...). Carries are arrays, tuples and structs. In traced functions, and on arrays.
///   auto root = ebb::while_loop([](auto x, auto a) { return ebb::abs(x * x - a) > 1e-12; },
///                               [](auto x, auto a) { return 0.5 * (x + a / x); }, a, ebb::whole(a));
/// With while_loop<ebb::at_most<n>> it ends after n steps in any case. Only then it has gradients, of all orders; options of scan
/// (keep_every<k> and so on) say what is kept for them. Steps after the end cost the condition. Without a bound there are no more steps
/// than needed, and nothing is kept: then jvp and jacfwd differentiate it, once.
/// In a map it goes on while it goes on for any row. Rows that have ended keep their carry, but f runs for them: an error of f there
/// is thrown, and with at_most a derivative that is infinite there makes the gradient NaN, as in cond.
/// Shape, Dtype: the carry's. A real number as a carry takes its dtype from the arrays.   Saves: with a bound, what the options say.
/// Error: the bits of the same steps one after another.
template <auto... Option, class C, class F, class Carry, class... A>
  requires(!detail::is_number_of_steps<C>)
constexpr auto while_loop(C, F, const Carry& carry, const A&... a) {
  using options = detail::while_options<std::remove_const_t<decltype(Option)>...>;
  constexpr bool fits = (detail::is_whole<A> && ...) && detail::are_keep_options(typename options::others{}) &&
                        (options::bounds == 1 || sizeof...(Option) == 0);
  constexpr int code = [] {
    if constexpr (!fits) return 440;
    else return detail::code_of_while<C, F, Carry, detail::plain_of<A>...>();
  }();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code)) {
    using loop = detail::open_loop<C, F, typename argument<Carry>::traced, typename argument<detail::plain_of<A>>::traced...>;
    [[maybe_unused]] constexpr int size = loop::show_reason();
  }
  if constexpr (code != 0) return refused_result{};
  else {
    using kept = typename detail::keep_options<typename options::others>::type;
    return apply_function(functions::while_loop<C, F, kept, options::most, detail::is_whole<A>...>{}, carry, detail::unwrapped(a)...);
  }
}

/// The same with at most n steps: a constant, ebb::extent<0>(x), or an integer that is an argument of the traced function around it.
/// Throws: error if n is an argument of the call and negative, or above 2147483647.
template <auto... Option, class N, class C, class F, class Carry, class... A>
  requires(detail::is_number_of_steps<N>)
constexpr auto while_loop(const N& n, C, F, const Carry& carry, const A&... a) {
  constexpr int code = [] {
    if constexpr (!(detail::is_whole<A> && ...)) return 440;
    else if constexpr (!detail::are_keep_options(detail::types<std::remove_const_t<decltype(Option)>...>{})) return 440;
    else if constexpr (!detail::are_traced<Carry, detail::plain_of<A>...>) return 439;
    else return detail::code_of_while<C, F, Carry, detail::plain_of<A>...>();
  }();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else {
    using In = detail::context_among<Carry, detail::plain_of<A>...>;
    using options = detail::options_of<std::remove_const_t<decltype(Option)>...>;
    if constexpr (std::is_same_v<In, off>)
      return detail::loop_at_most<C, F, options, detail::is_whole<A>...>(n, carry, detail::unwrapped(a)...);
    else
      return detail::into_context<In>(
          detail::loop_at_most<detail::entered<In, C>, detail::entered<In, F>, options, detail::is_whole<A>...>(
              n, detail::into_context<off>(carry), detail::into_context<off>(detail::unwrapped(a))...));
  }
}

}  // namespace ebb::inline EBB_ABI
