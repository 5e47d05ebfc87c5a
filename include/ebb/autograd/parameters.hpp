// ebb/autograd/parameters.hpp — structures of variables: single ones, tuples, vectors, arrays, and structs whose members Hana knows.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "variable.hpp"

#include <type_traits>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether P has variables (or arrays of integers in their place) as leaves. The length of a std::vector does not matter.
template <class Leaf>
struct is_parameter : std::is_same<Leaf, unknown_length> {};
template <class T, std::size_t... E>
struct is_parameter<variable<T, E...>> : std::true_type {};

/// A P of f(variable) for each variable of `p`, with zeros for integers.
template <class P>
P mapped_parameters(const P& p, auto&& f) {
  return filled<P>([&]<class To, class T, std::size_t... E>(const variable<T, E...>& v) -> To {
    if constexpr (real_element<T>) return f(v);
    else return tensor<T, E...>(v.layout());
  }, p);
}

}  // namespace detail

/// Variables, and tuples, vectors, arrays and structs of them.
template <class P>
concept parameters = detail::all_leaves<std::remove_cvref_t<P>, detail::is_parameter>;

/// f(variable) for each variable in each of p, in order.
template <parameters... P>
void each_variable(auto&& f, P&&... p) {
  const auto visit = [&]<class V>(V& v) {
    if constexpr (detail::is_variable<std::remove_const_t<V>>) f(v);
  };
  (each_leaf(visit, p), ...);
}

/// Sets the gradients to undefined.
template <parameters... P>
void zero_grad(P&&... p) {
  each_variable([](auto v) { v.zero_grad(); }, p...);
}
/// Refused: no variables.
template <class... P>
  requires(!(parameters<std::remove_cvref_t<P>> && ...))
void zero_grad(P&&...) {
  constexpr bool fits = (parameters<std::remove_cvref_t<P>> && ...);
  static_assert(fits, "[ebb E0198] ebb::zero_grad takes variables, or tuples, vectors and structs of them");
}

}  // namespace ebb::inline EBB_ABI
