// ebb/exec/eager.hpp — functions and operators called on arrays outside of any traced function: each is a small program of its own.
// SPDX-License-Identifier: BSL-1.0
//
// Good for set-up, checks and reports. What matters for speed belongs into one ebb::compile or value_and_grad, where it is fused.
#pragma once

#include "gradient.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class A>
inline constexpr bool is_array = false;
template <class T, std::size_t... E>
inline constexpr bool is_array<tensor<T, E...>> = true;
template <class T, std::size_t... E>
inline constexpr bool is_array<view<T, E...>> = true;

/// F as a traced function.
template <class F>
struct traced_call {
  constexpr auto operator()(auto... x) const { return apply_function(F{}, x...); }
};

template <class A, class B>
concept array_pair = ((is_array<A> && array_like<B>) || (number<A> && is_array<B>)) && !is_tracked<B>;

}  // namespace detail

/// On arrays, with numbers among them: traced, compiled and run at once.
template <class F, array_like... A>
  requires((detail::is_array<A> || ...) && !(detail::is_tracked<A> || ...))
constexpr auto apply_function(F, const A&... a) {
  return program_function<detail::compile_spec<detail::traced_call<F>>>{}(a...);
}

template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator+(const A& a, const B& b) { return apply_function(detail::broadcasting<op::add>{}, a, b); }
template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator-(const A& a, const B& b) { return apply_function(detail::broadcasting<op::sub>{}, a, b); }
template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator*(const A& a, const B& b) { return apply_function(detail::broadcasting<op::mul>{}, a, b); }
template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator/(const A& a, const B& b) { return apply_function(detail::broadcasting<op::div>{}, a, b); }
template <class A>
  requires detail::is_array<A>
constexpr auto operator-(const A& a) { return apply_function(detail::broadcasting<op::neg>{}, a); }

}  // namespace ebb::inline EBB_ABI
