// ebb/trace/context_in.hpp — the graph and the autocast context of traced arguments.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "argument.hpp"

#include "../op/context.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The context of a leaf, if it is in one.
template <class Leaf>
struct context_of_leaf {
  using type = types<>;
};
template <class C, class T, std::size_t... E>
struct context_of_leaf<term_under<C, T, E...>> {
  using type = types<C>;
};
/// The first context among leaves. If there is none: off if there is a term, else void.
template <class Found, class Leaves>
struct first_context {
  using type = std::conditional_t<any_is<is_a_term>(Leaves{}), off, void>;
};
template <class C, class... More, class Leaves>
struct first_context<types<C, More...>, Leaves> {
  using type = C;
};
template <class Leaves>
struct context_of_leaves;
template <class... Leaf>
struct context_of_leaves<types<Leaf...>> : first_context<joined_types<typename context_of_leaf<Leaf>::type...>, types<Leaf...>> {};

/// The context of A... . A plain term beside terms in a context comes from outside of it.
template <class... A>
using context_among = typename context_of_leaves<joined_types<leaf_types<std::remove_cvref_t<A>>...>>::type;
template <class A>
using is_a_term_under = std::bool_constant<is_term_under<A>>;
template <class A>
inline constexpr bool is_in_context = any_leaf<A, is_a_term_under>;
template <class... A>
inline constexpr bool are_traced = !std::is_void_v<context_among<A...>>;

/// The graph of the arguments.
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
