// ebb/trace/argument.hpp — the arguments of a call: arrays, numbers, tuples, arrays of arrays, and structs of arrays.
// SPDX-License-Identifier: BSL-1.0
//
// [note: structs are templates over the kind of array]
// A traced lambda sees a struct of parameters with terms in place of arrays. So the struct is a template over the kind of array:
//
//   template <template <class, std::size_t...> class Array>
//   struct params {
//     using matrix = Array<float, 64, 10>;
//     using vector = Array<float, 10>;
//     BOOST_HANA_DEFINE_STRUCT(params, (matrix, w), (vector, b));
//   };
//
// The user passes params<ebb::tensor>, the lambda receives params<ebb::term>, and gradients are params<ebb::tensor> again.
//
// [note: arrays of arrays]
// std::array<A, N> of arrays, tuples or structs is a tuple of N equal types, as an argument, as a member and as a result: the lambda
// receives std::array<..., N> of terms. A loop, for (const auto& layer : layers), runs while it is traced: the program is unrolled.
// std::array<T, N> of numbers is one array of N elements. N results of rank 0 are therefore std::array<tensor<T>, N>.
#pragma once

#include "form.hpp"
#include "kinds.hpp"

#include "../tensor/foreign.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Maps to the form that a traced function receives: terms for arrays and numbers. Other types are unchanged.
struct to_terms : form_map<to_terms> {
  template <class S>
  using of_struct = struct_with<S, term>;
};
template <borrowable A>
struct mapped_form<to_terms, A> {
  using type = term_of<borrowed_element<A>, borrowed_extents<A>>;
};
template <class A>
  requires(form<A>::is_loop && form<A>::is_fixed)
struct mapped_form<to_terms, A> {
  using type = std::array<mapped_to<to_terms, typename form<A>::element>, std::size_t{form<A>::count}>;
};

/// Maps to the form of results: tensors that own their elements, and numbers.
struct to_values : form_map<to_values> {
  template <class S>
  using of_struct = struct_with<S, tensor>;
};
template <borrowable A>
struct mapped_form<to_values, A> {
  using type = value_of<A>;
};
template <class T, std::size_t... E>
struct mapped_form<to_values, term<T, E...>> {
  using type = tensor<T, E...>;
};
template <class T>
struct mapped_form<to_values, term<T>> {
  using type = T;
};
/// In a std::array or a vector a tensor replaces a number.
template <class V>
struct element_value {
  using type = V;
};
template <number V>
  requires element<V>
struct element_value<V> {
  using type = tensor<V>;
};
struct to_elements {
  template <class A>
  using of = typename element_value<mapped_to<to_values, A>>::type;
};
template <class A>
  requires(form<A>::is_loop)
struct mapped_form<to_values, A> {
  using type = typename form<A>::template with<to_elements>;
};

template <class A>
using is_a_term = std::bool_constant<is_term<A>>;
template <class A>
inline constexpr bool holds_terms = any_leaf<A, is_a_term>;
template <class A>
using is_a_variable = std::bool_constant<is_tracked<A>>;
template <class A>
inline constexpr bool holds_variables = any_leaf<A, is_a_variable>;
template <class A>
using is_a_dual = std::bool_constant<is_dual<A>>;
template <class A>
inline constexpr bool holds_duals = any_leaf<A, is_a_dual>;

}  // namespace detail

/// The properties of the type of an argument or a result.
///   is_argument   whether it is made of arrays and numbers only
///   leaves        their number
///   traced        the type that a traced lambda receives
///   terms         the types of the terms in it, in order
///   value         the type of results of this form
template <class A>
struct argument {
  using traced = detail::mapped_to<detail::to_terms, A>;
  using terms = detail::leaves_in<traced>;
  using value = detail::mapped_to<detail::to_values, A>;
  static constexpr bool is_argument = detail::all_leaves<traced, detail::is_a_term>;
  static constexpr int leaves = is_argument ? terms::count : 0;
};

/// Whether a traced function can receive a T.
template <class T>
inline constexpr bool is_traced = detail::all_leaves<T, detail::is_a_term>;

template <class A>
concept traced_argument = argument<std::remove_cvref_t<A>>::is_argument;

}  // namespace ebb::inline EBB_ABI
