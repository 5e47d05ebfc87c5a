// ebb/autocast/under.hpp — functions inside an autocast context: the context is part of a term's type, casts are ordinary equations.
// SPDX-License-Identifier: BSL-1.0
//
// [note: contexts are types]
//   under<autocast<bf16>>(f)     f as PyTorch runs it inside torch.autocast: the same function on terms of another type
// A term that a function gets in a context is a term_under that context. A call on it follows the class of the function that is called
// (precision.hpp): its operands are cast first, then it runs on plain terms, and its result is in the context again. So
// the dtype of every intermediate is known to the types, contexts nest, and a context that nobody names costs nothing.
#pragma once

#include "../trace/context_in.hpp"
#include "../trace/lift.hpp"
#include "../trace/map.hpp"
#include "../trace/once.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class C>
struct terms_in {
  template <class T, std::size_t... E>
  using array = term_under<C, T, E...>;
};

struct plain_terms {
  template <class T, std::size_t... E>
  using array = term<T, E...>;
};

/// Maps a form into context C: terms become terms in it, other leaves stay as they are.
template <class C>
struct to_context : form_map<to_context<C>> {
  template <class S>
  using of_struct = S;  // of no terms
};
template <class C, class T, std::size_t... E>
struct mapped_form<to_context<C>, term<T, E...>> {
  using type = std::conditional_t<std::is_same_v<C, off>, term<T, E...>, term_under<C, T, E...>>;
};
template <class C, class Own, class T, std::size_t... E>
struct mapped_form<to_context<C>, term_under<Own, T, E...>> : mapped_form<to_context<C>, term<T, E...>> {};
template <class C, template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array>
  requires(are_traced<Struct<Array>>)
struct mapped_form<to_context<C>, Struct<Array>> : with_leaves<Struct<Array>, terms_in<C>::template array> {};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array>
  requires(are_traced<Struct<Array>>)
struct mapped_form<to_context<off>, Struct<Array>> : with_leaves<Struct<Array>, term> {};
template <class C, template <template <class, std::size_t...> class, std::size_t, std::size_t...> class Struct,
          template <class, std::size_t...> class Array, std::size_t First, std::size_t... N>
  requires(are_traced<Struct<Array, First, N...>>)
struct mapped_form<to_context<C>, Struct<Array, First, N...>>
    : with_leaves<Struct<Array, First, N...>, std::conditional_t<std::is_same_v<C, off>, plain_terms, terms_in<C>>::template array> {};

/// The same thing in context C.
template <class C, class A>
constexpr mapped_to<to_context<C>, A> into_context(const A& a) {
  return filled<mapped_to<to_context<C>, A>>([]<class To, class From>(const From& leaf) -> To {
    if constexpr (is_term_under<From> && is_term_under<To>) return {leaf.plain};
    else if constexpr (is_term_under<From>) return leaf.plain;
    else if constexpr (is_term_under<To>) return {leaf};
    else return leaf;
  }, a);
}

/// x as an operand of class P in context C.
template <class To, class Uses>
struct autocast_to {
  template <class From>
  static constexpr operand<To> apply(operand<From> x) {
    if (x.is_refused()) return {x.g, x.id};
    const bool once = std::is_same_v<Uses, shared_casts> && x.op().what == kind::input;
    return emit_on<op::cast<From>, To>({once ? 0 : each_use}, x);
  }
};
template <class To, class Uses, class A>
constexpr auto as_cast_operand(const A& a) {
  if constexpr (!is_term<A>) return a;
  else if constexpr (!can_be_cast(dtype_of<typename A::value_type>) || std::is_same_v<typename A::value_type, To>) return a;
  else return apply_function(autocast_to<To, Uses>{}, a);
}

/// The dtype of `widest` operands: float if one of them is, else the context's dtype. The other narrow type is refused.
template <class Low, class... A>
constexpr auto widest_of() {
  if constexpr ((std::is_same_v<typename A::value_type, float> || ...)) return float{};
  else return Low{};
}
template <precision P, class C, class... A>
inline constexpr bool can_be_joined = true;
template <class Low, class Uses, class... A>
inline constexpr bool can_be_joined<precision::widest, autocast<Low, Uses>, A...> =
    !(std::is_same_v<typename A::value_type, typename in_context<Low>::other> || ...);

template <precision P, class C, class... A>
struct operand_dtype {
  using type = float;
};
template <class Low, class Uses, class... A>
struct operand_dtype<precision::low, autocast<Low, Uses>, A...> {
  using type = Low;
};
template <class Low, class Uses, class... A>
struct operand_dtype<precision::widest, autocast<Low, Uses>, A...> {
  using type = decltype(widest_of<Low, A...>());
};
template <class C>
struct uses_of;
template <class Low, class Uses>
struct uses_of<autocast<Low, Uses>> {
  using type = Uses;
};

template <class F, class... A>
using accepted_in_call = accepted_on<typename on_terms<F, A...>::type, A...>;

/// While it lives, functions on g know that they run in context C.
class context_scope {
 public:
  constexpr context_scope(graph& g, const cast_context& c) : g_(g), was_(g.context) { g.context = &c; }
  context_scope(const context_scope&) = delete;
  context_scope& operator=(const context_scope&) = delete;
  constexpr ~context_scope() { g_.context = was_; }

 private:
  graph& g_;
  maybe_context was_;
};

}  // namespace detail

/// On terms in a context: operands are cast as the function's class says, and it runs outside of the context. A function without a
/// class learns in which context it runs.
template <class F, class... A>
  requires(is_term_under<A> || ...) && (traceable<A> && ...)
constexpr auto apply_function(F f, const A&... a) {
  using C = detail::context_among<A...>;
  constexpr precision p = detail::autocast_class<F>;
  static_assert(detail::can_be_joined<p, C, A...>, "[ebb E0183] autocast: float16 and bfloat16 cannot be joined: cast one of them first");
  // Whether F accepts its operands is asked here and not deeper, so that the sentence is near the user's line.
  if constexpr (p == precision::as_is) {
    using accepted = detail::accepted_in_call<F, decltype(detail::into_context<off>(a))...>;
    static_cast<void>(accepted::lift::code);
    detail::context_scope scope(*detail::first_graph(a...), context_of<C>);
    return detail::into_context<C>(apply_function(f, detail::into_context<off>(a)...));
  } else {
    using To = typename detail::operand_dtype<p, C, A...>::type;
    using Uses = typename detail::uses_of<C>::type;
    using accepted = detail::accepted_in_call<F, decltype(detail::as_cast_operand<To, Uses>(detail::into_context<off>(a)))...>;
    static_cast<void>(accepted::lift::code);
    return detail::into_context<C>(apply_function(f, detail::as_cast_operand<To, Uses>(detail::into_context<off>(a))...));
  }
}

template <class F, bool... Whole, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::map<F, Whole...>, const A&... a);
template <class F, class Options, bool... Whole, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::scan<F, Options, Whole...>, const A&... a);
template <class F, class B, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::custom_vjp<F, B>, const A&... a);
template <class... F, class P, class... A>
  requires(detail::is_in_context<P> || ... || detail::is_in_context<A>)
constexpr auto apply_function(functions::conditional<F...>, const P& p, const A&... a);
template <class F, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::once<F>, const A&... a);

namespace detail {

/// F compiled and called; see exec/region.hpp.
template <class F, class... A>
constexpr auto call_compiled(F f, const A&... a);

/// A traced argument as it is. clang looks at the type of a result before it looks at constraints, and would trace a call on arrays.
template <bool Traced, class A>
using only_traced = std::enable_if_t<Traced, const A&>;

/// F inside context C, whatever is around it. Its results are again in the context of the arguments.
template <class C, class F>
struct entered {
  template <class... A>
  using call_on = known_call<F, decltype(into_context<C>(std::declval<const A&>()))...>;

  template <class... A>
    requires are_traced<A...>
  constexpr auto operator()(const A&... a) const
      -> decltype(into_context<context_among<A...>>(F{}(into_context<C>(static_cast<only_traced<are_traced<A...>, A>>(a))...))) {
    graph& g = *first_graph(a...);
    const casts_asked before = g.casts.asked;  // what is asked inside is answered
    const auto r = F{}(into_context<C>(a)...);
    g.casts.asked = before;
    return into_context<context_among<A...>>(r);
  }
  template <class... A>
    requires(!are_traced<A...>)
  constexpr auto operator()(const A&... a) const {
    // F is asked or traced here and not deeper, so that a mistake in it is reported near the user's line.
    if constexpr ((traced_argument<A> && ...)) {
      constexpr int code = known_call<entered, typename argument<A>::traced...>::code;
      static_cast<void>(refuse_function<code>{});
      if constexpr (code == 0) static_cast<void>(requires { typename result_of_trace<entered, A...>; });
    }
    return call_compiled(*this, a...);
  }
};

}  // namespace detail

template <class F, bool... Whole, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::map<F, Whole...>, const A&... a) {
  using C = detail::context_among<A...>;
  return detail::into_context<C>(apply_function(functions::map<detail::entered<C, F>, Whole...>{}, detail::into_context<off>(a)...));
}
template <class F, class Options, bool... Whole, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::scan<F, Options, Whole...>, const A&... a) {
  using C = detail::context_among<A...>;
  using function = functions::scan<detail::entered<C, F>, Options, Whole...>;
  return detail::into_context<C>(apply_function(function{}, detail::into_context<off>(a)...));
}

template <class F, class B, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::custom_vjp<F, B>, const A&... a) {
  using C = detail::context_among<A...>;
  using function = functions::custom_vjp<detail::entered<C, F>, detail::entered<C, B>>;
  return detail::into_context<C>(apply_function(function{}, detail::into_context<off>(a)...));
}

template <class... F, class P, class... A>
  requires(detail::is_in_context<P> || ... || detail::is_in_context<A>)
constexpr auto apply_function(functions::conditional<F...>, const P& p, const A&... a) {
  using C = detail::context_among<P, A...>;
  using function = functions::conditional<detail::entered<C, F>...>;
  return detail::into_context<C>(apply_function(function{}, detail::into_context<off>(p), detail::into_context<off>(a)...));
}
template <class F, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::once<F>, const A&... a) {
  using C = detail::context_among<A...>;
  return detail::into_context<C>(apply_function(functions::once<detail::entered<C, F>>{}, detail::into_context<off>(a)...));
}

/// f inside the context C, as a function: it is called in traced functions, on arrays and on variables, and transforms take it.
///   auto u = ebb::under<ebb::autocast<ebb::bf16>>([](auto x, auto w) { return ebb::matmul(x, w); });     // float arrays in, bf16 out
/// Dtype: as PyTorch's on the CPU; see the class of each function.
template <class C, class F>
constexpr auto under(F) {
  static_cast<void>(detail::refuse_dtype<C>{});
  static_assert(is_context<C> || detail::is_context_of_another_dtype<C>,
                "[ebb E0184] ebb::under takes a context: ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16> or ebb::off");
  static_cast<void>(detail::refuse_function<detail::code_of_function<F>>{});
  return detail::entered<C, F>{};
}
/// f with autocast off, inside a function that may be in a context. Pulls are not inside: the policy of grad(no_autocast(f))
/// decides in which context they run. no_autocast(grad(f)) has autocast off in all of it.
template <class F>
constexpr auto no_autocast(F f) {
  return under<off>(f);
}

}  // namespace ebb::inline EBB_ABI
