// ebb/trace/cond.hpp — cond runs one of two functions, by a condition that the call computes.
// SPDX-License-Identifier: BSL-1.0
//
//   auto y = ebb::cond(ebb::sum(x) > 0, f, g, x, w);     f(x, w) or g(x, w)
// For each function it emits a guarded loop of one step, without carries, whose body is the function: see [note: loops]. A result is the
// row of that step, or zeros if the loop does not run. A `where` selects between the results of both.
#pragma once

#include "custom.hpp"

#include "../op/compare.hpp"

namespace ebb::inline EBB_ABI {

namespace functions {

template <class F, class G>
struct conditional {};

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

/// F or G.
template <class F, class G, class... A>
struct conditional {
  using yes = called_if<F, A...>;
  using no = called_if<G, A...>;
  template <class Yes = yes>  // used only if both functions can be called
  using result = typename Yes::template result<>;

  /// Adds both loops, with p as the condition, and selects each leaf of the result.
  static constexpr vec<int> add_to(graph& g, const term<bool>& p, const A&... a) {
    const operand<bool> guard{&g, p.id}, other{&g, broadcasting<op::logical_not>::apply(guard).id};
    vec<int> operands = ids_of(a...);
    operands.push(guard.id);
    const vec<int> one = add_call<typename yes::body>(g, operands, {.guarded = true});
    operands[operands.size() - 1] = other.id;
    const vec<int> two = add_call<typename no::body>(g, operands, {.guarded = true});
    vec<int> r;
    int number = 0;
    static_cast<void>(filled<result<>>([&]<class Term>() {
      const int x = one[number], y = two[number];
      ++number;
      if (x < 0 || y < 0) r.push(x < 0 ? x : y);
      else if (!g.syms.unify(g.shape_of(x), g.shape_of(y))) r.push(-348);
      else r.push(select<typename Term::value_type>(guard, {&g, x}, {&g, y}).id);
      return Term{};
    }));
    return r;
  }
  template <class T>
  static constexpr operand<T> select(operand<bool> p, operand<T> x, operand<T> y) {
    return broadcasting<op::where>::apply(p, x, y);
  }
  static constexpr int find_code() {
    if constexpr (yes::code != 0) return yes::code;
    else if constexpr (no::code != 0) return no::code;
    else if constexpr (!leaves_are_selected<leaves_in<typename yes::template result<>>, leaves_in<typename no::template result<>>>)
      return 348;
    else return code_of_adding<conditional, term<bool>, A...>();
  }
  static constexpr int code = find_code();
  static constexpr int show_reason() {
    if constexpr (is_named_next(yes::code)) return yes::show_reason();
    else return no::show_reason();
  }
};

template <class P>
inline constexpr bool is_term_of_bool = std::is_same_v<P, bool>;
template <>
inline constexpr bool is_term_of_bool<term<bool>> = true;
template <class C>
inline constexpr bool is_term_of_bool<term_under<C, bool>> = true;

template <class F, class G, class P, class... A>
constexpr int code_of_cond() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr (code_of_function<G> != 0) return code_of_function<G>;
  else if constexpr (holds_refused<P> || (holds_refused<A> || ...)) return already_reported;
  else if constexpr (!are_traced<P, A...>) return 510;
  else if constexpr (!is_term_of_bool<P>) return 346;
  else if constexpr ((is_in_context<A> || ...) || is_in_context<P>) return 0;
  else if constexpr ((any_leaf<A, is_a_number> || ...)) return 0;
  else if constexpr (!(argument<A>::is_argument && ...)) return 111;
  else return conditional<F, G, A...>::code;
}

}  // namespace detail

template <class F, class G, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::conditional<F, G>, const term<bool>& p, const A&... a) {
  using conditional = detail::conditional<F, G, A...>;
  static_cast<void>(detail::refuse_function<conditional::code>{});
  if constexpr (detail::is_named_next(conditional::code)) [[maybe_unused]] constexpr int size = conditional::show_reason();
  if constexpr (conditional::code != 0) return refused_result{};
  else {
    p.g->syms.asking = "cond";
    const vec<int> made = conditional::add_to(*p.g, p, a...);
    return detail::terms_at<typename conditional::template result<>>(*p.g, detail::with_known_steps(*p.g, made));
  }
}
/// The same with numbers among the arguments, and with a constant condition.
template <class F, class G, class P, class... A>
  requires(std::is_same_v<P, bool> || std::is_same_v<P, term<bool>>) && detail::have_numbers<P, A...>
constexpr auto apply_function(functions::conditional<F, G> f, const P& p, const A&... a) {
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
  constexpr int code = detail::code_of_cond<F, G, P, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code)) [[maybe_unused]] constexpr int size = detail::conditional<F, G, A...>::show_reason();
  if constexpr (code != 0) return refused_result{};
  else return apply_function(functions::conditional<F, G>{}, p, a...);
}

}  // namespace ebb::inline EBB_ABI
