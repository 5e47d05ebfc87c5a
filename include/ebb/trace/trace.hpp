// ebb/trace/trace.hpp — traces a lambda with argument types into a graph, a constant.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a traced callable is pure and empty]
// A function is traced once for each list of argument types, at compile time. So it must not capture: values that change from call to call
// are arguments. Each array is another argument of the graph, even if the same array is passed twice.
#pragma once

#include "argument.hpp"
#include "lift.hpp"
#include "operators.hpp"

#include "../graph/frozen.hpp"
#include "../graph/splice.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 126, 127, 128, 129>
struct refuse_function<Code> {
  static_assert(Code != 126, "[ebb E0126] a traced function calls what is not constexpr, or reads a variable, or is too large for the "
                             "compiler's limit (add -fconstexpr-ops-limit=2147483647 for g++, -fconstexpr-steps=2147483647 for clang): "
                             "the next error names it");
  static_assert(Code != 127, "[ebb E0127] the function cannot be called so: it takes another number of arguments, not all are auto, or it "
                             "has the error above");
  static_assert(Code != 128, "[ebb E0128] the parameters of a traced function are auto: it is called with terms, not with arrays");
  static_assert(Code != 129, "[ebb E0129] a traced function returns arrays, numbers, or tuples and structs of them: no void, no pair");
};

template <class Leaf>
using is_refused_leaf = std::bool_constant<has_refused<Leaf>>;
template <class R>
inline constexpr bool holds_refused = any_leaf<R, is_refused_leaf>;

/// A returned number is a literal of rank 0.
template <class R>
constexpr void add_result(graph& g, const R& r) {
  if constexpr (holds_refused<R>) g.out.push(-1);
  else each_leaf([&]<class Leaf>(const Leaf& leaf) {
    if constexpr (is_term<Leaf>) g.out.push(leaf.id);
    else g.out.push(to_operand<Leaf>(g, leaf).id);
  }, r);
}

template <class F, class... A>
using result_of_trace = decltype(std::declval<const F&>()(std::declval<typename argument<A>::traced>()...));

/// The results that a traced function may return: terms, numbers, tuples and structs of them.
template <class Leaf>
using is_result_leaf = std::bool_constant<is_term<Leaf> || (number<Leaf> && element<Leaf>)>;
template <class R>
inline constexpr bool can_be_returned = all_leaves<R, is_result_leaf>;

/// The pass that F brings along, see `own_pass`.
template <class F>
inline constexpr own_pass pass_of{};

}  // namespace detail

/// F traced on arguments of types A...: arrays, numbers, tuples, structs, terms.
template <class F, class... A>
struct trace_of {
  using result = detail::result_of_trace<F, A...>;

  static constexpr graph make(bool tolerant = false) {
    graph g;
    g.tolerant = tolerant;
    int number = 0;
    const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
    const std::tuple<typename argument<A>::traced...> arguments{detail::filled<typename argument<A>::traced>(next)...};
    call(g, arguments, std::index_sequence_for<A...>{});
    graph r = canonical_shapes(static_cast<graph&&>(g));
    if constexpr (detail::pass_of<F>.there) r.brings = detail::pass_of<F>;
    return r;
  }

 private:
  // Not std::apply: each of its four levels would be a line of every diagnostic.
  template <std::size_t... J>
  static constexpr void call(graph& g, const auto& arguments, std::index_sequence<J...>) {
    detail::add_result(g, F{}(std::get<J>(arguments)...));
  }
};

template <class F, class... A>
using traced = frozen<trace_of<F, A...>>;

namespace detail {

/// The equations `ids` of g as terms in the form R.
template <class R>
constexpr R terms_at(graph& g, const vec<int>& ids) {
  int number = 0;
  return filled<R>([&]<class Term>() { return Term{&g, ids[number++]}; });
}

/// The same, without errors for subscripts out of range.
template <class F, class... A>
struct tolerant_trace {
  static constexpr graph make() { return trace_of<F, A...>::make(true); }
};

/// The error code of a trace: 0, the code of a sentence in refuse_function, or already_reported. The function is named here and not deeper:
/// an error inside it is then reported with a short chain of contexts. For clang, a function with an error cannot be called: there 127 is
/// reported as well.
template <class F, class... A>
constexpr int code_of_trace(std::type_identity<trace_of<F, A...>>) {
  if constexpr (known_call<F, typename argument<A>::traced...>::code != 0) return known_call<F, typename argument<A>::traced...>::code;
  else if constexpr (!requires { typename result_of_trace<F, A...>; }) return requires { &F::operator(); } ? 128 : 127;
  // Asked again: clang reports an error in the body, answers once that the function can be called, and not any more.
  else if constexpr (!requires { typename result_of_trace<F, A...>; }) return 127;
  else if constexpr (holds_refused<result_of_trace<F, A...>>) return already_reported;
  else if constexpr (!can_be_returned<result_of_trace<F, A...>>) return 129;
  else if constexpr (is_constant<traced<F, A...>>) return 0;
  else return is_constant<frozen<tolerant_trace<F, A...>>> ? 230 : 126;
}

/// Whether a trace contains a refused call, which has been reported at the user's line.
template <class Frozen>
inline constexpr bool is_refused = [] {
  for (int i = 0; i < Frozen::g.outs(); ++i)
    if (Frozen::g.out[static_cast<std::size_t>(i)] < 0) return true;
  return false;
}();

/// The trace that is not a constant, for a call with code 126 or 230: that of the innermost function with this code. The place that finds
/// the code evaluates it as a constant, so that the compiler reports the reason.
template <class Trace>
struct not_constant;
template <class F, class... A>
struct not_constant<trace_of<F, A...>> : trace_of<F, A...> {};
template <class F, class... A>
  requires(known_call<F, A...>::code != 0)
struct not_constant<trace_of<F, A...>> : not_constant<typename known_call<F, A...>::trace> {};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
