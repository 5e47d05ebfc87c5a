// ebb/trace/operators.hpp — the operators of terms and of arrays, in one list.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lift.hpp"

#include "../op/bits.hpp"
#include "../op/remainder.hpp"

namespace ebb::inline EBB_ABI {

/// Whether A has operators. Numbers, spans and vectors are allowed only on the other side.
template <class A>
inline constexpr bool has_operators = false;
template <class T, std::size_t... E>
inline constexpr bool has_operators<term<T, E...>> = true;
template <class C, class T, std::size_t... E>
inline constexpr bool has_operators<term_under<C, T, E...>> = true;
template <class T, std::size_t... E>
inline constexpr bool has_operators<tensor<T, E...>> = true;
template <class T, std::size_t... E>
inline constexpr bool has_operators<view<T, E...>> = true;
template <>
inline constexpr bool has_operators<refused_result> = true;

/// Whether A and B can be the two sides of an operator: both traced, or both arrays. One of each is refused with a sentence.
template <class A, class B>
concept operator_pair = (has_operators<A> || has_operators<B>) &&
                        ((traceable<A> && traceable<B>) || arrays<A, B> || terms_and_arrays<A, B> || detail::has_refused<A, B>);

template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator+(const A& a, const B& b) { return apply_function(detail::broadcasting<op::add>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator-(const A& a, const B& b) { return apply_function(detail::broadcasting<op::sub>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator*(const A& a, const B& b) { return apply_function(detail::broadcasting<op::mul>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator/(const A& a, const B& b) { return apply_function(detail::broadcasting<op::div>{}, a, b); }
/// As in C++, and unlike Python: the remainder has the sign of a. See op::fmod.
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator%(const A& a, const B& b) { return apply_function(detail::broadcasting<op::fmod>{}, a, b); }

// Bits of integers and of bools.
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator&(const A& a, const B& b) { return apply_function(detail::broadcasting<op::bitwise_and>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator|(const A& a, const B& b) { return apply_function(detail::broadcasting<op::bitwise_or>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator^(const A& a, const B& b) { return apply_function(detail::broadcasting<op::bitwise_xor>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator<<(const A& a, const B& b) { return apply_function(detail::broadcasting<op::shift_left>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator>>(const A& a, const B& b) { return apply_function(detail::broadcasting<op::shift_right>{}, a, b); }
template <class A>
  requires has_operators<A>
constexpr auto operator~(const A& a) { return apply_function(detail::broadcasting<op::bitwise_not>{}, a); }

template <class A>
  requires has_operators<A>
constexpr auto operator-(const A& a) { return apply_function(detail::broadcasting<op::neg>{}, a); }

template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator<(const A& a, const B& b) { return apply_function(detail::broadcasting<op::less>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator<=(const A& a, const B& b) { return apply_function(detail::broadcasting<op::less_equal>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator>(const A& a, const B& b) { return apply_function(detail::broadcasting<op::greater>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator>=(const A& a, const B& b) { return apply_function(detail::broadcasting<op::greater_equal>{}, a, b); }
/// Element by element, like the four above: see [note: equal means elements].
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator==(const A& a, const B& b) { return apply_function(detail::broadcasting<op::equal>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator!=(const A& a, const B& b) { return apply_function(detail::broadcasting<op::not_equal>{}, a, b); }
template <class A>
  requires has_operators<A>
constexpr auto operator!(const A& a) { return apply_function(detail::broadcasting<op::logical_not>{}, a); }

/// Of bools, element by element: both sides are computed.
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator&&(const A& a, const B& b) { return apply_function(detail::broadcasting<op::logical_and>{}, a, b); }
template <class A, class B>
  requires operator_pair<A, B>
constexpr auto operator||(const A& a, const B& b) { return apply_function(detail::broadcasting<op::logical_or>{}, a, b); }

namespace detail {

/// a = f(a, b). An array is written in place, see exec/eager.hpp; a term gets another value. All return auto: g++ then reports an error at
/// the user's line.
template <class A, class B>
  requires arrays<A, B>
constexpr auto assign_function(auto f, A& a, const B& b);
template <class Term>
  requires in_trace<Term>
constexpr auto assign_function(auto f, Term& a, const auto& b) {
  const auto r = apply_function(f, a, b);
  constexpr bool fits = std::is_same_v<decltype(r), const Term> || has_refused<std::remove_const_t<decltype(r)>>;
  static_assert(fits, "[ebb E0133] a compound assignment cannot change dtype or extents: write a = a + b with a name of its own");
  if constexpr (fits) a = r;
}
template <class A, class B>
  requires(!in_trace<A> && has_refused<A, B>)
constexpr void assign_function(auto, A&, const B&) {}

}  // namespace detail

template <class A, class B>
  requires(has_operators<A> && operator_pair<A, B>)
constexpr auto& operator+=(A& a, const B& b) { return detail::assign_function(detail::broadcasting<op::add>{}, a, b), a; }
template <class A, class B>
  requires(has_operators<A> && operator_pair<A, B>)
constexpr auto& operator-=(A& a, const B& b) { return detail::assign_function(detail::broadcasting<op::sub>{}, a, b), a; }
template <class A, class B>
  requires(has_operators<A> && operator_pair<A, B>)
constexpr auto& operator*=(A& a, const B& b) { return detail::assign_function(detail::broadcasting<op::mul>{}, a, b), a; }
template <class A, class B>
  requires(has_operators<A> && operator_pair<A, B>)
constexpr auto& operator/=(A& a, const B& b) { return detail::assign_function(detail::broadcasting<op::div>{}, a, b), a; }

}  // namespace ebb::inline EBB_ABI
