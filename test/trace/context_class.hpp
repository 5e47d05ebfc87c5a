// test/trace/context_class.hpp — the autocast class of a function, read off the dtypes of its results in a context.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/autocast/under.hpp>

#include <type_traits>
#include <utility>

namespace test {

/// own: the result has the dtype of the operand in every context. low: that of the context. full: float. fixed: a dtype that depends on
/// neither, such as that of a comparison or of an index.
enum class context_class { own, low, full, fixed, none };

/// The extents of an operand.
template <std::size_t... E>
struct extents_in {
  template <class T>
  using term = ebb::term<T, E...>;
};
using vector_in = extents_in<4>;
using matrix_in = extents_in<4, 4>;

/// The class of f on operands with the extents In, all of one dtype, in the context of bf16.
template <class... In, class F>
constexpr context_class class_of(F) {
  using inside = ebb::detail::entered<ebb::autocast<ebb::bf16>, F>;
  using wide = typename decltype(inside{}(std::declval<typename In::template term<float>>()...))::value_type;
  using narrow = typename decltype(inside{}(std::declval<typename In::template term<ebb::bfloat16>>()...))::value_type;
  if constexpr (!std::is_same_v<wide, float> && !std::is_same_v<wide, ebb::bfloat16>)
    return std::is_same_v<wide, narrow> ? context_class::fixed : context_class::none;
  else if constexpr (std::is_same_v<wide, ebb::bfloat16>)
    return std::is_same_v<narrow, ebb::bfloat16> ? context_class::low : context_class::none;
  else return std::is_same_v<narrow, float> ? context_class::full : context_class::own;
}
/// Whether f of one matrix has the class.
template <context_class Class, class... In, class F>
constexpr bool has_class(F f) {
  if constexpr (sizeof...(In) == 0) return class_of<matrix_in>(f) == Class;
  else return class_of<In...>(f) == Class;
}

/// F of one array, given to it as each of its operands.
template <class F, int Operands>
struct given_as_each {
  constexpr auto operator()(auto x) const {
    return [x]<int... Number>(std::integer_sequence<int, Number...>) {
      return F{}((static_cast<void>(Number), x)...);
    }(std::make_integer_sequence<int, Operands>{});
  }
};
/// Whether all of these functions of so many matrices have the class.
template <context_class Class, int Operands, class... F>
constexpr bool have_class(F...) {
  return (has_class<Class>(given_as_each<F, Operands>{}) && ...);
}

}  // namespace test
