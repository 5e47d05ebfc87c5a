// ebb/trace/map.hpp — a function of one row, applied to all rows at once.
// SPDX-License-Identifier: BSL-1.0
//
//   map([](auto x, auto w) { return matmul(w, x); }, rows, whole(w))
// The function is traced once, on the types of single rows, and its equations get a leading axis (see [note: batching]). So each row has
// the bits of a call on that row, and values that are the same for all rows are computed once. map is differentiated like any function.
#pragma once

#include "context_in.hpp"
#include "trace.hpp"

#include "../graph/batch.hpp"

#include <initializer_list>
#include <tuple>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 290, 124, 125, 333>
struct refuse_function<Code> {
  static_assert(Code != 290, "[ebb E0290] map: the arguments have different numbers of rows");
  static_assert(Code != 124, "[ebb E0124] map: there must be an argument that is not whole(...), and none may be a scalar");
  static_assert(Code != 125, "[ebb E0125] map: an op in the function cannot take a leading axis, or an array has too many axes");
  static_assert(Code != 333, "[ebb E0333] map: the number of steps of a fori is not the same for all rows: pass it in whole(...)");
};

}  // namespace detail

/// An argument of map that is passed whole to each row: a reference, `const A&`, to a named argument, else a copy.
template <class A>
struct whole_argument {
  A value;
};
template <class A>
constexpr whole_argument<const A&> whole(const A& a) {
  return {a};
}
template <class A>
  requires(!std::is_lvalue_reference_v<A>)
constexpr whole_argument<std::remove_const_t<A>> whole(A&& a) {
  return {std::forward<A>(a)};
}

namespace functions {

/// F on the rows of its arguments. Whole: the arguments that are not split into rows.
template <class F, bool... Whole>
struct map {};

}  // namespace functions

namespace detail {

template <class A>
inline constexpr bool is_whole = false;
template <class A>
inline constexpr bool is_whole<whole_argument<A>> = true;

constexpr const auto& unwrapped(const auto& a) { return a; }
template <class A>
constexpr const auto& unwrapped(const whole_argument<A>& a) { return a.value; }

/// The first of two numbers of rows that is known.
constexpr std::size_t known_rows(std::initializer_list<std::size_t> counts) {
  for (const std::size_t n : counts)
    if (n != dyn) return n;
  return dyn;
}

/// One row of a form of terms, each of which has a leading axis or is whole.
struct first_row {
  template <class Term>
  struct row_of {
    using type = Term;
    static constexpr bool exists = false;
    static constexpr std::size_t count = dyn;
  };
  template <class T, std::size_t N, std::size_t... E>
  struct row_of<term<T, N, E...>> {
    using type = term<T, E...>;
    static constexpr bool exists = true;
    static constexpr std::size_t count = N;
  };
  template <class Term>
  using of = typename row_of<Term>::type;
};
template <class Leaf>
using has_row = std::bool_constant<first_row::row_of<Leaf>::exists>;
template <class... Leaf>
constexpr std::size_t rows_among(types<Leaf...>) {
  return known_rows({first_row::row_of<Leaf>::count...});
}
template <class A, bool Whole = false>
struct row {
  using type = A;
  static constexpr bool exists = true;
  static constexpr std::size_t count = dyn;
};
template <class A>
struct row<A, false> {
  using type = with_step<A, first_row>;
  static constexpr bool exists = all_leaves<A, has_row>;
  static constexpr std::size_t count = rows_among(leaf_types<A>{});
};

/// The form of terms with rows R.
template <std::size_t N>
struct all_rows {
  template <class Term>
  struct rows_of;
  template <class T, std::size_t... E>
  struct rows_of<term<T, E...>> {
    using type = term<T, N, E...>;
  };
  template <class Term>
  using of = typename rows_of<Term>::type;
};
template <class R, std::size_t N>
using rows = with_step<typename argument<R>::traced, all_rows<N>>;

template <class F, class Flags, class... A>
struct mapped;
template <class F, bool... Whole, class... A>
struct mapped<F, std::integer_sequence<bool, Whole...>, A...> {
  static constexpr bool has_rows = !(Whole && ...) && (row<A, Whole>::exists && ...);
  using trace = trace_of<F, typename row<A, Whole>::type...>;
  using body = frozen<trace>;
  template <class Trace = trace>  // used only if the function can be called
  using result = rows<typename Trace::result, known_rows({row<A, Whole>::count...})>;

  static constexpr vec<int> splice_into(graph& g, const A&... a) {
    vec<int> arguments;
    vec<char> batched;
    (each_leaf([&](const auto& leaf) {
      arguments.push(leaf.id);
      batched.push(!Whole);
    }, a), ...);
    int extent = -1;
    for (int i = 0; i < arguments.size(); ++i)
      if (batched[i]) extent = g.shape_of(arguments[i]).e[0];
    return splice_batched(g, body::g.thaw(), arguments, batched, extent);
  }
  static constexpr int find_code() {
    if constexpr (!has_rows) return 124;
    else if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace>{}); of_function != 0) return of_function;
    else if constexpr (is_refused<body>) return already_reported;
    else {
      graph g;
      int number = 0;
      const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
      const vec<int> out = splice_into(g, filled<A>(next)...);
      for (int o : out)
        if (o < 0) return o == -102 ? 290 : o == -333 ? 333 : 125;
      return 0;
    }
  }
  static constexpr int code = find_code();
  static constexpr int show_reason() { return not_constant<trace>::make().size(); }
};

/// The code that refuses a call of map, or 0, as far as the arguments' types tell: variables and terms in a context are looked at later.
template <class F, class Flags, class... A>
constexpr int code_of_map() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr ((holds_refused<A> || ...)) return already_reported;
  else if constexpr ((is_in_context<A> || ...) || (holds_variables<A> || ...) || (holds_duals<A> || ...)) return 0;
  else if constexpr (!(argument<A>::is_argument && ...)) return 111;
  else return mapped<F, Flags, typename argument<A>::traced...>::code;
}

/// A call of map on these arguments, some of them in whole(...).
template <class F, class... A>
struct call_of_map {
  template <class W>
  using unwrapped_type = std::remove_cvref_t<decltype(unwrapped(std::declval<const W&>()))>;
  using flags = std::integer_sequence<bool, is_whole<A>...>;
  static constexpr int code = code_of_map<F, flags, unwrapped_type<A>...>();
  static constexpr int show_reason() { return mapped<F, flags, typename argument<unwrapped_type<A>>::traced...>::show_reason(); }
};

/// Arguments of a function that takes functions, outside of traced functions, that are not all arrays and numbers.
template <class... A>
concept have_forms_or_duals = ((!form<A>::is_leaf || is_dual<A>) || ...) && !are_traced<A...>;
/// The promoted dtype of the arguments; numbers do not count.
template <class... T>
constexpr auto promoted_terms(types<T...>) {
  return promote_all(std::type_identity<void>{}, std::type_identity<operand<typename T::value_type>>{}...);
}
template <class... A>
using promoted_among =
    typename decltype(promoted_terms(joined_types<std::conditional_t<number<A>, types<>, typename argument<A>::terms>...>{}))::type;
/// A number among terms is a literal, in the dtype that it takes beside arrays.
template <class T, class A>
constexpr auto as_term(graph& g, const A& a) {
  if constexpr (number<A>) {
    using N = promoted_weak<T, A>;
    return term<N>{&g, to_operand<N>(g, a).id};
  } else return a;
}

}  // namespace detail

/// On terms, and tuples and structs of them. On arrays it is traced like any function.
template <class F, bool... Whole, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::map<F, Whole...>, const A&... a) {
  using mapped = detail::mapped<F, std::integer_sequence<bool, Whole...>, A...>;
  static_cast<void>(detail::refuse_call<mapped>{});
  if constexpr (mapped::code != 0) return refused_result{};
  else {
    graph* g = detail::first_graph(a...);
    g->syms.asking = "map";
    return detail::terms_at<typename mapped::template result<>>(*g, mapped::splice_into(*g, a...));
  }
}

template <class F, bool... Whole, class... A>
  requires(number<A> || ...) && (is_traced<A> || ...) && ((number<A> || is_traced<A>) && ...)
constexpr auto apply_function(functions::map<F, Whole...> f, const A&... a) {
  return apply_function(f, detail::as_term<detail::promoted_among<A...>>(*detail::first_graph(a...), a)...);
}

/// On tuples and structs of arrays, and on duals: see exec/eager.hpp.
template <class F, bool... Whole, class... A>
  requires detail::have_forms_or_duals<A...>
constexpr auto apply_function(functions::map<F, Whole...>, const A&... a);

/// f for each row along the first axis of the arguments; those in whole(...) are the same for all rows. f must not capture.
///   map(grad(loss), whole(parameters), x, t)     a gradient for each example, in the form of the parameters
/// Shape: f's result with a leading axis.   Error: each row has the bits of a call of f on that row.
template <class F, class... A>
constexpr auto map(F, const A&... a) {
  using call = detail::call_of_map<F, A...>;
  static_cast<void>(detail::refuse_call<call>{});
  if constexpr (call::code != 0) return refused_result{};
  else return apply_function(functions::map<F, detail::is_whole<A>...>{}, detail::unwrapped(a)...);
}

}  // namespace ebb::inline EBB_ABI
