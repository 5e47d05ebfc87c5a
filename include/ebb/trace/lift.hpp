// ebb/trace/lift.hpp — functions on operands as functions on terms: their type, their errors, their equations.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "refused.hpp"
#include "term.hpp"

#include "../op/arithmetic.hpp"
#include "../op/compare.hpp"

namespace ebb::inline EBB_ABI {

template <class A>
concept in_trace = is_term<A> || is_term_under<A>;
template <class A>
concept traceable = in_trace<A> || number<A>;
/// Refused with a sentence: terms together with an array.
template <class... A>
concept terms_and_arrays = (in_trace<A> || ...) && !(traceable<A> && ...) && ((traceable<A> || arrays<A>) && ...);

namespace detail {

template <class A>
inline constexpr int rank_of_term = -1;
template <class T, std::size_t... E>
inline constexpr int rank_of_term<term<T, E...>> = sizeof...(E);

/// The promoted dtype of the terms with axes; void if none has axes.
template <class T, class... A>
struct ranked_dtype {
  using type = T;
};
template <class T, class A, class... B>
struct ranked_dtype<T, A, B...> : ranked_dtype<T, B...> {};
template <class T, class A, class... B>
  requires(rank_of_term<A> > 0)
struct ranked_dtype<T, A, B...>
    : ranked_dtype<typename decltype(promotion<T>::template with<operand<typename A::value_type>>())::type, B...> {};

/// As in PyTorch, a term of rank 0 does not widen an array of the same kind of number: float * a double scalar is float.
template <class Op, class Ranked, class... A>
struct weakly {
  template <class B, class X>
  static constexpr auto weak(X x) {
    if constexpr (rank_of_term<B> == 0) {
      using T = typename B::value_type;
      constexpr bool of_higher_kind = is_real(dtype_of<T>) > is_real(dtype_of<Ranked>) || std::is_same_v<Ranked, bool>;
      if constexpr (std::is_same_v<T, bool> || of_higher_kind) return x;
      else return cast_to<Ranked>(x);
    } else return x;
  }
  static constexpr auto apply(auto... x) { return broadcasting<Op>::apply(weak<A>(x)...); }
};

template <class F, class... A>
struct on_terms {
  using type = F;
};
template <class Op, class... A>
  requires((rank_of_term<A> == 0) || ...) && ((rank_of_term<A> > 0) || ...)
struct on_terms<broadcasting<Op>, A...> {
  using type = weakly<Op, typename ranked_dtype<void, A...>::type, A...>;
};

/// A number stays a number; a term becomes an argument of a scratch graph.
template <class A>
constexpr auto scratch(graph& g, int number) {
  if constexpr (is_term<A>) return operand<typename A::value_type>(add_argument<A>(g, number));
  else return A{};
}

/// F on terms of these types: the shape of the result, or a refusal's code. See [note: functions are written once, on operands].
template <class F, class... A>
struct lifted {
  using function = F;
  using lift = lifted;
  template <class B>
  using argument = std::conditional_t<is_term<B>, decltype(scratch<B>(std::declval<graph&>(), 0)), B>;
  static constexpr bool takes_these = requires { F::apply(std::declval<argument<A>>()...); };
  static constexpr shape infer() {
    if constexpr (!takes_these) return refused(556);
    else
      return []<int... J>(std::integer_sequence<int, J...>) {
        graph g;
        g.tolerant = true;
        const auto r = F::apply(scratch<A>(g, J)...);
        return r.id < 0 ? refused(-r.id) : g.syms.find(g.shape_of(r.id));
      }(std::make_integer_sequence<int, sizeof...(A)>{});
  }
  static constexpr auto applied() {
    if constexpr (takes_these) return std::type_identity<decltype(F::apply(std::declval<argument<A>>()...))>{};
    else return std::type_identity<operand<float>>{};
  }

  static constexpr shape result = infer();
  static constexpr int code = result.code();
  static constexpr shape shown = code ? shape{} : result;
  using value_type = typename decltype(applied())::type::value_type;
  using type = term_of<value_type, static_extents<shown>>;
};

/// A function may have sentences for codes of its own, from 901 on, which its shape rule returns:
///   template <int Code> struct refusals { static_assert(Code != 901, "[mine 901] windows: the window is longer than the axis"); };
template <class F, int Code>
concept has_sentence = Code > 900 && requires { typename F::template refusals<Code>; };

/// The call, and the sentence if it is refused: at most two levels of instantiation below the user's line. A member of a refused class is
/// no constant for clang 19: constants are taken from `lift`.
template <class F, class... A>
using accepted_on = refusal<lifted<F, A...>::code, lifted<F, A...>>;

template <class T, std::size_t... E>
constexpr operand<T> as_argument(const term<T, E...>& a) {
  return {a.g, a.id};
}
constexpr auto as_argument(number auto a) { return a; }

template <class T, std::size_t... E>
constexpr graph* graph_of(const term<T, E...>& a, const auto&...) {
  return a.g;
}
constexpr graph* graph_of(const number auto&, const auto&... rest) { return graph_of(rest...); }

}  // namespace detail

namespace detail {

/// Records the operands that a context would cast.
template <class F, class... A>
constexpr void ask_contexts(graph& g, const A&...) {
  if constexpr (autocast_class<F> != precision::as_is) {
    const auto ask = [&]<class B>(std::type_identity<B>) {
      if constexpr (is_term<B>) g.casts.asked.ask(autocast_class<F>, dtype_of<typename B::value_type>, called<F>);
    };
    (ask(std::type_identity<A>{}), ...);
  }
}

}  // namespace detail

template <int Code, class Call>
  requires detail::has_sentence<typename Call::function, Code>
struct refusal<Code, Call> : Call, Call::function::template refusals<Code> {};

/// For terms, with numbers among them.
template <class F, class... A>
  requires(is_term<A> || ...) && ((is_term<A> || number<A>) && ...)
constexpr auto apply_function(F, const A&... a) {
  using function = typename detail::on_terms<F, A...>::type;
  using result = typename detail::accepted_on<function, A...>::lift;
  detail::graph_of(a...)->syms.asking = detail::called<F>;
  detail::ask_contexts<F>(*detail::graph_of(a...), a...);
  if constexpr (result::code == 0) return typename result::type{detail::graph_of(a...), function::apply(detail::as_argument(a)...).id};
  else return refused_result{};
}

namespace detail {

template <class First, class... Rest>
constexpr auto first_in_trace(const First& first, const Rest&... rest) {
  if constexpr (in_trace<First>) return first;
  else return first_in_trace(rest...);
}

}  // namespace detail

template <class F, class... A>
  requires terms_and_arrays<A...>
constexpr auto apply_function(F, const A&... a) {
  static_assert(!terms_and_arrays<A...>, "[ebb E0110] a traced function uses an array that is not its argument: pass it to the function; "
                                         "an array made of a number is ebb::full<2, 3>(x, 1.0) there, where x is any argument");
  return detail::first_in_trace(a...);
}

}  // namespace ebb::inline EBB_ABI
