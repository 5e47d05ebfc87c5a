// ebb/trace/context_in.hpp — in which graph, and in which autocast context, arguments are traced.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "argument.hpp"

#include "../op/context.hpp"

#include <array>

namespace ebb::inline EBB_ABI::detail {

/// The context of a term, or of the first one in a tuple or struct; void if there is none.
template <class A>
struct context_in {
  using type = void;
};
template <class T, std::size_t... E>
struct context_in<term<T, E...>> {
  using type = off;
};
template <class C, class T, std::size_t... E>
struct context_in<term_under<C, T, E...>> {
  using type = C;
};
template <class... A>
struct first_context {
  using type = void;
};
template <class A, class... B>
struct first_context<A, B...> {
  using own = typename context_in<A>::type;
  using rest = typename first_context<B...>::type;
  // A plain term beside others is one that came from outside of the context.
  using type = std::conditional_t<std::is_void_v<own> || (std::is_same_v<own, off> && !std::is_void_v<rest>), rest, own>;
};
template <class... A>
struct context_in<std::tuple<A...>> : first_context<A...> {};
template <class A, std::size_t N>
struct context_in<std::array<A, N>> : context_in<A> {};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array>
struct context_in<Struct<Array>> : context_in<Array<float>> {};

template <class... A>
using context_among = typename first_context<std::remove_cvref_t<A>...>::type;
template <class A>
inline constexpr bool is_in_context = !std::is_void_v<typename context_in<A>::type> && !std::is_same_v<typename context_in<A>::type, off>;
template <class... A>
inline constexpr bool are_traced = !std::is_void_v<context_among<A...>>;

/// The graph that the arguments are traced in.
template <class... A>
constexpr graph* first_graph(const A&... a) {
  graph* g = nullptr;
  const auto look = [&]<class Leaf>(const Leaf& leaf) {
    if constexpr (is_term<Leaf>) g = leaf.g;
    else if constexpr (is_term_under<Leaf>) g = leaf.plain.g;
  };
  (each_leaf(look, a), ...);
  return g;
}

}  // namespace ebb::inline EBB_ABI::detail
