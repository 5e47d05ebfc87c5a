// ebb/trace/term.hpp — the argument of a traced lambda: an array with known dtype and extents, and no elements yet.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/call.hpp"

#include <cstddef>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

/// See trace/subscript.hpp.
template <class X, class... I>
constexpr auto subscript(const X& x, const I&... i);

/// The number type in which functions of other libraries would compute for a T: std::sqrt of an integer computes in double.
template <class T>
using number_like = std::conditional_t<std::is_integral_v<T>, double, std::conditional_t<std::is_arithmetic_v<T>, T, float>>;

}  // namespace detail

/// An argument or intermediate while tracing: dtype and extents in the type, the number of its equation as value.
template <class T, std::size_t... E>
struct term {
  using value_type = T;
  using extents_type = extents<E...>;
  static constexpr int rank = sizeof...(E);

  graph* g = nullptr;
  int id = -1;

  constexpr term() = default;
  constexpr term(graph* of, int equation) : g(of), id(equation) {}
  constexpr term(const term&) = default;
  constexpr term& operator=(const term&) & = default;
  /// Refused: a part x[i] is a value of its own, and assigning to it would change nothing.
  template <class Y>
  constexpr auto operator=(const Y&) && {
    static_assert(std::is_void_v<Y>, "[ebb E0304] x[i] is a value and cannot be assigned: ebb::where or ebb::concat make a changed array");
  }

  constexpr operator operand<T>() const { return {g, id}; }

  /// x(i, j): an element, or the part of x at these indices of its first axes. x[i] is x(i). See [note: subscripts].
  template <class... I>
  constexpr auto operator()(const I&... i) const { return detail::subscript(*this, i...); }
  template <class I>
  constexpr auto operator[](const I& i) const { return detail::subscript(*this, i); }

  EBB_NO_CONDITION explicit constexpr operator bool() const { return false; }
  EBB_NO_NUMBER constexpr operator detail::number_like<T>() const
    requires(!std::same_as<T, bool>)
  {
    return {};
  }
};

template <class A>
inline constexpr bool is_term = false;
template <class T, std::size_t... E>
inline constexpr bool is_term<term<T, E...>> = true;

/// A term inside an autocast context: see autocast/under.hpp.
template <class Context, class T, std::size_t... E>
struct term_under {
  using value_type = T;
  using extents_type = extents<E...>;
  using context = Context;
  static constexpr int rank = sizeof...(E);

  term<T, E...> plain;

  constexpr term_under() = default;
  constexpr term_under(const term<T, E...>& x) : plain(x) {}
  constexpr term_under(const term_under&) = default;
  constexpr term_under& operator=(const term_under&) & = default;
  /// Refused, as for a term.
  template <class Y>
  constexpr auto operator=(const Y&) && {
    static_assert(std::is_void_v<Y>, "[ebb E0304] x[i] is a value and cannot be assigned: ebb::where or ebb::concat make a changed array");
  }

  template <class... I>
  constexpr auto operator()(const I&... i) const { return detail::subscript(*this, i...); }
  template <class I>
  constexpr auto operator[](const I& i) const { return detail::subscript(*this, i); }

  EBB_NO_CONDITION explicit constexpr operator bool() const { return false; }
  EBB_NO_NUMBER constexpr operator detail::number_like<T>() const
    requires(!std::same_as<T, bool>)
  {
    return {};
  }
};

template <class A>
inline constexpr bool is_term_under = false;
template <class C, class T, std::size_t... E>
inline constexpr bool is_term_under<term_under<C, T, E...>> = true;

namespace detail {

template <class T, class Extents>
struct make_term;
template <class T, std::size_t... E>
struct make_term<T, extents<E...>> {
  using type = term<T, E...>;
};

}  // namespace detail

template <class T, class Extents>
using term_of = typename detail::make_term<T, Extents>::type;

/// Argument `number` of a graph that is being traced, with fresh symbols for its dyn extents.
template <class Term>
constexpr Term add_argument(graph& g, int number) {
  const shape s = to_shape(typename Term::extents_type{}, g.syms, number);
  ++g.inputs;
  return {&g, emit_as<op::input, typename Term::value_type>(g, g.intern(s), {}, {number})};
}

}  // namespace ebb::inline EBB_ABI

// `auto [a, b] = x` asks for these before it would bind a term's members.
template <class T, std::size_t... E>
struct std::tuple_size<ebb::term<T, E...>> {
  static constexpr bool binds = sizeof(T) == 0;
  static_assert(binds, "[ebb E0527] auto [a, b] = x: an array has no parts of its own; ebb::unbind<0>(x) is a tuple of its rows");
};
template <class C, class T, std::size_t... E>
struct std::tuple_size<ebb::term_under<C, T, E...>> : std::tuple_size<ebb::term<T, E...>> {};
