// ebb/autograd/function_types.hpp — the argument types of a custom function's forward and backward, and the errors for them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "expression.hpp"

#include "../base/text.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The parameter types of a member function that is not a template and has no overloads.
template <class M>
struct parameters_of_member;
template <class R, class C, class... P>
struct parameters_of_member<R (C::*)(P...)> {
  using type = std::tuple<std::remove_cvref_t<P>...>;
};
template <class R, class C, class... P>
struct parameters_of_member<R (C::*)(P...) const> : parameters_of_member<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct parameters_of_member<R (C::*)(P...) noexcept> : parameters_of_member<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct parameters_of_member<R (C::*)(P...) const noexcept> : parameters_of_member<R (C::*)(P...)> {};
template <class R, class... P>
struct parameters_of_member<R (*)(P...)> {
  using type = std::tuple<std::remove_cvref_t<P>...>;
};
template <class R, class... P>
struct parameters_of_member<R (*)(P...) noexcept> : parameters_of_member<R (*)(P...)> {};

template <class P>
inline constexpr bool is_optional = false;
template <class X>
inline constexpr bool is_optional<std::optional<X>> = true;
template <class P>
inline constexpr bool takes_variable = is_variable<P>;
template <class X>
inline constexpr bool takes_variable<std::optional<X>> = is_variable<X>;

/// The argument for a parameter P that receives a gradient or value of a variable V.
template <class P, class V>
struct handed {
  using array = std::conditional_t<takes_variable<P>, V, typename V::tensor_type>;
  using type = std::conditional_t<is_optional<P>, std::optional<array>, array>;
};

template <class F, class List>
inline constexpr bool has_backward = false;
template <class F, class... P>
inline constexpr bool has_backward<F, std::tuple<P...>> = requires(F& f, P... p) { f.backward(p...); };

template <class... V>
struct variable_list {
  static constexpr int count = sizeof...(V);
  using tensors = std::tuple<typename V::tensor_type...>;
  using variables = std::tuple<V...>;
};
template <class A, class B>
using joined = decltype(std::tuple_cat(std::declval<A>(), std::declval<B>()));

/// The arguments of backward for results Y and operands X: the gradients, then, if it takes them, the operands.
template <class F, class Y, class X>
struct backward_call {  // a template, or overloaded
  using gradients = typename Y::tensors;
  using both = joined<gradients, typename X::tensors>;
  static constexpr bool with_operands = !has_backward<F, gradients> && has_backward<F, both>;
  using values = std::conditional_t<with_operands, both, gradients>;
  using recorded_with_operands = joined<typename Y::variables, typename X::variables>;
  static constexpr bool records_operands = has_backward<F, recorded_with_operands>;
  using recorded = std::conditional_t<records_operands, recorded_with_operands, typename Y::variables>;
};
template <class F, class Y, class X>
  requires requires { &F::backward; }
struct backward_call<F, Y, X> {
  using parameters = typename parameters_of_member<decltype(&F::backward)>::type;
  static constexpr bool with_operands = std::tuple_size_v<parameters> == Y::count + X::count;
  template <class P, class V>
  struct match;
  template <class... P, class... V>
    requires(sizeof...(P) == sizeof...(V))
  struct match<std::tuple<P...>, std::tuple<V...>> {
    using type = std::tuple<typename handed<P, V>::type...>;
    static constexpr bool on_tape = (takes_variable<P> && ...);
  };
  template <class P, class V>
    requires(std::tuple_size_v<P> != std::tuple_size_v<V>)
  struct match<P, V> {
    struct type {};
    static constexpr bool on_tape = false;
  };
  using matched = match<parameters, std::conditional_t<with_operands, joined<typename Y::variables, typename X::variables>,
                                                       typename Y::variables>>;
  using values = typename matched::type;
  using recorded = std::conditional_t<matched::on_tape, values, void>;
  static constexpr bool records_operands = with_operands;
};

/// A result of forward: a variable if its elements are real.
template <class R>
inline constexpr bool becomes_variable = false;
template <array_like R>
inline constexpr bool becomes_variable<R> = real_element<borrowed_element<R>>;

template <class R>
struct list_of_results {
  using type = std::tuple<R>;
};
template <class... R>
struct list_of_results<std::tuple<R...>> {
  using type = std::tuple<R...>;
};
template <class R>
struct variables_of_result {
  using type = std::tuple<>;
};
template <class R>
  requires becomes_variable<R>
struct variables_of_result<R> {
  using type = std::tuple<variable_of<borrowed_element<R>, borrowed_extents<R>>>;
};
template <class A>
struct variables_of_operand {
  using type = std::tuple<>;
};
template <class A>
  requires is_variable<A>
struct variables_of_operand<A> {
  using type = std::tuple<A>;
};
template <class Tuple>
struct to_variable_list;
template <class... V>
struct to_variable_list<std::tuple<V...>> {
  using type = variable_list<V...>;
};
template <template <class> class Part, class... A>
using variables_among = typename to_variable_list<decltype(std::tuple_cat(std::declval<typename Part<A>::type>()...))>::type;

/// Whether backward may return an R for an operand V: an array of its dtype and rank, std::optional of one, or ebb::nothing.
template <class R, class V>
inline constexpr bool is_gradient_for = std::is_same_v<R, no_gradient>;
template <array_like R, class V>
inline constexpr bool is_gradient_for<R, V> =
    std::is_same_v<borrowed_element<R>, typename V::value_type> && borrowed_extents<R>::rank == V::rank;
template <class R, class V>
inline constexpr bool is_gradient_for<std::optional<R>, V> = is_gradient_for<R, V>;

/// The last part of a type's name, as the compiler writes it.
template <class F>
inline constexpr auto name_of_function = [] {
  constexpr std::string_view s = short_name_of<F>();
  std::array<char, 64> name{};
  for (std::size_t i = 0; i < s.size() && i + 1 < name.size(); ++i) name[i] = s[i];
  return name;
}();
template <class F>
constexpr const char* function_name() {
  if constexpr (requires { std::string_view(F::name); }) return std::string_view(F::name).data();
  else return name_of_function<F>.data();
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
