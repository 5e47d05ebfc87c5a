// ebb/trace/functions.hpp — all functions that a traced function may call.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lift.hpp"
#include "map.hpp"
#include "subscript.hpp"

#include "../op/activation.hpp"
#include "../op/along.hpp"
#include "../op/arrange.hpp"
#include "../op/bits.hpp"
#include "../op/extremum.hpp"
#include "../op/gamma.hpp"
#include "../op/gather.hpp"
#include "../op/gate.hpp"
#include "../op/gelu.hpp"
#include "../op/gradient.hpp"
#include "../op/hyperbolic.hpp"
#include "../op/like.hpp"
#include "../op/linear.hpp"
#include "../op/list.hpp"
#include "../op/logarithmic.hpp"
#include "../op/moments.hpp"
#include "../op/nonfinite.hpp"
#include "../op/normal.hpp"
#include "../op/normalize.hpp"
#include "../op/power.hpp"
#include "../op/random.hpp"
#include "../op/reduce.hpp"
#include "../op/remainder.hpp"
#include "../op/replace.hpp"
#include "../op/rounding.hpp"
#include "../op/recurrence.hpp"
#include "../op/scan.hpp"
#include "../op/shape.hpp"
#include "../op/loss.hpp"
#include "../op/solve.hpp"
#include "../op/triangle.hpp"
#include "../op/triangular_product.hpp"
#include "../op/trigonometric.hpp"

namespace ebb::inline EBB_ABI {

inline constexpr call<op::stop_gradient> stop_gradient{};

namespace detail {

template <class F, class... P, std::size_t... I>
constexpr auto apply_to_list(F f, const std::tuple<P...>& list, std::index_sequence<I...>) {
  return apply_function(f, std::get<I>(list)...);
}

}  // namespace detail

template <class F, class... P>
  requires detail::joins<F>
constexpr auto apply_function(F f, const std::tuple<P...>& list) {
  constexpr bool some = sizeof...(P) > 0;
  static_assert(some, "[ebb E0523] concat, stack: a list without arrays has neither dtype nor extents");
  constexpr std::index_sequence_for<P...> all;
  if constexpr (!some) return refused_result{};
  else if constexpr ((is_term<P> && ...)) {
    // Asked here and not deeper, so that a sentence is near the user's line.
    if constexpr (detail::accepted_on<F, P...>::lift::code != 0) return refused_result{};
    else return detail::apply_to_list(f, list, all);
  } else return detail::apply_to_list(f, list, all);
}
template <class F, class P, std::size_t N>
  requires(detail::joins<F> && !array_like<std::array<P, N>>)
constexpr auto apply_function(F f, const std::array<P, N>& list) {
  return apply_function(f, std::tuple_cat(list));
}
template <class F, class P, class Allocator>
  requires(detail::joins<F> && in_trace<P>)
constexpr auto apply_function(F, const std::vector<P, Allocator>&) {
  static_assert(!in_trace<P>, "[ebb E0522] concat, stack: the length of a std::vector is no part of its type, so a traced function does "
                              "not know the result's extents: join a std::array or a std::tuple");
  return refused_result{};
}

/// x in dtype To: rounded to nearest even; to an integer: towards zero. A number too.   cast<double>(x)
template <element To, class X>
constexpr auto cast(const X& x) {
  if constexpr (number<X> || element<X>) return as_element<To>(x);
  else return apply_function(functions::cast<To>{}, x);
}

}  // namespace ebb::inline EBB_ABI
