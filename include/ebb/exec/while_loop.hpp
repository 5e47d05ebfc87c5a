// ebb/exec/while_loop.hpp — while_loop runs a step as long as a condition holds that the call computes.
// SPDX-License-Identifier: BSL-1.0
//
//   auto x = ebb::while_loop(condition, step, x0, ebb::whole(w));                   condition(x, w) is a bool, step(x, w) the next x
//   auto y = ebb::while_loop<ebb::at_most<50>>(condition, step, x0);                has gradients
//
// [note: while loops]
// With a bound it is a fori whose steps are a cond: each step after the end costs a condition. Without a bound it is an open loop, see
// [note: loops] and [note: open loops], whose first carry is the condition. A step keeps the carry where the condition is false: that
// happens only in a map, for rows that have ended.
#pragma once

#include "eager.hpp"
#include "open_loop.hpp"

#include "../trace/cond.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 439, 440>
struct refuse_function<Code> {
  static_assert(Code != 439, "[ebb E0439] while_loop: variables are passed to a region that has the loop in it, and a bound that is no "
                             "constant needs a traced function: ebb::compile([](auto x) { return ebb::while_loop(c, f, x); })(x)");
  static_assert(Code != 440, "[ebb E0440] while_loop: the arguments after the carry are whole(...), and options are one ebb::at_most<n> "
                             "and, with it, one of those of scan");
};

}  // namespace detail

/// The option of while_loop that bounds its steps.
template <int Steps>
struct at_most_option {
  static_assert(Steps >= 0,
                "[ebb E0557] the number of an option is too small: keep_every, by_cg and tolerance take 1 or more, at_most "
                "takes 0 or more");
};
template <int Steps>
inline constexpr at_most_option<Steps> at_most{};

namespace functions {

/// F while C, at most Most times if that is not negative.
template <class C, class F, class Options, int Most, bool... Whole>
struct while_loop {};

}  // namespace functions

namespace detail {

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
  else if constexpr (holds_duals<Carry> || (holds_duals<A> || ...)) return 0;
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
  static_cast<void>(detail::refuse_call<loop>{});
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
/// On tuples and structs of arrays, and on duals.
template <class C, class F, class Options, int Most, bool... Whole, class... A>
  requires detail::have_forms_or_duals<A...>
constexpr auto apply_function(functions::while_loop<C, F, Options, Most, Whole...>, const A&... a) {
  return detail::call_eagerly<functions::while_loop<C, F, Options, Most, Whole...>>(a...);
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
