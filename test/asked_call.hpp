// test/asked_call.hpp — asks whether a call is refused: by which code, and which name of the function messages have.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "catch.hpp"

#include <ebb/trace/functions.hpp>

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace test {

/// A call that is refused: the code of the sentence with which it does not compile, and the name that the function has in messages about
/// extents that are known at run time only. A call that is not refused has the code 0.
struct refusal {
  int code = 0;
  std::string_view name;
};

/// An argument of a call that is only asked: it stands for a term of this dtype and these extents. A call that is not refused returns one.
template <class T, std::size_t... E>
struct asked {
  constexpr operator refusal() const { return {}; }
};

template <class A>
struct asked_term {
  using type = A;
};
template <class T, std::size_t... E>
struct asked_term<asked<T, E...>> {
  using type = ebb::term<T, E...>;
};
template <class A>
inline constexpr bool is_asked = !std::is_same_v<typename asked_term<A>::type, A>;
template <class A>
inline constexpr bool is_refusal = std::is_same_v<A, refusal>;
template <class T, std::size_t... E>
constexpr asked<T, E...> asked_of(std::type_identity<ebb::term<T, E...>>) { return {}; }

/// As for terms: trace/lift.hpp refuses by the same code and records the same name.
template <class F, class... A>
  requires((is_asked<A> || ...) && !(is_refusal<A> || ...))
constexpr auto apply_function(F, const A&...) {
  using function = typename ebb::detail::on_terms<F, typename asked_term<A>::type...>::type;
  using result = ebb::detail::lifted<function, typename asked_term<A>::type...>;
  if constexpr (result::code != 0) return refusal{result::code, ebb::detail::called<F>};
  else return asked_of(std::type_identity<typename result::type>{});
}
/// A function of several: the first that is refused.
template <class F, class... A>
  requires(is_refusal<A> || ...)
constexpr refusal apply_function(F, const A&... a) {
  refusal first{};
  const auto see = [&]<class B>(const B& b) {
    if constexpr (is_refusal<B>)
      if (first.code == 0) first = b;
  };
  (see(a), ...);
  return first;
}

template <class A>
concept in_asked_call = is_asked<A> || is_refusal<A>;
template <in_asked_call A, in_asked_call B>
constexpr auto operator+(const A& a, const B& b) { return apply_function(ebb::detail::broadcasting<ebb::op::add>{}, a, b); }
template <in_asked_call A, in_asked_call B>
constexpr auto operator-(const A& a, const B& b) { return apply_function(ebb::detail::broadcasting<ebb::op::sub>{}, a, b); }
template <in_asked_call A, in_asked_call B>
constexpr auto operator*(const A& a, const B& b) { return apply_function(ebb::detail::broadcasting<ebb::op::mul>{}, a, b); }

/// A call and what it is refused by. Of a tuple of results the first one counts.
struct refused_call {
  refusal got;
  int code;
  std::string_view name;
  constexpr refused_call(refusal r, int c, std::string_view n) : got(r), code(c), name(n) {}
  template <class First, class... Rest>
  constexpr refused_call(const std::tuple<First, Rest...>& r, int c, std::string_view n) : refused_call(std::get<0>(r), c, n) {}
};
inline void check_refused(std::initializer_list<refused_call> calls) {
  for (const refused_call& c : calls) {
    INFO(c.name << " has the code " << c.got.code << " and the name " << c.got.name);
    CHECK((c.got.code == c.code && c.got.name == c.name));
  }
}

}  // namespace test
