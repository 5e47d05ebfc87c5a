// ebb/trace/numbers_among_terms.hpp — calls of functions with numbers beside terms: the numbers become terms.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "map.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class Leaf>
using is_a_number = std::bool_constant<number<Leaf>>;
template <class Leaf>
using is_term_or_number = std::bool_constant<is_term<Leaf> || (number<Leaf> && element<Leaf>)>;
template <class A>
inline constexpr bool terms_and_numbers = all_leaves<A, is_term_or_number>;

template <class... Leaf>
using terms_among = joined_types<std::conditional_t<is_term<Leaf>, types<Leaf>, types<>>...>;
template <class... Leaf>
terms_among<Leaf...> find_terms(types<Leaf...>);
/// The promoted dtype of all terms; numbers do not count.
template <class... A>
using dtype_of_terms = typename decltype(promoted_terms(decltype(find_terms(joined_types<leaf_types<A>...>{})){}))::type;

/// A form with terms in place of numbers. A real number has the dtype that it takes beside terms of dtype T, others keep their own.
template <class T, class A>
struct form_of_terms {
  using type = A;
};
template <class T, number A>
struct form_of_terms<T, A> {
  using type = term<std::conditional_t<std::is_floating_point_v<A>, promoted_weak<T, A>, A>>;
};
template <class T>
struct to_terms_beside {
  template <class A>
  using of = typename form_of_terms<T, A>::type;
  template <class S>
  using of_struct = S;
};
template <class T, class A>
  requires(!form<A>::is_leaf && any_leaf<A, is_a_number>)
struct form_of_terms<T, A> {
  using type = typename form<A>::template with<to_terms_beside<T>>;
};
template <class T, class A>
constexpr auto numbers_as_terms(graph& g, const A& a) {
  return filled<typename form_of_terms<T, A>::type>([&]<class To, class From>(const From& x) -> To {
    if constexpr (is_term<From>) return x;
    else {
      using N = typename To::value_type;
      return {&g, to_operand<N>(g, x).id};
    }
  }, a);
}
/// Whether the arguments are terms with numbers among them, also in tuples and structs.
template <class... A>
concept have_numbers = !(is_traced<A> && ...) && (terms_and_numbers<A> && ...) && (any_leaf<A, is_a_term> || ...);
/// f on these arguments, with terms in place of numbers.
template <class F, class... A>
constexpr auto apply_to_terms(F f, const A&... a) {
  return apply_function(f, numbers_as_terms<dtype_of_terms<A...>>(*first_graph(a...), a)...);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
