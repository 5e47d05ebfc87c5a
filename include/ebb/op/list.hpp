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

}  // namespace detail

// Declared here: argument-dependent lookup does not find them for a std::span.
template <class F, class... P>
  requires detail::joins<F>
constexpr auto apply_function(F f, const std::tuple<P...>& list);  // see trace/functions.hpp
template <class F, class P, std::size_t N>
  requires(detail::joins<F> && !array_like<std::array<P, N>>)
constexpr auto apply_function(F f, const std::array<P, N>& list);
template <class F, class P, class Allocator>
  requires(detail::joins<F> && (array_like<P> || detail::is_tracked<P>) && !element<P>)
auto apply_function(F, const std::vector<P, Allocator>& list);  // of arrays or variables, see exec/listed.hpp

}  // namespace ebb::inline EBB_ABI
