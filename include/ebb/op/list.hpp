// ebb/op/list.hpp — lists of arrays as the operands of concat and stack: std::tuple, std::array, std::vector.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "call.hpp"

#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace functions {
template <int Axis>
struct concat;
template <int Axis>
struct stack;
}  // namespace functions

namespace detail {

/// Whether F joins arrays: it takes them one by one, or in a list.
template <class F>
inline constexpr bool joins = false;
template <int Axis>
inline constexpr bool joins<functions::concat<Axis>> = true;
template <int Axis>
inline constexpr bool joins<functions::stack<Axis>> = true;

/// Whether A is a list of arrays whose length the type fixes.
template <class A>
inline constexpr bool is_list = false;
template <class... P>
inline constexpr bool is_list<std::tuple<P...>> = true;
template <class P, std::size_t N>
inline constexpr bool is_list<std::array<P, N>> = !array_like<std::array<P, N>>;

}  // namespace detail

template <class F, class List>
  requires(detail::joins<F> && detail::is_list<List>)
constexpr auto apply_function(F f, const List& list) {
  constexpr bool some = std::tuple_size_v<List> > 0;
  static_assert(some, "[ebb E0523] concat, stack: a list without arrays has neither dtype nor extents");
  if constexpr (some) return std::apply([f](const auto&... x) { return apply_function(f, x...); }, list);
  else return list;
}
/// Of arrays or variables, see exec/listed.hpp. Declared here, as that for arrays.
template <class F, class P, class Allocator>
  requires(detail::joins<F> && (array_like<P> || detail::is_tracked<P>) && !element<P>)
auto apply_function(F, const std::vector<P, Allocator>& list);

}  // namespace ebb::inline EBB_ABI
