// ebb/trace/cond.hpp — cond and switch_ run one of several functions, by a condition or an index that the call computes.
// SPDX-License-Identifier: BSL-1.0
//
//   auto y = ebb::cond(ebb::sum(x) > 0, f, g, x, w);     f(x, w) or g(x, w)
//   auto y = ebb::switch_<3>(i, f, g, h, x, w);          f(x, w), g(x, w) or h(x, w)
// For each function they emit a guarded loop of one step, without carries, whose body is the function: see [note: loops]. A result is the
// row of that step, or zeros if the loop does not run. A `where` selects between the results.
#pragma once

#include "custom.hpp"

#include "../op/compare.hpp"
#include "../op/gather.hpp"
#include "../op/subscript.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 346, 348, 349, 508, 509, 510>
struct refuse_function<Code> {
  static_assert(Code != 346, "[ebb E0346] cond: the condition is a bool without axes: ebb::any(c), ebb::all(c), or ebb::where for "
                             "elements");
  static_assert(Code != 348, "[ebb E0348] cond, switch_: the functions return different forms, dtypes or shapes");
  static_assert(Code != 349, "[ebb E0349] cond, switch_: a result has eight axes, and one is needed for the step");
  static_assert(Code != 508, "[ebb E0508] switch_: the index is an integer without axes, int or std::int64_t");
  static_assert(Code != 509, "[ebb E0509] switch_<n>: give the index, then n functions, at least one, then their arguments");
  static_assert(Code != 510, "[ebb E0510] cond, switch_: they are called in a traced function: elsewhere C++ branches, "
                             "if (p) y = f(x); else y = g(x);");
};

}  // namespace detail

namespace functions {

/// One of F..., by a bool or an integer.
template <class... F>
struct conditional {};

/// The words in errors about an index.
struct switch_ {
  static constexpr std::string_view counted = "functions";
};

}  // namespace functions

namespace detail {

/// The graph of F as the body of a guarded loop of one step. The operands of the loop are the arguments and the guard.
template <class F, class... A>
struct body_of_call {
  static constexpr graph make() {
    graph g = trace_of<F, A...>::make();
    const int guard = g.inputs++;
    emit_as<op::input, bool>(g, g.intern({}), {}, {guard});
    return g;
  }
};
/// Adds a loop of one step with this body to g, and returns its results without the axis of the step; a negative code if the arguments do
/// not fit.
template <class Body>
constexpr vec<int> add_call(graph& g, const vec<int>& operands, const loop_parts& parts) {
  vec<int> made = add_loop(g, frozen<Body>::g.thaw(), parts, operands);
  for (int& k : made)
    if (k >= 0) k = g.op(k).kit->reshape(g, k, g.intern(row_of_shape(g.shape_of(k))));
  return made;
}

/// F in a loop of one step, for arguments with these forms of terms.
template <class F, class... A>
struct called_in_loop {
  using trace = trace_of<F, A...>;
  template <class Trace = trace>  // used only if the function can be called
  using result = typename argument<typename Trace::result>::traced;

  template <class Trace = trace>
  static constexpr bool has_room = !any_leaf<result<Trace>, has_most_axes>;
  /// The code that refuses F, or 0. WithoutRoom: that of a result with most axes.
  template <int WithoutRoom>
  static constexpr int code_with() {
    if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace>{}); of_function != 0) return of_function;
    else if constexpr (is_refused<frozen<trace>>) return already_reported;
    else if constexpr (!has_room<>) return WithoutRoom;
    else return 0;
  }
  static constexpr int show_reason() { return not_constant<trace>::make().size(); }
};
/// F, guarded.
template <class F, class... A>
struct called_if : called_in_loop<F, A...> {
  using body = body_of_call<F, A...>;
  static constexpr int code = called_in_loop<F, A...>::template code_with<349>();
};

/// Whether a leaf has the same dtype and shape in both functions, as far as the types show it; and the type of the selected leaf.
template <class X, class Y>
struct selected_leaf {
  static constexpr bool exists = false;
};
template <class T, std::size_t... E, std::size_t... D>
  requires(sizeof...(E) == sizeof...(D)) && ((E == D || E == dyn || D == dyn) && ...)
struct selected_leaf<term<T, E...>, term<T, D...>> {
  static constexpr bool exists = true;
};
template <class X, class Y>
inline constexpr bool leaves_are_selected = false;
template <class... X, class... Y>
  requires(sizeof...(X) == sizeof...(Y))
inline constexpr bool leaves_are_selected<types<X...>, types<Y...>> = (selected_leaf<X, Y>::exists && ...);

/// Which of N functions runs, as one bool for each: by a condition, or by an index.
template <int N, std::same_as<bool> B>
constexpr vec<int> guards_by(const term<B>& p) {
  return {p.id, broadcasting<op::logical_not>::apply(operand<B>{p.g, p.id}).id};
}
template <int N, class I>
constexpr vec<int> guards_by(const term<I>& i) {
  shape one_each;
  one_each.push(N);
  const operand<bool> marks = marked<functions::switch_>(operand<I>{i.g, i.id}, one_each, 0);
  vec<int> r;
  for (int k = 0; k < N; ++k) r.push(functions::subscript::apply(marks, k).id);
  return r;
}

/// One of F..., chosen by P, a bool or an integer, on arguments with these forms of terms.
template <class Functions, class P, class... A>
struct conditional;
template <class... F, class P, class... A>
struct conditional<functions::conditional<F...>, P, A...> {
  using first = called_if<boost::mp11::mp_first<types<F...>>, A...>;
  template <class First = first>  // used only if all functions can be called
  using result = typename First::template result<>;

  /// Adds the loops, and selects each leaf of the result.
  static constexpr vec<int> add_to(graph& g, const P& p, const A&... a) {
    const vec<int> guard = guards_by<sizeof...(F)>(p);
    vec<int> operands = ids_of(a...), made, r;
    operands.push(-1);
    int number = 0;
    const auto add = [&]<class Called>(std::type_identity<Called>) {
      operands[operands.size() - 1] = guard[number++];
      for (int x : add_call<typename Called::body>(g, operands, {.guarded = true})) made.push(x);
    };
    (add(std::type_identity<called_if<F, A...>>{}), ...);
    static_cast<void>(filled<result<>>([&]<class Term>() {
      r.push(selected<typename Term::value_type>(g, guard, made, r.size()));
      return Term{};
    }));
    return r;
  }
  /// A leaf of the function that ran; `made` has the leaves of all functions, one function after another.
  template <class T>
  static constexpr int selected(graph& g, const vec<int>& guard, const vec<int>& made, int leaf) {
    const int leaves = made.size() / guard.size();
    int r = -1;
    for (int k = guard.size() - 1; k >= 0; --k) {
      const int x = made[k * leaves + leaf];
      if (x < 0) return x;
      if (r >= 0 && !g.syms.unify(g.shape_of(x), g.shape_of(r))) return -348;
      r = r < 0 ? x : select<T>({&g, guard[k]}, {&g, x}, {&g, r}).id;
    }
    return r;
  }
  template <class T>
  static constexpr operand<T> select(operand<bool> p, operand<T> x, operand<T> y) {
    return broadcasting<op::where>::apply(p, x, y);
  }
  /// The first function that is refused, else the last one.
  template <class G, class... More>
  static constexpr auto first_refused() {
    if constexpr (sizeof...(More) == 0 || called_if<G, A...>::code != 0) return called_if<G, A...>{};
    else return first_refused<More...>();
  }
  using refused = decltype(first_refused<F...>());
  static constexpr int find_code() {
    if constexpr (refused::code != 0) return refused::code;
    else if constexpr (!(leaves_are_selected<leaves_in<result<>>, leaves_in<typename called_if<F, A...>::template result<>>> && ...))
      return 348;
    else return code_of_adding<conditional, P, A...>();
  }
  static constexpr int code = find_code();
  static constexpr int show_reason() { return refused::show_reason(); }
};

template <class P>
inline constexpr bool is_term_of_bool = std::is_same_v<P, bool>;
template <>
inline constexpr bool is_term_of_bool<term<bool>> = true;
template <class C>
inline constexpr bool is_term_of_bool<term_under<C, bool>> = true;

/// A number or a term that chooses among functions by its value.
template <class I>
inline constexpr bool is_term_of_index = index_element<I>;
template <class I>
inline constexpr bool is_term_of_index<term<I>> = index_element<I>;
template <class C, class I>
inline constexpr bool is_term_of_index<term_under<C, I>> = index_element<I>;

/// A call of one of F..., chosen by P.
template <class Functions, class P, class Arguments>
struct choice;
template <class... F, class P, class... A>
struct choice<functions::conditional<F...>, P, types<A...>> {
  using chosen = conditional<functions::conditional<F...>, std::conditional_t<number<P>, term<P>, P>, A...>;

  /// The code that refuses the call, or 0. Unfit: that of a P that does not choose, or 0. Numbers, and terms in a context, are checked
  /// later.
  template <int Unfit>
  static constexpr int code() {
    constexpr int of_functions = [] {
      int r = 0;
      ((r = r != 0 ? r : code_of_function<F>), ...);
      return r;
    }();
    if constexpr (of_functions != 0) return of_functions;
    else if constexpr (holds_refused<P> || (holds_refused<A> || ...)) return already_reported;
    else if constexpr (!are_traced<P, A...>) return 510;
    else if constexpr (Unfit != 0) return Unfit;
    else if constexpr ((is_in_context<A> || ...) || is_in_context<P>) return 0;
    else if constexpr ((any_leaf<A, is_a_number> || ...)) return 0;
    else if constexpr (!(argument<A>::is_argument && ...)) return 111;
    else return chosen::code;
  }
  static constexpr int show_reason() { return chosen::show_reason(); }
};
/// The first N of R... are functions, the others are their arguments.
template <int N, class... R>
using functions_of = boost::mp11::mp_rename<boost::mp11::mp_take_c<types<R...>, N>, functions::conditional>;
template <int N, class P, class... R>
using numbered_choice = choice<functions_of<N, R...>, P, boost::mp11::mp_drop_c<types<R...>, N>>;
template <int N, class P, class... R>
constexpr int code_of_switch() {
  if constexpr (N < 1 || N > static_cast<int>(sizeof...(R))) return 509;
  else return numbered_choice<N, P, R...>::template code<is_term_of_index<P> ? 0 : 508>();
}

}  // namespace detail

template <class... F, class P, class... A>
  requires(is_traced<P> && ... && is_traced<A>)
constexpr auto apply_function(functions::conditional<F...>, const P& p, const A&... a) {
  using conditional = detail::conditional<functions::conditional<F...>, P, A...>;
  static_cast<void>(detail::refuse_call<conditional>{});
  if constexpr (conditional::code != 0) return refused_result{};
  else {
    p.g->syms.asking = detail::is_term_of_bool<P> ? "cond" : "switch_";
    const vec<int> made = conditional::add_to(*p.g, p, a...);
    return detail::terms_at<typename conditional::template result<>>(*p.g, detail::with_known_steps(*p.g, made));
  }
}
/// The same with numbers among the arguments, and with a constant condition or index.
template <class... F, class P, class... A>
  requires(detail::is_term_of_bool<P> || detail::is_term_of_index<P>) && detail::have_numbers<P, A...>
constexpr auto apply_function(functions::conditional<F...> f, const P& p, const A&... a) {
  return detail::apply_to_terms(f, p, a...);
}

/// f(a...) if p holds, else g(a...), in a traced function. Only that function runs, and only its derivatives do. p is a bool without axes.
/// Both functions return the same form, dtypes and shapes, and must not capture. Arguments and results are arrays, tuples and structs.
///   auto y = ebb::cond(ebb::norm(x) > 1, [](auto x) { return x / ebb::norm(x); }, [](auto x) { return x; }, x);
/// In a map whose rows have different conditions it becomes a `where`: both functions run for all rows. Then a derivative that is infinite
/// in the function that is not taken makes the gradient NaN, as with `where`.
/// Shape: the results'.   Dtype: the results'.   Saves: what the function that runs saves.   Error: the bits of the function that runs.
template <class P, class F, class G, class... A>
constexpr auto cond(const P& p, F, G, const A&... a) {
  using choice = detail::choice<functions::conditional<F, G>, P, detail::types<A...>>;
  constexpr int code = choice::template code<detail::is_term_of_bool<P> ? 0 : 346>();
  static_cast<void>(detail::refuse_call<choice, code>{});
  if constexpr (code != 0) return refused_result{};
  else return apply_function(functions::conditional<F, G>{}, p, a...);
}

/// One of N functions, by an integer without axes, in a traced function: f(a...) if i is 0, g(a...) if it is 1, and so on. The functions
/// come first, then their arguments. All else is as in cond.
///   auto y = ebb::switch_<3>(i, f, g, h, x, w);
/// jax.lax.switch takes the nearest function if i is out of range; here that is an error, as it is in take: it would hide a mistake.
/// Shape: the results'.   Dtype: the results'.   Saves: what the function that runs saves.   Error: the bits of the function that runs.
/// Throws: if i is negative or not below N.
template <int N, class P, class... R>
constexpr auto switch_(const P& i, const R&... r) {
  constexpr int code = detail::code_of_switch<N, P, R...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::numbered_choice<N, P, R...>::show_reason();
  if constexpr (code != 0) return refused_result{};
  else {
    const std::tuple<const R&...> all(r...);
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
      return apply_function(detail::functions_of<N, R...>{}, i, std::get<N + J>(all)...);
    }(std::make_index_sequence<sizeof...(R) - N>{});
  }
}

}  // namespace ebb::inline EBB_ABI
