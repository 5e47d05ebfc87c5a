// ebb/trace/custom.hpp — custom_vjp calls, in a traced function, a function whose pull the user has written.
// SPDX-License-Identifier: BSL-1.0
//
//   auto y = ebb::custom_vjp(f, pull, x, w);      f(x, w) returns std::tuple(y, saved); pull(saved, g) returns std::tuple(gx, gw)
// For its form in graphs see [note: custom pulls].
#pragma once

#include "scan.hpp"

#include "../op/custom.hpp"

#include <boost/mp11/algorithm.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 336, 337, 339>
struct refuse_function<Code> {
  static_assert(Code != 336, "[ebb E0336] custom_vjp: the first function returns std::tuple(y, saved); std::tuple<>() saves nothing");
  static_assert(Code != 337, "[ebb E0337] custom_vjp: the pull returns a std::tuple with a gradient for each argument, in its form and "
                             "shape; ebb::nothing stands for none");
  static_assert(Code != 339, "[ebb E0339] custom_vjp, custom_jvp: they are called in a traced function: "
                             "ebb::compile([](auto x) { return ebb::custom_vjp(f, pull, x); })(x)");
};

}  // namespace detail

namespace functions {

/// F, with the pull B.
template <class F, class B>
struct custom_vjp {};

}  // namespace functions

namespace detail {

/// The result of a function with saved values, in traced forms.
template <class R>
struct saving_result {
  static constexpr bool exists = false;
  using value = std::tuple<>;
  using saved = std::tuple<>;
};
template <class Value, class Saved>
struct saving_result<std::tuple<Value, Saved>> {
  static constexpr bool exists = true;
  using value = typename argument<Value>::traced;
  using saved = typename argument<Saved>::traced;
};

/// Whether To has the dtype and the rank of a derivative at leaf From. Integers have no derivative: the value in its place is not
/// checked.
template <class From, class To>
inline constexpr bool is_derivative_of = true;
template <class T, std::size_t... E, class To>
  requires real_element<T>
inline constexpr bool is_derivative_of<term<T, E...>, To> = false;
template <class T, std::size_t... E, class G, std::size_t... D>
  requires real_element<T> && real_element<G> && (sizeof...(E) == sizeof...(D))
inline constexpr bool is_derivative_of<term<T, E...>, term<G, D...>> = ((E == D || E == dyn || D == dyn) && ...);
template <class A, class G>
inline constexpr bool leaves_fit = false;
template <class... A, class... G>
  requires(sizeof...(A) == sizeof...(G))
inline constexpr bool leaves_fit<types<A...>, types<G...>> = (is_derivative_of<A, G> && ...);

/// Whether G has the form of derivatives at A.
template <class A, class G>
inline constexpr bool are_gradients_of = leaves_fit<leaves_in<A>, leaves_in<typename argument<G>::traced>>;
template <class A>
inline constexpr bool are_gradients_of<A, no_gradient> = true;
template <class R, class... A>
inline constexpr bool are_derivatives = false;
template <class... G, class... A>
  requires(sizeof...(G) == sizeof...(A))
inline constexpr bool are_derivatives<std::tuple<G...>, A...> = (are_gradients_of<A, G> && ...);

template <class T, class X>
constexpr int derivative_id(graph& g, const X& x) {
  if constexpr (is_term<X>) return cast_to<T>(operand<typename X::value_type>{&g, x.id}).id;
  else return to_operand<T>(g, x).id;
}
/// Adds the derivatives at A to the outputs of g, in the dtypes of A; -1 where there is none.
template <class A, class G>
constexpr void put_derivatives(graph& g, const G& given) {
  if constexpr (std::is_same_v<G, no_gradient>) {
    for (int i = 0; i < argument<A>::leaves; ++i) g.out.push(-1);
  } else {
    const auto leaves = leaf_references(given);
    repeat<argument<A>::leaves>([&]<int I>() EBB_LAMBDA {
      using T = typename boost::mp11::mp_at_c<leaves_in<A>, std::size_t{I}>::value_type;
      if constexpr (real_element<T>) g.out.push(derivative_id<T>(g, std::get<std::size_t{I}>(leaves)));
      else g.out.push(-1);
    });
  }
}

/// Adds the custom equation of a function that has computed `values` from `arguments`, and returns its results; -code, if the pull does
/// not fit. (A template: see add_loop.)
template <class T = float>
constexpr vec<int> add_custom(graph& g, graph pull, const vec<int>& arguments, const vec<int>& values, const vec<int>& saved, int code) {
  vec<int> given = saved, in = arguments;
  for (int v : values) given.push(v);
  for (int v : given)
    if (v < 0) return vec<int>(values.size(), v);
  bool computed = false;
  const vec<int> symbol = symbols_in(g, pull, [&](const extent_origin& o) {
    const int e = extent_in(g, given[o.a], o);
    computed = computed || e == computed_extent;
    return e;
  });
  if (computed && !g.tolerant) refuse_steps("[ebb E0335] fori: the number of steps is computed in the function");
  bool fits = symbol.size() == pull.syms.count();
  for (int j = 0; fits && j < arguments.size(); ++j)
    fits = pull.out[j] < 0 || g.syms.unify(shape_in(g, pull.shape_of(pull.out[j]), symbol), g.shape_of(arguments[j]));
  if (!fits) return vec<int>(values.size(), -code);
  g.casts.asked.ask(pull.casts.asked);
  for (const vec<int>* list : {&values, &saved})
    for (int v : *list) in.push(v);
  equation e{.op = &info<op::custom, T>, .shape = g.intern({})};
  e.attr[0] = custom_parts{arguments.size(), values.size()}.attribute();
  e.sub = g.subs.push(static_cast<graph&&>(pull));
  const int custom = g.add(e, range_of(in));
  vec<int> r;
  for (int i = 0; i < values.size(); ++i)
    r.push(g.op(values[i]).kit->result(g, custom, g.eq[values[i]].shape, {i, static_cast<std::int64_t>(loop_result::carry)}));
  return r;
}
/// The same for a function that is not in g yet: computes it from the arguments. Its first `values` outputs are its values, the others are
/// saved.
template <class T = float>
constexpr vec<int> add_custom(graph& g, const graph& function, const graph& pull, const vec<int>& arguments, int values, int code) {
  const vec<int> made = splice(g, function, arguments);
  vec<int> value, saved;
  for (int i = 0; i < made.size(); ++i) (i < values ? value : saved).push(made[i]);
  return add_custom<T>(g, pull, arguments, value, saved, code);
}
/// The code of F::add_to on arguments of these forms, or 0.
template <class F, class... A>
constexpr int code_of_adding() {
  graph g;
  g.tolerant = true;
  int number = 0;
  const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
  const std::tuple<A...> arguments{filled<A>(next)...};
  return std::apply([&](const auto&... x) {
    for (int o : F::add_to(g, x...))
      if (o < 0) return -o;
    return 0;
  }, arguments);
}
template <class... A>
constexpr vec<int> ids_of(const A&... a) {
  vec<int> r;
  (each_leaf([&](const auto& leaf) { r.push(leaf.id); }, a), ...);
  return r;
}

/// F with the pull B, on arguments with these forms of terms.
template <class F, class B, class... A>
struct customized {
  using trace = trace_of<F, A...>;
  template <class Trace = trace>  // used only if the function can be called
  using made = saving_result<typename Trace::result>;
  template <class Trace = trace>
  using result = typename made<Trace>::value;
  template <class Trace = trace>
  using pulled = result_of_trace<B, typename made<Trace>::saved, typename made<Trace>::value>;

  /// The graph of the pull: saved values, cotangents -> gradients.
  struct pull {
    static constexpr graph make() {
      graph g;
      int number = 0;
      const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
      const auto saved = filled<typename made<>::saved>(next);
      const auto cotangents = filled<typename made<>::value>(next);
      const pulled<> r = B{}(saved, cotangents);
      put(g, r, std::index_sequence_for<A...>{});
      return canonical_shapes(static_cast<graph&&>(g));
    }
    template <std::size_t... J>
    static constexpr void put(graph& g, const auto& r, std::index_sequence<J...>) {
      (put_derivatives<A>(g, std::get<J>(r)), ...);
    }
  };

  static constexpr vec<int> add_to(graph& g, const A&... a) {
    return add_custom(g, frozen<trace>::g.thaw(), frozen<pull>::g.thaw(), ids_of(a...), argument<typename made<>::value>::leaves, 337);
  }
  static constexpr int find_code() {
    if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace>{}); of_function != 0) return of_function;
    else if constexpr (is_refused<frozen<trace>>) return already_reported;
    else if constexpr (!made<>::exists) return 336;
    else if constexpr (constexpr int known = known_call<B, typename made<>::saved, typename made<>::value>::code; known != 0) return known;
    else if constexpr (!requires { typename pulled<>; }) return requires { &B::operator(); } ? 128 : 127;
    else if constexpr (holds_refused<pulled<>>) return already_reported;
    else if constexpr (!are_derivatives<pulled<>, A...>) return 337;
    else if constexpr (!is_constant<frozen<pull>>) return 126;
    else return code_of_adding<customized, A...>();
  }
  static constexpr int code = find_code();
  /// Makes the compiler report why the trace or the pull is not a constant.
  static constexpr int show_reason() {
    if constexpr (!is_constant<frozen<trace>>) return not_constant<trace>::make().size();
    else return pull::make().size();
  }
};

/// The code of the error in a call of a function with its own derivative, or 0, as far as the types of the arguments show it. Numbers, and
/// terms in a context, are checked later.
template <template <class, class, class...> class Customized, class F, class B, class... A>
constexpr int code_of_custom() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr (code_of_function<B> != 0) return code_of_function<B>;
  else if constexpr ((holds_refused<A> || ...)) return already_reported;
  else if constexpr (!are_traced<A...>) return 339;
  else if constexpr ((is_in_context<A> || ...) || (any_leaf<A, is_a_number> || ...)) return 0;
  else if constexpr (!(argument<A>::is_argument && ...)) return 111;
  else return Customized<F, B, A...>::code;
}

template <class Customized, class... A>
constexpr auto apply_customized(const A&... a) {
  static_cast<void>(refuse_call<Customized>{});
  if constexpr (Customized::code != 0) return refused_result{};
  else {
    graph& g = *first_graph(a...);
    return terms_at<typename Customized::template result<>>(g, Customized::add_to(g, a...));
  }
}

}  // namespace detail

template <class F, class B, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::custom_vjp<F, B>, const A&... a) {
  return detail::apply_customized<detail::customized<F, B, A...>>(a...);
}
/// The same with numbers among the arguments.
template <class F, class B, class... A>
  requires detail::have_numbers<A...>
constexpr auto apply_function(functions::custom_vjp<F, B> f, const A&... a) {
  return detail::apply_to_terms(f, a...);
}

/// f(a...), with derivatives by a pull of your own. f returns std::tuple(y, saved): its value, and what the pull needs. pull(saved, g),
/// where g has the form of y, returns std::tuple(gradient of the first argument, ...). Each gradient has the form of its argument;
/// ebb::nothing means no gradient. Both functions are traced and must not capture. Arguments, y and saved are arrays, numbers, tuples
/// and structs.
///   constexpr auto clipped = [](auto x) {                             // x, with a gradient of at most 1
///     return ebb::custom_vjp([](auto x) { return std::tuple(x, std::tuple<>()); },
///                            [](auto, auto g) { return std::tuple(ebb::clamp(g, -1, 1)); }, x);
///   };
/// The ops that compute y need no pull. For second derivatives, the pull and the ops that computed the saved values are differentiated; a
/// saved value that is y has the pull of f again. jvp and jacfwd need a pull that is linear in g. In an autocast context both functions run
/// in it, and gradients are converted to the dtypes of their arguments.
/// Shape: y's.   Dtype: y's.   Saves: the saved values.   Error: the values have the bits of f.
/// Throws: error on the tape, in a backward of a backward, if a saved value was computed by a pull that reads what is not saved: then save
/// arguments and y only, or apply ebb::stop_gradient to it.
template <class F, class B, class... A>
constexpr auto custom_vjp(F, B, const A&... a) {
  constexpr int code = detail::code_of_custom<detail::customized, F, B, A...>();
  static_cast<void>(detail::refuse_call<detail::customized<F, B, A...>, code>{});
  if constexpr (code != 0) return refused_result{};
  else return apply_function(functions::custom_vjp<F, B>{}, a...);
}

}  // namespace ebb::inline EBB_ABI
